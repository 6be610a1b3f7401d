//! The address of a client, also behind proxies, as the key of a limiter.
//!
//! | file | |
//! |---|---|
//! | `trust` | the proxies whose fields are believed |
//! | `chain` | the addresses that proxies have passed on, from the last one back |
//! | `forwarded` | an element of `Forwarded` (RFC 7239) |
//! | `node` | an address with or without a port |
//! | `network` | addresses that belong to one client |
//! | `unknown` | the answers to requests whose client is not known |

mod chain;
mod forwarded;
mod network;
mod node;
mod trust;
mod unknown;

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};

use self::chain::Chain;
use self::trust::Proxies;

pub use self::network::canonical;
pub use self::trust::{Trust, TrustError};
pub use self::unknown::{ClientKey, UnknownClient, WhenUnknown};

/// Finds the address of the client that has sent a request, and makes a key of it.
///
/// By default that is the address of the other end of the connection, the *peer*. Behind a proxy it is
/// the proxy's, so there the client's has to be taken from a field that the proxy sets. **No field is
/// believed unless [`Trust`] says which proxies set it**, because a client can send any field itself.
///
/// | behind | configuration |
/// |---|---|
/// | nothing | [`ClientAddress::of_peer`] |
/// | nginx, `HAProxy`, most balancers | [`ClientAddress::x_forwarded_for`] |
/// | a proxy that sends `Forwarded` | [`ClientAddress::forwarded`] |
/// | a CDN or proxy with a field of its own, such as `CF-Connecting-IP` or `X-Real-IP` | [`ClientAddress::header`] |
/// | `CloudFront`, whose `CloudFront-Viewer-Address` ends with a port | [`ClientAddress::header_with_port`] |
///
/// # Guarantees
///
/// * A field of a peer that is not trusted is not looked at.
/// * In a list, the client is the last address that is not that of a trusted proxy: the ones before it
///   are what the client has sent, and they are not even parsed. So nothing that a client sends changes
///   its key.
/// * A field that is missing or malformed makes the client *unknown*. [`WhenUnknown`] says what happens
///   then; by default the request is refused. Requests share a key only if that says so.
/// * IPv4 addresses are the same key in all their forms: plain, mapped (`::ffff:192.0.2.1`), and
///   translated with the prefix of NAT64 (`64:ff9b::192.0.2.1`).
/// * IPv6 addresses of one /64 are one key, because that is the least that a client is given.
///
/// Does not allocate, and never panics.
///
/// # Examples
///
/// ```
/// use http::HeaderMap;
/// use sluicegate_http::client_address::{ClientAddress, ClientKey, Trust};
///
/// let addresses = ClientAddress::x_forwarded_for(Trust::networks(["10.0.0.0/8"])?);
/// let mut headers = HeaderMap::new();
/// // The client has sent the first address, and the proxy 10.0.0.7 has added the second.
/// headers.insert("x-forwarded-for", "1.1.1.1, 203.0.113.9".parse().unwrap());
/// let key = addresses.key(Some([10, 0, 0, 7].into()), &headers);
/// assert_eq!(key, ClientKey::Address([203, 0, 113, 9].into()));
/// // One that comes without the proxy is itself the client.
/// let key = addresses.key(Some([198, 51, 100, 2].into()), &headers);
/// assert_eq!(key, ClientKey::Address([198, 51, 100, 2].into()));
/// # Ok::<(), sluicegate_http::client_address::TrustError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientAddress {
    source: Source,
    ipv4_prefix: u8,
    ipv6_prefix: u8,
    when_unknown: WhenUnknown,
}

/// The place of the address.
#[derive(Clone, Debug)]
enum Source {
    Peer,
    Forwarded(Trust),
    XForwardedFor(Trust),
    Header(HeaderName, Trust),
    HeaderWithPort(HeaderName, Trust),
}

impl ClientAddress {
    /// Returns the configuration that takes the peer's address and believes no field: the default.
    #[must_use]
    pub fn of_peer() -> ClientAddress {
        ClientAddress::with(Source::Peer)
    }

    /// Returns the configuration that takes the address from `X-Forwarded-For`, to which each proxy adds
    /// the address of its own peer.
    #[must_use]
    pub fn x_forwarded_for(trust: Trust) -> ClientAddress {
        ClientAddress::with(Source::XForwardedFor(trust))
    }

    /// Returns the configuration that takes the address from `Forwarded` (RFC 7239).
    #[must_use]
    pub fn forwarded(trust: Trust) -> ClientAddress {
        ClientAddress::with(Source::Forwarded(trust))
    }

    /// Returns the configuration that takes the address from a field that holds just that one. The proxy
    /// must replace what the client has sent. With [`Trust::hops`], every peer is believed.
    #[must_use]
    pub fn header(name: HeaderName, trust: Trust) -> ClientAddress {
        ClientAddress::with(Source::Header(name, trust))
    }

