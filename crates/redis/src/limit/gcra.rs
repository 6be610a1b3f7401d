//! The generic cell rate algorithm.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::penalty::Standing;
use sluicegate::{Gcra, ManualClock};

use super::reply::Reply;
use super::{MOST, RedisLimit, Terms, gcd, packed};
use crate::error::LimitError;
use crate::script;

/// A GCRA in units of which an interval, the tolerance and a microsecond are whole numbers.
///
/// State: the time, and the units by which the theoretical arrival time of the next cell is ahead of it.
///
/// Its script keeps all numbers below 2^53: the units ahead are at most the capacity, which is at most 2^51, and the
/// debt, which is no more. Those of less than `fill` microseconds are at most 1,000 more than that, and those of a
/// request at most the capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    /// A divisor of 1,000.
    unit_nanos: u64,
    /// Units of an interval.
    interval: u64,
    /// Units of interval and tolerance together.
    capacity: u64,
}

impl Cells {
    pub(super) fn new(interval: Duration, tolerance: Duration) -> Result<Cells, LimitError> {
        // Checks both, by the rules and with the messages of the engine.
        Gcra::with_clock(interval, tolerance, ManualClock::new())?;
        // Both are at most 100 years now.
        let (interval_nanos, tolerance_nanos) =
            (interval.as_nanos() as u64, tolerance.as_nanos() as u64);
        let unit_nanos = gcd(gcd(interval_nanos, tolerance_nanos), 1_000);
        let capacity = (interval_nanos + tolerance_nanos) / unit_nanos;
        if capacity > MOST / 2 {
            return Err(LimitError::TooLong {
                what: "interval and tolerance together",
                value: interval + tolerance,
                most: Duration::from_nanos(MOST / 2 * unit_nanos),
            });
        }
        Ok(Cells { unit_nanos, interval: interval_nanos / unit_nanos, capacity })
    }

    /// Units of a microsecond.
    fn speed(&self) -> u64 {
        1_000 / self.unit_nanos
    }

    /// Units of the deepest debt: those of as many cells as may pass at once.
    fn debt(&self) -> u64 {
        self.capacity / self.interval * self.interval
    }

    /// Returns the wait until no more than `most` units are ahead.
    fn wait(&self, reply: &Reply, most: i128) -> Option<Duration> {
        let &[at, ahead] = reply.state else { return None };
        let units = i128::from(ahead) - most;
        if units <= 0 {
            return Some(Duration::ZERO);
        }
        Some(reply.wait(at, units * i128::from(self.unit_nanos)))
    }
}

impl Terms for Cells {
    fn limit(&self) -> u64 {
        self.capacity / self.interval
    }

    fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError> {
        // What remains of an interval stays, so the units are the same.
        let capacity = self.capacity - (self.limit() - limit) * self.interval;
        Ok(Cells { capacity, ..*self }.into())
    }

    fn comes_back_together(&self) -> u64 {
        1
    }

    fn standing(&self, reply: &Reply) -> Option<Standing> {
        let &[_, ahead] = reply.state else { return None };
        let left = i128::from(self.capacity) - i128::from(ahead);
        let used = i128::from(self.limit()) - left.div_euclid(i128::from(self.interval));
        Some(Standing::new(self.limit(), u64::try_from(used).ok()?, self.wait(reply, 0)?))
    }

    fn retry_after(&self, reply: &Reply, permits: u64) -> Option<Duration> {
        self.balance_after(reply, i64::try_from(permits).ok()?)
    }

    fn max_debt(&self) -> u64 {
        self.capacity / self.interval
    }

    fn balance_after(&self, reply: &Reply, balance: i64) -> Option<Duration> {
        let cost = i128::from(balance) * i128::from(self.interval);
        self.wait(reply, i128::from(self.capacity) - cost)
    }

    fn charged(&self, reply: &Reply) -> Option<Vec<i64>> {
        Some(reply.state.to_vec())
    }
}

impl From<Cells> for RedisLimit {
    fn from(cells: Cells) -> RedisLimit {
        let fill = (cells.capacity + cells.debt()).div_ceil(cells.speed());
        let numbers = [cells.capacity, cells.interval, cells.speed(), fill, cells.debt()];
        RedisLimit {
            script: &script::GCRA,
            kind: format!("gcra{}", cells.unit_nanos),
            numbers: packed(&numbers),
            terms: Arc::new(cells),
        }
    }
}
