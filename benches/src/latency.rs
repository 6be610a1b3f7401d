//! The times of single calls, and not only their average.
//!
//! Timing a call costs about as much as the call, so this has turns of its own,
//! and the turns that count calls have no timer in them. Here too only one call in
//! [`EVERY`] is timed, and the calls between follow each other as closely as in those
//! turns: the threads contend almost as often.
//!
//! A time is what the processor's counter advanced between a reading before the
//! call and one after it. The readings are not fenced, and nothing is subtracted:
//! what they cost is the row `clock/none`, and a processor may have begun a call
//! before it read the counter. So the lower percentiles of cheap calls are those of
//! the timer, in its steps; what the upper ones show is the limiter's, or, from
//! some microseconds on, the scheduler's.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Number of calls of which one is timed.
pub const EVERY: u64 = 8;

/// Digits of a time that are kept.
const DIGITS: u8 = 3;

/// The longest time that is told from longer ones, in ticks of the counter: some
/// seconds.
const LONGEST_TICKS: u64 = 1 << 34;

/// Percentiles of the times of single calls, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of the calls took no longer.
    pub p50: f64,
    /// 99 in 100 took no longer.
    pub p99: f64,
    /// 999 in 1000 took no longer.
    pub p999: f64,
    /// None took longer.
    pub max: f64,
}

/// The times of single calls, in ticks of the processor's counter.
#[derive(Clone, Debug)]
pub struct Ticks(Histogram<u64>);

impl Default for Ticks {
    fn default() -> Ticks {
        let ticks = Histogram::new_with_max(LONGEST_TICKS, DIGITS);
        Ticks(ticks.expect("the digits and the longest are in range"))
    }
}

impl Ticks {
    /// Adds the times of another turn, or of another thread.
    ///
    /// # Panics
    ///
    /// Never: all have the same range.
    pub fn add(&mut self, other: &Ticks) {
        self.0.add(&other.0).expect("their range is the same");
    }

    /// Adds one time.
    pub(crate) fn record(&mut self, ticks: u64) {
        self.0.saturating_record(ticks);
    }

    /// The longest, to three digits. `None` if no call was timed.
    #[must_use]
    pub fn longest(&self) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.max())
    }

    /// Returns their percentiles, with a tick of `nanos_per_tick` nanoseconds. `None` if no call
    /// was timed.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "three digits were kept")]
    pub fn percentiles(&self, nanos_per_tick: f64) -> Option<Latency> {
        if self.0.is_empty() {
            return None;
        }
        let nanos = |ticks: u64| ticks as f64 * nanos_per_tick;
        let at = |quantile| nanos(self.0.value_at_quantile(quantile));
        Some(Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: nanos(self.0.max()) })
    }
}

/// Returns the length of a tick of the counter, as quanta measured it.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "it is known to some millionths")]
pub fn nanos_per_tick() -> f64 {
    const TICKS: u64 = 1 << 32;
    quanta::Clock::new().delta_as_nanos(0, TICKS) as f64 / TICKS as f64
}

/// Makes calls through `calls`, several at a time, for as long as `goes_on`, and at least once,
/// and adds the times of some to `ticks`.
///
/// The timed call goes through `calls` like the others, though that is one more call: a limiter
/// that is called from two places may be inlined into neither.
pub(crate) fn lap(ticks: &mut Ticks, goes_on: impl Fn() -> bool, mut calls: impl FnMut(u64)) {
    let counter = quanta::Clock::new();
    loop {
        let began = counter.raw();
        calls(1);
        let ended = counter.raw();
        ticks.record(ended.saturating_sub(began));
        calls(EVERY - 1);
        if !goes_on() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ticks: impl IntoIterator<Item = u64>) -> Ticks {
        let mut all = Ticks::default();
        ticks.into_iter().for_each(|ticks| all.record(ticks));
        all
    }

    #[test]
    fn percentiles_are_times_that_so_many_calls_did_not_exceed() {
        let latency = of(1..=1_000).percentiles(0.5).expect("calls were timed");
        assert_eq!(latency, Latency { p50: 250.0, p99: 495.0, p999: 499.5, max: 500.0 });
    }

    #[test]
    fn one_slow_call_in_a_thousand_is_seen_at_the_most_only() {
        let latency = of((1..=999).map(|_| 7).chain([70_000])).percentiles(1.0);
        let latency = latency.expect("calls were timed");
        assert!((latency.p999 - 7.0).abs() < 1e-9);
        assert!((latency.max / 70_000.0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_times_of_several_threads_are_of_one_distribution() {
        let mut all = of([1; 99]);
        all.add(&of([900; 101]));
        assert_eq!(all.percentiles(1.0).map(|latency| latency.p50), Some(900.0));
    }

    #[test]
    fn where_no_call_was_timed_there_are_no_percentiles() {
        assert_eq!(Ticks::default().percentiles(1.0), None);
    }
}
