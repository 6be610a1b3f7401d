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
use super::decision::States;

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
        Passed { #[pin] response: F, fields: Option<Fields> },
        Refused { response: Option<Response<Vec<u8>>> },
    }
}

/// The fields that a response is to have.
struct Fields {
    states: States,
    shared: Arc<Shared>,
}

impl<F> RateLimitFuture<F> {
    pub(super) fn refused(response: Response<Vec<u8>>) -> RateLimitFuture<F> {
        RateLimitFuture { answer: Answer::Refused { response: Some(response) } }
    }

    pub(super) fn passed(response: F, states: States, shared: &Arc<Shared>) -> RateLimitFuture<F> {
        let has_fields = shared.is_on_every_response && !matches!(states, States::None);
        let fields = has_fields.then(|| Fields { states, shared: Arc::clone(shared) });
        RateLimitFuture { answer: Answer::Passed { response, fields } }
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
            Projected::Passed { response, fields } => {
                let mut response = ready!(response.poll(context))?;
                if let Some(Fields { states, shared }) = fields.take() {
                    let now = SystemTime::now();
                    shared.writer.write(response.headers_mut(), states.as_slice(), now);
                }
                Poll::Ready(Ok(response))
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
