//! Addresses that belong to one client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the address in the one form that it is compared in: an IPv4 address that is mapped into IPv6
/// (`::ffff:192.0.2.1`, as a socket for both versions shows it) or translated with the prefix of NAT64
/// (`64:ff9b::192.0.2.1`, RFC 6052) as IPv4.
///
/// # Examples
///
/// ```
/// use std::net::IpAddr;
/// use sluicegate_http::client_address::canonical;
///
/// let mapped: IpAddr = "::ffff:192.0.2.1".parse()?;
/// assert_eq!(canonical(mapped), IpAddr::from([192, 0, 2, 1]));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[must_use]
#[inline]
pub fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) if matches!(v6.segments(), [0x64, 0xff9b, 0, 0, 0, 0, ..]) => {
            IpAddr::V4(Ipv4Addr::from_bits(v6.to_bits() as u32))
        }
        other => other.to_canonical(),
    }
}

/// Returns the first bits of an address, and zeros.
#[inline]
pub(super) fn truncated(address: IpAddr, ipv4_prefix: u8, ipv6_prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(u32::from(32 - ipv4_prefix)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(u32::from(128 - ipv6_prefix)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}
