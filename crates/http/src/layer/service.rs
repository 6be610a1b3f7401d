//! The service that a layer makes.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::Shared;
use super::decision::Decision;
use super::future::RateLimitFuture;

/// A service behind the limits of a [`RateLimitLayer`](super::RateLimitLayer). Clones share them.
///
/// The body of a response has to be one that can be made of bytes, as axum's `Body` and `Full` of
/// `http-body-util` can.
#[derive(Clone)]
pub struct RateLimit<S> {
    pub(super) inner: S,
    pub(super) shared: Arc<Shared>,
}

impl<S, B, R> Service<Request<B>> for RateLimit<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Vec<u8>>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = RateLimitFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        match self.shared.decide(&parts) {
            Decision::Refuse(response) => RateLimitFuture::refused(response),
            Decision::Pass(passed) => {
                let response = self.inner.call(Request::from_parts(parts, body));
                RateLimitFuture::passed(response, passed, &self.shared)
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
