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
        let (parts, body) = request.into_parts();
        let shared = Arc::clone(&self.shared);
        match shared.decide(&parts) {
            Some(Decision::Pass(passed)) => {
                RateLimitFuture::passed(shared, &mut self.inner, (parts, body), passed)
            }
            Some(Decision::Refuse(response)) => RateLimitFuture::refused(shared, response),
            None => {
                let waiting = Waiting::new(Arc::clone(&shared), parts);
                let clone = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, clone);
                RateLimitFuture::waits(shared, waiting, ready, body)
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
