//! A playground that runs, and a reader of its events.

use std::net::SocketAddr;

use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use sluicegate_playground::wire::Frame;
use sluicegate_playground::{Playground, PlaygroundOptions};
use tokio::net::TcpListener;

/// A playground on a port of its own.
pub(crate) struct Running {
    pub(crate) playground: Playground,
    pub(crate) address: SocketAddr,
    client: Client,
}

impl Running {
    pub(crate) async fn start() -> Running {
        Running::with(PlaygroundOptions::default()).await
    }

    pub(crate) async fn with(options: PlaygroundOptions) -> Running {
        let playground = Playground::new(options).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = playground.routes().into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Running { playground, address, client: Client::new() }
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Response {
        let request = self.client.request(method, format!("http://{}{path}", self.address));
        let request = body.into_iter().fold(request, RequestBuilder::json);
        request.send().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.ask(Method::GET, path, None).await
    }

    /// Returns the status and the body, as JSON if it has one.
    pub(crate) async fn answer(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let response = self.ask(method, path, Some(body)).await;
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// Makes a session of these sides, and returns its path.
    pub(crate) async fn session(&self, sides: Value) -> String {
        let (status, created) =
            self.answer(Method::POST, "/playground/sessions", &json!({ "sides": sides })).await;
        assert_eq!(status, 201, "{created}");
        format!("/playground/sessions/{}", created["session"].as_str().unwrap())
    }

    pub(crate) async fn send(&self, session: &str, send: &Value) {
        let path = format!("{session}/send");
        assert_eq!(self.answer(Method::POST, &path, send).await, (202, Value::Null));
    }

    pub(crate) async fn events(&self, session: &str) -> Events {
        let response = self.get(&format!("{session}/events")).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { response, text: String::new() }
    }
}

/// The events of a session.
pub(crate) struct Events {
    response: Response,
    text: String,
}

impl Events {
    /// Returns the next frame, or `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let data = event.strip_prefix("event: frame\ndata: ").unwrap();
                return Some(serde_json::from_str(data).unwrap());
            }
            let bytes = self.response.chunk().await.ok()??;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// Returns the first frame for which `is_it` returns true.
    pub(crate) async fn find(&mut self, is_it: impl Fn(&Frame) -> bool) -> Frame {
        loop {
            let frame = self.next().await.expect("the session has ended");
            if is_it(&frame) {
                return frame;
            }
        }
    }
}
