//! A limiter, or a bare clock, as the benches see it.

pub(crate) mod clocks;
mod counted;
mod lease;
mod leaving;
mod mutex_bucket;
mod mutex_log;
mod our_windows;
mod ours;
mod peers;
mod roster;
mod window_peers;
mod windows;

pub(crate) use self::ours::quota;
pub use self::roster::visit_all;

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;

/// The operation that a limiter is asked for again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Op {
    /// One permit, of a burst so large that every call is admitted, though it is
    /// asked faster than it refills.
    Allow,
    /// One permit, at a rate so high that the limiter is always full.
    Full,
    /// One permit, at a rate so low that only the first call is admitted.
    Deny,
    /// One permit, at a rate of a few in a hundred calls. The time is a mixture of
    /// admissions and denials; the point is whether too many are admitted.
    Edge,
    /// The whole burst, of a limiter from which one thread takes single permits at
    /// full speed: some of the burst is gone, so the request is refused, though it
    /// is not too large. All threads but that one ask for it, and only their calls
    /// are counted and timed. It shows what a refusal costs while others write to
    /// the words that it reads. A single thread only asks, and no thread writes.
    ///
    /// Some permits are gone before it begins, and the limiter refills so slowly
    /// that they do not come back.
    Beside,
    /// One permit of a key that has never been asked for. Only for limiters that keep keys
    /// apart.
    Insert,
}

impl Op {
    /// The operations for a limiter that has a burst, and no keys.
    pub const ALL: &'static [Op] = &[Op::Allow, Op::Full, Op::Deny, Op::Edge, Op::Beside];

    /// The operations for a limiter that counts a window: its limit and its burst
    /// are the same, so it is never always full, and the whole burst is there
    /// whenever a window begins.
    pub const OF_WINDOWS: &'static [Op] = &[Op::Allow, Op::Deny, Op::Edge];

    /// Returns the limit that limiters are set to for this operation.
    #[must_use]
    pub const fn limit(self) -> Limit {
        match self {
            Op::Allow | Op::Insert => Limit::new(1_000_000, Duration::from_secs(1), 1 << 30),
            Op::Full => Limit::new(1_000_000_000, Duration::from_secs(1), 1 << 30),
            Op::Deny => Limit::new(1, Duration::from_secs(3_600), 1),
            Op::Edge => Limit::new(3_000_000, Duration::from_secs(1), 3_000),
            Op::Beside => Limit::new(1, Duration::from_secs(1), 1 << 30),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Op::Allow => "allow",
            Op::Full => "full",
            Op::Deny => "deny",
            Op::Edge => "edge",
            Op::Beside => "beside",
            Op::Insert => "insert",
        })
    }
}

/// The limit that a limiter is to enforce: `permits` per `period`, and `burst` at once.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Permits per period.
    pub permits: u64,
    /// The period.
    pub period: Duration,
    /// The most at one instant.
    pub burst: u64,
}

impl Limit {
    const fn new(permits: u64, period: Duration, burst: u64) -> Limit {
        Limit { permits, period, burst }
    }

    /// Returns the most that may be admitted in a `life`, with a fraction of a permit
    /// counted as a whole one.
    ///
    /// # Panics
    ///
    /// If it does not fit 64 bits.
    #[must_use]
    pub fn bound(self, life: Duration) -> u64 {
        let earned = (life.as_nanos() * u128::from(self.permits)).div_ceil(self.period.as_nanos());
        self.burst + u64::try_from(earned).expect("a bench lasts seconds")
    }

    /// Returns the permits per second, for a limiter that has no other unit.
    fn per_second(self) -> u64 {
        let nanos = u128::from(self.permits) * 1_000_000_000;
        u64::try_from(nanos / self.period.as_nanos()).expect("rates fit 64 bits")
    }
}

/// A limiter, or a bare clock, that a bench can ask for permits.
pub trait Subject: Send + Sync + Sized + 'static {
    /// The name in reports.
    const NAME: &'static str;

    /// The name of the limiter that it is compared with: governor, on the same
    /// kind of clock, or a locked log, for those that count a window.
    const BASELINE: &'static str;

    /// The operations that it can be asked for.
    const OPS: &'static [Op] = Op::ALL;

    /// State of one asking thread, such as permits that it already holds and can spend without
    /// asking. Empty for most limiters.
    type Own<'a>
    where
        Self: 'a;

    /// Returns the limit that it is set to for `op`, if it cannot be the one for all others.
    #[must_use]
    fn limit(op: Op) -> Limit {
        op.limit()
    }

    /// Returns the most that it may admit in a `life`, if it is set to `limit`.
    #[must_use]
    fn bound(limit: Limit, life: Duration) -> u64 {
        limit.bound(life)
    }

    /// Creates a full limiter.
    fn new(limit: Limit) -> Self;

    /// Creates the state of one thread. Each thread does so once.
    fn own(&self) -> Self::Own<'_>;

    /// Asks for one permit, and returns true if it is granted.
    fn try_one(&self, own: &mut Self::Own<'_>) -> bool;

    /// Asks for `permits`, all or none, and returns true if they are granted. Called only for
    /// subjects that have [`Op::Beside`] among their [`OPS`](Subject::OPS).
    ///
    /// # Panics
    ///
    /// If it grants only one permit at a time.
    #[must_use]
    fn try_many(&self, _own: &mut Self::Own<'_>, _permits: u64) -> bool {
        panic!("{} grants one permit at a time", Self::NAME)
    }
}

/// Defines the state of a thread for a [`Subject`] that is only shared: it is empty.
macro_rules! shared {
    () => {
        type Own<'a> = ();

        fn own(&self) {}
    };
}
use shared;

/// Something to be done with every [`Subject`].
pub trait Visitor {
    /// Does it with one subject.
    fn visit<S: Subject>(&mut self);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict;

    struct OneCall;

    impl Visitor for OneCall {
        fn visit<S: Subject>(&mut self) {
            for &op in S::OPS {
                let limit = S::limit(op);
                let subject = S::new(limit);
                let (mut first, mut second) = (subject.own(), subject.own());
                let expect = |is_right, done| verdict::expect(S::NAME, is_right, done);
                expect(subject.try_one(&mut first), "is not full at first");
                match op {
                    Op::Deny => expect(!subject.try_one(&mut second), "granted the second"),
                    Op::Beside => {
                        // More than it earns while the machine does something else.
                        let gone = limit.burst / 2;
                        let (rest, all) = (limit.burst - gone - 1, limit.burst);
                        expect(subject.try_many(&mut first, gone), "has less than a half");
                        expect(!subject.try_many(&mut second, all), "has all");
                        expect(subject.try_many(&mut second, rest), "has less than the rest");
                    }
                    Op::Allow | Op::Full | Op::Edge | Op::Insert => {}
                }
            }
        }
    }

    #[test]
    fn every_subject_does_what_the_benches_time_it_for() {
        visit_all(&mut OneCall);
    }
}
