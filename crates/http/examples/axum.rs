//! A server that limits each client, and tells it its limit. Run it, and call it a few times:
//!
//! ```sh
//! cargo run -p sluicegate-http --example axum &
//! for i in 1 2 3 4 5 6; do curl -i http://127.0.0.1:3000/; done
//! ```
//!
//! The sixth call is refused with the status 429.

use std::net::SocketAddr;

use axum::{Router, routing::get};
use sluicegate::{ConfigError, KeyTable, Quota, quota};
use sluicegate_http::fields::{FieldVersion, QuotaPolicy};
use sluicegate_http::layer::{Limit, RateLimitLayer};
use tokio::net::TcpListener;

fn app(quota: Quota) -> Result<Router, ConfigError> {
    // A bucket for each client; room for 100,000 clients in 1.2 MB.
    let clients = KeyTable::with_keys(quota, 100_000)?;
    let limit = Limit::per_client(clients).policy(QuotaPolicy::from(quota));
    Ok(Router::new()
        .route("/", get(|| async { "hello\n" }))
        .layer(RateLimitLayer::new(limit).fields(FieldVersion::Draft8)))
}

type Error = Box<dyn std::error::Error + Send + Sync>;

async fn serve(listener: TcpListener, quota: Quota) -> Result<(), Error> {
    let service = app(quota)?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, service).await?)
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn the_sixth_call_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, quota!(5 / day)));
        for call in 1..=6 {
            let mut stream = TcpStream::connect(server).await.unwrap();
            let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).await.unwrap();
            let policy = "\r\nratelimit-policy: \"default\";q=5;w=86400\r\n";
            assert!(response.contains(policy), "{response}");
            let is_refused = response.starts_with("HTTP/1.1 429");
            assert_eq!(is_refused, call == 6, "{response}");
            assert_eq!(response.contains("\r\nretry-after: "), is_refused, "{response}");
        }
    }
}
