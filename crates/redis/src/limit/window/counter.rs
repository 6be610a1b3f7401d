//! Sliding counters.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::Rate;
use sluicegate::penalty::Standing;

use super::Window;
use crate::error::LimitError;
use crate::limit::reply::Reply;
use crate::limit::{MOST, RedisLimit, Terms, base_for, packed};
use crate::script;

/// The counts of two windows, the older of which counts in part.
///
/// State: the number of the present window, and the permits of the one before and of this one.
///
/// Its script keeps all numbers below 2^53. Counts are at most 2^32, and a window is at most 2^51 microseconds, so
/// `base_for` it is at least 2. Two windows end at most 2^52 after the time of the clock, which is less until the
/// year 2112.
#[derive(Clone, Copy, Debug)]
pub(in crate::limit) struct SlidingCounter {
    window: Window,
}

/// The counts, as the engine weighs them.
struct Counts {
    limit: u64,
    previous: u128,
    current: u128,
    left_nanos: u128,
    length_nanos: u128,
}

impl SlidingCounter {
    pub(in crate::limit) fn new(limit: Rate) -> Result<SlidingCounter, LimitError> {
        let window = Window::new(limit)?;
        if base_for(window.micros).is_none() {
            let most = Duration::from_micros(MOST / 2);
            return Err(LimitError::TooLong { what: "window", value: limit.period(), most });
        }
        Ok(SlidingCounter { window })
    }

    fn counts(&self, reply: &Reply) -> Option<Counts> {
        let &[window, previous, current] = reply.state else { return None };
        let length = i128::from(self.window.micros);
        let end = (i128::from(window) + 1).checked_mul(length)?;
        let left = u128::try_from(end - i128::from(reply.now)).ok()?;
        Some(Counts {
            limit: self.window.limit,
            previous: u128::try_from(previous).ok()?,
            current: u128::try_from(current).ok()?,
            left_nanos: left.checked_mul(1_000)?,
            length_nanos: u128::from(self.window.micros) * 1_000,
        })
    }
}

impl Counts {
    /// Returns the permits that count, rounded up.
    fn used(&self) -> u128 {
        let covered = self.left_nanos.min(self.length_nanos);
        self.current + (self.previous * covered).div_ceil(self.length_nanos)
    }

    /// Returns the least wait after which `permits`, at most the limit, are within the limit.
    fn wait(&self, permits: u64) -> Duration {
        let limit = u128::from(self.limit);
        let nanos = if self.used() + u128::from(permits) <= limit {
            0
        } else if let Some(room) = limit.checked_sub(self.current + u128::from(permits)) {
            self.left_nanos.saturating_sub(self.worth_at_most(self.previous, room))
        } else {
            let room = limit.saturating_sub(u128::from(permits));
            self.left_nanos + self.length_nanos - self.worth_at_most(self.current, room)
        };
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the longest part of a window with `count` permits that weighs no more than `room`.
    fn worth_at_most(&self, count: u128, room: u128) -> u128 {
        if count <= room { self.length_nanos } else { room * self.length_nanos / count }
    }
}

impl Terms for SlidingCounter {
    fn limit(&self) -> u64 {
        self.window.limit
    }

    fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError> {
        Ok(SlidingCounter { window: Window { limit, ..self.window } }.into())
    }

    fn comes_back_together(&self) -> u64 {
        self.window.limit
    }

    fn standing(&self, reply: &Reply) -> Option<Standing> {
        let counts = self.counts(reply)?;
        Some(Standing::new(
            self.window.limit,
            u64::try_from(counts.used()).ok()?,
            counts.wait(self.window.limit),
        ))
    }

    fn retry_after(&self, reply: &Reply, permits: u64) -> Option<Duration> {
        Some(self.counts(reply)?.wait(permits))
    }

    fn charged(&self, reply: &Reply) -> Option<Vec<i64>> {
        let &[window, _, _] = reply.state else { return None };
        Some(vec![window])
    }
}

impl From<SlidingCounter> for RedisLimit {
    fn from(counter: SlidingCounter) -> RedisLimit {
        let Window { limit, micros } = counter.window;
        let base = base_for(micros).unwrap_or(2);
        let numbers = [limit, micros, base];
        RedisLimit {
            script: &script::SLIDING_COUNTER,
            kind: format!("sc{micros}"),
            numbers: packed(&numbers),
            terms: Arc::new(counter),
        }
    }
}
