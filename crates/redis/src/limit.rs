//! The limits that the scripts enforce.
//!
//! | file | |
//! |---|---|
//! | `token_bucket` | smooth token buckets, in exact fractions of a token |
//! | `interval_bucket` | token buckets that are refilled at the end of each interval |
//! | `gcra` | the generic cell rate algorithm, in units of a nanosecond or more |
//! | `window` | windows, whose times are whole microseconds |
//! | `reply` | the answer of a script |

mod gcra;
mod interval_bucket;
pub(crate) mod reply;
mod token_bucket;
mod window;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::penalty::Standing;
use sluicegate::{Quota, Rate, Refill};

use crate::error::LimitError;
use crate::script::Script;

use self::gcra::Cells;
use self::interval_bucket::IntervalBucket;
use self::reply::Reply;
use self::token_bucket::SmoothBucket;
use self::window::{FixedWindow, SlidingCounter, SlidingLog, SlidingWindow};

/// The largest integer below which a script counts exactly, less a bit for sums of two.
const MOST: u64 = 1 << 52;

/// A limit as a script enforces it for each key.
///
/// | constructor | as in the engine | admits at most, in any span of `t` | state on the server |
/// |---|---|---|---|
/// | [`token_bucket`](RedisLimit::token_bucket) | [`TokenBucket`](sluicegate::TokenBucket) | burst + what `t` earns | four numbers |
/// | [`gcra`](RedisLimit::gcra) | [`Gcra`](sluicegate::Gcra) | 1 + (tolerance + t) / interval | two numbers |
/// | [`fixed_window`](RedisLimit::fixed_window) | [`FixedWindow`](sluicegate::FixedWindow) | its limit in each window, twice that in other spans | two numbers |
/// | [`window_from_first`](RedisLimit::window_from_first) | [`WindowFromFirst`](sluicegate::window::WindowFromFirst) | the same | two numbers |
/// | [`sliding_counter`](RedisLimit::sliding_counter) | [`SlidingCounter`](sluicegate::SlidingCounter) | less than twice its limit in a window | three numbers |
/// | [`sliding_window`](RedisLimit::sliding_window) | `SlidingWindow` | its limit in any window | a number for each slot |
/// | [`sliding_log`](RedisLimit::sliding_log) | `SlidingLog`, `WeightedLog` | its limit in any window | an entry for each grant |
///
/// Time is that of the server, in microseconds, and one server decides about a key at a time. Nothing is rounded:
/// a bucket earns exactly its rate, whatever its callers do. Waits are the least that suffice, to the nanosecond.
///
/// The numbers of a script are doubles, so all integers in it are kept below 2^53; a limit for which that is not
/// possible is a [`LimitError`].
#[derive(Clone)]
pub struct RedisLimit {
    script: &'static Script,
    /// The name of the limit's kind in keys, with what the meaning of the state depends on.
    kind: String,
    /// The numbers of the script's terms, packed.
    numbers: Vec<u8>,
    terms: Arc<dyn Terms>,
}

/// The meaning of a script's state.
pub(crate) trait Terms: fmt::Debug + Send + Sync {
    /// Returns the largest request that is ever granted.
    fn limit(&self) -> u64;

    /// Returns the limit with the same rate, or the same window, that grants at most `limit` at once.
    fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError>;

    /// Returns the most permits that come back together: a limiter that can grant fewer at once never grants all
    /// of its limit.
    fn comes_back_together(&self) -> u64;

    /// Reads the state of `reply`; `None` if it is none of this script.
    fn standing(&self, reply: &Reply) -> Option<Standing>;

    /// Returns the time until `permits`, at most the limit, are left if no others are taken.
    fn retry_after(&self, reply: &Reply, permits: u64) -> Option<Duration>;

    /// Returns the deepest debt, in permits.
    fn max_debt(&self) -> u64 {
        0
    }

    /// Returns the time until the limiter's own balance is at least `balance`, which is negative for a debt: without
    /// permits that were given back, which may be lost by then.
    fn balance_after(&self, reply: &Reply, balance: i64) -> Option<Duration> {
        self.retry_after(reply, u64::try_from(balance).ok()?)
    }

    /// Returns the arguments with which the grant of `reply` can be given back; `None` if it cannot.
    fn charged(&self, reply: &Reply) -> Option<Vec<i64>> {
        let _ = reply;
        None
    }
}

impl RedisLimit {
    /// Creates a token bucket for each key, full at the first request.
    ///
    /// With [`Refill::Interval`], tokens arrive at the end of each interval. The intervals of a key begin with its
    /// first request, and go on from there without loss. A key that was full for a whole interval is forgotten.
    ///
    /// # Errors
    ///
    /// * [`LimitError::Period`] if the rate in lowest terms, in permits a microsecond, has a denominator of 2^51
    ///   or more. (71 years in microseconds, or 26 days if they are no whole microseconds and the permits
    ///   are odd.)
    /// * [`LimitError::Fraction`] and [`LimitError::TooLong`] if an interval is not whole microseconds, or it takes
    ///   more than 2^52 of them, 142 years, to fill a bucket that is as deep in debt as it may be.
    pub fn token_bucket(quota: impl Into<Quota>) -> Result<RedisLimit, LimitError> {
        let quota = quota.into();
        match quota.refill() {
            Refill::Smooth => Ok(SmoothBucket::new(quota)?.into()),
            Refill::Interval => Ok(IntervalBucket::new(quota)?.into()),
        }
    }

