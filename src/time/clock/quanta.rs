//! A clock that reads the processor's counter.

use std::sync::OnceLock;

use super::Clock;
use super::counter::Scale;

/// The quanta clock shared by the whole process, and its scale if it reads the counter. Making one
/// queries the processor's features, which takes microseconds in a virtual machine: too long for
/// one limiter per key.
static CLOCK: OnceLock<(quanta::Clock, Option<Scale>)> = OnceLock::new();

/// A clock that reads the processor's counter: `rdtsc` on x86-64, `cntvct_el0` on aarch64.
///
/// [quanta] decides whether the counter runs at a constant rate, and measures the length of a tick.
/// A reading is then one instruction and one multiplication, inlined, and converts a tick to the
/// same nanosecond as quanta does. Where the counter cannot serve as a clock, each reading is
/// quanta's: the operating system's monotonic clock.
///
/// The first clock of a process measures the counter's rate, which takes up to 200 ms. Later clocks
/// share the result, as do [`CoarseClock`](super::coarse::CoarseClock) and all other code in the
/// process that uses the same version of quanta. The rate is not measured again: the error of that
/// measurement, some millionths, is the drift against the operating system's clock.
///
/// The time counts from the counter's own origin, usually the start of the machine. Most machines
/// do not count time in suspend. Counters of different processors may differ a little, and the
/// counter of a virtual machine that migrates may jump; [`Clock`] describes the effect on a
/// limiter. If that is a concern, use [`MonotonicClock`](super::monotonic::MonotonicClock). The
/// time wraps to 0 when it exceeds 64 bits, 584 years after the origin, or when the counter does,
/// after 146 years at 4 GHz.
///
/// A reading neither blocks nor allocates. Like quanta's, it is not fenced: the processor may read
/// the counter some nanoseconds earlier or later than program order says.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate::clock::QuantaClock;
///
/// // One clock, measured before the first request comes.
/// let clock = QuantaClock::new();
/// let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
/// assert!(bucket.try_acquire(1).is_ok());
/// ```
///
/// [quanta]: https://docs.rs/quanta
#[derive(Clone, Debug)]
pub struct QuantaClock {
    /// The length of the counter's tick; `None` where quanta reads another clock.
    scale: Option<Scale>,
}

impl QuantaClock {
    /// Creates a clock on the processor's counter.
    #[must_use]
    pub fn new() -> QuantaClock {
        let (_, scale) = CLOCK.get_or_init(|| {
            let clock = quanta::Clock::new();
            let scale = Scale::of(&clock);
            (clock, scale)
        });
        QuantaClock { scale: *scale }
    }
}

/// Returns the time that quanta reads, in nanoseconds.
#[cold]
#[inline(never)]
fn read_by_quanta() -> u64 {
    // The clock exists: `new` has made it.
    CLOCK.get().map_or(0, |(clock, _)| clock.delta_as_nanos(0, clock.raw()))
}

impl Default for QuantaClock {
    fn default() -> QuantaClock {
        QuantaClock::new()
    }
}

impl Clock for QuantaClock {
    #[inline(always)]
    fn now_nanos(&self) -> u64 {
        match self.scale {
            Some(scale) => scale.now_nanos(),
            None => read_by_quanta(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tolerance for a thread that is moved to a processor whose counter is a little behind.
    const SLACK_NANOS: u64 = 1_000_000;

    /// Returns a clock that reads the counter, if there is one, and a clock that reads through
    /// quanta.
    fn clocks() -> [QuantaClock; 2] {
        [QuantaClock::new(), QuantaClock { scale: None }]
    }

    #[test]
    fn a_reading_is_between_two_of_quanta_and_not_before_the_last_one() {
        for clock in clocks() {
            let quanta = quanta::Clock::new();
            let (mut last, mut steps_back) = (0, 0);
            for _ in 0..10_000 {
                let before = quanta.delta_as_nanos(0, quanta.raw());
                let reading = clock.now_nanos();
                let after = quanta.delta_as_nanos(0, quanta.raw());
                assert!(before <= reading + SLACK_NANOS, "{before} {reading}");
                assert!(reading <= after + SLACK_NANOS, "{reading} {after}");
                steps_back += u32::from(reading < last);
                last = reading;
            }
            // A few at most, if the thread was moved.
            assert!(steps_back <= 3, "{steps_back} steps back on one thread");
        }
    }

    #[test]
    fn the_time_goes_on_as_quanta_says_when_the_counter_is_not_read() {
        let [counter, quanta] = clocks();
        for _ in 0..1_000 {
            let (before, between, after) =
                (counter.now_nanos(), quanta.now_nanos(), counter.now_nanos());
            assert!(before <= between + SLACK_NANOS && between <= after + SLACK_NANOS);
        }
    }

    #[test]
    fn a_coarse_clock_notes_the_time_of_this_one() {
        let clock = QuantaClock::new();
        let before = clock.now_nanos();
        let coarse = super::super::CoarseClock::start(std::time::Duration::from_micros(10));
        let coarse = coarse.expect("a thread can be started");
        let began = coarse.now_nanos();
        // The time may have been stored by another test's thread that was then held up.
        while coarse.now_nanos() <= began.max(before) {
            std::thread::yield_now();
        }
        let noted = coarse.now_nanos();
        assert!(noted <= clock.now_nanos() + SLACK_NANOS, "{noted}");
    }
}
