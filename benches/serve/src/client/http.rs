//! A client of HTTP/1.1 that takes as little of the machine as it can, since the server is on the same one.
//!
//! It reads the status and the length of an answer, and looks for a denial in its bytes. It parses no JSON.

use std::io;
use std::net::SocketAddr;

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

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

    /// Connects, to ask a path by `GET` with these fields, each with its line end.
    ///
    /// # Errors
    ///
    /// Those of the connection.
    pub async fn getting(
        server: SocketAddr,
        path: &'static str,
        fields: &str,
    ) -> io::Result<HttpClient> {
        let mut client = HttpClient::connect(server, path, "").await?;
        client.request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n").into_bytes();
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
    /// Those of the connection; an answer with another status than 200 and 204.
    pub async fn ask(&mut self) -> io::Result<bool> {
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        while !self.is_whole()? {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if ![&b"HTTP/1.1 200"[..], b"HTTP/1.1 204"].iter().any(|ok| self.answer.starts_with(ok)) {
            return Err(io::Error::other(String::from_utf8_lossy(&self.answer).into_owned()));
        }
        Ok(memmem::find(&self.answer, b"\"denied\"").is_none())
    }

    fn is_whole(&self) -> io::Result<bool> {
        let Some(head) = memmem::find(&self.answer, b"\r\n\r\n") else { return Ok(false) };
        if self.answer.starts_with(b"HTTP/1.1 204") {
            return Ok(true);
        }
        let name = b"\r\ncontent-length: ";
        let length = memmem::find(&self.answer[..head], name).and_then(|at| {
            let value = &self.answer[at + name.len()..head];
            let value = value.split(|byte| *byte == b'\r').next()?;
            std::str::from_utf8(value).ok()?.parse::<usize>().ok()
        });
        let length = length.ok_or_else(|| io::Error::other("an answer without a length"))?;
        Ok(self.answer.len() >= head + 4 + length)
    }
}
