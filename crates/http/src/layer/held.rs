//! Permits that are held while the response is made, and settled when it has ended.

use http::response::Parts;
use http::{HeaderMap, StatusCode};

use super::settled::{Charge, Settlement};
use super::take::{Kept, OnAnswer};

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

/// Permits that are kept until there is a response. Dropping them is a response that is dropped.
#[derive(Debug, Default)]
pub(super) struct KeptForResponse(Vec<Kept>);

impl KeptForResponse {
    pub(super) fn new(kept: Vec<Kept>) -> KeptForResponse {
        KeptForResponse(kept)
    }

    /// Returns the permits, now that there is a response.
    fn into_kept(mut self) -> Vec<Kept> {
        std::mem::take(&mut self.0)
    }

    /// Settles what is settled without a response, and gives the places in flight back.
    pub(super) fn end(mut self, why: NoResponse) {
        self.settle(why);
    }

    fn settle(&mut self, why: NoResponse) {
        for kept in self.0.drain(..) {
            if let Kept::Charge(charge, settlement) = kept
                && let Some(used) = settlement.without_response(why)
            {
                charge.settle(used);
            }
        }
    }
}

impl Drop for KeptForResponse {
    fn drop(&mut self) {
        self.settle(NoResponse::Dropped);
    }
}

/// Permits that are held until a response has ended. Dropping it is an end, too.
#[derive(Debug)]
pub(super) struct Held {
    kept: Vec<Kept>,
    status: StatusCode,
    headers: HeaderMap,
    pub(super) bytes: u64,
    pub(super) trailers: Option<HeaderMap>,
    pub(super) end: BodyEnd,
}

impl Held {
    /// Settles what the head of a response settles, and holds the rest. Returns `None` if nothing is left.
    pub(super) fn after_head(kept: KeptForResponse, head: &Parts) -> Option<Box<Held>> {
        let kept = kept.into_kept();
        if kept.is_empty() {
            return None;
        }
        let kept: Vec<Kept> = kept.into_iter().filter_map(|kept| settle_by(kept, head)).collect();
        if kept.is_empty() {
            return None;
        }
        let is_settled = kept.iter().any(|kept| matches!(kept, Kept::Charge(..)));
        let headers = if is_settled { head.headers.clone() } else { HeaderMap::new() };
        let (status, end) = (head.status, BodyEnd::Dropped);
        Some(Box::new(Held { kept, status, headers, bytes: 0, trailers: None, end }))
    }

    fn settle(&self, charge: Charge, settlement: &Settlement) {
        let end = ResponseEnd {
            status: self.status,
            headers: &self.headers,
            bytes: self.bytes,
            trailers: self.trailers.as_ref(),
            end: self.end,
            estimate: charge.grant().permits(),
        };
        if let Some(used) = settlement.at_end(&end) {
            charge.settle(used);
        }
    }
}

/// Settles by the head of the response, or returns what is settled at its end.
fn settle_by(kept: Kept, head: &Parts) -> Option<Kept> {
    match kept {
        Kept::Charge(charge, settlement) if settlement.is_by_head() => {
            if let Some(used) = settlement.by_head(head) {
                charge.settle(used);
            }
            None
        }
        Kept::Answer(OnAnswer(note)) => {
            note(head.status);
            None
        }
        kept => Some(kept),
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for kept in std::mem::take(&mut self.kept) {
            match kept {
                Kept::Place { .. } | Kept::Answer(_) => {}
                Kept::Charge(charge, settlement) => self.settle(charge, &settlement),
            }
        }
    }
}
