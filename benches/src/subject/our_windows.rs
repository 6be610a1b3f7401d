//! The windows of this project.
//!
//! All are set to the limits of the peers' windows, so that a log has room
//! for the admissions of a window. `sliding_window_1s` is the sliding window with
//! a window of a second, in which a slot lasts for hundreds of thousands of calls
//! instead of hundreds.

use std::time::Duration;

use sluicegate::clock::QuantaClock;
use sluicegate::window::{MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::{FixedWindow, Rate, SlidingCounter, SlidingLog, SlidingWindow};

use super::windows::{bound, window, window_of_seconds};
use super::{Limit, Op, Subject, shared};

/// The default number of slots of a sliding window.
const SLOTS: u32 = SlidingWindow::SLOTS;

fn rate(limit: Limit) -> Rate {
    Rate::new(limit.permits, limit.period).expect("the rate is in range")
}

macro_rules! window {
    ($Subject:ident, $Inner:ty, $name:literal, $of:ident, |$rate:ident| $make:expr) => {
        pub(super) struct $Subject($Inner);

        impl Subject for $Subject {
            const NAME: &'static str = $name;
            const BASELINE: &'static str = "mutex_log";
            const OPS: &'static [Op] = Op::OF_WINDOWS;

            fn limit(op: Op) -> Limit {
                $of(op)
            }

            fn bound(limit: Limit, life: Duration) -> u64 {
                bound(limit, life)
            }

            fn new(limit: Limit) -> $Subject {
                let $rate = rate(limit);
                $Subject($make.expect("the limit is in range"))
            }

            shared!();

            #[inline]
            fn try_one(&self, (): &mut ()) -> bool {
                self.0.try_acquire(1).is_ok()
            }
        }
    };
}

window!(Fixed, FixedWindow<QuantaClock>, "sluicegate/fixed_window", window, |rate| {
    FixedWindow::with_clock(rate, QuantaClock::new())
});

window!(FromFirst, WindowFromFirst<QuantaClock>, "sluicegate/window_from_first", window, |rate| {
    WindowFromFirst::with_clock(rate, QuantaClock::new())
});

window!(Counter, SlidingCounter<QuantaClock>, "sluicegate/sliding_counter", window, |rate| {
    SlidingCounter::with_clock(rate, QuantaClock::new())
});

window!(Sliding, SlidingWindow<QuantaClock>, "sluicegate/sliding_window", window, |rate| {
    SlidingWindow::with_clock(rate, SLOTS, QuantaClock::new())
});

window!(
    SlidingSecond,
    SlidingWindow<QuantaClock>,
    "sluicegate/sliding_window_1s",
    window_of_seconds,
    |rate| SlidingWindow::with_clock(rate, SLOTS, QuantaClock::new())
);

window!(Multi, MultiWindow<QuantaClock>, "sluicegate/multi_window_3", window, |rate| {
    // The longer windows never refuse what the shortest admits.
    let longer = |times: u32| {
        Rate::new(rate.permits() * u64::from(times), rate.period() * times).expect("it is in range")
    };
    MultiWindow::with_clock([rate, longer(16), longer(256)], SLOTS, QuantaClock::new())
});

window!(Log, SlidingLog<QuantaClock>, "sluicegate/sliding_log", window, |rate| {
    SlidingLog::with_clock(rate, QuantaClock::new())
});

window!(Weighted, WeightedLog<QuantaClock>, "sluicegate/weighted_log", window, |rate| {
    WeightedLog::with_clock(rate, QuantaClock::new())
});
