//! The schedule of a [`WarmUp`](super::WarmUp): who goes when, and how many permits are stored. No
//! lock here, and no clock.
//!
//! A **stretch** begins at a whole nanosecond, when nothing is owed: with the first request after
//! idle time, or at a change of the rate. Of the permits that are taken from then on only the number is
//! noted, so that the instant at which the next request may go is computed from the beginning of the
//! stretch each time, as an exact fraction. It is rounded only when it is told, up to the nanosecond,
//! and no error accumulates.
//!
//! What is rounded, and stays:
//!
//! * Idle time is counted from the nanosecond in which it begins: less than 1 ns too much, so that a
//!   limiter is never warmer than it should be.
//! * At a change of the rate, what is owed is rounded up to the nanosecond, and what is stored up to a
//!   unit of the new rate, which is less than 1 ns of idle time.

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

/// Permits that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    serial: u64,
    before: u128,
    after: u128,
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

    /// Returns what is stored, once what was taken is paid for.
    pub(super) fn stored(&self) -> u128 {
        self.curve.warmed(self.start_stored, self.taken)
    }

    /// Returns the schedule as of `now_nanos`: if nothing is owed, the time since is idle.
    pub(super) fn at(self, now_nanos: u64) -> Schedule {
        let now = u128::from(now_nanos);
        if now < self.free.ceil {
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
