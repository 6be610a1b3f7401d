//! Values of options.

use std::net::{SocketAddr, ToSocketAddrs};

use sluicegate_flow::concurrency::ConcurrencyLimit;
use sluicegate_serve::api;

/// Reads an address, or looks the name of a machine up.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let mut addresses = text.to_socket_addrs().map_err(|error| {
        format!("must be an address and a port, such as 127.0.0.1:8080 or localhost:8080: {error}")
    })?;
    addresses.next().ok_or_else(|| "the name has no address".to_owned())
}

/// Reads a name by which the service may be addressed.
pub(super) fn host(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(is_of_names) {
        let expected = "must be a name without a port, such as limits.example, or *.example.org for all names below it";
        return Err(expected.to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(connections @ 1..=1_000_000) => Ok(connections),
        _ => Err("must be from 1 to 1000000".to_owned()),
    }
}

pub(super) fn up_to_a_million(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 0..=1_000_000) => Ok(number),
        _ => Err("must be from 0 to 1000000".to_owned()),
    }
}

pub(super) fn body_bytes(text: &str) -> Result<usize, String> {
    // The largest body has space even if it comes in pieces that count as more than they have.
    const LEAST: usize = 2 * api::MAX_BODY_BYTES;
    const MOST: usize = ConcurrencyLimit::MAX as usize;
    match text.parse() {
        Ok(bytes @ LEAST..=MOST) => Ok(bytes),
        _ => Err(format!("must be from {LEAST}, so that any one body has space, to {MOST}")),
    }
}
