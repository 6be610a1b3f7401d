//! The clients: one question after the other over a connection that stays open.

use std::io;
use std::net::SocketAddr;

use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use sluicegate_serve::envoy::protocol::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::RateLimitRequest;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_response::Code;
use sluicegate_serve::envoy::protocol::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::Channel;

/// The question of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// `POST /v1/check`.
    Check,
    /// `POST /v1/check/batch` with so many checks of different keys.
    Batch(u32),
    /// Envoy's `ShouldRateLimit` with one descriptor.
    Envoy,
}

impl Question {
    /// Returns the number of decisions of an answer.
    #[must_use]
    pub fn decisions(self) -> u32 {
        match self {
            Question::Check | Question::Envoy => 1,
            Question::Batch(checks) => checks,
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Question::Check => "HTTP".to_owned(),
            Question::Batch(checks) => format!("HTTP, {checks} keys"),
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
    let entry = Entry { key: "user".to_owned(), value: format!("user-{number}") };
    let descriptor = RateLimitDescriptor { entries: vec![entry], limit: None, hits_addend: None };
    RateLimitRequest { domain: "bench".to_owned(), descriptors: vec![descriptor], hits_addend: 1 }
}

/// A connection over HTTP/1.1 that stays open.
#[derive(Debug)]
pub struct HttpClient {
    stream: TcpStream,
    path: &'static str,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl HttpClient {
    /// Connects, to ask a path with a body again and again.
    ///
    /// # Errors
    ///
    /// Those of the connection.
    pub async fn connect(
        server: SocketAddr,
        path: &'static str,
        body: &str,
    ) -> io::Result<HttpClient> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let mut client = HttpClient { stream, path, request: Vec::new(), answer: Vec::new() };
        client.set_body(body);
        Ok(client)
    }

    /// Sets the body of the next requests.
    pub fn set_body(&mut self, body: &str) {
        let (path, length) = (self.path, body.len());
        self.request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes();
    }

    /// Asks, and returns true if nothing was denied.
    ///
    /// # Errors
    ///
    /// Those of the connection; an answer with another status than 200.
    pub async fn ask(&mut self) -> io::Result<bool> {
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        while !self.is_whole()? {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if !self.answer.starts_with(b"HTTP/1.1 200") {
            return Err(io::Error::other(String::from_utf8_lossy(&self.answer).into_owned()));
        }
        let denied = b"\"denied\"";
        Ok(!self.answer.windows(denied.len()).any(|bytes| bytes == denied))
    }

    fn is_whole(&self) -> io::Result<bool> {
        let Some(head) = self.answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return Ok(false);
        };
        let text = String::from_utf8_lossy(&self.answer[..head]);
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.and_then(|length| length.parse::<usize>().ok());
        let length = length.ok_or_else(|| io::Error::other("an answer without a length"))?;
        Ok(self.answer.len() >= head + 4 + length)
    }
}
