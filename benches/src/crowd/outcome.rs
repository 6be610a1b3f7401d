//! The outcome of a crowd.

use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use serde::Serialize;

/// The work of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    /// Permits that it got.
    pub(super) admitted: u64,
    /// Calls that it made.
    pub(super) calls: u64,
    /// The time until it had its share, or gave up.
    pub(super) took: Duration,
    /// The part of that time in which it was on a processor.
    pub(super) busy: Option<Duration>,
}

/// The spread of a figure over the threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// No thread has less.
    pub min: f64,
    /// One thread in a hundred has no more.
    pub p1: f64,
    /// Half of the threads have no more.
    pub p50: f64,
    /// 99 threads in a hundred have no more.
    pub p99: f64,
    /// No thread has more.
    pub max: f64,
}

impl Percentiles {
    /// The percentiles of `figures`, all 0 if there are none.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Percentiles {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        // The least figure that `percent` in a hundred do not exceed.
        let at = |percent: usize| {
            let rank = (figures.len() * percent).div_ceil(100).max(1);
            figures.get(rank - 1).copied().unwrap_or(0.0)
        };
        Percentiles { min: at(0), p1: at(1), p50: at(50), p99: at(99), max: at(100) }
    }
}

/// The results of a crowd.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The limiter.
    pub limiter: &'static str,
    /// The threads that asked it.
    pub threads: usize,
    /// Permits that each wanted.
    pub share: u64,
    /// Permits that each got.
    pub admitted_per_thread: Percentiles,
    /// Threads that got nothing.
    pub got_none: usize,
    /// Threads that got less than their share.
    pub got_less: usize,
    /// Calls that each made until it had its share, or gave up.
    pub calls_per_thread: Percentiles,
    /// Time that each was on a processor until then, in microseconds, if the system
    /// reports it.
    pub busy_us: Option<Percentiles>,
    /// The time until then by the clock on the wall, in milliseconds.
    pub ms_until_served: Percentiles,
    /// Calls of all threads.
    pub calls: u64,
    /// Permits granted to all.
    pub admitted: u64,
    /// The most permits that might have been granted.
    pub bound: u64,
    /// Permits granted beyond that.
    pub excess: u64,
    /// The resident memory of the process when all threads were up.
    pub resident_kib: Option<u64>,
    /// Growth of that memory until all were done.
    pub growth_kib: Option<i64>,
}

impl Outcome {
    #[expect(clippy::cast_precision_loss, reason = "they are shown to a few digits")]
    pub(super) fn of(
        limiter: &'static str,
        share: u64,
        tallies: &[Tally],
        bound: u64,
        (before_kib, after_kib): (Option<u64>, Option<u64>),
    ) -> Outcome {
        let spread = |figure: &dyn Fn(&Tally) -> f64| Percentiles::of(tallies.iter().map(figure));
        let count =
            |wanted: &dyn Fn(&Tally) -> bool| tallies.iter().filter(|tally| wanted(tally)).count();
        let micros = |tally: &Tally| tally.busy.map(|busy| busy.as_secs_f64() * 1e6);
        let busy: Option<Vec<f64>> = tallies.iter().map(micros).collect();
        let admitted: u64 = tallies.iter().map(|tally| tally.admitted).sum();
        Outcome {
            limiter,
            threads: tallies.len(),
            share,
            admitted_per_thread: spread(&|tally| tally.admitted as f64),
            got_none: count(&|tally| tally.admitted == 0),
            got_less: count(&|tally| tally.admitted < share),
            calls_per_thread: spread(&|tally| tally.calls as f64),
            busy_us: busy.map(Percentiles::of),
            ms_until_served: spread(&|tally| tally.took.as_secs_f64() * 1e3),
            calls: tallies.iter().map(|tally| tally.calls).sum(),
            admitted,
            bound,
            excess: admitted.saturating_sub(bound),
            resident_kib: before_kib,
            growth_kib: before_kib
                .zip(after_kib)
                .map(|(before, after)| after as i64 - before as i64),
        }
    }
}

/// Not all threads could be started.
#[derive(Debug)]
pub struct TooFew {
    /// Number of threads that could be started.
    pub started: usize,
    /// Number of threads that were wanted.
    pub wanted: usize,
    /// Reason why the next one could not be started.
    pub cause: io::Error,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "only {} of {} threads could be started", self.started, self.wanted)
    }
}

impl Error for TooFew {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_figures_of_threads() {
        let percentiles = Percentiles::of((1..=200).rev().map(f64::from));
        let expected = Percentiles { min: 1.0, p1: 2.0, p50: 100.0, p99: 198.0, max: 200.0 };
        assert_eq!(percentiles, expected);
    }

    #[test]
    fn one_thread_is_all_percentiles() {
        let same = Percentiles { min: 7.0, p1: 7.0, p50: 7.0, p99: 7.0, max: 7.0 };
        assert_eq!(Percentiles::of([7.0]), same);
    }

    #[test]
    fn who_got_nothing_also_got_less() {
        let tally = |admitted| Tally { admitted, calls: 9, took: Duration::ZERO, busy: None };
        let tallies = [tally(0), tally(2), tally(3)];
        let outcome = Outcome::of("one", 3, &tallies, 4, (Some(100), Some(90)));
        assert_eq!((outcome.got_none, outcome.got_less), (1, 2));
        assert_eq!((outcome.admitted, outcome.excess, outcome.growth_kib), (5, 1, Some(-10)));
        assert_eq!(outcome.busy_us, None);
    }
}
