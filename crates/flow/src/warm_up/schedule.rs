//! The schedule of a [`WarmUp`](super::WarmUp): the instants at which requests go, and the stored
//! permits. No lock here, and no clock.
//!
//! A **stretch** begins at a whole nanosecond, when nothing is owed: with the first request after
//! idle time, or at a change of the rate. Of the permits that are taken from then on only the number is
//! noted, so that the instant at which the next request may go is computed from the beginning of the
//! stretch each time, as an exact fraction. It is rounded only when it is told, up to the nanosecond.
//! A request that comes at that nanosecond goes on with the stretch. So within a stretch no error accumulates, and the
//! rate is neither missed nor exceeded.
//!
//! Rounding that stays:
//!
//! * Idle time is counted from the nanosecond in which it begins: less than 1 ns too much, so that it
//!   never leaves the limiter warmer than it should be.
//! * At a change of the rate, what is owed is rounded up to the nanosecond, and what is stored up to a
//!   unit of the new rate, which is less than 1 ns of idle time.

use std::time::Duration;

use crate::scheduled::Taken;
use crate::units::duration;

use super::curve::{Curve, Nanos};

/// The requests that were granted, as far as they matter for later ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    curve: Curve,
    /// The beginning of the stretch, and what was stored then.
    start_nanos: u128,
    start_stored: u128,
    /// The permits of the stretch.
    taken: u128,
    /// The instant from which on the next request may go.
    free: Nanos,
    /// Tells this stretch from all others.
    serial: u64,
}

impl Schedule {
    /// The most permits of one request: then no instant overflows.
    pub(super) const MAX: u64 = 1 << 32;

    /// Returns the schedule of a limiter that is cold, and from which nothing was taken.
    pub(super) fn new(curve: Curve, now_nanos: u64) -> Schedule {
        let start_nanos = now_nanos.into();
        let free = Nanos { floor: start_nanos, ceil: start_nanos };
        Schedule { curve, start_nanos, start_stored: curve.full(), taken: 0, free, serial: 0 }
    }

    /// Forgets what is owed, and is cold.
    pub(super) fn restart(&mut self, now_nanos: u64) {
        let serial = self.serial.wrapping_add(1);
        *self = Schedule { serial, ..Schedule::new(self.curve, now_nanos) };
    }

    pub(super) fn curve(&self) -> &Curve {
        &self.curve
    }

    /// Returns the instant from which on the next request may go: the least nanosecond.
    pub(super) fn free_nanos(&self) -> u128 {
        self.free.ceil
    }

    /// Returns the wait of a request that comes now.
    pub(super) fn wait(&self, now_nanos: u64) -> Duration {
        duration(self.free_nanos().saturating_sub(now_nanos.into()))
    }

    /// Returns what is stored, once what was taken is paid for.
    pub(super) fn stored(&self) -> u128 {
        self.curve.warmed(self.start_stored, self.taken)
    }

    /// Returns the schedule as of `now_nanos`: if nothing is owed, the time since is idle.
    pub(super) fn at(self, now_nanos: u64) -> Schedule {
        let now = u128::from(now_nanos);
        // A request at the nanosecond that was told goes at the exact instant: the fraction is not
        // idle, so requests that keep to what they are told lose nothing of the rate.
        if now <= self.free.ceil {
            return self;
        }
        let start_stored = self.curve.cooled(self.stored(), now - self.free.floor);
        let free = Nanos { floor: now, ceil: now };
        let serial = self.serial.wrapping_add(1);
        Schedule { start_nanos: now, start_stored, taken: 0, free, serial, ..self }
    }

    /// Takes `permits`, at most [`MAX`](Schedule::MAX). The schedule has to be that of now, and to
    /// be free by the end of the clock's range.
    pub(super) fn take(&mut self, permits: u64) -> Taken {
        let before = self.taken;
        self.set_taken(before + u128::from(permits));
        Taken { serial: self.serial, before, after: self.taken }
    }

