//! Bounds on the time in which the body of a request comes, and on the bytes of all bodies.

use std::fmt;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Buf;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tonic::Status;

use crate::body_share::BodyShare;

/// Least bytes that a piece of a body counts as, for the buffers that it keeps: a body of pieces of one byte would otherwise
/// take many times the memory that it counts as.
const PIECE_BYTES: usize = 256;

pin_project! {
    /// A body that fails unless it has come within a time, from when it is first waited for, and unless there is space
    /// for it.
    pub(crate) struct BoundedBody<B> {
        #[pin]
        body: B,
        share: BodyShare,
        longest: Duration,
        // Made when the body is waited for: most come with the fields of the request.
        #[pin]
        late: Option<Sleep>,
    }
}

impl<B> BoundedBody<B> {
    pub(crate) fn new(body: B, share: BodyShare, longest: Duration) -> BoundedBody<B> {
        BoundedBody { body, share, longest, late: None }
    }
}

/// The reason why the server does not read a body to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyRefused {
    TimedOut,
    NoSpace,
}

/// The same as [`BodyRefused::NoSpace`], for clients of gRPC.
static NO_SPACE: LazyLock<Status> =
    LazyLock::new(|| Status::unavailable(BodyRefused::NoSpace.to_string()));

impl fmt::Display for BodyRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BodyRefused::TimedOut => {
                "the body has not come in time: send it at once, with the fields of the request"
            }
            BodyRefused::NoSpace => {
                "the bodies of all requests under way leave no space for this one: ask again in a second"
            }
        })
    }
}

/// A server of gRPC answers with the status that it finds among the sources of an error.
impl std::error::Error for BodyRefused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BodyRefused::TimedOut => None,
            BodyRefused::NoSpace => Some(&*NO_SPACE),
        }
    }
}

impl BodyRefused {
    /// Returns the reason that an error comes from, if it is one of these.
    pub(crate) fn source_of(error: &(dyn std::error::Error + 'static)) -> Option<BodyRefused> {
        let mut sources = std::iter::successors(Some(error), |error| error.source());
        sources.find_map(|source| source.downcast_ref().copied())
    }
}

impl<B: Body<Data: Buf, Error: Into<BoxError>>> Body for BoundedBody<B> {
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        if let Poll::Ready(frame) = this.body.poll_frame(context) {
            return Poll::Ready(frame.map(|frame| {
                let frame = frame.map_err(Into::into)?;
                let bytes = frame.data_ref().map_or(0, Buf::remaining);
                let counted = if bytes == 0 { 0 } else { bytes.max(PIECE_BYTES) };
                if this.share.take(counted) { Ok(frame) } else { Err(BodyRefused::NoSpace.into()) }
            }));
        }
        if this.late.is_none() {
            this.late.set(Some(sleep(*this.longest)));
        }
        if let Some(late) = this.late.as_pin_mut() {
            ready!(late.poll(context));
        }
        Poll::Ready(Some(Err(BodyRefused::TimedOut.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use axum::body::Bytes;
    use http_body_util::BodyExt;
    use sluicegate_flow::concurrency::ConcurrencyLimit;

    use super::*;

    /// A body that comes in pieces of one byte.
    struct Pieces {
        left: usize,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(None) };
            self.left = left;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b" ")))))
        }
    }

    #[tokio::test]
    async fn small_pieces_take_as_much_as_the_memory_that_each_needs() {
        let space = Arc::new(ConcurrencyLimit::new(10 * PIECE_BYTES as u64));
        let body = |left| {
            BoundedBody::new(Pieces { left }, BodyShare::new(&space), Duration::from_secs(60))
        };
        let whole = body(10).collect().await.unwrap();
        assert_eq!(whole.to_bytes().len(), 10);
        let error = body(11).collect().await.unwrap_err();
        assert_eq!(BodyRefused::source_of(&*error), Some(BodyRefused::NoSpace));
    }
}
