//! Calls of the script of concurrency, and its answers.

use std::time::{Duration, Instant};

use sluicegate::Denied;
use sluicegate::penalty::Standing;

use crate::error::StoreError;
use crate::script::CONCURRENCY;

/// A call of the script.
pub(crate) struct Call {
    pub(super) name: String,
    pub(super) arguments: [Vec<u8>; 5],
    pub(super) permits: u64,
    pub(super) sent: Instant,
}

impl Call {
    /// Reads an answer: the permits, and the standing that they leave.
    pub(crate) fn answer(
        &self,
        limit: u64,
        reply: &[i64],
    ) -> Result<Result<u64, Denied>, StoreError> {
        let read = || {
            let &[granted, _, used, reset, retry] = reply else { return None };
            let [used, reset, retry] =
                [used, reset, retry].map(|number| u64::try_from(number).ok());
            let reset_after = Duration::from_micros(reset?);
            let standing = Standing::new(limit, used?, reset_after);
            match u64::try_from(granted) {
                Ok(granted) if granted > self.permits => None,
                Ok(granted) => Some(Ok(granted)),
                // One that asks for nothing is granted it, however much is in flight.
                Err(_) if self.permits == 0 => Some(Ok(0)),
                Err(_) => Some(Err(standing.denial(self.permits, Duration::from_micros(retry?)))),
            }
        };
        read().ok_or_else(|| not_an_answer(reply))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn arguments(&self) -> [&[u8]; 5] {
        self.arguments.each_ref().map(Vec::as_slice)
    }

    /// Reads the number of permits in flight.
    pub(super) fn in_flight(reply: &[i64]) -> Result<u64, StoreError> {
        let used = reply.get(2).and_then(|&used| u64::try_from(used).ok());
        used.ok_or_else(|| not_an_answer(reply))
    }
}

fn not_an_answer(reply: &[i64]) -> StoreError {
    StoreError::Reply { script: CONCURRENCY.name(), reply: reply.to_vec() }
}
