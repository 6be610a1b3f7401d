//! Permits that are held while the response is made, and settled when it has ended.

use http::response::Parts;
use http::{HeaderMap, StatusCode};

use super::charge::{Charge, Settlement};
use super::response_end::{BodyEnd, NoResponse, ResponseEnd};
use super::take::{Kept, OnAnswer};

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
