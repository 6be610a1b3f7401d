//! A service that runs, and questions to it.

use std::net::SocketAddr;

use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use sluicegate_policy::{Policies, Registry};
use sluicegate_serve::{Bounds, Limiters, Server, Service, api};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A policy with a limiter for all callers, one for each user, one for each client and path, and one that
/// only counts.
pub(crate) const POLICY: &str = r#"
[limiters.all]
policy = "fixed_window"
key = "all"
limit = 5
interval = "1 day"

[limiters.client]
policy = "fixed_window"
key = ["client", "path"]
limit = 2
interval = "1 day"
match = { path_prefix = "/api/" }

[limiters.counted]
policy = "fixed_window"
key = "user"
limit = 1
interval = "1 day"
shadow = true

[limiters.user]
policy = "token_bucket"
key = "user"
limit = 10
rate = { amount = 1, interval = "1 hour" }
cost = 2
"#;

/// The token of the administrator.
pub(crate) const TOKEN: &str = "a-token-for-tests";

/// A service on a port of its own. It ends when it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) client: Client,
    end: Option<oneshot::Sender<()>>,
    done: JoinHandle<()>,
}

pub(crate) fn service_of(policy: &str) -> Service {
    let policies = Policies::from_toml("limits.toml", policy).unwrap();
    Service::new(Limiters::new(Registry::new(policies).unwrap().counted()))
}

impl Running {
    pub(crate) async fn of(policy: &str) -> Running {
        Running::start(service_of(policy), Bounds::default()).await
    }

    pub(crate) async fn start(service: Service, bounds: Bounds) -> Running {
        let server = Server::bind(([127, 0, 0, 1], 0).into(), bounds).await.unwrap();
        Running::on(server.deciding(&service), service)
    }

    /// Starts one that answers all questions by its routes.
    pub(crate) async fn by_routes(policy: &str) -> Running {
        let server = Server::bind(([127, 0, 0, 1], 0).into(), Bounds::default()).await.unwrap();
        Running::on(server, service_of(policy))
    }

    fn on(server: Server, service: Service) -> Running {
        let server = server.counted(service.metrics());
        let address = server.address().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let done = tokio::spawn(server.run(api::routes(service), async {
            let _ = ended.await;
        }));
        Running { address, client: Client::new(), end: Some(end), done }
    }

    /// Ends it, and waits until it has.
    pub(crate) async fn end(mut self) {
        drop(self.end.take());
        self.done.await.unwrap();
    }

    /// Asks it to end, and does not wait.
    pub(crate) fn begin_end(&mut self) {
        drop(self.end.take());
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.client.get(self.url(path)).send().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let response = self.client.post(self.url(path)).json(body).send().await.unwrap();
        read(response).await
    }

    /// Returns the answer to a check, which is to have status 200.
    pub(crate) async fn check(&self, body: Value) -> Value {
        let (status, answer) = self.post("/v1/check", &body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Asks as the administrator.
    pub(crate) async fn post_as_admin(&self, path: &str, body: &Value) -> Response {
        self.client.post(self.url(path)).bearer_auth(TOKEN).json(body).send().await.unwrap()
    }

    /// Returns the status and the detail of a refusal to answer.
    pub(crate) async fn failure(&self, path: &str, body: &Value) -> (u16, String) {
        let response = self.client.post(self.url(path)).json(body).send().await.unwrap();
        failure(response).await
    }
}

pub(crate) async fn read(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let text = response.text().await.unwrap();
    let value = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
    (status, value)
}

/// Returns the status and the detail of problem details.
pub(crate) async fn failure(response: Response) -> (u16, String) {
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let (status, problem) = read(response).await;
    assert_eq!(problem["status"], status.as_u16());
    (status.as_u16(), problem["detail"].as_str().unwrap().to_owned())
}
