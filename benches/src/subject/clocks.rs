//! Bare clocks, as limiters that admit everything: the time that remains if a limiter
//! costs nothing.

use std::time::Duration;

use sluicegate::Clock;
use sluicegate::clock::{CoarseClock, MonotonicClock, QuantaClock};

use super::{Limit, Op, Subject, shared};

/// The step of every coarse clock here.
pub(crate) const STEP: Duration = Duration::from_millis(1);

macro_rules! clock {
    ($Clock:ident, $Inner:ident, $make:expr, $name:literal, $baseline:literal) => {
        pub(super) struct $Clock($Inner);

        impl Subject for $Clock {
            const NAME: &'static str = $name;
            const BASELINE: &'static str = $baseline;
            const OPS: &'static [Op] = &[Op::Allow];

            fn new(_: Limit) -> $Clock {
                $Clock($make)
            }

            shared!();

            #[inline]
            fn try_one(&self, (): &mut ()) -> bool {
                // Never 0 again once time has passed, and never a constant.
                self.0.now_nanos() < u64::MAX
            }
        }
    };
}

/// No clock: the cost of the measurement itself.
struct NoClock;

impl Clock for NoClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        0
    }
}

clock!(Without, NoClock, NoClock, "clock/none", "governor");
clock!(Quanta, QuantaClock, QuantaClock::new(), "clock/quanta", "governor");
clock!(
    Coarse,
    CoarseClock,
    CoarseClock::start(STEP).expect("a thread can be started"),
    "clock/coarse",
    "governor_upkeep"
);
clock!(Monotonic, MonotonicClock, MonotonicClock::new(), "clock/monotonic", "governor_monotonic");
