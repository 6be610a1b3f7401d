//! Responses of a service behind limits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use sluicegate::{TimeLimited, TimedOut};
use tower_service::Service;

use super::Shared;
use super::body::LimitedBody;
use super::decision::{After, Decision, Passed};
use super::held::Held;
use super::timer::SharedTimer;
use super::waiting::Waiting;

pin_project! {
    /// The response to a request: that of the service, or a refusal.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time. A request that waits for a limit leaves its line, and gives back what it
    /// has taken, as [`Limit`](super::Limit) says. One that the service has keeps its permits spent, and gives
    /// its places in flight back.
    #[must_use = "futures do nothing unless they are polled"]
    pub struct RateLimitFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        stage: Stage<S, B, S::Future>,
        shared: Arc<Shared>,
    }
}

pin_project! {
    #[project = Projected]
    enum Stage<S, B, F>
    where
        F: Future,
    {
        /// Waits for limits; then goes on with the service, which is ready.
        Waits { waiting: Waiting, next: Option<(S, B)> },
        Passed { #[pin] response: F, after: Option<Box<After>> },
        Timed { #[pin] response: Timed<F>, call: Option<Box<TimedCall>> },
        Refused { response: Option<Box<Response<Vec<u8>>>> },
    }
}

/// The response of a service that has a time limit.
type Timed<F> = TimeLimited<F, SharedTimer, Result<<F as Future>::Output, TimedOut>>;

/// A call of a service that has a time limit.
struct TimedCall {
    passed: Passed,
    /// The head of the request, for a refusal.
    request: Parts,
}

impl<S: Service<Request<B>>, B> RateLimitFuture<S, B> {
    pub(super) fn waits(
        shared: Arc<Shared>,
        waiting: Waiting,
        service: S,
        body: B,
    ) -> RateLimitFuture<S, B> {
        RateLimitFuture { stage: Stage::Waits { waiting, next: Some((service, body)) }, shared }
    }

    pub(super) fn refused(
        shared: Arc<Shared>,
        response: Box<Response<Vec<u8>>>,
    ) -> RateLimitFuture<S, B> {
        RateLimitFuture { stage: Stage::Refused { response: Some(response) }, shared }
    }

    /// Calls the service, which is ready.
    pub(super) fn passed(
        shared: Arc<Shared>,
        service: &mut S,
        request: (Parts, B),
        passed: Passed,
    ) -> RateLimitFuture<S, B> {
        RateLimitFuture { stage: call(&shared, service, request, passed), shared }
    }
}

/// Calls the service, which is ready.
fn call<S: Service<Request<B>>, B>(
    shared: &Shared,
    service: &mut S,
    (parts, body): (Parts, B),
    passed: Passed,
) -> Stage<S, B, S::Future> {
    let limiter = match &shared.time_limit {
        Some(limiter) if passed.is_limited => limiter,
        _ => {
            let response = service.call(Request::from_parts(parts, body));
            return Stage::Passed { response, after: passed.after };
        }
    };
    let call = Box::new(TimedCall { passed, request: parts.clone() });
    let response = service.call(Request::from_parts(parts, body));
    Stage::Timed { response: limiter.execute_cancelling(response), call: Some(call) }
}

impl Shared {
    /// Does the work that is left when the response is known.
    fn finish<R: Body>(
        &self,
        response: Response<R>,
        after: Option<Box<After>>,
    ) -> Response<LimitedBody<R>> {
        let Some(after) = after else {
            return response.map(|body| LimitedBody::service(body, None));
        };
        let (mut parts, body) = response.into_parts();
        let held = Held::after_head(after.kept, &parts);
        if !after.states.is_empty() {
            self.writer.add(&mut parts.headers, &after.states, SystemTime::now());
        }
        Response::from_parts(parts, LimitedBody::service(body, held))
    }
}

impl<S, B, R> Future for RateLimitFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
{
    type Output = Result<Response<LimitedBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let stage = match this.stage.as_mut().project() {
                Projected::Waits { waiting, next } => {
                    let (parts, decision) = ready!(Pin::new(waiting).poll(context));
                    match (decision, next.take()) {
                        (Decision::Pass(passed), Some((mut service, body))) => {
                            call(this.shared, &mut service, (parts, body), passed)
                        }
                        (Decision::Refuse(response), _) => {
                            Stage::Refused { response: Some(response) }
                        }
                        // It was there when the request began to wait, and is taken once.
                        (Decision::Pass(_), None) => Stage::Refused { response: None },
                    }
                }
                Projected::Passed { response, after } => {
                    let response = ready!(response.poll(context))?;
                    return Poll::Ready(Ok(this.shared.finish(response, after.take())));
                }
                Projected::Timed { response, call } => {
                    match (ready!(response.poll(context)), call.take()) {
                        (Ok(response), call) => {
                            let after = call.and_then(|call| call.passed.after);
                            return Poll::Ready(Ok(this.shared.finish(response?, after)));
                        }
                        (Err(timed_out), Some(call)) => {
                            let TimedCall { passed, request } = *call;
                            let timeout = timed_out.timeout();
                            let response = this.shared.time_out(timeout, passed, &request);
                            Stage::Refused { response: Some(Box::new(response)) }
                        }
                        // The call is taken when it ends, which is once.
                        (Err(_), None) => Stage::Refused { response: None },
                    }
                }
                Projected::Refused { response } => {
                    return match response.take() {
                        Some(response) => Poll::Ready(Ok((*response).map(LimitedBody::refusal))),
                        // Polled after it was ready.
                        None => Poll::Pending,
                    };
                }
            };
            this.stage.set(stage);
        }
    }
}

impl<S: Service<Request<B>>, B> fmt::Debug for RateLimitFuture<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Waits { .. } => "waits",
            Stage::Passed { .. } | Stage::Timed { .. } => "passed",
            Stage::Refused { .. } => "refused",
        };
        f.debug_struct("RateLimitFuture").field("stage", &stage).finish_non_exhaustive()
    }
}
