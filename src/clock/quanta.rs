//! The processor's own counter.

use std::sync::OnceLock;

use super::Clock;

/// The clock that all of a process are copies of. To make one asks the processor what it can
/// do, which takes microseconds in a virtual machine: too long for a limiter of each key.
static CLOCK: OnceLock<quanta::Clock> = OnceLock::new();

/// Reads the processor's time-stamp counter, through [quanta].
///
/// Falls back to the operating system's monotonic clock where the processor has
/// no counter that runs at a constant rate. The first clock of a process
/// measures the counter's rate, which takes up to 200 ms; later ones share the
/// result.
///
/// Time since an origin of the counter's own. Time in suspend is not counted on
/// most machines. Counters of different processors may differ a little, and a
/// virtual machine that moves may see its counter jump; [`Clock`] says what that
/// does to a limiter. Where it is a worry, use
/// [`MonotonicClock`](super::MonotonicClock).
///
/// [quanta]: https://docs.rs/quanta
#[derive(Clone, Debug)]
pub struct QuantaClock {
    clock: quanta::Clock,
}

impl QuantaClock {
    /// A clock on the processor's counter.
    #[must_use]
    pub fn new() -> QuantaClock {
        QuantaClock { clock: CLOCK.get_or_init(quanta::Clock::new).clone() }
    }
}

impl Default for QuantaClock {
    fn default() -> QuantaClock {
        QuantaClock::new()
    }
}

impl Clock for QuantaClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        self.clock.delta_as_nanos(0, self.clock.raw())
    }
}
