//! The addresses that proxies have passed on, from the last one back.

use std::net::IpAddr;
use std::num::NonZeroU8;

use http::{HeaderMap, HeaderValue, header};
use ipnet::IpNet;

use super::unknown::UnknownClient;
use super::{forwarded, node};

/// The elements of a list field over all of its lines, from the last one back. Each is the peer of the
/// proxy that has added it. Empty elements are left out (RFC 9110, section 5.6.1.2).
pub(super) struct Chain<'h> {
    lines: http::header::ValueIter<'h, HeaderValue>,
    /// The rest of the present line.
    line: Option<&'h [u8]>,
    is_forwarded: bool,
}

impl<'h> Chain<'h> {
    pub(super) fn x_forwarded_for(headers: &'h HeaderMap) -> Chain<'h> {
        let lines = headers.get_all("x-forwarded-for").iter();
        Chain { lines, line: None, is_forwarded: false }
    }

    pub(super) fn forwarded(headers: &'h HeaderMap) -> Chain<'h> {
        let lines = headers.get_all(header::FORWARDED).iter();
        Chain { lines, line: None, is_forwarded: true }
    }

    /// Returns the address that the outermost of `hops` proxies has added.
    pub(super) fn behind(mut self, hops: NonZeroU8) -> Result<IpAddr, UnknownClient> {
        let mut found = 0;
        while let Some(element) = self.next_element() {
            found += 1;
            if found == hops.get() {
                return self.address(element);
            }
        }
        match found {
            0 => Err(UnknownClient::MissingField),
            found => Err(UnknownClient::TooFewHops { expected: hops.get(), found }),
        }
    }

    /// Returns the last address outside the networks, or the first one of all if there is none.
    pub(super) fn last_outside(mut self, networks: &[IpNet]) -> Result<IpAddr, UnknownClient> {
        let mut last = Err(UnknownClient::MissingField);
        while let Some(element) = self.next_element() {
            let address = self.address(element)?;
            if !networks.iter().any(|network| network.contains(&address)) {
                return Ok(address);
            }
            last = Ok(address);
        }
        last
    }

    fn next_element(&mut self) -> Option<&'h [u8]> {
        loop {
            let line = match self.line.take() {
                Some(line) => line,
                None => self.lines.next_back()?.as_bytes(),
            };
            let element;
            (self.line, element) = if self.is_forwarded {
                forwarded::split_last(line, b',')
            } else {
                split_last(line)
            };
            if !element.trim_ascii().is_empty() {
                return Some(element);
            }
        }
    }

    fn address(&self, element: &[u8]) -> Result<IpAddr, UnknownClient> {
        if self.is_forwarded {
            node::address(&forwarded::node(element)?)
        } else {
            node::address(element)
        }
    }
}

/// Splits off what is behind the last comma.
fn split_last(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match text.iter().rposition(|byte| *byte == b',') {
        Some(at) => (Some(&text[..at]), &text[at + 1..]),
        None => (None, text),
    }
}
