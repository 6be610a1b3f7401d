//! The proxies whose fields are believed.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU8;

use ipnet::{IpNet, Ipv4Net};

use super::network::canonical;
use super::unknown::UnknownClient;

/// The proxies that a server believes.
///
/// # Examples
///
/// ```
/// use sluicegate_http::client_address::Trust;
///
/// // Proxies in these networks, and no other machine in them.
/// let balancers = Trust::networks(["10.0.0.0/8", "fd00::/8", "192.0.2.7"])?;
/// // Two proxies, one behind the other, and no other way to the server.
/// let two = Trust::hops(2)?;
/// # Ok::<(), sluicegate_http::client_address::TrustError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trust {
    pub(super) proxies: Proxies,
}

#[derive(Clone, Debug)]
pub(super) enum Proxies {
    Networks(Box<[IpNet]>),
    Hops(NonZeroU8),
}

impl Trust {
    /// Trusts the addresses in these networks, each an address or a network in the notation
    /// `10.0.0.0/8`. A field of any other peer is not looked at.
    ///
    /// List the networks of the proxies alone. A client inside of one could pretend to be any other.
    ///
    /// # Errors
    ///
    /// [`TrustError::Network`] for a text that is neither, [`TrustError::EveryAddress`] for a network
    /// such as `0.0.0.0/0`, and [`TrustError::NoNetwork`] for an empty list.
    pub fn networks<N: AsRef<str>>(
        networks: impl IntoIterator<Item = N>,
    ) -> Result<Trust, TrustError> {
        let networks = networks.into_iter().map(|text| network(text.as_ref()));
        let networks: Box<[IpNet]> = networks.collect::<Result<_, _>>()?;
        if networks.is_empty() {
            return Err(TrustError::NoNetwork);
        }
        Ok(Trust { proxies: Proxies::Networks(networks) })
    }

    /// Trusts the last `hops` proxies, whatever their addresses are: the client is the address that the
    /// outermost of them has added.
    ///
    /// Only for a server that cannot be reached in another way than through all of them: a request that
    /// comes past them could have any address in its field.
    ///
    /// # Errors
    ///
    /// [`TrustError::NoHops`] for 0.
    pub fn hops(hops: u8) -> Result<Trust, TrustError> {
        let hops = NonZeroU8::new(hops).ok_or(TrustError::NoHops)?;
        Ok(Trust { proxies: Proxies::Hops(hops) })
    }

    /// Returns true if fields of the peer are believed.
    pub(super) fn believes(&self, peer: Option<IpAddr>) -> Result<bool, UnknownClient> {
        match &self.proxies {
            Proxies::Hops(_) => Ok(true),
            Proxies::Networks(networks) => {
                let peer = peer.ok_or(UnknownClient::NoPeer)?;
                Ok(networks.iter().any(|network| network.contains(&peer)))
            }
        }
    }
}

/// Parses a network. One of IPv6 addresses that stand for IPv4 ones is returned as IPv4, as addresses are
/// compared.
fn network(text: &str) -> Result<IpNet, TrustError> {
    let invalid = || TrustError::Network { text: text.to_owned() };
    // `Ipv4Net` itself would take `010.0.0.0/8`, whose first number others read as octal.
    let (address, prefix) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(prefix(bits).ok_or_else(invalid)?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| invalid())?;
    let network = match prefix {
        Some(bits) => IpNet::new(address, bits).map_err(|_| invalid())?,
        None => IpNet::from(address),
    };
    let network = match (canonical(address), network.prefix_len().checked_sub(96)) {
        (IpAddr::V4(v4), Some(bits)) if address.is_ipv6() => {
            Ipv4Net::new(v4, bits).map(IpNet::V4).map_err(|_| invalid())?
        }
        _ => network,
    };
    if network.prefix_len() == 0 {
        return Err(TrustError::EveryAddress { text: text.to_owned() });
    }
    Ok(network)
}

/// Parses a number of bits, without a sign or a leading zero.
fn prefix(text: &str) -> Option<u8> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = text.len() > 1 && text.starts_with('0');
    if is_number && !is_padded { text.parse().ok() } else { None }
}

/// A [`Trust`] that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustError {
    /// A text is no network.
    Network {
        /// That text.
        text: String,
    },
    /// A network has every address in it.
    EveryAddress {
        /// Its text.
        text: String,
    },
    /// No network is trusted.
    NoNetwork,
    /// No proxy is trusted.
    NoHops,
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrustError::Network { text } => write!(
                f,
                "the trusted network is {text:?}: must be an address such as \"192.0.2.7\", or a network such as \"10.0.0.0/8\""
            ),
            TrustError::EveryAddress { text } => write!(
                f,
                "the trusted network is {text:?}, which is every address, so that a client could pretend to be any other: name the networks of the proxies, or use Trust::hops"
            ),
            TrustError::NoNetwork => {
                f.write_str("no network is trusted: name one, or use ClientAddress::of_peer")
            }
            TrustError::NoHops => f.write_str(
                "hops is 0: must be from 1 to 255; without a proxy, use ClientAddress::of_peer",
            ),
        }
    }
}

impl std::error::Error for TrustError {}