    /// Gives `taken` back, if nothing was taken or changed since. Returns whether it did.
    pub(super) fn take_back(&mut self, taken: Taken) -> bool {
        let is_newest = (self.serial, self.taken) == (taken.serial, taken.after);
        if is_newest {
            self.set_taken(taken.before);
        }
        is_newest
    }

    fn set_taken(&mut self, permits: u128) {
        self.taken = permits;
        self.free = self.curve.cost(self.start_stored, permits).after(self.start_nanos);
    }

    /// Notes a curve that is the same in other numbers. Nothing else changes.
    pub(super) fn set_same_curve(&mut self, curve: Curve) {
        self.curve = curve;
    }

    /// Changes the curve for those that come from now on; only the rates may differ. What is owed
    /// stays owed, and the same part of what can be stored stays stored. The schedule has to be that
    /// of now.
    pub(super) fn set_curve(&mut self, curve: Curve) {
        let start_nanos = self.free.ceil;
        let start_stored = curve.same_part(self.stored(), &self.curve);
        let free = Nanos { floor: start_nanos, ceil: start_nanos };
        let serial = self.serial.wrapping_add(1);
        *self = Schedule { curve, start_nanos, start_stored, taken: 0, free, serial };
    }
}

#[cfg(test)]
mod tests {
    use sluicegate::rate;

    use crate::units::NANOS_PER_SECOND;

    use super::*;

    const MILLIS: u64 = 1_000_000;

    /// Two a second in four seconds, cold, at 0.
    fn schedule() -> Schedule {
        Schedule::new(Curve::new(rate!(2 / second), 4 * NANOS_PER_SECOND, 3), 0)
    }

    fn free_millis(schedule: &Schedule) -> u128 {
        schedule.free_nanos() / u128::from(MILLIS)
    }

    #[test]
    fn a_request_makes_the_next_one_wait_for_its_cost() {
        let mut schedule = schedule();
        let free = [1, 1, 2, 6].map(|permits| {
            schedule.take(permits);
            free_millis(&schedule)
        });
        assert_eq!(free, [1_375, 2_500, 4_000, 7_000]);
        assert_eq!(schedule.stored(), 0);
    }

    #[test]
    fn time_is_idle_only_once_all_is_paid_for() {
        let mut schedule = schedule();
        schedule.take(8);
        assert_eq!((free_millis(&schedule), schedule.stored()), (6_000, 0));
        let full = schedule.curve().full();
        let stored = [5_999, 6_000, 7_000, 8_000, 10_000, 90_000]
            .map(|millis| schedule.at(millis * MILLIS).stored());
        assert_eq!(stored, [0, 0, full / 4, full / 2, full, full]);
    }

    #[test]
    fn to_look_again_and_again_changes_nothing() {
        let mut looked = schedule();
        looked.take(5);
        let once = looked.at(10_000 * MILLIS);
        for millis in 0..10_000 {
            looked = looked.at(millis * MILLIS);
        }
        assert_eq!(looked.at(10_000 * MILLIS).stored(), once.stored());
    }

    #[test]
    fn only_the_newest_of_a_stretch_is_taken_back() {
        let mut schedule = schedule();
        let [first, second] = [3, 4].map(|permits| schedule.take(permits));
        assert!(!schedule.take_back(first));
        assert!(schedule.take_back(second) && schedule.take_back(first));
        assert_eq!((schedule.free_nanos(), schedule.stored()), (0, schedule.curve().full()));
        let third = schedule.take(3);
        schedule = schedule.at(60_000 * MILLIS);
        schedule.take(3);
        assert!(!schedule.take_back(third));
        let fourth = schedule.take(1);
        schedule.restart(0);
        assert!(!schedule.take_back(fourth));
    }

    #[test]
    fn a_new_rate_pays_what_is_owed_and_stays_as_cold() {
        let mut schedule = schedule();
        schedule.take(2);
        let curve = Curve::new(rate!(4 / second), 4 * NANOS_PER_SECOND, 3);
        schedule.set_curve(curve);
        assert_eq!(free_millis(&schedule), 2_500);
        assert_eq!(4 * schedule.stored(), 3 * curve.full());
    }
}
