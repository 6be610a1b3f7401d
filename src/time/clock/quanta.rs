//! The processor's own counter.

use std::sync::OnceLock;

use super::Clock;
use super::counter::Scale;

/// The clock that all of a process are copies of, and its scale if it is the counter that it
/// reads. To make one asks the processor what it can do, which takes microseconds in a virtual
/// machine: too long for a limiter of each key.
static CLOCK: OnceLock<(quanta::Clock, Option<Scale>)> = OnceLock::new();

/// Reads the processor's counter: `rdtsc` on x86-64, `cntvct_el0` on aarch64.
///
/// [quanta] decides whether the counter runs at a constant rate, and measures how long a tick
/// is. A reading is then one instruction and one multiplication, in place, and shows the same
/// nanosecond as quanta's own of the same tick. Where the counter does not serve, each reading is
/// quanta's: the operating system's monotonic clock.
///
/// The first clock of a process measures the counter's rate, which takes up to 200 ms; later ones
/// share the result, as do [`CoarseClock`](super::coarse::CoarseClock) and whatever else of the process
/// uses the same version of quanta. The rate is not measured again: against the operating
/// system's clock the time drifts by as much as was wrong then, some millionths.
///
/// Time since an origin of the counter's own, mostly the machine's start. Time in suspend is not
/// counted on most machines. Counters of different processors may differ a little, and a
/// virtual machine that moves may see its counter jump; [`Clock`] says what that
/// does to a limiter. Where it is a worry, use
/// [`MonotonicClock`](super::monotonic::MonotonicClock). The time wraps to 0 where it exceeds 64 bits, 584
/// years after the origin, or where the counter does, after 146 years at 4 GHz.
///
/// A reading neither blocks nor allocates. It is not fenced, nor is quanta's: the processor may
/// read the counter some nanoseconds earlier or later than the program says.
///
/// [quanta]: https://docs.rs/quanta
#[derive(Clone, Debug)]
pub struct QuantaClock {
    /// The length of the counter's tick; `None` where quanta reads something else.
    scale: Option<Scale>,
}

impl QuantaClock {
    /// A clock on the processor's counter.
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

/// Returns what quanta reads, in nanoseconds.
#[cold]
#[inline(never)]
fn read_by_quanta() -> u64 {
    // There is one: `new` has made it.
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

    /// Threads may be moved to a processor whose counter is a little behind.
    const SLACK_NANOS: u64 = 1_000_000;

    /// One that reads the counter, if there is one, and one that has to ask quanta.
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
            // A few, at most, when the thread was moved.
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
        // Another test's thread may have noted it, and been held up.
        while coarse.now_nanos() <= began.max(before) {
            std::thread::yield_now();
        }
        let noted = coarse.now_nanos();
        assert!(noted <= clock.now_nanos() + SLACK_NANOS, "{noted}");
    }
}
