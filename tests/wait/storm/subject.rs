//! The limiters of a storm, with the terms that they change between.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use sluicegate::bucket::Carry;
use sluicegate::clock::MonotonicClock;
use sluicegate::settle::{Estimate, Settle};
use sluicegate::wait::{AcquireError, Reservation, Reserve};
use sluicegate::{
    Clock, Denied, FixedWindow, Quota, Rate, SlidingCounter, SlidingWindow, TokenBucket, Wait,
    quota,
};

use super::ledger::{Ledger, Terms};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Running,
    /// Callers are dropped in some rounds only, as nobody knows what those were granted.
    Standing {
        drops: bool,
    },
}

#[derive(Debug)]
pub(super) enum StormClock {
    Standing,
    Running(MonotonicClock),
}

impl StormClock {
    pub(super) fn running() -> StormClock {
        StormClock::Running(MonotonicClock::new())
    }
}

impl Clock for StormClock {
    fn now_nanos(&self) -> u64 {
        match self {
            StormClock::Standing => 1_000_000_000,
            StormClock::Running(clock) => clock.now_nanos(),
        }
    }
}

pub(super) type Shared = Arc<StormClock>;

/// A limiter of a storm.
pub(super) trait Subject: Wait + fmt::Debug + 'static {
    fn new(clock: Shared, mode: Mode) -> (Self, Terms)
    where
        Self: Sized;

    /// Changes the terms at random. While the clock stands still, permits come of that or of `credit`.
    fn change(&self, mode: Mode, random: &mut StdRng) -> Terms;

    /// Brings permits; returns whether the limiter can.
    fn credit(&self, _permits: u64) -> bool {
        false
    }

    fn estimate(&self, _permits: u64) -> Option<Result<Estimate<'_>, Denied>> {
        None
    }

    fn reserve(&self, _permits: u64) -> Option<Result<Reservation<'_>, AcquireError>> {
        None
    }

    /// The permits that were spent of `credited` and those that there were at first, on a clock that
    /// stands still.
    fn spent(&self, credited: u64) -> u64;

    /// The permits that there are for the first in line.
    fn space(&self) -> u64;

    fn assert_bounded(ledger: &Ledger)
    where
        Self: Sized;
}

/// Has space for all credits of a round.
const HELD: u64 = 1 << 20;

const RUNNING: [Quota; 3] = [
    quota!(1_000_000 / second, burst 50),
    quota!(300_000 / second, burst 12),
    quota!(1 / day, burst 30),
];
const STANDING: [Quota; 3] = [
    quota!(1 / day, burst 1_048_576),
    quota!(7 / hour, burst 2_000_000),
    quota!(3 / 2 days, burst 1_500_000),
];

fn terms_of(quota: Quota) -> Terms {
    let period = quota.rate().period();
    Terms { most: quota.burst(), permits: quota.rate().permits(), period }
}

impl Subject for TokenBucket<Shared> {
    fn new(clock: Shared, mode: Mode) -> (Self, Terms) {
        match mode {
            Mode::Running => (TokenBucket::with_clock(RUNNING[0], clock), terms_of(RUNNING[0])),
            Mode::Standing { .. } => {
                let bucket = TokenBucket::with_clock(STANDING[0], clock);
                (bucket.starting_with(0).unwrap(), terms_of(STANDING[0]))
            }
        }
    }

    fn change(&self, mode: Mode, random: &mut StdRng) -> Terms {
        let quotas = if mode == Mode::Running { RUNNING } else { STANDING };
        let quota = quotas[random.random_range(0..3)];
        self.reconfigure(quota, Carry::Keep);
        terms_of(quota)
    }

    fn credit(&self, permits: u64) -> bool {
        self.credit(permits);
        true
    }

    fn reserve(&self, permits: u64) -> Option<Result<Reservation<'_>, AcquireError>> {
        Some(Reserve::reserve(self, permits))
    }

    fn spent(&self, credited: u64) -> u64 {
        assert!(credited < HELD);
        credited.checked_add_signed(-self.peek(0).unwrap().balance()).unwrap()
    }

    fn space(&self) -> u64 {
        self.peek(0).unwrap().remaining()
    }

    fn assert_bounded(ledger: &Ledger) {
        ledger.assert_no_span_has_more_than_burst_and_rate();
    }
}

const WINDOW: Duration = Duration::from_micros(500);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const SLOTS: u32 = 8;

fn rate(mode: Mode) -> Rate {
    match mode {
        Mode::Running => Rate::new(20, WINDOW).unwrap(),
        Mode::Standing { .. } => Rate::new(10, DAY).unwrap(),
    }
}

fn largest(mode: Mode) -> u64 {
    if mode == Mode::Running { 1_000 } else { HELD }
}

fn limit_of(limit: u64) -> Terms {
    Terms { most: limit, permits: 0, period: WINDOW }
}

macro_rules! windows {
    ($($Window:ident, $new:expr, $assert_bounded:ident, $($settles:ident)?;)*) => {$(
        impl Subject for $Window<Shared> {
            fn new(clock: Shared, mode: Mode) -> (Self, Terms) {
                let window = $new(rate(mode), clock).with_max_limit(largest(mode)).unwrap();
                let terms = limit_of(window.limit());
                (window, terms)
            }

            fn change(&self, mode: Mode, random: &mut StdRng) -> Terms {
                let limit = match mode {
                    Mode::Running => [5, 20, 60][random.random_range(0..3)],
                    // A little less than has been granted, or enough for the largest request.
                    Mode::Standing { .. } => {
                        let beyond = self.count() + random.random_range(21..100);
                        beyond.saturating_sub(40).max(1)
                    }
                };
                self.reconfigure(limit).unwrap();
                limit_of(limit)
            }

            $(fn estimate(&self, permits: u64) -> Option<Result<Estimate<'_>, Denied>> {
                Some(Settle::$settles(self, permits))
            })?

            fn spent(&self, _credited: u64) -> u64 {
                self.count()
            }

            fn space(&self) -> u64 {
                self.limit().saturating_sub(self.count())
            }

            fn assert_bounded(ledger: &Ledger) {
                ledger.$assert_bounded(WINDOW);
            }
        }
    )*};
}

windows! {
    FixedWindow, |rate, clock| FixedWindow::with_clock(rate, clock).unwrap(),
        assert_no_window_has_more_than_the_limit, try_acquire_settleable;
    SlidingCounter, |rate, clock| SlidingCounter::with_clock(rate, clock).unwrap(),
        assert_no_window_has_more_than_the_limit, try_acquire_settleable;
    SlidingWindow, |rate, clock| SlidingWindow::with_slots(rate, SLOTS, clock).unwrap(),
        assert_no_span_has_more_than_the_limit,;
}
