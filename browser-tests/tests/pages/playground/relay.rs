//! A network between the browser and a server, which can stop carrying without closing anything.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A relay in front of a server. It ends with the runtime of its test.
pub(super) struct Relay {
    address: SocketAddr,
    carries: watch::Sender<bool>,
}

impl Relay {
    /// Starts a relay to a port of this machine.
    pub(super) async fn start(port: u16) -> Relay {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let carries = watch::Sender::new(true);
        let state = carries.subscribe();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else {
                    continue;
                };
                let (near_read, near_write) = near.into_split();
                let (far_read, far_write) = far.into_split();
                tokio::spawn(carry(near_read, far_write, state.clone()));
                tokio::spawn(carry(far_read, near_write, state.clone()));
            }
        });
        Relay { address, carries }
    }

    /// Returns the scheme and address at which it is.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets everything through from now on, or nothing.
    pub(super) fn set_carries(&self, carries: bool) {
        self.carries.send_replace(carries);
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut carries: watch::Receiver<bool>,
) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let open = carries.wait_for(|carries| *carries).await.is_ok();
        if !open || to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}
