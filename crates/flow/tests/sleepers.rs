//! Callers that sleep until the instant of their permits, while the clock is set back. What is checked:
//!
//! * each sleeps for as long as it was told, and no longer, whoever finds the clock set back, and when;
//! * those whose instants were told before the clock was set back go in order, an interval apart.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::{ManualClock, rate};
use sluicegate_flow::{Scheduled, Shaper, WarmUp};

use crate::support::cases::cases;
use crate::support::sleepers::{
    LONGEST_WAIT, Sleeping, TellsInstants, World, everybody_goes_when_told, ops,
};

const MINUTE: Duration = Duration::from_secs(60);

impl TellsInstants for Shaper<&ManualClock> {
    fn take<'a>(&'a self, permits: u64, world: &'a World) -> Option<(Duration, Sleeping<'a>)> {
        let taken = self.shape_within(permits, LONGEST_WAIT).ok()?;
        Some((taken.ready_after(), Box::pin(taken.wait(world))))
    }

    fn look(&self) {
        let _ = self.queued();
    }
}

impl TellsInstants for WarmUp<&ManualClock> {
    fn take<'a>(&'a self, permits: u64, world: &'a World) -> Option<(Duration, Sleeping<'a>)> {
        let taken = self.reserve_within(permits, LONGEST_WAIT).ok()?;
        Some((taken.ready_after(), Box::pin(taken.wait(world))))
    }

    fn look(&self) {
        let _ = self.ready_after();
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn nobody_sleeps_for_longer_than_it_was_told_if_the_clock_is_set_back(
        warms_up: bool,
        ops in ops(),
    ) {
        let world = World::new();
        let shaper = Shaper::with_clock(rate!(1 / minute), 30, &world.clock);
        let pool = WarmUp::with_clock(rate!(1 / minute), 5 * MINUTE, &world.clock).unwrap();
        let subject: &dyn TellsInstants = if warms_up { &pool } else { &shaper };
        everybody_goes_when_told(&world, subject, &ops)?;
    }
}

#[test]
fn a_wait_that_was_told_is_not_told_again_if_the_clock_is_set_back() {
    let clock = ManualClock::at(1_000_000_000_000);
    let shaper = Shaper::with_clock(rate!(1 / minute), 10, &clock);
    let warm = WarmUp::with_clock(rate!(1 / minute), Duration::ZERO, &clock).unwrap();
    warm.try_acquire(1).unwrap();
    let (departure, reservation) = (shaper.shape(1).unwrap(), warm.reserve(1).unwrap());
    assert_eq!((departure.wait_left(), reservation.wait_left()), (MINUTE, MINUTE));
    // At once after this look, and nobody else looks.
    clock.rewind(10 * MINUTE);
    clock.advance(MINUTE);
    let left = (departure.wait_left(), reservation.wait_left());
    assert_eq!(left, (Duration::ZERO, Duration::ZERO));
}

#[test]
fn those_behind_the_one_that_finds_the_clock_set_back_go_an_interval_apart() {
    let clock = ManualClock::at(1_000_000_000_000);
    let shaper = Shaper::with_clock(rate!(1 / minute), 10, &clock);
    let told = [(); 3].map(|()| shaper.shape(1).unwrap());
    clock.rewind(10 * MINUTE);
    clock.advance(MINUTE);
    let left = || told.each_ref().map(Scheduled::wait_left);
    assert_eq!(left(), [Duration::ZERO, MINUTE, 2 * MINUTE]);
    clock.advance(MINUTE);
    assert_eq!(left(), [Duration::ZERO, Duration::ZERO, MINUTE]);
}
