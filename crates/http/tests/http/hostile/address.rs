//! Any bytes as what a client has sent, and what the proxy behind it has added.

use std::net::{IpAddr, Ipv6Addr};

use http::header::{HeaderMap, HeaderName, HeaderValue};
use sluicegate_http::client_address::*;

use super::forwarded;

const PROXY: &str = "10.0.0.7";
const CLIENT: &str = "203.0.113.9";

/// Checks the guarantees for lines that are separated by line ends:
///
/// * What a client sends does not change its key, in either field, by networks or by hops.
/// * A line of well-formed elements means what RFC 7239 says, read from its beginning.
/// * An address is one that the standard library reads, too.
/// * No configuration panics, whoever is trusted and however many bits make a key.
pub(crate) fn check(bytes: &[u8]) {
    let lines: Vec<_> = bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| HeaderValue::from_bytes(line).ok())
        .take(40)
        .collect();
    for (name, own) in [("x-forwarded-for", CLIENT), ("forwarded", r#"for="203.0.113.9:80";by=_a"#)]
    {
        for is_same_line in [false, true] {
            for trust in [Trust::networks(["10.0.0.0/8"]).unwrap(), Trust::hops(1).unwrap()] {
                let headers = behind_a_proxy(name, &lines, own, is_same_line);
                let found = source(name, trust).find(Some(PROXY.parse().unwrap()), &headers);
                assert_eq!(found, Ok(CLIENT.parse().unwrap()), "{headers:?}");
            }
        }
    }
    no_configuration_panics(&lines, bytes);
    for line in &lines {
        if let Some(nodes) = forwarded::last_nodes(line.as_bytes()) {
            let expected = match nodes.as_slice() {
                [node] if !node.is_empty() && !node.contains('\\') => only("x-real-ip", node),
                _ => Err(UnknownClient::Malformed),
            };
            assert_eq!(only("forwarded", line), expected, "{line:?}");
        }
        if let Ok(text) = line.to_str()
            && let Some(last) = text.split(',').map(str::trim).rfind(|element| !element.is_empty())
            && let Ok(found) = only("x-forwarded-for", line)
        {
            assert_eq!(Some(found), plain(last).map(canonical), "{last:?}");
        }
    }
}

fn source(name: &'static str, trust: Trust) -> ClientAddress {
    match name {
        "forwarded" => ClientAddress::forwarded(trust),
        "x-forwarded-for" => ClientAddress::x_forwarded_for(trust),
        "cloudfront-viewer-address" => {
            ClientAddress::header_with_port(HeaderName::from_static(name), trust)
        }
        other => ClientAddress::header(HeaderName::from_static(other), trust),
    }
}

/// Returns the address that the only line of a field tells.
fn only(name: &'static str, line: impl TryInto<HeaderValue>) -> Result<IpAddr, UnknownClient> {
    let mut headers = HeaderMap::new();
    headers.append(name, line.try_into().unwrap_or_else(|_| unreachable!("it was in a line")));
    source(name, Trust::hops(1).unwrap()).find(None, &headers)
}

/// Adds the element of the proxy to the last line of the client, or in a line of its own.
fn behind_a_proxy(
    name: &'static str,
    lines: &[HeaderValue],
    own: &str,
    is_same_line: bool,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let (others, last) = match lines.split_last() {
        Some((last, others)) if is_same_line => (others, last.as_bytes()),
        _ => (lines, &b""[..]),
    };
    for line in others {
        headers.append(name, line.clone());
    }
    let line = [last, b", ", own.as_bytes()].concat();
    headers.append(name, HeaderValue::from_bytes(&line).unwrap());
    headers
}

fn no_configuration_panics(lines: &[HeaderValue], bytes: &[u8]) {
    let bits = bytes.first().copied().unwrap_or_default();
    let peer = bytes.first_chunk::<16>().map(|bytes| IpAddr::from(*bytes));
    let all = ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"];
    for trust in [Trust::networks(all).unwrap(), Trust::hops(3).unwrap()] {
        for name in ["forwarded", "x-forwarded-for", "x-real-ip", "cloudfront-viewer-address"] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(name, line.clone());
            }
            let addresses = source(name, trust.clone()).ipv4_prefix(bits).ipv6_prefix(bits);
            let _ = addresses.key(peer, &headers);
        }
    }
}

/// Reads an address as the standard library does, behind brackets and before a port.
fn plain(text: &str) -> Option<IpAddr> {
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split(']').next()?.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    text.parse().ok().or_else(|| text.split(':').next()?.parse().ok().map(IpAddr::V4))
}
