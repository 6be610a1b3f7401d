//! The problem: the clients of a server must not starve each other, and one route costs more than
//! the rest. Each route has a `Keyed`, which limits every client by a token bucket of its own. API
//! keys are checked before they are limited, so nobody can invent them. Addresses are another
//! matter, because anybody can have many: limit those by a `KeyTable<IpAddr>`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sluicegate::{Keyed, Quota, quota};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Clients = Arc<Keyed<String>>;

async fn limit(State(clients): State<Clients>, request: Request, next: Next) -> Response {
    let key = request.headers().get("x-api-key").and_then(|key| key.to_str().ok());
    let Some(client) = key.filter(|key| ["ada", "bob"].contains(key)) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    match clients.try_acquire(client, 1) {
        Ok(_) => next.run(request).await,
        Err(denied) => {
            let mut response = (StatusCode::TOO_MANY_REQUESTS, denied.to_string()).into_response();
            if let Some(seconds) = denied.retry_after_secs() {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            }
            response
        }
    }
}

fn per_client(quota: Quota) -> Clients {
    Arc::new(Keyed::new(quota))
}

fn app() -> Router {
    let search = per_client(quota!(600 / minute, burst 20));
    let report = per_client(quota!(2 / hour));
    Router::new()
        .route("/search", get(|| async { "found\n" }).layer(from_fn_with_state(search, limit)))
        .route("/report", get(|| async { "a report\n" }).layer(from_fn_with_state(report, limit)))
}

/// Sends a request and prints the status of the response, and the header `Retry-After`.
async fn ask(server: SocketAddr, client: &str, path: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(server).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {server}\r\nX-Api-Key: {client}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    let status = response.lines().next().unwrap_or_default();
    let retry_after = response.lines().find(|line| line.starts_with("retry-after:"));
    println!("{client} {path}: {status} {}", retry_after.unwrap_or_default());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    let app = app();
    tokio::spawn(async move { axum::serve(listener, app).await });

    for _ in 0..3 {
        ask(server, "ada", "/report").await?;
    }
    ask(server, "ada", "/search").await?;
    ask(server, "bob", "/report").await?;
    ask(server, "eve", "/report").await?;
    Ok(())
}
