//! A client of reqwest that keeps to the limits of the servers that it calls, and sends again what they
//! refuse. Start a server of five requests at once and one more each second, and call it twelve times:
//!
//! ```sh
//! cargo run -p sluicegate-http --example axum &
//! cargo run -p sluicegate-http --example reqwest
//! ```
//!
//! All calls are answered with the status 200, the last of them after some seconds.

use std::time::{Duration, Instant};

use reqwest::{Client, Method, Request, Url};
use sluicegate_http::outgoing::{OutgoingError, OutgoingLayer, Retries};
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Calls a server so many times at once, and returns the statuses of its responses.
async fn call(url: &str, times: usize) -> Result<Vec<u16>, Error> {
    let url: Url = url.parse()?;
    let client = OutgoingLayer::new()
        .max_wait(Duration::from_secs(60))
        .retries(Retries::new(Request::try_clone))
        .layer(Client::new());
    let start = Instant::now();
    let mut calls = JoinSet::new();
    for number in 1..=times {
        let answer = client.clone().oneshot(Request::new(Method::GET, url.clone()));
        calls.spawn(async move {
            let status = answer.await?.status().as_u16();
            println!("call {number}: {status} after {:.1?}", start.elapsed());
            Ok::<_, OutgoingError<reqwest::Error>>(status)
        });
    }
    let mut statuses = Vec::new();
    while let Some(status) = calls.join_next().await {
        statuses.push(status??);
    }
    Ok(statuses)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:3000/".to_owned());
    call(&url, 12).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::{Router, routing::get};
    use sluicegate::clock::TokioClock;
    use sluicegate::{TokenBucket, quota};
    use sluicegate_http::fields::FieldVersion;
    use sluicegate_http::layer::{Limit, RateLimitLayer};
    use tokio::net::TcpListener;

    use super::*;

    /// In paused time, which goes on when all wait.
    #[tokio::test(start_paused = true)]
    async fn all_calls_are_answered() {
        let quota = quota!(1 / second, burst 5);
        let bucket = TokenBucket::with_clock(quota, TokioClock::new());
        let layer = RateLimitLayer::new(Limit::of_all(bucket)).fields(FieldVersion::Draft8);
        let app = Router::new().route("/", get(|| async { "hello\n" })).layer(layer);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        assert_eq!(call(&url, 12).await.unwrap(), [200; 12]);
    }
}
