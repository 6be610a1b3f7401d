//! Clients by the network that their address is in.

use std::fmt;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The number of leading bits of an address that make the key: one for each version.
///
/// The whole rule by which clients are told apart, for logs, questions and requests alike:
///
/// * An address has one key, however it is spelled: `2001:DB8:0::1` is `2001:db8::1`. It may have brackets and a
///   port, which are left out: `192.0.2.7:4711`, `[2001:db8::1]:443`.
/// * An IPv6 address that stands for an IPv4 address (`::ffff:192.0.2.7`, `64:ff9b::192.0.2.7`) is that address.
/// * Its other bits are left out, and the length is told: `2001:db8:1:2::/64`. A client that is given as such a network,
///   or as a smaller one, is in that.
/// * A client that is not an address, such as a name, is a key as it is written.
///
/// # Examples
///
/// ```
/// use sluicegate_policy::AddressPrefix;
///
/// let mut key = Vec::new();
/// assert!(AddressPrefix::CLIENT.write(b"[2001:DB8::9]:443", &mut key));
/// assert_eq!(key, b"2001:db8::/64");
/// key.clear();
/// assert!(AddressPrefix::WHOLE.write(b"192.0.2.7:4711", &mut key));
/// assert_eq!(key, b"192.0.2.7");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPrefix {
    /// Bits of an IPv4 address, from 0 to 32.
    pub ipv4: u8,
    /// Bits of an IPv6 address, from 0 to 128.
    pub ipv6: u8,
}

impl AddressPrefix {
    /// The bits by which clients are told apart unless a policy says otherwise: those of a whole IPv4 address, and 64
    /// of an IPv6 address, since a client is given a /64 at least.
    pub const CLIENT: AddressPrefix = AddressPrefix { ipv4: 32, ipv6: 64 };

    /// All bits.
    pub const WHOLE: AddressPrefix = AddressPrefix { ipv4: 32, ipv6: 128 };

    /// Appends the network of a client to `key`, such as `203.0.113.0/24`, or only the address if all
    /// bits count. Returns false if the client is not an address, which is then appended as it is. Allocates only
    /// where `key` is too small.
    pub fn write(self, client: &[u8], key: &mut Vec<u8>) -> bool {
        let is_plain = self.ipv4 >= 32 && !client.contains(&b':');
        match client_address(client) {
            // One that is read has no other spelling.
            Some(IpAddr::V4(_)) if is_plain => key.extend_from_slice(client),
            // Writing to a vector cannot fail.
            Some(address) => _ = write!(key, "{}", ClientNetwork(self.network(address))),
            None => {
                let Some(network) = self.given_network(client) else {
                    key.extend_from_slice(client);
                    return false;
                };
                _ = write!(key, "{}", ClientNetwork(network));
            }
        }
        true
    }

    /// Returns true if the text is a network of several keys.
    pub(crate) fn is_longer_than(self, text: &str) -> bool {
        text.contains('/')
            && network(text)
                .is_some_and(|own| own.prefix_len() < self.network(own.addr()).prefix_len())
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

    /// Returns the network that a text such as `2001:db8::/64` is in, unless that is the larger one.
    fn given_network(self, text: &[u8]) -> Option<IpNet> {
        let (address, bits) = str::from_utf8(text).ok()?.split_once('/')?;
        let network = self.network(client_address(address.as_bytes())?);
        let bits: u8 = bits.parse().ok()?;
        (network.prefix_len()..=network.max_prefix_len()).contains(&bits).then_some(network)
    }
}

/// Shows a network as the key of its clients.
struct ClientNetwork(IpNet);

impl fmt::Display for ClientNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            network if network.prefix_len() == network.max_prefix_len() => {
                write!(f, "{}", network.addr())
            }
            network => write!(f, "{network}"),
        }
    }
}

impl fmt::Display for AddressPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{} of IPv4, /{} of IPv6", self.ipv4, self.ipv6)
    }
}

/// Returns the address of a client in its one form; `None` if the text is something else.
///
/// It may have a port, and an IPv6 address may have brackets: see [`AddressPrefix`], which has the whole rule. Does not
/// allocate.
#[must_use]
pub fn client_address(text: &[u8]) -> Option<IpAddr> {
    // Most names are told by their first byte.
    if !matches!(text.first()?, b'[' | b':' | b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') {
        return None;
    }
    let text = str::from_utf8(text).ok()?;
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let is_whole = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return address.parse().ok().filter(|_| is_whole).map(of_ipv6);
    }
    match text.split_once(':') {
        None => text.parse().ok().map(IpAddr::V4),
        Some((address, port)) if is_port(port) && address.contains('.') => {
            address.parse().ok().map(IpAddr::V4)
        }
        Some(_) => text.parse().ok().map(of_ipv6),
    }
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns an address as IPv4 if it stands for one: mapped, or translated with the prefix of NAT64 (RFC 6052).
fn of_ipv6(address: Ipv6Addr) -> IpAddr {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() as u32)),
        _ => IpAddr::V6(address).to_canonical(),
    }
}

/// Returns the network in a text: an address alone is a network of one.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    let Some((address_text, bits)) = text.split_once('/') else {
        return client_address(text.as_bytes()).map(IpNet::from);
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
            ("203.0.113.7:80", "203.0.113.0/24"),
            ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
            ("[::ffff:203.0.113.7]:443", "203.0.113.0/24"),
            ("64:ff9b::203.0.113.7", "203.0.113.0/24"),
            ("2001:db8:1:2::9:443", "2001:db8:1:2::/64"),
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
        let names =
            ["host.example", "cafe.example:80", "fe80::1%eth0", "-", "01.2.3.4", "", "1.2.3.4:"];
        let broken =
            ["[::1", "[::1]443", "[192.0.2.7]", "1.2.3.4:x", "1.2.3.4:123456", "[]:80", "\u{e9}"];
        for client in names.into_iter().chain(broken) {
            assert_eq!(key(prefix, client), (client.to_owned(), false));
        }
    }

    #[test]
    fn keys_that_are_given_by_hand_are_those_of_requests() {
        let given = |text: &str| {
            let mut key = Vec::new();
            AddressPrefix::CLIENT.write(text.as_bytes(), &mut key);
            String::from_utf8(key).unwrap()
        };
        for text in ["2001:DB8::1", "2001:db8::/64", "2001:0DB8::/64", "[2001:db8::2]:80"] {
            assert_eq!(given(text), "2001:db8::/64", "{text}");
        }
        assert_eq!(given("192.0.2.7/32"), "192.0.2.7");
        assert_eq!(given("2001:db8::7/128"), "2001:db8::/64");
        for text in
            ["2001:db8::/48", "2001:db8::/129", "192.0.2.0/24", "a/b", "/", "2001:db8::/", "x"]
        {
            assert_eq!(given(text), text);
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