    /// Returns the configuration that takes the address from a field that holds just that one, and behind
    /// its last colon always a port: also behind an IPv6 address without brackets, as in
    /// `2001:db8::1:4711`. `CloudFront-Viewer-Address` has that form.
    ///
    /// The proxy must replace what the client has sent. With [`Trust::hops`], every peer is believed.
    #[must_use]
    pub fn header_with_port(name: HeaderName, trust: Trust) -> ClientAddress {
        ClientAddress::with(Source::HeaderWithPort(name, trust))
    }

    fn with(source: Source) -> ClientAddress {
        let when_unknown = WhenUnknown::default();
        ClientAddress { source, ipv4_prefix: 32, ipv6_prefix: 64, when_unknown }
    }

    /// Sets how many bits of an IPv6 address make its key. The default is 64; more than 128 count as
    /// 128. (A client with a /56 or a /48 has 256 or 65,536 keys of 64 bits.)
    #[must_use]
    pub fn ipv6_prefix(self, bits: u8) -> ClientAddress {
        ClientAddress { ipv6_prefix: bits.min(128), ..self }
    }

    /// Sets how many bits of an IPv4 address make its key. The default is 32, all of them; more count as
    /// 32.
    #[must_use]
    pub fn ipv4_prefix(self, bits: u8) -> ClientAddress {
        ClientAddress { ipv4_prefix: bits.min(32), ..self }
    }

    /// Sets the answer to requests whose client is not known. The default is
    /// [`WhenUnknown::Refuse`].
    #[must_use]
    pub fn when_unknown(self, answer: WhenUnknown) -> ClientAddress {
        ClientAddress { when_unknown: answer, ..self }
    }

    /// Returns the key of a request. `peer` is the address of the other end of the connection, if it has
    /// one: a Unix socket has none.
    #[must_use]
    #[expect(clippy::inline_always, reason = "an address in memory costs more than its key")]
    #[inline(always)]
    pub fn key(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> ClientKey {
        match (&self.source, peer) {
            (Source::Peer, Some(peer)) => ClientKey::Address(self.network(canonical(peer))),
            _ => self.key_by_fields(peer, headers),
        }
    }

    /// Returns the key of a request whose fields may tell its client, or that has no peer.
    #[inline(never)]
    fn key_by_fields(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> ClientKey {
        match self.find(peer, headers) {
            Ok(address) => ClientKey::Address(self.network(address)),
            Err(why) => self.unknown(why, peer),
        }
    }

    /// Returns the key of a request whose client is not known.
    fn unknown(&self, why: UnknownClient, peer: Option<IpAddr>) -> ClientKey {
        match self.when_unknown {
            WhenUnknown::Refuse => ClientKey::Refused(why),
            WhenUnknown::Share => ClientKey::Shared,
            WhenUnknown::Admit => ClientKey::Unlimited,
            WhenUnknown::UsePeer => match peer {
                Some(peer) => ClientKey::Address(self.network(canonical(peer))),
                None => ClientKey::Refused(why),
            },
        }
    }

    /// Returns the whole address of the client, in its [canonical] form.
    ///
    /// # Errors
    ///
    /// [`UnknownClient`], which says why it is not known.
    pub fn find(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Result<IpAddr, UnknownClient> {
        let peer = peer.map(canonical);
        let (chain, trust) = match &self.source {
            Source::Peer => return peer.ok_or(UnknownClient::NoPeer),
            Source::XForwardedFor(trust) => (Chain::x_forwarded_for(headers), trust),
            Source::Forwarded(trust) => (Chain::forwarded(headers), trust),
            Source::Header(_, trust) | Source::HeaderWithPort(_, trust)
                if !trust.believes(peer)? =>
            {
                return peer.ok_or(UnknownClient::NoPeer);
            }
            Source::Header(name, _) => return node::only_address(headers, name),
            Source::HeaderWithPort(name, _) => return node::only_address_with_port(headers, name),
        };
        match &trust.proxies {
            Proxies::Hops(hops) => chain.behind(*hops),
            Proxies::Networks(_) if !trust.believes(peer)? => peer.ok_or(UnknownClient::NoPeer),
            Proxies::Networks(networks) => chain.last_outside(networks),
        }
    }

    /// Returns the number of bits that make the key of an address; `None` if all do.
    pub(crate) fn bits_of(&self, address: IpAddr) -> Option<u8> {
        match address {
            IpAddr::V4(_) => (self.ipv4_prefix < 32).then_some(self.ipv4_prefix),
            IpAddr::V6(_) => (self.ipv6_prefix < 128).then_some(self.ipv6_prefix),
        }
    }

    /// Returns the address without the bits that one client can choose.
    fn network(&self, address: IpAddr) -> IpAddr {
        network::truncated(address, self.ipv4_prefix, self.ipv6_prefix)
    }
}

impl Default for ClientAddress {
    fn default() -> ClientAddress {
        ClientAddress::of_peer()
    }
}
