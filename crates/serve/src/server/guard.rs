//! Requests that pages of other sites make in a browser, which the service refuses.
//!
//! A page can send to any address that its browser reaches, and take permits there. It cannot hide where it is from: a
//! browser tells the page's origin beside each request that may change something, and the name that it has looked up in
//! `Host`. A page whose own name leads to this machine (DNS rebinding) is told by that name. No browser speaks HTTP/2 without
//! TLS, which there is none of here: its requests are those of programs, such as Envoy, whose authority may be any name.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version, header};

use crate::api::Failure;

/// Names by which the service may be addressed, besides addresses and names without a point. One that begins with a point stands
/// for all names below the rest of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    hosts: Arc<[String]>,
}

impl Guard {
    pub(super) fn new(hosts: &[String]) -> Guard {
        let below = |host: &String| host.strip_prefix('*').unwrap_or(host).to_ascii_lowercase();
        Guard { hosts: hosts.iter().map(below).collect() }
    }

    /// Returns why a request is refused, if it is.
    pub(super) fn refusal<B>(&self, request: &Request<B>) -> Option<Failure> {
        let headers = request.headers();
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, another) = (hosts.next(), hosts.next());
        let bad = |detail| Some(Failure::new(StatusCode::BAD_REQUEST, detail));
        if another.is_some() {
            return bad("the request has several fields `Host`");
        }
        if host.is_none() && request.version() == Version::HTTP_11 {
            return bad("the request has no field `Host`");
        }
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        let host = host.map(HeaderValue::as_bytes).map(str::from_utf8);
        let is_of_program = request.version() == Version::HTTP_2;
        for name in host.into_iter().chain(authority.map(Ok)) {
            let known = name.is_ok_and(|name| self.knows(name));
            if !known && !is_of_program {
                let name = name.unwrap_or("?");
                let detail = format!(
                    "the service is not known by the name {name:?}: address it as localhost or by its address, or name it with --allow-host"
                );
                return Some(Failure::new(StatusCode::MISDIRECTED_REQUEST, detail));
            }
        }
        let host = authority.or(host.and_then(Result::ok));
        if !request.method().is_safe() && is_of_another_site(headers, host) {
            let detail = "a page of another site has sent this request, and may not";
            return Some(Failure::new(StatusCode::FORBIDDEN, detail));
        }
        let is_grpc_path = request.uri().path().starts_with("/envoy.service.");
        if request.method() == Method::POST && is_grpc_path && !is_grpc(headers) {
            let detail = "the path is one of gRPC: send Content-Type: application/grpc";
            return Some(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        None
    }

    /// Returns true if the service may be addressed so: by an address, which no name leads elsewhere, or by a name that
    /// no stranger can own.
    fn knows(&self, host: &str) -> bool {
        let name = without_port(host);
        let is_address = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inside) => inside.parse::<std::net::Ipv6Addr>().is_ok(),
            None => name.parse::<IpAddr>().is_ok(),
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_own = |name: &str| {
            name.bytes().all(is_of_names) && (!name.contains('.') || name.ends_with(".localhost"))
        };
        let is_below = |host: &str| name.ends_with(host) && !name.starts_with('.');
        let is_allowed = |host: &String| {
            if host.starts_with('.') { is_below(host) } else { *host == name }
        };
        is_address || !name.is_empty() && is_own(&name) || self.hosts.iter().any(is_allowed)
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    }
}

/// Returns true if a browser says that a page of another origin has made the request.
fn is_of_another_site(headers: &HeaderMap, host: Option<&str>) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return true;
    }
    headers.get_all(header::ORIGIN).iter().any(|origin| {
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        !own.zip(host).is_some_and(|((_, own), host)| own.eq_ignore_ascii_case(host))
    })
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    media_type.is_some_and(|media_type| {
        media_type.get(..16).is_some_and(|start| start.eq_ignore_ascii_case(b"application/grpc"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_addressed_by_addresses_and_names_that_no_stranger_owns() {
        let guard = Guard::new(&["Limits.example".to_owned(), "*.Below.example".to_owned()]);
        for host in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "[::1]",
            "192.0.2.7",
            "localhost:8080",
            "LOCALHOST",
            "a.localhost",
            "limits",
            "rate_limit_cluster",
            "limits.example:80",
            "limits.example.",
            "LIMITS.example",
            "a.below.example:80",
            "a.B.below.example.",
        ] {
            assert!(guard.knows(host), "{host}");
        }
        for host in [
            "rebound.example",
            "rebound.example:8080",
            "127.0.0.1.example",
            "",
            ":80",
            ".",
            "a, b",
            "a b",
            "below.example",
            ".below.example",
            "*.limits.example",
            "a.limits.example",
            "notbelow.example",
        ] {
            assert!(!guard.knows(host), "{host}");
        }
    }
}
