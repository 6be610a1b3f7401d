//! The address of the other end of a connection.

use std::net::{IpAddr, SocketAddr};

use http::Extensions;

/// The address of the other end of a connection, as an extension of a request.
///
/// A server that is built on hyper adds it to each request, before the layer sees it:
/// `request.extensions_mut().insert(Peer(address))`. With the feature `axum`, axum's `ConnectInfo` of a
/// [`SocketAddr`] is taken as well, and with the feature `tonic` the `TcpConnectInfo` of tonic's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Returns the address that the extensions of a request tell.
#[expect(clippy::inline_always, reason = "an address in memory costs as much as to find it")]
#[inline(always)]
pub(super) fn of(extensions: &Extensions) -> Option<IpAddr> {
    let peer = extensions.get::<Peer>().map(|peer| &peer.0);
    #[cfg(feature = "axum")]
    let peer = peer.or_else(|| {
        let info = extensions.get::<axum::extract::ConnectInfo<SocketAddr>>();
        info.map(|info| &info.0)
    });
    #[cfg(feature = "tonic")]
    let peer = peer.or_else(|| {
        let info = extensions.get::<tonic::transport::server::TcpConnectInfo>();
        info?.remote_addr.as_ref()
    });
    peer.map(SocketAddr::ip)
}
