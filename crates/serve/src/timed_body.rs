//! A bound on the time in which the body of a request comes.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

pin_project! {
    /// A body that fails unless it has come within a time, from when it is first waited for.
    pub(crate) struct TimedBody<B> {
        #[pin]
        body: B,
        longest: Duration,
        // Made when the body is waited for: most come with the fields of the request.
        #[pin]
        late: Option<Sleep>,
    }
}

impl<B> TimedBody<B> {
    pub(crate) fn new(body: B, longest: Duration) -> TimedBody<B> {
        TimedBody { body, longest, late: None }
    }
}

/// The body of a request has not come in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyTimedOut;

impl fmt::Display for BodyTimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the body has not come in time: send it at once, with the fields of the request",
        )
    }
}

impl std::error::Error for BodyTimedOut {}

impl BodyTimedOut {
    /// Returns true if this is what an error comes from.
    pub(crate) fn is_source_of(error: &(dyn std::error::Error + 'static)) -> bool {
        let mut sources = std::iter::successors(Some(error), |error| error.source());
        sources.any(<dyn std::error::Error>::is::<BodyTimedOut>)
    }
}

impl<B: Body<Error: Into<BoxError>>> Body for TimedBody<B> {
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        if let Poll::Ready(frame) = this.body.poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if this.late.is_none() {
            this.late.set(Some(sleep(*this.longest)));
        }
        if let Some(late) = this.late.as_pin_mut() {
            ready!(late.poll(context));
        }
        Poll::Ready(Some(Err(BodyTimedOut.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
