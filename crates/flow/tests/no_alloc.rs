//! Verbs that allocate nothing, or as much as is documented. Counted by an allocator of our own, for the calling thread only,
//! because the test harness has threads too.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

use sluicegate::{ManualClock, rate};
use sluicegate_flow::WarmUp;
use sluicegate_flow::warm_up::WarmUpReservation;

use crate::support::allocator::allocations;

/// Takes any text, and keeps none.
struct Anywhere;

impl Write for Anywhere {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        black_box(text);
        Ok(())
    }
}

#[test]
fn warming_up_does_not_allocate() {
    let clock = ManualClock::new();
    let limiter = WarmUp::with_clock(rate!(7 / second), Duration::from_secs(2), &clock).unwrap();
    let made = allocations(|| {
        for permits in [0, 1, 3, 1_000, u64::MAX] {
            let newest = limiter.reserve(permits).map(WarmUpReservation::cancel);
            let _ = (newest, limiter.reserve(permits), limiter.try_acquire(permits));
            let _ = (limiter.ready_after(), limiter.stored());
            limiter.set_rate(rate!(3 / second));
            clock.advance(Duration::from_millis(700));
        }
        clock.rewind(Duration::from_secs(3));
        let _ = limiter.try_acquire(1);
        write!(Anywhere, "{limiter:?} {limiter:#?}").unwrap();
    });
    assert_eq!((made, limiter.healed()), (0, 1));
}