    /// Creates a GCRA for each key, which lets a cell pass every `interval`, up to `tolerance` early.
    ///
    /// # Errors
    ///
    /// * [`LimitError::Config`] as for [`Gcra::with_clock`](sluicegate::Gcra::with_clock).
    /// * [`LimitError::TooLong`] if interval and tolerance together are more than 2^51 times the largest part of a
    ///   microsecond that divides both: 71 years for whole microseconds, and 26 days for whole nanoseconds.
    pub fn gcra(interval: Duration, tolerance: Duration) -> Result<RedisLimit, LimitError> {
        Ok(Cells::new(interval, tolerance)?.into())
    }

    /// Creates a fixed window for each key. Windows begin at multiples of their length from 1970 on.
    ///
    /// # Errors
    ///
    /// [`LimitError::Fraction`] if the period is not whole microseconds.
    pub fn fixed_window(limit: Rate) -> Result<RedisLimit, LimitError> {
        Ok(FixedWindow::aligned(limit)?.into())
    }

    /// Creates a window for each key that begins with a grant, and the next one with the first grant after
    /// its end.
    ///
    /// # Errors
    ///
    /// [`LimitError::Fraction`] if the period is not whole microseconds.
    pub fn window_from_first(limit: Rate) -> Result<RedisLimit, LimitError> {
        Ok(FixedWindow::from_first(limit)?.into())
    }

    /// Creates a sliding counter for each key: the present window, and a part of the one before.
    ///
    /// # Errors
    ///
    /// [`LimitError::Fraction`] if the period is not whole microseconds, and [`LimitError::TooLong`] if it is
    /// more than 2^51 of them, 71 years.
    pub fn sliding_counter(limit: Rate) -> Result<RedisLimit, LimitError> {
        Ok(SlidingCounter::new(limit)?.into())
    }

    /// Creates a sliding window of `slots` slots for each key. A slot is rounded up to whole microseconds.
    ///
    /// A permit leaves the window late by at most a slot. A denial takes as many steps on the server as there are
    /// slots.
    ///
    /// # Errors
    ///
    /// * [`LimitError::Fraction`] if the period is not whole microseconds, and [`LimitError::Slots`] if `slots` is
    ///   not from 1 to 1,000.
    /// * [`LimitError::TooLong`] if the window and a slot are more than 2^52 microseconds, 142 years, together.
    pub fn sliding_window(limit: Rate, slots: u32) -> Result<RedisLimit, LimitError> {
        Ok(SlidingWindow::new(limit, slots)?.into())
    }

    /// Creates a log for each key, which remembers each grant of the window: exact to the microsecond.
    ///
    /// Takes about 100 bytes on the server for each grant that it remembers.
    ///
    /// # Errors
    ///
    /// [`LimitError::Fraction`] if the period is not whole microseconds, and [`LimitError::Log`] if the limit is
    /// above 1,048,576.
    pub fn sliding_log(limit: Rate) -> Result<RedisLimit, LimitError> {
        Ok(SlidingLog::new(limit)?.into())
    }

    /// Returns the largest number of permits that can be granted at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.terms.limit()
    }

    /// Returns the limit with the same rate, or the same window, that grants at most `limit` at once: from 1 to what
    /// this one grants.
    pub(crate) fn with_limit(&self, limit: u64) -> Result<RedisLimit, LimitError> {
        self.terms.with_limit(limit.clamp(1, self.limit()))
    }

    pub(crate) fn script(&self) -> &'static Script {
        self.script
    }

    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the numbers of the script's terms, in `MessagePack`.
    pub(crate) fn numbers(&self) -> &[u8] {
        &self.numbers
    }

    pub(crate) fn terms(&self) -> &dyn Terms {
        &*self.terms
    }
}

impl fmt::Debug for RedisLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.terms.fmt(f)
    }
}

/// Returns a time in whole microseconds.
fn micros(what: &'static str, value: Duration) -> Result<u64, LimitError> {
    if !value.subsec_nanos().is_multiple_of(1_000) {
        return Err(LimitError::Fraction { what, value });
    }
    // Periods are below 2^62 ns.
    Ok(u64::try_from(value.as_micros()).unwrap_or(u64::MAX))
}

/// Returns the largest power of two by which `divisor` can be multiplied in a long division, if there is one.
fn base_for(divisor: u64) -> Option<u64> {
    let spare = MOST.checked_div(divisor)?.checked_ilog2()?;
    (spare > 0).then(|| 1 << spare)
}

/// Returns `numbers` in `MessagePack`, as scripts take them.
pub(crate) fn packed(numbers: &[u64]) -> Vec<u8> {
    let mut packed = Vec::new();
    for &number in numbers {
        // Writing to a vector does not fail.
        let _ = rmp::encode::write_uint(&mut packed, number);
    }
    packed
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
