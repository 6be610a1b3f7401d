//! The service that a layer makes: a client that takes its turn.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::AGE;
use tokio::time::{Instant, sleep, timeout_at};
use tower_service::Service;

use crate::fields::{ResponseFields, parse_retry_after};

use super::error::OutgoingError;
use super::request::{OutgoingRequest, OutgoingResponse};
use super::retries::is_idempotent;
use super::server_limits::Sending;
use super::server_state::is_refusal;
use super::shared::Shared;

/// A client behind an [`OutgoingLayer`](super::OutgoingLayer). Clones share what is known of servers.
///
/// The client has to be `Clone`, as those of reqwest and hyper-util are. It is asked whether it is ready
/// when a request has its turn, so this service itself is always ready.
pub struct Outgoing<S, Q> {
    pub(super) client: S,
    pub(super) shared: Arc<Shared<Q>>,
}

type Answer<S, Q> = Result<<S as Service<Q>>::Response, OutgoingError<<S as Service<Q>>::Error>>;

impl<S, Q> Service<Q> for Outgoing<S, Q>
where
    Q: OutgoingRequest + Send + 'static,
    S: Service<Q> + Clone + Send + 'static,
    S::Response: OutgoingResponse + Send,
    S::Error: Send,
    S::Future: Send,
{
    type Response = S::Response;
    type Error = OutgoingError<S::Error>;
    type Future = Pin<Box<dyn Future<Output = Answer<S, Q>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let (client, shared) = (self.client.clone(), Arc::clone(&self.shared));
        Box::pin(async move {
            let Some(deadline) = shared.deadline else {
                return send(client, &shared, request, None).await;
            };
            let ends = Instant::now().checked_add(deadline);
            let answer = send(client, &shared, request, ends);
            match ends {
                Some(ends) => timeout_at(ends, answer)
                    .await
                    .unwrap_or(Err(OutgoingError::TimedOut { deadline })),
                None => answer.await,
            }
        })
    }
}

/// Sends a request until it has a response that is final.
async fn send<S, Q>(
    mut client: S,
    shared: &Shared<Q>,
    mut request: Q,
    ends: Option<Instant>,
) -> Answer<S, Q>
where
    Q: OutgoingRequest,
    S: Service<Q>,
    S::Response: OutgoingResponse,
{
    let server = shared.server(&request);
    if let Some(budget) = &server.budget {
        budget.add_request();
    }
    let mut last = None;
    let mut tries = 0_u32;
    loop {
        tries = tries.saturating_add(1);
        let left = ends.map(|ends| ends.saturating_duration_since(Instant::now()));
        let longest = shared.max_wait.min(left.unwrap_or(Duration::MAX));
        let sending = match (server.limits.turn(longest).await, last.take()) {
            (Ok(sending), _) => sending,
            // To have an answer is better than to be told that there is no turn for a second one.
            (Err(_), Some(answer)) => return answer,
            (Err(no_turn), None) => return Err(OutgoingError::NoTurn(no_turn)),
        };
        let copy = shared.retries.as_ref().and_then(|retries| {
            let copy = retries.copy(tries, &request)?;
            Some((retries, copy))
        });
        let answer = call(&mut client, request, sending).await;
        let Some((retries, copy)) = copy else { return answer };
        let is_retried = match &answer {
            Ok(response) => retries.is_after(response.status()),
            // It may have been sent.
            Err(_) => is_idempotent(copy.method()),
        };
        if !is_retried || !server.may_retry() {
            return answer;
        }
        if !tells_wait(&answer) {
            sleep(retries.random_backoff(tries)).await;
        }
        last = Some(answer);
        request = copy;
    }
}

/// Sends a request once, and learns from the response.
async fn call<S, Q>(client: &mut S, request: Q, sending: Sending<'_>) -> Answer<S, Q>
where
    S: Service<Q>,
    S::Response: OutgoingResponse,
{
    poll_fn(|context| client.poll_ready(context)).await.map_err(OutgoingError::Client)?;
    let response = client.call(request).await.map_err(OutgoingError::Client)?;
    let mut fields = ResponseFields::parse(response.headers(), SystemTime::now());
    if is_from_cache(response.headers()) {
        // It tells what was left when it was stored.
        fields.limits.clear();
    }
    sending.sync_with(response.status(), &fields);
    Ok(response)
}

/// Returns whether a cache has answered in place of the server (RFC 9111, section 5.1).
fn is_from_cache(headers: &HeaderMap) -> bool {
    headers.get(AGE).is_some_and(|age| age != "0")
}

/// Returns whether the server tells a wait: it holds for all requests, and so for the next turn.
fn tells_wait<R: OutgoingResponse, E>(answer: &Result<R, E>) -> bool {
    answer.as_ref().is_ok_and(|response| {
        is_refusal(response.status())
            && parse_retry_after(response.headers(), SystemTime::now()).is_some()
    })
}

impl<S: Clone, Q> Clone for Outgoing<S, Q> {
    fn clone(&self) -> Outgoing<S, Q> {
        Outgoing { client: self.client.clone(), shared: Arc::clone(&self.shared) }
    }
}

/// Shows the client and the options.
impl<S: fmt::Debug, Q> fmt::Debug for Outgoing<S, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("client", &self.client)
            .field("shared", &self.shared)
            .finish()
    }
}
