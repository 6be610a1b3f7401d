//! The clients: one question after the other over a connection that stays open.

mod http;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::RateLimitRequest;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::Code;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use tonic::transport::Channel;

pub use self::http::HttpClient;

/// The question of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// `POST /v1/check`.
    Check,
    /// `POST /v1/check/batch` with so many checks of different keys.
    Batch(u32),
    /// `POST /v1/peek`.
    Peek,
    /// `GET /v1/auth`, as a proxy sends it.
    Auth,
    /// Envoy's `ShouldRateLimit` with one descriptor.
    Envoy,
}

impl Question {
    /// Returns the number of decisions of an answer.
    #[must_use]
    pub fn decisions(self) -> u32 {
        match self {
            Question::Check | Question::Peek | Question::Auth | Question::Envoy => 1,
            Question::Batch(checks) => checks,
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Question::Check => "HTTP".to_owned(),
            Question::Batch(checks) => format!("HTTP, {checks} keys"),
            Question::Peek => "HTTP, peek".to_owned(),
            Question::Auth => "HTTP, auth".to_owned(),
            Question::Envoy => "gRPC".to_owned(),
        }
    }
}

/// A connection that asks.
#[derive(Debug)]
pub enum Client {
    /// Over HTTP/1.1.
    Http(HttpClient),
    /// Over gRPC.
    Grpc(Box<RateLimitServiceClient<Channel>>, Box<RateLimitRequest>),
}

impl Client {
    /// Connects. Each number is another user.
    ///
    /// # Errors
    ///
    /// Those of the connection.
    pub async fn connect(
        server: SocketAddr,
        question: Question,
        number: usize,
    ) -> io::Result<Client> {
        let check = |user: String| format!(r#"{{"limiter":"api","key":"{user}"}}"#);
        let (path, body) = match question {
            Question::Check => ("/v1/check", check(format!("user-{number}"))),
            Question::Peek => ("/v1/peek", check(format!("user-{number}"))),
            Question::Auth => {
                let client = Ipv4Addr::from_bits(0x0a00_0000 + number as u32);
                let fields = format!("X-Forwarded-For: {client}\r\n");
                let client = HttpClient::getting(server, "/v1/auth?limiters=clients", &fields);
                return Ok(Client::Http(client.await?));
            }
            Question::Batch(checks) => {
                let each: Vec<String> =
                    (0..checks).map(|one| check(format!("user-{number}-{one}"))).collect();
                ("/v1/check/batch", format!(r#"{{"checks":[{}]}}"#, each.join(",")))
            }
            Question::Envoy => {
                let channel = Channel::from_shared(format!("http://{server}"))
                    .map_err(io::Error::other)?
                    .connect()
                    .await
                    .map_err(io::Error::other)?;
                let client = RateLimitServiceClient::new(channel);
                return Ok(Client::Grpc(Box::new(client), Box::new(envoy_request(number))));
            }
        };
        Ok(Client::Http(HttpClient::connect(server, path, &body).await?))
    }

    /// Asks, and waits for the answer, which has to be a grant.
    ///
    /// # Errors
    ///
    /// Those of the connection; an answer that is no grant.
    pub async fn ask(&mut self) -> io::Result<()> {
        match self {
            Client::Http(client) => {
                if client.ask().await? {
                    Ok(())
                } else {
                    Err(io::Error::other("denied"))
                }
            }
            Client::Grpc(client, request) => {
                let answer = client.should_rate_limit((**request).clone()).await;
                match answer.map_err(io::Error::other)?.get_ref().overall_code() {
                    Code::Ok => Ok(()),
                    other => Err(io::Error::other(other.as_str_name())),
                }
            }
        }
    }
}

fn envoy_request(number: usize) -> RateLimitRequest {
    let entry = Entry { key: "user".into(), value: format!("user-{number}").into() };
    let descriptor = RateLimitDescriptor { entries: vec![entry], ..RateLimitDescriptor::default() };
    RateLimitRequest { domain: "bench".to_owned(), descriptors: vec![descriptor], hits_addend: 1 }
}
