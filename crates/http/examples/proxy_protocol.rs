//! A server behind a balancer of TCP connections that tells the addresses of clients by the PROXY protocol,
//! version 2: an AWS NLB with `proxy_protocol_v2.enabled`, or `HAProxy` with `send-proxy-v2`. Nobody else may
//! reach the server, since anybody could write such a header.
//!
//! ```sh
//! cargo run -p sluicegate-http --example proxy_protocol
//! ```

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use ppp::v2::{Addresses, Command, Header};
use sluicegate::{KeyTable, Quota, quota};
use sluicegate_http::layer::{Limit, Peer, RateLimitLayer};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tower::ServiceBuilder;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The part of a header that says how long the rest is.
const START: usize = 16;

/// Reads the header that a connection begins with, and returns the address of the client. The balancer's own
/// connections, which check whether the server is there, tell none.
async fn client(stream: &mut TcpStream) -> Result<Option<SocketAddr>, Error> {
    let mut header = vec![0; START];
    stream.read_exact(&mut header).await?;
    // What does not begin as a header is not read on.
    if !header.starts_with(ppp::v2::PROTOCOL_PREFIX) {
        return Err("no header of the PROXY protocol, version 2".into());
    }
    let length = u16::from_be_bytes([header[14], header[15]]);
    header.resize(START + usize::from(length), 0);
    stream.read_exact(&mut header[START..]).await?;
    let header = Header::try_from(header.as_slice())?;
    Ok(match (header.command, header.addresses) {
        (Command::Local, _) => None,
        (_, Addresses::IPv4(v4)) => Some((v4.source_address, v4.source_port).into()),
        (_, Addresses::IPv6(v6)) => Some((v6.source_address, v6.source_port).into()),
        (_, _) => return Err("the header has no address".into()),
    })
}

async fn hello(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from("hello\n")))
}

async fn connection(mut stream: TcpStream, layer: RateLimitLayer) -> Result<(), Error> {
    let balancer = stream.peer_addr()?;
    let client = timeout(Duration::from_secs(5), client(&mut stream)).await??;
    let peer = Peer(client.unwrap_or(balancer));
    let service = ServiceBuilder::new()
        .map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request
        })
        .layer(layer)
        .service_fn(hello);
    let service = TowerToHyperService::new(service);
    Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await
}

async fn serve(listener: TcpListener, quota: Quota) -> Result<(), Error> {
    let clients = KeyTable::with_keys(quota, 100_000)?;
    let layer = RateLimitLayer::new(Limit::per_client(clients));
    loop {
        let (stream, _) = listener.accept().await?;
        let layer = layer.clone();
        // The header is read here, so that one that never comes delays no other connection.
        tokio::spawn(async move {
            if let Err(error) = connection(stream, layer).await {
                eprintln!("{error}");
            }
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on {}", listener.local_addr()?);
    serve(listener, quota!(1 / second, burst 5)).await
}

#[cfg(test)]
#[path = "../tests/http/support/proxy.rs"]
mod proxy;

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use hyper_util::client::legacy::Client;
    use hyper_util::client::legacy::connect::HttpConnector;
    use tokio::io::AsyncWriteExt;

    use super::*;

    async fn statuses(server: SocketAddr, address: &str) -> Vec<u16> {
        let mut connector = HttpConnector::new();
        connector.set_local_address(Some(address.parse::<IpAddr>().unwrap()));
        let client = Client::builder(TokioExecutor::new()).build::<_, Full<Bytes>>(connector);
        let mut statuses = Vec::new();
        for _ in 0..3 {
            let response = client.get(format!("http://{server}/").parse().unwrap()).await.unwrap();
            statuses.push(response.status().as_u16());
        }
        statuses
    }

    #[tokio::test]
    async fn each_client_behind_haproxy_has_its_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, quota!(2 / day)));
        let configuration = format!(
            "defaults
    mode tcp
    timeout connect 10s
    timeout client 10s
    timeout server 10s
listen limits
    bind LISTEN
    server hyper {server} send-proxy-v2
"
        );
        let arguments = ["-db", "-f", "FOLDER/configuration.yaml"];
        let haproxy = proxy::Proxy::start("haproxy", &arguments, &configuration);
        assert_eq!(statuses(haproxy.address, "127.0.0.2").await, [200, 200, 429]);
        assert_eq!(statuses(haproxy.address, "127.0.0.3").await, [200, 200, 429]);
        // What has no header, or only the beginning of one, is not answered, and disturbs nobody.
        for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff"] {
            let mut stream = TcpStream::connect(server).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = Vec::new();
            // The connection is closed, in one way or the other.
            let _ = stream.read_to_end(&mut answer).await;
            assert!(answer.is_empty(), "{answer:?}");
        }
        assert_eq!(statuses(haproxy.address, "127.0.0.4").await, [200, 200, 429]);
    }
}
