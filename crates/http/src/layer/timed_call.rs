//! Calls of a service that has a time limit.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::Response;
use http::request::Parts;
use pin_project_lite::pin_project;
use sluicegate_flow::time_limit::{TimeLimited, TimedOut};

use super::Shared;
use super::after::After;
use super::decision::Passed;
use super::timer::SharedTimer;

/// The response of a service, or that its time is over.
type Limited<F> = TimeLimited<F, SharedTimer, Result<<F as Future>::Output, TimedOut>>;

pin_project! {
    /// A call of a service that has a time limit.
    pub(super) struct TimedCall<F>
    where
        F: Future,
    {
        shared: Arc<Shared>,
        #[pin]
        response: Limited<F>,
        // The head of the request, for a refusal.
        head: Parts,
        passed: Passed,
    }
}

impl<F: Future> TimedCall<F> {
    pub(super) fn new(
        shared: &Arc<Shared>,
        response: Limited<F>,
        head: Parts,
        passed: Passed,
    ) -> TimedCall<F> {
        TimedCall { shared: Arc::clone(shared), response, head, passed }
    }
}

/// The output of the service with the work that is left, or the refusal of a request that took too long.
impl<F: Future> Future for TimedCall<F> {
    type Output = Result<(F::Output, Option<Box<After>>), Box<Response<Vec<u8>>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.project();
        let answer = ready!(call.response.poll(context));
        let after = call.passed.after.take();
        Poll::Ready(match answer {
            Ok(response) => Ok((response, after)),
            Err(timed_out) => {
                Err(Box::new(call.shared.time_out(timed_out.timeout(), after, call.head)))
            }
        })
    }
}
