//! Keys, and the answers to requests whose client is not known.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

/// The key of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKey {
    /// The address of the client, or the network that it is in.
    Address(IpAddr),
    /// The client is not known, and shares one key with all such clients: [`WhenUnknown::Share`].
    Shared,
    /// The client is not known, and is not to be limited: [`WhenUnknown::Admit`].
    Unlimited,
    /// The client is not known, and is to be refused.
    Refused(UnknownClient),
}

/// Hashes an address as one number, which takes half the time of hashing its parts.
///
/// An IPv4 address is a word below 2^32, an IPv6 network of 64 bits or fewer a word from there on, and any
/// other IPv6 address two words. So no two addresses are the same number.
impl Hash for ClientKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            ClientKey::Address(IpAddr::V4(address)) => {
                state.write_u64(u64::from(address.to_bits()));
            }
            ClientKey::Address(IpAddr::V6(address)) => {
                let bits = address.to_bits();
                match u64::try_from(bits >> 64) {
                    Ok(network) if network > u64::from(u32::MAX) && bits << 64 == 0 => {
                        state.write_u64(network);
                    }
                    _ => state.write_u128(bits),
                }
            }
            ClientKey::Shared => hash_rare(&"shared", state),
            ClientKey::Unlimited => hash_rare(&"unlimited", state),
            ClientKey::Refused(why) => hash_rare(&("refused", why), state),
        }
    }
}

/// Hashes what stands for a key that is no address, out of the way of the others.
#[cold]
fn hash_rare<H: Hasher>(word: &impl Hash, state: &mut H) {
    word.hash(state);
}

/// The answer to a request whose client is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenUnknown {
    /// Refuses the request. A server that is set up wrongly is noticed at once.
    #[default]
    Refuse,
    /// Limits the peer in the client's place: for all clients of a proxy together. Refuses if there is
    /// no peer.
    UsePeer,
    /// Gives all such requests one key, which they share.
    Share,
    /// Lets the request pass without a limit.
    Admit,
}

/// The reasons why a client is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownClient {
    /// The server has not told the address of the peer, or there is none: a Unix socket has none. In
    /// axum, serve `app.into_make_service_with_connect_info::<SocketAddr>()`.
    NoPeer,
    /// A trusted proxy has not set the field.
    MissingField,
    /// The field tells fewer proxies than there are.
    TooFewHops {
        /// The number of trusted proxies.
        expected: u8,
        /// The number of addresses.
        found: u8,
    },
    /// An address that is needed is malformed, or a field is there twice.
    Malformed,
    /// A proxy hides the address, as `unknown` or by a name of its own (RFC 7239, section 6).
    Hidden,
}

impl fmt::Display for UnknownClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the address of the client is not known: ")?;
        match self {
            UnknownClient::NoPeer => f.write_str(
                "the server tells no peer (in axum, serve into_make_service_with_connect_info::<SocketAddr>())",
            ),
            UnknownClient::MissingField => f.write_str("the trusted proxy has not sent its field"),
            UnknownClient::TooFewHops { expected, found } => {
                write!(f, "{found} instead of {expected} proxies have added one to the field")
            }
            UnknownClient::Malformed => f.write_str("the field of the trusted proxy is malformed"),
            UnknownClient::Hidden => f.write_str("the trusted proxy hides it"),
        }
    }
}

impl std::error::Error for UnknownClient {}
