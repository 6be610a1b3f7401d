//! The end of a response, or of a request without one.

use http::{HeaderMap, StatusCode};

/// A response that has ended, for the settlement of its request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ResponseEnd<'r> {
    /// The status.
    pub status: StatusCode,
    /// The fields of its head, as the service has set them.
    pub headers: &'r HeaderMap,
    /// The bytes of its body that were sent, or handed over to be sent.
    pub bytes: u64,
    /// The trailers, if there were any and they were reached.
    pub trailers: Option<&'r HeaderMap>,
    /// The way in which the body has ended.
    pub end: BodyEnd,
    /// The permits that the request took when it was admitted.
    pub estimate: u64,
}

impl ResponseEnd<'_> {
    /// Returns the number that a field of the head or of the trailers has: the count of tokens that a
    /// service tells, for instance. `None` if there is none, or it is not a number; trailers go first.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<u64> {
        let in_map = |map: &HeaderMap| map.get(field)?.to_str().ok()?.trim().parse().ok();
        self.trailers.and_then(in_map).or_else(|| in_map(self.headers))
    }
}

/// The way in which the body of a response has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it was sent.
    Complete,
    /// It failed halfway.
    Failed,
    /// It was dropped before its end, as the client went away or nobody wanted it (the response to a `HEAD`).
    Dropped,
}

/// The reason for which a request has no response of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoResponse {
    /// The service has taken longer than the [time limit](super::RateLimitLayer::time_limit) of the layer.
    TimedOut,
    /// The service has failed: it has returned an error instead of a response.
    Failed,
    /// The future of the response was dropped: the client has gone away, or a layer further outside has given up.
    Dropped,
}
