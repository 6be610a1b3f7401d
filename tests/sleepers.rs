//! Callers that sleep until the instant of their permits, while the clock is set back. What is checked: each sleeps for as
//! long as it was told, and no longer, whoever finds the clock set back, and when.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::keyed::Buckets;
use sluicegate::wait::Reserve;
use sluicegate::{Keyed, ManualClock, TokenBucket, quota};

use crate::support::cases::cases;
use crate::support::sleepers::{
    LONGEST_WAIT, Sleeping, TellsInstants, World, everybody_goes_when_told, ops,
};

impl TellsInstants for TokenBucket<&ManualClock> {
    fn take<'a>(&'a self, permits: u64, world: &'a World) -> Option<(Duration, Sleeping<'a>)> {
        let taken = self.reserve_within(permits, LONGEST_WAIT).ok()?;
        Some((taken.ready_after(), Box::pin(taken.wait(world))))
    }

    fn look(&self) {
        let _ = self.try_acquire(1);
    }
}

impl TellsInstants for Keyed<u64, Buckets<&ManualClock>> {
    fn take<'a>(&'a self, permits: u64, world: &'a World) -> Option<(Duration, Sleeping<'a>)> {
        let taken = self.reserve_within(&7, permits, LONGEST_WAIT).ok()?;
        Some((taken.ready_after(), Box::pin(taken.wait(world))))
    }

    fn look(&self) {
        let _ = self.try_acquire(&7, 1);
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn nobody_sleeps_for_longer_than_it_was_told_if_the_clock_is_set_back(
        of_a_key: bool,
        ops in ops(),
    ) {
        let world = World::new();
        let quota = quota!(1 / minute, burst 5, max_debt 30);
        let bucket = TokenBucket::with_clock(quota, &world.clock);
        let keys = Keyed::with_clock(quota, &world.clock);
        let subject: &dyn TellsInstants = if of_a_key { &keys } else { &bucket };
        everybody_goes_when_told(&world, subject, &ops)?;
    }
}
