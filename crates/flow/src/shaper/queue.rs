//! The queue of a shaper: who leaves when. No lock here, and no clock.
//!
//! Permits leave one after the other, an interval apart. An interval is `period / permits`
//! nanoseconds, so instants are kept in units of `1 / permits` of a nanosecond: permit number `k` of
//! a [`Stretch`] leaves at `start + k * period` of those, which is exact. Only the instant that a
//! caller is told is rounded, up to the nanosecond.
//!
//! A change of the rate begins a new stretch, at the end of the one before it: so those that were
//! told an instant keep it, and those that come later follow at the new rate. A stretch is forgotten
//! when all of it has left, so there are at most as many as permits in the queue.
//!
//! A queue that is empty earns a credit, up to the burst: the stretch then starts earlier than the
//! next permit comes, by so many intervals. At a change of the rate the credit stays the same part of an
//! interval, which may be no whole number of the new units: then a part of a unit is over, as a fraction.
//! It is exact while its lowest terms are no more than 2^64. Beyond that, less than 2^-64 of a unit is lost
//! at a change.

use std::collections::VecDeque;

use sluicegate::Rate;

use crate::scheduled::Taken;
use crate::units::nanos;
use crate::wide::{greatest_common_divisor, mul_div};

/// Permits that leave an interval apart.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    rate: Rate,
    /// An interval before the first of them leaves; in `1 / permits` of a nanosecond, rounded up.
    start: i128,
    /// The part of a unit by which it starts earlier. No instant in whole nanoseconds depends on it.
    rest: Part,
    count: u64,
    /// Tells this stretch from all others.
    serial: u64,
}

/// A part of a unit, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    of: u128,
    whole: u128,
}

/// The queue, and the terms in force.
#[derive(Clone, Debug)]
pub(super) struct DrainQueue {
    /// In the order in which they leave. The last one is at the rate in force, and may be empty.
    earlier: VecDeque<Stretch>,
    last: Stretch,
    pub(super) size: u64,
    pub(super) burst: u64,
}

/// The instant at which the last of some permits leaves, and whether they fit into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outlook {
    pub(super) leaves_nanos: u128,
    /// The instant from which on there is room for them; `None` if there is now.
    pub(super) room_nanos: Option<u128>,
}

impl Part {
    const NONE: Part = Part { of: 0, whole: 1 };

    /// The most that `whole` can be: then its product with a period is less than 2^127.
    const MOST: u128 = 1 << 64;

    fn new(of: u128, whole: u128) -> Part {
        let divisor = greatest_common_divisor(of, whole);
        let (of, whole) = (of / divisor, whole / divisor);
        if whole <= Self::MOST {
            return Part { of, whole };
        }
        Part { of: mul_div(of, Self::MOST, whole).0, whole: Self::MOST }
    }

    /// Returns `units` and this, which are part of an interval of `old` units, as units and a part of one
    /// of an interval of `new` ones.
    fn rescaled(self, units: u128, old: u128, new: u128) -> (u128, Part) {
        let divisor = self.whole * old;
        let (units, of) = mul_div(units * self.whole + self.of, new, divisor);
        (units, Part::new(of, divisor))
    }
}

impl Stretch {
    fn permits(&self) -> i128 {
        i128::from(self.rate.permits())
    }

    fn period(&self) -> i128 {
        i128::from(nanos(self.rate.period()))
    }

    /// Returns the instant at which permit number `k` leaves, in units of the stretch.
    fn leaves(&self, k: u64) -> i128 {
        self.start + i128::from(k) * self.period()
    }

    /// Returns an instant in units of the stretch in nanoseconds, rounded up.
    fn nanos(&self, instant: i128) -> u128 {
        u128::try_from(-(-instant).div_euclid(self.permits())).unwrap_or(0)
    }

    /// Returns the reading `now_nanos` in units of the stretch.
    fn at(&self, now_nanos: u64) -> i128 {
        i128::from(now_nanos) * self.permits()
    }

    /// Returns the number of permits that have left, of `count`.
    fn left(&self, count: u64, now_nanos: u64) -> u64 {
        let elapsed = self.at(now_nanos) - self.start;
        u64::try_from(elapsed.div_euclid(self.period()))
            .unwrap_or(if elapsed < 0 { 0 } else { count })
            .min(count)
    }

    fn queued(&self, now_nanos: u64) -> u64 {
        self.count - self.left(self.count, now_nanos)
    }
}

impl DrainQueue {
    /// The most that a size or a burst can be: then no instant overflows.
    pub(super) const MAX: u64 = 1 << 32;

    /// Returns an empty queue, as if it had been empty for ever.
    pub(super) fn new(rate: Rate, size: u64, burst: u64, now_nanos: u64) -> DrainQueue {
        let last = Stretch { rate, start: i128::MIN, rest: Part::NONE, count: 0, serial: 0 };
        let (size, burst) = (size.min(Self::MAX), burst.min(Self::MAX));
        let mut queue = DrainQueue { earlier: VecDeque::new(), last, size, burst };
        queue.clear(now_nanos);
        queue
    }

