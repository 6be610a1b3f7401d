//! The fields of a response, as the layer for web servers writes them.

use std::time::SystemTime;

use http::HeaderMap;
use sluicegate_http::fields::{FieldVersion, FieldWriter, QuotaPolicy, QuotaUnit};

use super::answer::Answer;
use super::show::real;
use crate::algorithm::Terms;
use crate::setup::CheckedSide;
use crate::wire::Fields;

/// Writes the fields of responses under some terms.
#[derive(Debug)]
pub(super) struct ResponseWriter {
    writer: Option<FieldWriter>,
    /// The status of refusals.
    refused: u16,
}

impl ResponseWriter {
    pub(super) fn new(side: &CheckedSide) -> ResponseWriter {
        let writer = FieldWriter::new(FieldVersion::Draft8, policies(&side.terms)).ok();
        // If all clients together have too much in flight, it is the server's fault.
        let refused = if side.terms.holds() && !side.per_key { 503 } else { 429 };
        ResponseWriter { writer, refused }
    }

    /// Writes the fields of a response to a request with this answer.
    pub(super) fn write(&self, answer: &Answer) -> Fields {
        let mut headers = HeaderMap::new();
        if let Some(writer) = &self.writer {
            writer.write(&mut headers, &[answer.state], SystemTime::UNIX_EPOCH);
        }
        let told = headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let status = if answer.is_granted { 200 } else { self.refused };
        Fields { status, headers: told.collect() }
    }
}

fn policies(terms: &Terms) -> Vec<QuotaPolicy> {
    match *terms {
        Terms::Gcra { interval, tolerance } => {
            let burst = 1 + tolerance.as_nanos() / interval.as_nanos().max(1);
            let burst = u32::try_from(burst).unwrap_or(u32::MAX);
            vec![QuotaPolicy::new(burst.into()).per(interval.saturating_mul(burst))]
        }
        Terms::TokenBucket { quota } | Terms::LeakyBucket { quota } => vec![quota.into()],
        Terms::LeakyQueue { rate, size } => {
            let seconds = rate.period().as_secs_f64() * real(size) / real(rate.permits());
            let window = std::time::Duration::try_from_secs_f64(seconds).unwrap_or(rate.period());
            vec![QuotaPolicy::new(size).per(window)]
        }
        Terms::FixedWindow { limit }
        | Terms::SlidingWindow { limit, .. }
        | Terms::SlidingCounter { limit }
        | Terms::SlidingLog { limit } => {
            vec![QuotaPolicy::new(limit.permits()).per(limit.period())]
        }
        Terms::SeveralWindows { limits, .. } => {
            let named = ["short", "long"].into_iter().zip(limits).filter_map(|(name, limit)| {
                QuotaPolicy::new(limit.permits()).per(limit.period()).named(name).ok()
            });
            named.collect()
        }
        Terms::Concurrency { limit } => {
            vec![QuotaPolicy::new(limit).counting(QuotaUnit::ConcurrentRequests)]
        }
    }
}
