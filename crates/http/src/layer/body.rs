//! The body of a response behind limits.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::held::Held;
use super::response_end::BodyEnd;

pin_project! {
    /// The body of a response: that of the service, or that of a refusal.
    ///
    /// It passes on the frames of the service's body as they are. The permits that a request holds are given
    /// back or settled as soon as the body has ended, has failed, or is dropped.
    pub struct LimitedBody<B> {
        #[pin]
        body: Inner<B>,
    }
}

pin_project! {
    #[project = Projected]
    enum Inner<B> {
        Service { #[pin] body: B },
        Holding { #[pin] body: B, held: Option<Box<Held>> },
        Refusal { bytes: Option<Vec<u8>> },
    }
}

impl<B> LimitedBody<B> {
    /// Returns the body of a service, which holds nothing.
    #[inline]
    pub(super) fn service(body: B) -> LimitedBody<B> {
        LimitedBody { body: Inner::Service { body } }
    }

    pub(super) fn refusal(bytes: Vec<u8>) -> LimitedBody<B> {
        let bytes = (!bytes.is_empty()).then_some(bytes);
        LimitedBody { body: Inner::Refusal { bytes } }
    }
}

impl<B: Body> LimitedBody<B> {
    /// Returns the body of a service whose end ends what is held. One that has no frames has ended already.
    pub(super) fn holding(body: B, mut held: Option<Box<Held>>) -> LimitedBody<B> {
        if body.is_end_stream() {
            end(&mut held, BodyEnd::Complete);
        }
        match held {
            None => LimitedBody::service(body),
            held => LimitedBody { body: Inner::Holding { body, held } },
        }
    }
}

/// Ends what is held, if it is still.
fn end(held: &mut Option<Box<Held>>, end: BodyEnd) {
    if let Some(mut held) = held.take() {
        held.end = end;
    }
}

impl<B: Body<Data: From<Vec<u8>>>> Body for LimitedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let (mut body, held) = match self.project().body.project() {
            Projected::Service { body } => return body.poll_frame(context),
            Projected::Holding { body, held } => (body, held),
            Projected::Refusal { bytes } => {
                return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes.into()))));
            }
        };
        let frame = ready!(body.as_mut().poll_frame(context));
        if let Some(holding) = held {
            match &frame {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        let bytes = u64::try_from(data.remaining()).unwrap_or(u64::MAX);
                        holding.bytes = holding.bytes.saturating_add(bytes);
                    }
                    // Trailers are the end, and servers do not ask for what follows them.
                    let trailers = frame.trailers_ref();
                    holding.trailers = trailers.cloned();
                    if trailers.is_some() || body.is_end_stream() {
                        end(held, BodyEnd::Complete);
                    }
                }
                Some(Err(_)) => end(held, BodyEnd::Failed),
                None => end(held, BodyEnd::Complete),
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Inner::Service { body } | Inner::Holding { body, .. } => body.is_end_stream(),
            Inner::Refusal { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Inner::Service { body } | Inner::Holding { body, .. } => body.size_hint(),
            Inner::Refusal { bytes } => {
                let length = bytes.as_ref().map_or(0, Vec::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
        }
    }
}

impl<B> fmt::Debug for LimitedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_refusal = matches!(self.body, Inner::Refusal { .. });
        f.debug_struct("LimitedBody").field("is_refusal", &is_refusal).finish_non_exhaustive()
    }
}
