//! The service that a layer makes.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::Shared;
use super::body::LimitedBody;
use super::decision::Decision;
use super::future::RateLimitFuture;
use super::plain::Plainly;
use super::refusal::RefusalReason;
use super::waiting::Waiting;

/// A service behind the limits of a [`RateLimitLayer`](super::RateLimitLayer). Clones share them.
///
/// The body of a response can be any whose data can be made of bytes, as `Bytes` can. The service has to be
/// one that can be cloned, because a request that waits takes the service that is ready for it along.
#[derive(Clone)]
pub struct RateLimit<S> {
    pub(super) inner: S,
    pub(super) shared: Arc<Shared>,
}

impl<S, B, R> Service<Request<B>> for RateLimit<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: Body<Data: From<Vec<u8>>>,
{
    type Response = Response<LimitedBody<R>>;
    type Error = S::Error;
    type Future = RateLimitFuture<S, B>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match self.shared.pass_plainly(&request) {
            Plainly::Passed => RateLimitFuture::passed(self.inner.call(request)),
            Plainly::Refused(reason) => self.decide(request, Some(reason)),
            Plainly::NotPlain => self.decide(request, None),
        }
    }
}

impl<S: Clone> RateLimit<S> {
    /// Decides a request by its head, unless its limit has refused it already.
    #[inline(never)]
    fn decide<B>(
        &mut self,
        request: Request<B>,
        refused: Option<RefusalReason>,
    ) -> RateLimitFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        let (parts, body) = request.into_parts();
        match self.shared.decide(&parts, refused) {
            Some(Decision::Pass(passed)) => {
                RateLimitFuture::call(&self.shared, &mut self.inner, (parts, body), passed)
            }
            Some(Decision::Refuse(response)) => RateLimitFuture::refused(response),
            None => {
                let clone = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, clone);
                RateLimitFuture::waits(Waiting::new(&self.shared, parts, ready, body))
            }
        }
    }
}

/// Shows the service inside.
impl<S: fmt::Debug> fmt::Debug for RateLimit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit").field("inner", &self.inner).finish_non_exhaustive()
    }
}
