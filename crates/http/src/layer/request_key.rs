//! Keys of requests.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::net::IpAddr;

/// The key of a request, as a function of it returns: see [`Limit::per_key`](super::Limit::per_key).
///
/// An `Option<&str>` becomes one by `into()`; `None` is [`RequestKey::Missing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKey<'r> {
    /// Requests with the same text share a limit.
    Key(Cow<'r, str>),
    /// The request is not limited.
    Unlimited,
    /// The request has no key, and is refused.
    Missing,
}

impl<'r> From<Option<&'r str>> for RequestKey<'r> {
    fn from(key: Option<&'r str>) -> RequestKey<'r> {
        key.map_or(RequestKey::Missing, |key| RequestKey::Key(Cow::Borrowed(key)))
    }
}

impl<'r> From<&'r str> for RequestKey<'r> {
    fn from(key: &'r str) -> RequestKey<'r> {
        RequestKey::Key(Cow::Borrowed(key))
    }
}

impl From<String> for RequestKey<'_> {
    fn from(key: String) -> Self {
        RequestKey::Key(Cow::Owned(key))
    }
}

/// The text of a key, which needs no memory of its own unless a function has made it.
pub(super) enum KeyText<'r> {
    Given(Cow<'r, str>),
    Address(AddressText),
    /// All clients that are not known.
    Shared,
}

impl KeyText<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            KeyText::Given(text) => text,
            KeyText::Address(address) => address.as_str(),
            // No address is written like that.
            KeyText::Shared => "unknown",
        }
    }
}

/// An address as text.
pub(super) struct AddressText {
    /// Space for the longest, `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/127`.
    bytes: [u8; 49],
    length: usize,
}

impl AddressText {
    /// Writes an address, and the number of its bits that count unless all do: as policies write the key of a client.
    pub(super) fn new(address: IpAddr, bits: Option<u8>) -> AddressText {
        let mut text = AddressText { bytes: [0; 49], length: 0 };
        // It fits.
        let _ = match bits {
            None => write!(text, "{address}"),
            Some(bits) => write!(text, "{address}/{bits}"),
        };
        text
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for AddressText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_fits() {
        let longest = "1111:2222:3333:4444:5555:6666:7777:8888";
        for text in ["0.0.0.0", "255.255.255.255", "::", longest, "::ffff:255.255.255.255"] {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(AddressText::new(address, None).as_str(), text);
            let network = AddressText::new(address, Some(127));
            assert_eq!(network.as_str(), format!("{text}/127"));
        }
    }
}
