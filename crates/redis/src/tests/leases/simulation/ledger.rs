//! The permits that were granted, and the bound on them.

use std::time::Duration;

use sluicegate::{Quota, Rate, quota, rate};

use crate::RedisLimit;

/// A limit, and what it allows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// `burst` and what a span earns.
    Bucket { quota: Quota, more: u64 },
    /// `limit` in each window that begins at a multiple of its length by the server's clock, and as many when it comes
    /// a second time.
    Windows(Rate),
    /// `limit` in any span of the window's length.
    Any(Rate),
}

/// The limits that can have leases.
pub(super) fn buckets() -> Vec<(RedisLimit, Bound)> {
    let smooth = quota!(100 / second, burst 200);
    let interval = quota!(10 / 100 milliseconds, burst 200);
    let interval = interval.with_refill(sluicegate::Refill::Interval);
    let nanos = Duration::from_nanos;
    vec![
        (RedisLimit::token_bucket(smooth).unwrap(), Bound::Bucket { quota: smooth, more: 0 }),
        (
            // An interval begins with the first request, so a span may have the gain of one more.
            RedisLimit::token_bucket(interval).unwrap(),
            Bound::Bucket { quota: interval, more: 10 },
        ),
        (
            RedisLimit::gcra(nanos(10_000_000), nanos(1_990_000_000)).unwrap(),
            Bound::Bucket { quota: smooth, more: 0 },
        ),
    ]
}

/// The others.
pub(super) fn windows() -> Vec<(RedisLimit, Bound)> {
    let (window, twice) = (rate!(200 / second), rate!(400 / second));
    vec![
        (RedisLimit::fixed_window(window).unwrap(), Bound::Windows(window)),
        (RedisLimit::window_from_first(window).unwrap(), Bound::Any(twice)),
        (RedisLimit::sliding_counter(window).unwrap(), Bound::Any(twice)),
        (RedisLimit::sliding_window(window, 10).unwrap(), Bound::Any(window)),
        (RedisLimit::sliding_log(window).unwrap(), Bound::Any(window)),
    ]
}

/// Something that happened to a key, at a time in microseconds of the server's clock, as if it had never been set back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    Granted(u64),
    /// The server forgot that it had charged so many.
    Forgotten(u64),
    /// The server's clock was set back by so many microseconds.
    SetBack(u64),
}

/// The grants of a key.
#[derive(Debug, Default)]
pub(super) struct Ledger(Vec<(u64, Entry)>);

impl Ledger {
    pub(super) fn add(&mut self, micros: u64, entry: Entry) {
        self.0.push((micros, entry));
    }

    pub(super) fn granted(&self) -> u64 {
        let permits =
            |&(_, entry): &_| if let Entry::Granted(permits) = entry { permits } else { 0 };
        self.0.iter().map(permits).sum()
    }

    /// Returns the most that was granted in a span beyond what it earned, and by how much that exceeds the bound: in
    /// permits.
    pub(super) fn worst(&mut self, bound: Bound) -> (u64, u64) {
        self.0.sort_by_key(|&(micros, _)| micros);
        match bound {
            Bound::Bucket { quota, more } => self.worst_of_bucket(quota, more),
            Bound::Windows(limit) => self.worst_of_windows(limit),
            Bound::Any(limit) => self.worst_of_spans(limit),
        }
    }

    /// Spans end with a grant. For each, those that begin with another: the most is the level of a bucket that leaks.
    fn worst_of_bucket(&self, quota: Quota, more: u64) -> (u64, u64) {
        let rate = quota.rate();
        let (permit, earns) = (rate.period().as_nanos(), u128::from(rate.permits()) * 1_000);
        let (mut level, mut most, mut last) = (0_u128, 0, 0);
        for &(micros, entry) in &self.0 {
            level = level.saturating_sub(u128::from(micros - last) * earns);
            last = micros;
            match entry {
                Entry::Granted(permits) => level += u128::from(permits) * permit,
                Entry::Forgotten(permits) => {
                    level = level.saturating_sub(u128::from(permits) * permit);
                }
                Entry::SetBack(_) => {}
            }
            most = most.max(level);
        }
        let most = most.div_ceil(permit) as u64;
        (most, most.saturating_sub(quota.burst() + more))
    }

    fn worst_of_windows(&self, limit: Rate) -> (u64, u64) {
        let micros_of_window = limit.period().as_micros() as u64;
        let (mut window, mut sum, mut allowed) = (0, 0, limit.permits());
        let (mut most, mut excess, mut back) = (0, 0, 0);
        for &(micros, entry) in &self.0 {
            let now = (micros - back) / micros_of_window;
            if now != window {
                (window, sum, allowed) = (now, 0, limit.permits());
            }
            match entry {
                Entry::Granted(permits) => sum += permits,
                Entry::Forgotten(permits) => allowed += permits,
                Entry::SetBack(by) => {
                    back += by;
                    // A window that comes a second time begins anew, also if nothing was granted before it.
                    if (micros - back) / micros_of_window != window {
                        (window, sum, allowed) = (u64::MAX, 0, limit.permits());
                    }
                }
            }
            most = most.max(sum);
            excess = excess.max(sum.saturating_sub(allowed));
        }
        (most, excess)
    }

    fn worst_of_spans(&self, limit: Rate) -> (u64, u64) {
        let micros_of_window = limit.period().as_micros() as u64;
        let (mut first, mut sum, mut allowed) = (0, 0, limit.permits());
        let (mut most, mut excess) = (0, 0);
        for &(micros, entry) in &self.0 {
            while self.0[first].0 + micros_of_window <= micros {
                match self.0[first].1 {
                    Entry::Granted(permits) => sum -= permits,
                    Entry::Forgotten(permits) => allowed -= permits,
                    Entry::SetBack(_) => {}
                }
                first += 1;
            }
            match entry {
                Entry::Granted(permits) => sum += permits,
                Entry::Forgotten(permits) => allowed += permits,
                Entry::SetBack(_) => {}
            }
            most = most.max(sum);
            excess = excess.max(sum.saturating_sub(allowed));
        }
        (most, excess)
    }
}

#[test]
fn a_ledger_finds_the_span_with_the_most() {
    let ledger = |entries: &[(u64, Entry)]| {
        let mut ledger = Ledger::default();
        for &(micros, entry) in entries {
            ledger.add(micros, entry);
        }
        ledger
    };
    let bucket = Bound::Bucket { quota: quota!(10 / second, burst 5), more: 0 };
    let granted = Entry::Granted;
    let mut late = ledger(&[(500_000, granted(5)), (0, granted(5)), (900_000, granted(5))]);
    assert_eq!(late.worst(bucket), (6, 1));
    let mut lost = ledger(&[(0, granted(5)), (1, Entry::Forgotten(3)), (1, granted(3))]);
    assert_eq!(lost.worst(bucket), (5, 0));
    assert_eq!(lost.granted(), 8);
    let window = rate!(5 / second);
    let mut spans =
        ledger(&[(900_000, granted(4)), (1_100_000, granted(3)), (1_900_000, granted(2))]);
    assert_eq!(spans.worst(Bound::Windows(window)), (5, 0));
    assert_eq!(spans.worst(Bound::Any(window)), (7, 2));
    let back = Entry::SetBack(1_000_000);
    let mut again = ledger(&[(1_100_000, granted(4)), (1_200_000, back), (1_300_000, granted(3))]);
    assert_eq!(again.worst(Bound::Windows(window)), (4, 0));
}
