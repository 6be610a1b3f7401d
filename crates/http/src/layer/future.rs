//! Responses of a service behind limits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::Shared;
use super::after::After;
use super::body::LimitedBody;
use super::decision::{Decision, Passed};
use super::timed_call::TimedCall;
use super::waiting::Waiting;

pin_project! {
    /// The response to a request: that of the service, or a refusal.
    ///
    /// A few words larger than the future of the service: what only some requests need is behind a pointer.
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
    }
}

pin_project! {
    #[project = Projected]
    enum Stage<S, B, F>
    where
        F: Future,
    {
        Passed { #[pin] response: F },
        /// Passed, with work that is left when the response is known.
        Finishes { #[pin] response: F, after: Option<Box<After>> },
        /// Waits for limits; then goes on with the service, which is ready.
        Waits { waiting: Option<Box<Waiting<S, B>>> },
        Timed { call: Pin<Box<TimedCall<F>>> },
        Refused { response: Option<Box<Response<Vec<u8>>>> },
    }
}

impl<S: Service<Request<B>>, B> RateLimitFuture<S, B> {
    /// Returns the response that the service is making.
    #[inline]
    pub(super) fn passed(response: S::Future) -> RateLimitFuture<S, B> {
        RateLimitFuture { stage: Stage::Passed { response } }
    }

    /// Calls the service, which is ready.
    pub(super) fn call(
        shared: &Arc<Shared>,
        service: &mut S,
        request: (Parts, B),
        passed: Passed,
    ) -> RateLimitFuture<S, B> {
        RateLimitFuture { stage: call(shared, service, request, passed) }
    }

    pub(super) fn waits(waiting: Waiting<S, B>) -> RateLimitFuture<S, B> {
        RateLimitFuture { stage: Stage::Waits { waiting: Some(Box::new(waiting)) } }
    }

    pub(super) fn refused(response: Box<Response<Vec<u8>>>) -> RateLimitFuture<S, B> {
        RateLimitFuture { stage: Stage::Refused { response: Some(response) } }
    }
}

/// Calls the service, which is ready.
fn call<S: Service<Request<B>>, B>(
    shared: &Arc<Shared>,
    service: &mut S,
    (mut parts, body): (Parts, B),
    mut passed: Passed,
) -> Stage<S, B, S::Future> {
    if let Some(told) = passed.told.take() {
        parts.extensions.extend(told);
    }
    match &shared.time_limit {
        Some(limiter) if passed.is_limited => {
            let head = parts.clone();
            let response = service.call(Request::from_parts(parts, body));
            let call = TimedCall::new(shared, limiter.execute_cancelling(response), head, passed);
            Stage::Timed { call: Box::pin(call) }
        }
        _ => {
            let response = service.call(Request::from_parts(parts, body));
            match passed.after {
                None => Stage::Passed { response },
                after => Stage::Finishes { response, after },
            }
        }
    }
}

impl<S, B, R> Future for RateLimitFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
{
    type Output = Result<Response<LimitedBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        loop {
            let next = match stage.as_mut().project() {
                Projected::Passed { response } => {
                    let response = ready!(response.poll(context))?;
                    return Poll::Ready(Ok(response.map(LimitedBody::service)));
                }
                Projected::Finishes { response, after } => {
                    let response = ready!(response.poll(context));
                    return Poll::Ready(After::end(after.take(), response));
                }
                Projected::Waits { waiting } => {
                    let (parts, decision) = match waiting {
                        Some(waiting) => ready!(waiting.poll_decision(context)),
                        None => return Poll::Pending,
                    };
                    match (decision, waiting.take()) {
                        (Decision::Pass(passed), Some(waiting)) => {
                            let Waiting { shared, mut service, body, .. } = *waiting;
                            call(&shared, &mut service, (parts, body), passed)
                        }
                        (Decision::Refuse(response), _) => {
                            Stage::Refused { response: Some(response) }
                        }
                        // It was there a moment ago.
                        (Decision::Pass(_), None) => return Poll::Pending,
                    }
                }
                Projected::Timed { call } => match ready!(call.as_mut().poll(context)) {
                    Ok((response, after)) => {
                        return Poll::Ready(After::end(after, response));
                    }
                    Err(response) => Stage::Refused { response: Some(response) },
                },
                Projected::Refused { response } => {
                    return match response.take() {
                        Some(response) => Poll::Ready(Ok((*response).map(LimitedBody::refusal))),
                        // Polled after it was ready.
                        None => Poll::Pending,
                    };
                }
            };
            stage.set(next);
        }
    }
}

impl<S: Service<Request<B>>, B> fmt::Debug for RateLimitFuture<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Waits { .. } => "waits",
            Stage::Passed { .. } | Stage::Finishes { .. } | Stage::Timed { .. } => "passed",
            Stage::Refused { .. } => "refused",
        };
        f.debug_struct("RateLimitFuture").field("stage", &stage).finish_non_exhaustive()
    }
}
