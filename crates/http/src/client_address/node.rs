//! One address as a field has it, with or without a port.

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, HeaderName};

use super::network::canonical;
use super::unknown::UnknownClient;

/// Parses `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`. A port may
/// be a word that begins with `_`, which RFC 7239 allows. The address is returned in its canonical form.
pub(super) fn address(text: &[u8]) -> Result<IpAddr, UnknownClient> {
    let text = std::str::from_utf8(text).map_err(|_| UnknownClient::Malformed)?;
    let text = text.trim_matches([' ', '\t']);
    if text.eq_ignore_ascii_case("unknown") || text.starts_with('_') {
        return Err(UnknownClient::Hidden);
    }
    parse(text).map(canonical).ok_or(UnknownClient::Malformed)
}

fn parse(text: &str) -> Option<IpAddr> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return address.parse::<Ipv6Addr>().ok().filter(|_| is_port).map(IpAddr::V6);
    }
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (address, port) = text.split_once(':')?;
    address.parse().ok().filter(|_| is_port(port)).map(IpAddr::V4)
}

fn is_port(port: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let is_number = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    is_number || port.strip_prefix('_').is_some_and(is_word)
}

/// Parses `192.0.2.1:80`, `2001:db8::1:80` or `[2001:db8::1]:80`.
fn address_with_port(text: &[u8]) -> Result<IpAddr, UnknownClient> {
    let (address, _) = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.trim_matches([' ', '\t']).rsplit_once(':'))
        .filter(|(_, port)| is_port(port))
        .ok_or(UnknownClient::Malformed)?;
    let inside = address.strip_prefix('[').and_then(|address| address.strip_suffix(']'));
    match inside {
        Some(inside) => inside.parse().map(IpAddr::V6).ok(),
        None => address.parse().ok(),
    }
    .map(canonical)
    .ok_or(UnknownClient::Malformed)
}

/// Returns the address of a field that has to be there once, with one address.
pub(super) fn only_address(
    headers: &HeaderMap,
    name: &HeaderName,
) -> Result<IpAddr, UnknownClient> {
    only_line(headers, name).and_then(address)
}

/// Returns the address of a field that has to be there once, with one address and a port.
pub(super) fn only_address_with_port(
    headers: &HeaderMap,
    name: &HeaderName,
) -> Result<IpAddr, UnknownClient> {
    only_line(headers, name).and_then(address_with_port)
}

fn only_line<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<&'h [u8], UnknownClient> {
    let mut lines = headers.get_all(name).iter();
    let line = lines.next().ok_or(UnknownClient::MissingField)?;
    match lines.next() {
        // The proxy was to replace the client's; which of them did it write?
        Some(_) => Err(UnknownClient::Malformed),
        None => Ok(line.as_bytes()),
    }
}
