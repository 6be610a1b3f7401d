//! The windows of this project.
//!
//! All are set to the limits of the peers' windows, so that a log has room
//! for the admissions of a window. `sliding_window_1s` is the sliding window with
//! a window of a second, in which a slot lasts for hundreds of thousands of calls
//! instead of hundreds.

use std::time::Duration;

use sluicegate::Rate;
use sluicegate::clock::QuantaClock;
use sluicegate::window::*;

use super::windows::{bound, window, window_of_seconds};
use super::{Limit, Op, Subject, Visitor, shared};
use crate::limiters::windows;

/// The default number of slots of a sliding window.
const SLOTS: u32 = SlidingWindow::SLOTS;

fn rate(limit: Limit) -> Rate {
    Rate::new(limit.permits, limit.period).expect("the rate is in range")
}

macro_rules! window {
    ($Subject:ident, $Inner:ty, $name:expr, $of:ident, |$rate:ident| $make:expr) => {
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

/// Defines a subject for each window of the list, and shows all of them to a visitor.
macro_rules! subjects {
    ($((
        $Subject:ident, $name:literal, $Window:ident,
        |$limit:ident, $slots:ident, $entries:ident, $clock:ident| $make:block,
        $state:expr, $facts:tt
    ))*) => {
        $(window!(
            $Subject,
            sluicegate::window::$Window<QuantaClock>,
            concat!("sluicegate/", $name),
            window,
            |rate| {
                use sluicegate::window::*;
                let ($limit, $slots, $entries, $clock) =
                    (rate, SLOTS, rate.permits(), QuantaClock::new());
                $make
            }
        );)*

        /// Shows `visitor` every window, in the order of the reports.
        pub(super) fn visit_all(visitor: &mut impl Visitor) {
            $(visitor.visit::<$Subject>();)*
            visitor.visit::<SlidingSecond>();
            visitor.visit::<Multi>();
        }
    };
}

windows!(subjects);

window!(
    SlidingSecond,
    SlidingWindow<QuantaClock>,
    "sluicegate/sliding_window_1s",
    window_of_seconds,
    |rate| SlidingWindow::with_slots(rate, SLOTS, QuantaClock::new())
);

window!(Multi, MultiWindow<QuantaClock>, "sluicegate/multi_window_3", window, |rate| {
    // The longer windows never refuse what the shortest admits.
    let longer = |times: u32| {
        Rate::new(rate.permits() * u64::from(times), rate.period() * times).expect("it is in range")
    };
    MultiWindow::with_slots([rate, longer(16), longer(256)], SLOTS, QuantaClock::new())
});
