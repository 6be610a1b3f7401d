//! A server of gRPC that limits each client, and a client that is told how long to wait. Run it:
//!
//! ```sh
//! cargo run -p sluicegate-http --example tonic
//! ```
//!
//! The service is the standard one for health checks, which tonic brings with it.

use std::time::Duration;

use sluicegate::{KeyTable, Quota, quota};
use sluicegate_http::fields::QuotaPolicy;
use sluicegate_http::layer::{Limit, RateLimitLayer};
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

type Error = Box<dyn std::error::Error + Send + Sync>;

async fn serve(listener: TcpListener, quota: Quota) -> Result<(), Error> {
    // A bucket for each client; room for 100,000 clients in 1.2 MB.
    let clients = KeyTable::with_keys(quota, 100_000)?;
    let limit = Limit::per_client(clients).policy(QuotaPolicy::from(quota).named("client")?);
    let (_, health) = tonic_health::server::health_reporter();
    let server = Server::builder().layer(RateLimitLayer::new(limit)).add_service(health);
    Ok(server.serve_with_incoming(TcpIncoming::from(listener)).await?)
}

/// Calls the server, and returns the wait if it refuses.
async fn call(client: &mut HealthClient<Channel>) -> Result<Option<Duration>, Status> {
    match client.check(HealthCheckRequest::default()).await {
        Ok(_) => Ok(None),
        Err(status) if status.code() == Code::ResourceExhausted => {
            let retry = status.get_error_details().retry_info().and_then(|retry| retry.retry_delay);
            // Without one, waiting would not help.
            retry.map(Some).ok_or(status)
        }
        Err(status) => Err(status),
    }
}

fn endpoint(listener: &TcpListener) -> Result<Endpoint, Error> {
    Ok(Endpoint::from_shared(format!("http://{}", listener.local_addr()?))?)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = endpoint(&listener)?;
    // A call a second on average, at most 5 at once.
    tokio::spawn(serve(listener, quota!(1 / second, burst 5)));
    let mut client = HealthClient::new(endpoint.connect().await?);
    for number in 1..=6 {
        match call(&mut client).await? {
            None => println!("call {number}: served"),
            Some(wait) => println!("call {number}: try again in {wait:?}"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_sixth_call_is_told_to_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = endpoint(&listener).unwrap();
        tokio::spawn(serve(listener, quota!(5 / day)));
        for number in 1..=6 {
            // Each by a connection of its own.
            let mut client = HealthClient::new(endpoint.connect().await.unwrap());
            let wait = call(&mut client).await.unwrap();
            assert_eq!(wait.is_some(), number == 6, "{number}: {wait:?}");
        }
    }
}
