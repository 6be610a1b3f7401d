//! Clients by the network that their address is in.

use std::fmt;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The number of leading bits of an address that make the key: one for each version.
///
/// An IPv6 address that stands for an IPv4 address (`::ffff:192.0.2.7`) is that address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPrefix {
    /// Bits of an IPv4 address, from 0 to 32.
    pub ipv4: u8,
    /// Bits of an IPv6 address, from 0 to 128.
    pub ipv6: u8,
}

impl AddressPrefix {
    /// Writes the network of a client to `key`, such as `203.0.113.0/24`, or only the address if all
    /// bits count. Returns false if the client is not an address, which is then written as it is.
    pub(super) fn write(self, client: &[u8], key: &mut Vec<u8>) -> bool {
        let Some(address) = address(client) else {
            key.extend_from_slice(client);
            return false;
        };
        // Writing to a vector cannot fail.
        let _ = match self.network(address) {
            network if network.prefix_len() == network.max_prefix_len() => {
                write!(key, "{}", network.addr())
            }
            network => write!(key, "{network}"),
        };
        true
    }

    fn network(self, address: IpAddr) -> IpNet {
        match address {
            IpAddr::V4(address) => {
                IpNet::V4(Ipv4Net::new_assert(address, self.ipv4.min(32)).trunc())
            }
            IpAddr::V6(address) => {
                IpNet::V6(Ipv6Net::new_assert(address, self.ipv6.min(128)).trunc())
            }
        }
    }

    /// Returns the key of an address or a network that is written by hand, such as `203.0.113.7` or
    /// `203.0.113.0/24`; `None` if it is neither, or a network of another length.
    pub(crate) fn key_of(self, text: &str) -> Option<String> {
        let (address, bits) = match text.split_once('/') {
            None => (address(text.as_bytes())?, None),
            Some((address_text, bits)) => {
                (address(address_text.as_bytes())?, Some(bits.parse::<u8>().ok()?))
            }
        };
        let network = self.network(address);
        if bits.is_some_and(|bits| bits != network.prefix_len()) {
            return None;
        }
        let mut key = Vec::new();
        self.write(address.to_string().as_bytes(), &mut key);
        String::from_utf8(key).ok()
    }
}

impl fmt::Display for AddressPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{} of IPv4, /{} of IPv6", self.ipv4, self.ipv6)
    }
}

/// Returns the address in a text, an IPv6 one with or without brackets.
pub(crate) fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    if let Ok(address) = text.parse() {
        return Some(IpAddr::V4(address));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address: Ipv6Addr = bare.parse().ok()?;
    Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4))
}

/// Returns the network in a text: an address alone is a network of one.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    let Some((address_text, bits)) = text.split_once('/') else {
        return address(text.as_bytes()).map(IpNet::from);
    };
    let bits = bits.parse().ok()?;
    match address_text.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => Ipv4Net::new(address, bits).ok().map(|net| IpNet::V4(net.trunc())),
        IpAddr::V6(address) => match (address.to_ipv4_mapped(), bits) {
            (Some(address), 96..=128) => {
                Ipv4Net::new(address, bits - 96).ok().map(|net| IpNet::V4(net.trunc()))
            }
            _ => Ipv6Net::new(address, bits).ok().map(|net| IpNet::V6(net.trunc())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(prefix: AddressPrefix, client: &str) -> (String, bool) {
        let mut key = Vec::new();
        let is_address = prefix.write(client.as_bytes(), &mut key);
        (String::from_utf8(key).unwrap(), is_address)
    }

    #[test]
    fn addresses_are_masked_by_the_length_of_their_version() {
        let prefix = AddressPrefix { ipv4: 24, ipv6: 64 };
        for (client, network) in [
            ("203.0.113.7", "203.0.113.0/24"),
            ("::ffff:203.0.113.7", "203.0.113.0/24"),
            ("::FFFF:cb00:7107", "203.0.113.0/24"),
            ("2001:DB8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ] {
            assert_eq!(key(prefix, client), (network.to_owned(), true), "{client}");
        }
        let whole = AddressPrefix { ipv4: 32, ipv6: 128 };
        assert_eq!(key(whole, "203.0.113.7").0, "203.0.113.7");
        assert_eq!(key(whole, "2001:DB8::0:1").0, "2001:db8::1");
        assert_eq!(key(AddressPrefix { ipv4: 0, ipv6: 0 }, "203.0.113.7").0, "0.0.0.0/0");
    }

    #[test]
    fn names_are_keys_of_their_own() {
        let prefix = AddressPrefix { ipv4: 24, ipv6: 64 };
        for client in ["host.example", "203.0.113.7:80", "fe80::1%eth0", "-", "01.2.3.4", ""] {
            assert_eq!(key(prefix, client), (client.to_owned(), false));
        }
    }

    #[test]
    fn networks_are_read_as_they_are_written() {
        for (text, shown) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(network(text).map(|net| net.to_string()).as_deref(), Some(shown), "{text}");
        }
        for text in ["10.0.0.0/33", "10.0.0/8", "host", "::/129", "10.0.0.0/", "10.0.0.0/+8x", ""] {
            assert_eq!(network(text), None, "{text}");
        }
    }
}
