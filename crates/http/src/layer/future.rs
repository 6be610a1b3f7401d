//! Responses of a service behind limits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use http::Response;
use pin_project_lite::pin_project;

use super::Shared;
use super::decision::{Passed, States};

pin_project! {
    /// The response to a request: that of the service, or a refusal.
    #[must_use = "futures do nothing unless they are polled"]
    pub struct RateLimitFuture<F> {
        #[pin]
        answer: Answer<F>,
    }
}

pin_project! {
    #[project = Projected]
    enum Answer<F> {
        Passed { #[pin] response: F, after: Option<After> },
        Refused { response: Option<Response<Vec<u8>>> },
    }
}

/// The work that is left when the response is known.
struct After {
    passed: Passed,
    shared: Arc<Shared>,
}

impl After {
    fn apply<R>(self, response: Response<R>) -> Response<R> {
        let (mut parts, body) = response.into_parts();
        for (which, charge) in self.passed.charges {
            if let Some(limit) = self.shared.limits.get(which) {
                limit.settle(charge, &parts);
            }
        }
        if self.shared.is_on_every_response {
            let states = self.passed.states.as_slice();
            self.shared.writer.write(&mut parts.headers, states, SystemTime::now());
        }
        Response::from_parts(parts, body)
    }
}

impl<F> RateLimitFuture<F> {
    pub(super) fn refused(response: Response<Vec<u8>>) -> RateLimitFuture<F> {
        RateLimitFuture { answer: Answer::Refused { response: Some(response) } }
    }

    pub(super) fn passed(response: F, passed: Passed, shared: &Arc<Shared>) -> RateLimitFuture<F> {
        let has_fields = shared.is_on_every_response && !matches!(passed.states, States::None);
        let is_work = has_fields || !passed.charges.is_empty();
        let after = is_work.then(|| After { passed, shared: Arc::clone(shared) });
        RateLimitFuture { answer: Answer::Passed { response, after } }
    }
}

impl<F, R, E> Future for RateLimitFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: From<Vec<u8>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().answer.project() {
            Projected::Passed { response, after } => {
                let response = ready!(response.poll(context))?;
                Poll::Ready(Ok(match after.take() {
                    Some(after) => after.apply(response),
                    None => response,
                }))
            }
            Projected::Refused { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response.map(R::from))),
                // Polled after it was ready.
                None => Poll::Pending,
            },
        }
    }
}

impl<F> fmt::Debug for RateLimitFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_refused = matches!(self.answer, Answer::Refused { .. });
        f.debug_struct("RateLimitFuture").field("is_refused", &is_refused).finish()
    }
}