    /// Forgets all that is queued.
    pub(super) fn clear(&mut self, now_nanos: u64) {
        self.earlier.clear();
        let start = self.last.at(now_nanos) - i128::from(self.burst) * self.last.period();
        let serial = self.last.serial.wrapping_add(1);
        self.last = Stretch { start, rest: Part::NONE, count: 0, serial, ..self.last };
    }

    /// Returns the rate in force.
    pub(super) fn rate(&self) -> Rate {
        self.last.rate
    }

    /// Returns the permits that have not left at `now_nanos`.
    pub(super) fn queued(&self, now_nanos: u64) -> u64 {
        self.stretches().map(|stretch| stretch.queued(now_nanos)).sum()
    }

    fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        self.earlier.iter().chain([&self.last])
    }

    /// Forgets what has left at `now_nanos`, and credits the time since to an empty queue.
    pub(super) fn advance(&mut self, now_nanos: u64) {
        while self.earlier.front().is_some_and(|first| first.queued(now_nanos) == 0) {
            self.earlier.pop_front();
        }
        let Stretch { count, serial, .. } = self.last;
        if self.earlier.is_empty() && self.last.queued(now_nanos) == 0 {
            let end = self.last.leaves(count);
            let most = self.last.at(now_nanos) - i128::from(self.burst) * self.last.period();
            if count > 0 || most >= end {
                let serial = serial.wrapping_add(1);
                let rest = if most >= end { Part::NONE } else { self.last.rest };
                self.last = Stretch { start: end.max(most), rest, count: 0, serial, ..self.last };
            }
        }
    }

    /// Returns what would become of `permits` more, at most `size + burst`. The queue has to have
    /// been advanced to `now_nanos`.
    pub(super) fn outlook(&self, permits: u64, now_nanos: u64) -> Outlook {
        let last = &self.last;
        let count = last.count + permits;
        let leaves_nanos = last.nanos(last.leaves(count)).max(u128::from(now_nanos));
        let ahead: u64 = self.earlier.iter().map(|stretch| stretch.queued(now_nanos)).sum();
        let queued = ahead + count - last.left(count, now_nanos);
        let room_nanos =
            (queued > self.size).then(|| self.room_nanos(queued - self.size, now_nanos));
        Outlook { leaves_nanos, room_nanos }
    }

    /// Returns the instant at which `missing` more permits have left than at `now_nanos`, where an
    /// empty queue goes on to earn credit.
    fn room_nanos(&self, mut missing: u64, now_nanos: u64) -> u128 {
        for stretch in &self.earlier {
            let queued = stretch.queued(now_nanos);
            if missing <= queued {
                let left = stretch.left(stretch.count, now_nanos);
                return stretch.nanos(stretch.leaves(left + missing));
            }
            missing -= queued;
        }
        let left = self.last.left(u64::MAX, now_nanos);
        self.last.nanos(self.last.leaves(left + missing))
    }

    /// Adds `permits` at the end.
    pub(super) fn push(&mut self, permits: u64) -> Taken {
        let Stretch { count: before, serial, .. } = self.last;
        self.last.count += permits;
        Taken { serial, before: before.into(), after: self.last.count.into() }
    }

    /// Takes permits out of the queue, if nothing has come after them and nothing was changed. Returns
    /// whether it did.
    pub(super) fn take_back(&mut self, taken: Taken) -> bool {
        let newest = (self.last.serial, u128::from(self.last.count));
        let is_newest = newest == (taken.serial, taken.after);
        if is_newest {
            // No more than the count.
            self.last.count = taken.before as u64;
        }
        is_newest
    }

    /// Lets those that come from now on leave at `rate`, after those that are queued. The queue has
    /// to have been advanced to `now_nanos`.
    pub(super) fn set_rate(&mut self, rate: Rate, now_nanos: u64) {
        let old = self.last;
        if rate == old.rate {
            return;
        }
        let serial = old.serial.wrapping_add(1);
        let new = Stretch { rate, start: 0, rest: Part::NONE, count: 0, serial };
        let (start, rest) = if self.earlier.is_empty() && old.count == 0 {
            // The credit stays the same permits. It is no more than the burst, and not negative.
            let credit = old.at(now_nanos) - old.start;
            let (whole, units) = (credit.div_euclid(old.period()), credit.rem_euclid(old.period()));
            let [old_period, new_period] =
                [&old, &new].map(|at| u128::from(nanos(at.rate.period())));
            let (units, rest) = old.rest.rescaled(units as u128, old_period, new_period);
            (new.at(now_nanos) - whole * new.period() - units as i128, rest)
        } else {
            // A whole nanosecond, so that it is one at any rate.
            let end_nanos = old.nanos(old.leaves(old.count));
            if old.count > 0 {
                self.earlier.push_back(old);
            }
            (i128::try_from(end_nanos).unwrap_or(i128::MAX) * new.permits(), Part::NONE)
        };
        self.last = Stretch { start, rest, ..new };
    }
}
