//! Keys as those of a map: two that are equal hash the same, and two that differ hash differently.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

/// The numbers that a key gives to its hasher, each with its width.
#[derive(Debug, Default, PartialEq)]
struct Given(Vec<(usize, u128)>);

impl Hasher for Given {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.iter().map(|byte| (1, u128::from(*byte))));
    }

    fn write_u64(&mut self, number: u64) {
        self.0.push((8, number.into()));
    }

    fn write_u128(&mut self, number: u128) {
        self.0.push((16, number));
    }

    fn finish(&self) -> u64 {
        unreachable!("what is given is compared")
    }
}

fn given(key: ClientKey) -> Given {
    let mut given = Given::default();
    key.hash(&mut given);
    given
}

fn key(addresses: &ClientAddress, peer: IpAddr) -> ClientKey {
    addresses.key(Some(peer), &HeaderMap::new())
}

/// Flips each bit of an address in turn: the keys are equal if the bit is not in the prefix, and their hashes are
/// equal if and only if the keys are.
#[test]
fn addresses_that_agree_in_their_prefix_are_one_key_with_one_hash() {
    let bases = ["2001:db8:1:2:3:4:5:6", "::5:6", "0:0:cb00:7109::", "::", "ffff:ffff:ffff:ffff::"];
    for base in bases.map(|base| base.parse::<Ipv6Addr>().unwrap()) {
        for prefix in 0..=128 {
            let addresses = ClientAddress::of_peer().ipv6_prefix(prefix);
            let own = key(&addresses, base.into());
            for bit in 0..128 {
                let flipped = Ipv6Addr::from_bits(base.to_bits() ^ (1 << (127 - bit)));
                let other = key(&addresses, flipped.into());
                let is_same = bit >= prefix;
                assert_eq!(own == other, is_same, "{base}/{prefix}, {flipped}");
                assert_eq!(given(own) == given(other), is_same, "{base}/{prefix}, {flipped}");
            }
        }
    }
}

/// The same for IPv4, whose addresses are one key in all their forms whatever the prefix of IPv6 is.
#[test]
fn an_ipv4_address_is_one_key_with_one_hash_in_all_its_forms() {
    let forms: [fn(Ipv4Addr) -> IpAddr; 3] = [
        IpAddr::V4,
        |address| IpAddr::V6(address.to_ipv6_mapped()),
        |address| {
            IpAddr::V6(Ipv6Addr::from_bits((0x64_ff9b << 96) | u128::from(address.to_bits())))
        },
    ];
    for base in [[203, 0, 113, 9], [0, 0, 0, 0], [255, 255, 255, 255]].map(Ipv4Addr::from) {
        for prefix in 0..=32 {
            let addresses = ClientAddress::of_peer().ipv4_prefix(prefix).ipv6_prefix(prefix * 4);
            let own = key(&addresses, base.into());
            for bit in 0..32 {
                let flipped = Ipv4Addr::from_bits(base.to_bits() ^ (1 << (31 - bit)));
                for form in forms {
                    assert_eq!(key(&addresses, form(base)), own, "{}", form(base));
                    let other = key(&addresses, form(flipped));
                    let is_same = bit >= prefix;
                    assert_eq!(own == other, is_same, "{base}/{prefix}, {}", form(flipped));
                    assert_eq!(given(own) == given(other), is_same, "{base}/{prefix}, {flipped}");
                }
            }
        }
    }
}

#[test]
fn keys_that_differ_hash_differently() {
    let build = BuildHasherDefault::<DefaultHasher>::default();
    let address = |text: &str| ClientKey::Address(text.parse().unwrap());
    let keys = [
        "0.0.0.0",
        "0.0.0.1",
        "255.255.255.255",
        "203.0.113.9",
        "::",
        "::1",
        "0:0:0:1::",
        "0:0:ffff:ffff::",
        "0:0:cb00:7109::",
        "::203.0.113.9",
        "0:1::",
        "0:1:0:0::1",
        "2001:db8::",
        "2001:db8::1",
        "0:0:2001:db8::",
        "ffff:ffff:ffff:ffff::",
    ];
    let others = [
        ClientKey::Shared,
        ClientKey::Unlimited,
        ClientKey::Refused(NoPeer),
        ClientKey::Refused(MissingField),
    ];
    let keys: Vec<_> = keys.map(address).into_iter().chain(others).collect();
    let hashes: std::collections::HashSet<_> = keys.iter().map(|key| build.hash_one(key)).collect();
    assert_eq!(hashes.len(), keys.len());
}
