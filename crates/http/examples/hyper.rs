//! A server of hyper that limits each client. Hyper has no place for the address of a connection, so the
//! program adds it to each request. Run it, and call it a few times:
//!
//! ```sh
//! cargo run -p sluicegate-http --example hyper &
//! for i in 1 2 3 4 5 6; do curl -i http://127.0.0.1:3000/; done
//! ```
//!
//! The sixth call is refused with the status 429.

use std::convert::Infallible;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use sluicegate::{KeyTable, Quota, quota};
use sluicegate_http::layer::{Limit, Peer, RateLimitLayer};
use tokio::net::TcpListener;
use tower::ServiceBuilder;

type Error = Box<dyn std::error::Error + Send + Sync>;

async fn hello(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from("hello\n")))
}

async fn serve(listener: TcpListener, quota: Quota) -> Result<(), Error> {
    // A bucket for each client; room for 100,000 clients in 1.2 MB.
    let clients = KeyTable::with_keys(quota, 100_000)?;
    // One layer for all connections: its clones share the limit.
    let layer = RateLimitLayer::new(Limit::per_client(clients));
    loop {
        let (stream, address) = listener.accept().await?;
        let service = ServiceBuilder::new()
            .map_request(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(Peer(address));
                request
            })
            .layer(layer.clone())
            .service_fn(hello);
        tokio::spawn(async move {
            let connection = Builder::new(TokioExecutor::new());
            let service = TowerToHyperService::new(service);
            if let Err(error) = connection.serve_connection(TokioIo::new(stream), service).await {
                eprintln!("{address}: {error}");
            }
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    // A request a second on average, at most 5 at once.
    serve(listener, quota!(1 / second, burst 5)).await
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use hyper_util::client::legacy::Client;
    use hyper_util::client::legacy::connect::HttpConnector;

    use super::*;

    #[tokio::test]
    async fn each_client_has_five_calls() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(serve(listener, quota!(5 / day)));
        for address in ["127.0.0.2", "127.0.0.3"] {
            for is_http2 in [false, true] {
                let mut connector = HttpConnector::new();
                connector.set_local_address(Some(address.parse::<IpAddr>().unwrap()));
                let client = Client::builder(TokioExecutor::new())
                    .http2_only(is_http2)
                    .build::<_, Full<Bytes>>(connector);
                for call in 1..=3 {
                    let response = client.get(server.parse().unwrap()).await.unwrap();
                    let is_sixth = is_http2 && call == 3;
                    assert_eq!(response.status(), if is_sixth { 429 } else { 200 }, "{call}");
                    assert_eq!(response.headers().contains_key("retry-after"), is_sixth);
                }
            }
        }
    }
}
