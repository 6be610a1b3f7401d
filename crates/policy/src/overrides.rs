//! Keys that have values of their own.

use std::fmt;

use ipnet::IpNet;

use crate::Kind;
use crate::key::network;

/// Values of single keys, and of networks that keys are in.
///
/// The value of a key is its own, or else that of the most specific network around it. Only keys that are made of the
/// client are in networks. The same look-up answers for a replay, a service, a layer and keys on a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Overrides<T = Kind> {
    /// The values by key, sorted.
    own: Vec<(String, T)>,
    /// The networks among the keys with their places, sorted.
    networks: Vec<(IpNet, usize)>,
    /// The lengths that networks have, the longest first.
    lengths: Vec<u8>,
}

impl<T> Default for Overrides<T> {
    /// Returns those of no key.
    fn default() -> Overrides<T> {
        Overrides { own: Vec::new(), networks: Vec::new(), lengths: Vec::new() }
    }
}

impl<T> Overrides<T> {
    /// Takes values by keys as requests have them. With `are_clients`, a key such as `10.0.0.0/8` is all clients of that
    /// network. Of two values for a key, one is kept.
    #[must_use]
    pub fn new(mut own: Vec<(String, T)>, are_clients: bool) -> Overrides<T> {
        own.sort_by(|(one, _), (other, _)| one.cmp(other));
        own.dedup_by(|(one, _), (other, _)| one == other);
        let mut networks = Vec::new();
        if are_clients {
            let of_key = |(place, (key, _)): (usize, &(String, T))| {
                key.contains('/').then(|| Some((network(key)?, place)))?
            };
            networks.extend(own.iter().enumerate().filter_map(of_key));
        }
        networks.sort_unstable();
        let mut lengths: Vec<u8> =
            networks.iter().map(|(network, _)| network.prefix_len()).collect();
        lengths.sort_unstable_by(|one, other| other.cmp(one));
        lengths.dedup();
        Overrides { own, networks, lengths }
    }

    /// Returns the value of a key, if it has one of its own or is in a network that has. Does not allocate.
    ///
    /// Takes as many steps as a search among the keys, and one among the networks for each length that they have.
    #[must_use]
    pub fn of(&self, key: &[u8]) -> Option<&T> {
        let own = self.own.binary_search_by(|(own, _)| own.as_bytes().cmp(key)).ok();
        own.or_else(|| self.network_around(key)).map(|place| &self.own[place].1)
    }

    fn network_around(&self, key: &[u8]) -> Option<usize> {
        if self.networks.is_empty() {
            return None;
        }
        let client = network(str::from_utf8(key).ok()?)?;
        let lengths = self.lengths.iter().filter(|length| **length <= client.prefix_len());
        lengths.into_iter().find_map(|length| {
            let around = IpNet::new(client.addr(), *length).ok()?.trunc();
            let place = self.networks.binary_search_by(|(network, _)| network.cmp(&around)).ok()?;
            Some(self.networks[place].1)
        })
    }

    /// Returns the keys and networks in alphabetical order, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.own.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.own.iter().map(|(_, value)| value)
    }

    /// Returns true if one of its keys is a network.
    #[must_use]
    pub fn is_network(&self, key: &str) -> bool {
        let place = self.own.binary_search_by(|(own, _)| own.as_str().cmp(key));
        place.is_ok_and(|place| self.networks.iter().any(|(_, own)| *own == place))
    }

    /// Returns the number of keys and networks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own.len()
    }

    /// Returns true if no key has a value of its own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Makes other values of these, for the same keys.
    ///
    /// # Errors
    ///
    /// The first of `make`.
    pub fn try_map<U, E>(&self, make: impl FnMut(&T) -> Result<U, E>) -> Result<Overrides<U>, E> {
        let values: Vec<U> = self.values().map(make).collect::<Result<_, E>>()?;
        let keys = self.own.iter().map(|(key, _)| key.clone());
        let (networks, lengths) = (self.networks.clone(), self.lengths.clone());
        Ok(Overrides { own: keys.zip(values).collect(), networks, lengths })
    }
}

impl<T: fmt::Debug> fmt::Debug for Overrides<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides(keys: &[&str]) -> Overrides<String> {
        let own = keys.iter().map(|key| ((*key).to_owned(), (*key).to_owned())).collect();
        Overrides::new(own, true)
    }

    #[test]
    fn the_most_specific_network_counts_and_a_key_before_any() {
        let overrides = overrides(&[
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.2.3",
            "0.0.0.0/0",
            "2001:db8::/32",
            "2001:db8:1:2::/64",
            "robot",
        ]);
        for (key, own) in [
            ("10.1.2.3", Some("10.1.2.3")),
            ("10.1.2.4", Some("10.1.0.0/16")),
            ("10.2.2.3", Some("10.0.0.0/8")),
            ("11.0.0.1", Some("0.0.0.0/0")),
            ("10.1.2.0/24", Some("10.1.0.0/16")),
            ("2001:db8:1:2::/64", Some("2001:db8:1:2::/64")),
            ("2001:db8:1:3::/64", Some("2001:db8::/32")),
            ("2001:db9::/64", None),
            ("robot", Some("robot")),
            ("other", None),
            ("-", None),
        ] {
            assert_eq!(overrides.of(key.as_bytes()).map(String::as_str), own, "{key}");
        }
        assert_eq!(overrides.of(b"\xff"), None);
        assert!(overrides.is_network("10.0.0.0/8") && !overrides.is_network("robot"));
    }

    #[test]
    fn keys_that_are_no_clients_are_in_no_network() {
        let own = vec![("10.0.0.0/8".to_owned(), 1)];
        let overrides = Overrides::new(own, false);
        assert_eq!((overrides.of(b"10.0.0.0/8"), overrides.of(b"10.0.0.1")), (Some(&1), None));
    }

    #[test]
    fn the_networks_of_all_addresses_are_those_that_a_scan_finds() {
        // Numbers of a generator that is good enough to spread them.
        let mut seed = 1_u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let networks: Vec<IpNet> = (0..next(20))
                .map(|_| {
                    let address = [10, next(3) as u8, next(3) as u8, next(256) as u8];
                    IpNet::new(address.into(), next(33) as u8).unwrap().trunc()
                })
                .collect();
            let keys = networks.iter().filter(|network| network.prefix_len() < 32);
            let own: Vec<_> =
                keys.map(|network| (network.to_string(), network.to_string())).collect();
            let overrides = Overrides::new(own.clone(), true);
            for _ in 0..50 {
                let address =
                    std::net::Ipv4Addr::new(10, next(3) as u8, next(3) as u8, next(256) as u8);
                let around = networks
                    .iter()
                    .filter(|network| network.prefix_len() < 32)
                    .filter(|network| network.contains(&std::net::IpAddr::V4(address)))
                    .max_by_key(|network| network.prefix_len());
                let found = overrides.of(address.to_string().as_bytes());
                assert_eq!(found.cloned(), around.map(IpNet::to_string), "{address}");
            }
        }
    }
}
