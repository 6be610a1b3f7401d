//! The servers: the service, and one of the same stack that decides nothing.

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use sluicegate_policy::{Policies, Registry};
use sluicegate_serve::envoy::EnvoyLimits;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus, RateLimit,
};
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService, RateLimitServiceServer,
};
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::{
    RateLimitRequest, RateLimitResponse,
};
use sluicegate_serve::{Bounds, Limiters, Server, Service, api};
use tonic::{Request, Response, Status, async_trait};

/// Limits that nobody reaches, so that each answer is a grant of the same size; and two for the soak.
const POLICY: &str = r#"
[limiters.api]
policy = "token_bucket"
key = "user"
limit = 1_000_000_000
rate = { amount = 1_000_000_000, interval = "1 second" }

[limiters.clients]
policy = "token_bucket"
key = "client"
limit = 1_000_000_000
rate = { amount = 1_000_000_000, interval = "1 second" }

[limiters.few]
policy = "token_bucket"
key = "all"
limit = 100
rate = { amount = 100, interval = "1 second" }

[limiters.visitors]
policy = "token_bucket"
key = "user"
limit = 10
rate = { amount = 10, interval = "1 second" }
"#;

const DOMAIN: &str = r"
domain: bench
descriptors:
  - key: user
    rate_limit: { unit: second, requests_per_unit: 1000000000 }
";

/// The answer of the server that decides nothing: as long as one of the service.
const HELLO: &str = r#"{"limiter":"api","decision":"granted","cost":1,"limit":1000000000,"remaining":999999999,"reset_after":1e-6}"#;

/// A server of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The service.
    Service,
    /// The same stack without a decision.
    Hello,
}

impl Subject {
    /// All of them.
    pub const ALL: [Subject; 2] = [Subject::Service, Subject::Hello];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Subject::Service => "service",
            Subject::Hello => "hello",
        }
    }

    /// Serves until the process ends. Tells its address before that.
    ///
    /// # Errors
    ///
    /// Those of the system, and of `tell`.
    pub async fn serve(
        self,
        tell: impl FnOnce(SocketAddr) -> io::Result<()>,
    ) -> Result<(), Box<dyn Error>> {
        match self {
            Subject::Service => service(tell).await,
            Subject::Hello => hello(tell).await,
        }
    }
}

/// Returns the limiters of the service.
///
/// # Errors
///
/// None; the policy is right.
pub fn limiters() -> Result<Registry, Box<dyn Error>> {
    Ok(Registry::new(Policies::from_toml("bench.toml", POLICY)?)?.counted())
}

async fn service(tell: impl FnOnce(SocketAddr) -> io::Result<()>) -> Result<(), Box<dyn Error>> {
    let domain = tempfile::Builder::new().suffix(".yaml").tempfile()?;
    domain.as_file().write_all(DOMAIN.as_bytes())?;
    let envoy = EnvoyLimits::open(domain.path(), None)?;
    let service = Service::new(Limiters::new(limiters()?));
    let server = Server::bind(([127, 0, 0, 1], 0).into(), Bounds::default()).await?;
    let server = server.counted(service.metrics()).deciding(&service);
    tell(server.address()?)?;
    let routes = envoy.add_to(api::routes(service)).await;
    server.run(routes, std::future::pending()).await;
    Ok(())
}

async fn hello(tell: impl FnOnce(SocketAddr) -> io::Result<()>) -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    tell(listener.local_addr()?)?;
    let answer = |_: Bytes| async { ([("content-type", "application/json")], HELLO) };
    let path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    let routes = Router::new()
        .route("/v1/check", post(answer))
        .route_service(path, RateLimitServiceServer::new(Grants));
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, routes).await?;
    Ok(())
}

/// Grants whatever it is asked.
struct Grants;

#[async_trait]
impl RateLimitService for Grants {
    async fn should_rate_limit(
        &self,
        _: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let limit = RateLimit { requests_per_unit: 1_000_000_000, unit: 1, name: String::new() };
        let status = DescriptorStatus {
            code: Code::Ok as i32,
            current_limit: Some(limit),
            limit_remaining: 999_999_999,
            duration_until_reset: None,
        };
        let overall_code = Code::Ok as i32;
        let (statuses, response_headers_to_add) = (vec![status], Vec::new());
        let dynamic_metadata = None;
        Ok(Response::new(RateLimitResponse {
            overall_code,
            statuses,
            response_headers_to_add,
            dynamic_metadata,
        }))
    }
}
