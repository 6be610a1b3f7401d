//! The fairness between threads that share a limiter, millisecond by millisecond.
//!
//! Over a whole turn, a thread that is starved for a while and then starves the other looks as
//! if it had never been. So each thread counts its calls in every millisecond of the counter that
//! all of them read, and the calls of the slowest are compared with those of the fastest.
//! This shares nothing between threads, and reads the counter once in `BATCH` calls.
//!
//! A thread that the scheduler has taken off its processor makes no calls either. Turns in which
//! one had to wait for a processor are repeated.

use std::time::Duration;

use sluicegate::Clock as _;
use sluicegate::clock::QuantaClock;

/// The spans that are compared.
const TURN_NANOS: u64 = 1_000_000;

/// The shortest turn of a bench that contains several such spans.
pub const SHORTEST: Duration = Duration::from_millis(10);

/// Calls between two readings of the counter: few enough for those that belong to the
/// millisecond before to be negligible, and enough for the cost of the reading to be.
const BATCH: u64 = 32;

/// The calls of one thread in each millisecond.
pub(crate) struct Shares {
    /// The millisecond in which it began, since the counter did.
    first: u64,
    /// Its calls in that millisecond and in those that follow, without the one in which it ended.
    calls: Vec<u64>,
}

/// Makes calls through `calls`, several at a time, for as long as `goes_on`, and at least once.
pub(crate) fn lap(goes_on: impl Fn() -> bool, mut calls: impl FnMut(u64)) -> Shares {
    let clock = QuantaClock::new();
    let first = clock.now_nanos() / TURN_NANOS;
    let mut shares = Shares { first, calls: Vec::with_capacity(1_024) };
    let (mut made, mut end_nanos) = (0, (first + 1) * TURN_NANOS);
    loop {
        calls(BATCH);
        made += BATCH;
        let now_nanos = clock.now_nanos();
        while now_nanos >= end_nanos {
            shares.calls.push(made);
            (made, end_nanos) = (0, end_nanos + TURN_NANOS);
        }
        if !goes_on() {
            return shares;
        }
    }
}

/// Returns the calls of the slowest thread over those of the fastest, for each millisecond that
/// was whole for all threads and in which any made a call. Empty if there is only one thread.
#[expect(clippy::cast_precision_loss, reason = "they are the calls of a millisecond")]
pub(crate) fn ratios(threads: &[&Shares]) -> Vec<f64> {
    if threads.len() < 2 {
        return Vec::new();
    }
    // A thread was not there from the start of its first millisecond.
    let begin = threads.iter().map(|shares| shares.first + 1).max().unwrap_or(0);
    let last = |shares: &&Shares| shares.first + shares.calls.len() as u64;
    let end = threads.iter().map(last).min().unwrap_or(0);
    let ratio = |turn: u64| {
        let calls = || threads.iter().map(|shares| shares.calls[(turn - shares.first) as usize]);
        let most = calls().max().filter(|most| *most > 0)?;
        Some(calls().min()? as f64 / most as f64)
    };
    (begin..end).filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn shares(first: u64, calls: &[u64]) -> Shares {
        Shares { first, calls: calls.to_vec() }
    }

    #[test]
    fn only_milliseconds_that_are_whole_for_all_are_compared() {
        let (one, other) = (shares(7, &[9, 100, 50, 80, 70]), shares(8, &[1, 100, 40]));
        // The 9th and the 10th: the 8th is the second thread's first.
        assert_eq!(ratios(&[&one, &other]), [0.5, 0.5]);
        assert_eq!(ratios(&[&other, &one]), [0.5, 0.5]);
    }

    #[test]
    fn a_thread_that_gets_nothing_done_is_seen_and_nobody_at_all_is_not() {
        let (one, other) = (shares(0, &[5, 60, 0, 60]), shares(0, &[5, 0, 0, 60]));
        assert_eq!(ratios(&[&one, &other]), [0.0, 1.0]);
    }

    #[test]
    fn one_thread_and_threads_that_never_met_have_no_fairness() {
        assert!(ratios(&[&shares(0, &[1, 2, 3])]).is_empty());
        assert!(ratios(&[&shares(0, &[1, 2, 3]), &shares(9, &[1, 2, 3])]).is_empty());
        assert!(ratios(&[&shares(0, &[]), &shares(0, &[1, 2])]).is_empty());
    }

    #[test]
    fn every_call_before_the_last_millisecond_is_counted() {
        let made = Cell::new(0);
        let clock = QuantaClock::new();
        let calls = |count| made.set(made.get() + count);
        // The number of turns depends on the machine: a thread may have no processor for a while.
        let shares = loop {
            made.set(0);
            let end_nanos = clock.now_nanos() + 5 * TURN_NANOS;
            let shares = lap(|| clock.now_nanos() < end_nanos, calls);
            if !shares.calls.is_empty() {
                break shares;
            }
        };
        assert!(shares.calls.iter().sum::<u64>() <= made.get());
        assert!(shares.calls.iter().all(|calls| calls.is_multiple_of(BATCH)));
    }
}
