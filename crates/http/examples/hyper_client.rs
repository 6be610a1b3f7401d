//! A client of hyper that sends no more than half of the requests that a server lets through, and is told
//! when a request would have to wait for too long. Start a server, and call it:
//!
//! ```sh
//! cargo run -p sluicegate-http --example axum &
//! cargo run -p sluicegate-http --example hyper_client
//! ```

use std::time::Duration;

use http::{Request, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use sluicegate::quota;
use sluicegate_http::outgoing::{Bounds, OutgoingError, OutgoingLayer, Retries};
use tower::{Service, ServiceBuilder};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Calls a server one time after the other, and returns what has become of the calls.
async fn call(uri: &Uri, times: usize) -> Result<Vec<String>, Error> {
    let layer = OutgoingLayer::new()
        // A quota of our own: three at once, and one each two seconds.
        .bounds(Bounds::new().at_most(quota!(1 / 2 seconds, burst 3)))
        .max_wait(Duration::from_secs(1))
        .retries(Retries::of_clones().tries(2));
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let mut client = ServiceBuilder::new().layer(layer).service(client);

    let mut results = Vec::new();
    for _ in 0..times {
        let request = Request::get(uri.clone()).body(Empty::new())?;
        results.push(match client.call(request).await {
            Ok(response) => {
                let body = response.into_body().collect().await?.to_bytes();
                String::from_utf8_lossy(&body).trim_end().to_owned()
            }
            Err(OutgoingError::NoTurn(no_turn)) => no_turn.to_string(),
            Err(error) => return Err(error.into()),
        });
    }
    Ok(results)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let uri = Uri::from_static("http://127.0.0.1:3000/");
    for (number, result) in (1..).zip(call(&uri, 5).await?) {
        println!("call {number}: {result}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::{Router, routing::get};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_fourth_call_would_have_to_wait_for_too_long() {
        let app = Router::new().route("/", get(|| async { "hello\n" }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        let results = call(&uri, 4).await.unwrap();
        assert_eq!(results[..3], ["hello"; 3]);
        assert!(results[3].starts_with("the request was not sent: "), "{}", results[3]);
    }
}
