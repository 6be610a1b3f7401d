//! Requests and responses of HTTP clients.

use http::header::HOST;
use http::uri::Scheme;
use http::{HeaderMap, Method, Request, Response, StatusCode};

/// A request that [`Outgoing`](super::Outgoing) understands: that of the crate `http`, and with the feature
/// `reqwest` that of reqwest.
pub trait OutgoingRequest {
    /// Returns the method.
    fn method(&self) -> &Method;

    /// Returns the server that it is for: host and port, in lower case. Empty if it names none.
    fn server(&self) -> String;
}

/// A response that [`Outgoing`](super::Outgoing) understands.
pub trait OutgoingResponse {
    /// Returns the status.
    fn status(&self) -> StatusCode;

    /// Returns the fields.
    fn headers(&self) -> &HeaderMap;
}

/// The server is that of the URI, or else of the field `Host`.
impl<B> OutgoingRequest for Request<B> {
    fn method(&self) -> &Method {
        Request::method(self)
    }

    fn server(&self) -> String {
        let uri = self.uri();
        let Some(host) = uri.host() else {
            let host = self.headers().get(HOST).and_then(|host| host.to_str().ok());
            return host.unwrap_or_default().to_ascii_lowercase();
        };
        let standard = uri.scheme().and_then(|scheme| {
            [(Scheme::HTTP, 80), (Scheme::HTTPS, 443)]
                .into_iter()
                .find_map(|(known, port)| (known == *scheme).then_some(port))
        });
        named(host, uri.port_u16().or(standard))
    }
}

impl<B> OutgoingResponse for Response<B> {
    fn status(&self) -> StatusCode {
        Response::status(self)
    }

    fn headers(&self) -> &HeaderMap {
        Response::headers(self)
    }
}

#[cfg(feature = "reqwest")]
impl OutgoingRequest for reqwest::Request {
    fn method(&self) -> &Method {
        reqwest::Request::method(self)
    }

    fn server(&self) -> String {
        let url = self.url();
        named(url.host_str().unwrap_or_default(), url.port_or_known_default())
    }
}

#[cfg(feature = "reqwest")]
impl OutgoingResponse for reqwest::Response {
    fn status(&self) -> StatusCode {
        reqwest::Response::status(self)
    }

    fn headers(&self) -> &HeaderMap {
        reqwest::Response::headers(self)
    }
}

fn named(host: &str, port: Option<u16>) -> String {
    let host = host.to_ascii_lowercase();
    match port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_and_a_port() {
        let server = |uri: &str| Request::builder().uri(uri).body(()).unwrap().server();
        assert_eq!(server("http://Example.org/a?b"), "example.org:80");
        assert_eq!(server("http://example.org:80/"), "example.org:80");
        assert_eq!(server("https://user@example.org/"), "example.org:443");
        assert_eq!(server("https://example.org:8443/"), "example.org:8443");
        assert_eq!(server("http://[2001:DB8::1]:81/"), "[2001:db8::1]:81");
        assert_eq!(server("/path"), "");
        let request = Request::builder().uri("/path").header(HOST, "Example.org:81").body(());
        assert_eq!(request.unwrap().server(), "example.org:81");
    }
}
