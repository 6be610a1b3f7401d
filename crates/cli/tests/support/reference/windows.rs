//! Windows: the grants, and how much of them counts. Times are nanoseconds
//! since 1970.

use std::cell::RefCell;
use std::rc::Rc;

use sluicegate::Rate;

use super::days::Days;
use super::nanos;

/// Grants: the time of each, and its permits.
pub(super) type Grants = Vec<(i128, u64)>;

/// A limit on what counts.
pub(super) struct Window {
    pub(super) limit: u64,
    pub(super) counts: Counts,
    grants: Rc<RefCell<Grants>>,
}

/// The grants that count.
pub(super) enum Counts {
    /// Those in the current window; windows follow one another from 1970 on.
    Epoch { length: i128 },
    /// Those since the window began. It begins with a grant, which is dated up to a tick, and
    /// ends its length after that date.
    First { length: i128, tick: i128, start: Option<i128> },
    /// Those in the last `count` slots, the current one included.
    Slots { slot: i128, count: i128 },
    /// Those in the current window, and of those in the one before as large a part as a sliding
    /// window still covers.
    Weighted { length: i128 },
    /// Those less than `length` ago, dated up to a tick; and at most as many requests as `most`.
    Log { length: i128, tick: i128, most: Option<usize> },
    /// Those in the current window of the calendar.
    Calendar(Days),
}

impl Window {
    pub(super) fn new(limit: u64, counts: Counts) -> Window {
        Window { limit, counts, grants: Rc::default() }
    }

    pub(super) fn from_first(limit: Rate) -> Window {
        let (bits, length) = (u64::BITS - limit.permits().leading_zeros(), limit.period());
        // As is documented: 2^b ns for a limit of b bits, at most 2^-16 of the
        // window.
        let of_window = (length.as_nanos() >> 16).max(1).ilog2();
        let tick = 1 << bits.min(of_window);
        Window::new(limit.permits(), Counts::First { length: nanos(length), tick, start: None })
    }

    pub(super) fn sliding(limit: Rate, slots: u32) -> Window {
        let length = nanos(limit.period());
        let slot = ceil(length, slots.into());
        let count = ceil(length, slot) + 1;
        Window::new(limit.permits(), Counts::Slots { slot, count })
    }

    /// Creates several windows over the same grants. Their slots are a power of two of the
    /// shortest one's, and no longer than was asked for.
    pub(super) fn several(limits: &[Rate], slots: u32) -> Vec<Window> {
        let wanted = |limit: &Rate| ceil(nanos(limit.period()), slots.into());
        let shortest = limits.iter().map(wanted).min().unwrap();
        let grants = Rc::default();
        let window = |limit: &Rate| {
            let mut slot = shortest;
            while 2 * slot <= wanted(limit) {
                slot *= 2;
            }
            let count = ceil(nanos(limit.period()), slot) + 1;
            let counts = Counts::Slots { slot, count };
            Window { limit: limit.permits(), counts, grants: Rc::clone(&grants) }
        };
        limits.iter().map(window).collect()
    }

    pub(super) fn log(limit: Rate) -> Window {
        let counts = Counts::Log { length: nanos(limit.period()), tick: 1, most: None };
        Window::new(limit.permits(), counts)
    }

    pub(super) fn weighted_log(limit: Rate, capacity: u64) -> Window {
        // As is documented: 2^(b + 1) ns for a limit of b bits.
        let tick = 2 << (u64::BITS - limit.permits().leading_zeros());
        let (length, most) = (nanos(limit.period()), Some(capacity as usize));
        Window::new(limit.permits(), Counts::Log { length, tick, most })
    }

    pub(super) fn fits(&self, now: i128, permits: u64) -> bool {
        if let Counts::Log { most: Some(most), .. } = self.counts
            && self.newest(|at| self.remembers(at, now)).count() >= most
        {
            return false;
        }
        if let Counts::Log { most: None, .. } = self.counts
            && permits > 1
        {
            return false;
        }
        let (used, parts) = self.used(now);
        used + i128::from(permits) * parts <= i128::from(self.limit_at(now)) * parts
    }

    pub(super) fn take(&mut self, now: i128, permits: u64) {
        if let Counts::First { length, tick, start } = &mut self.counts
            && !is_within(*start, now, *length, *tick)
        {
            *start = Some(now);
        }
        let mut grants = self.grants.borrow_mut();
        match grants.last_mut() {
            // A log counts requests too; every other window counts these as one.
            Some((at, granted)) if *at == now && !matches!(self.counts, Counts::Log { .. }) => {
                *granted += permits;
            }
            _ => grants.push((now, permits)),
        }
    }

    /// Returns true if nothing counts.
    pub(super) fn is_idle(&self, now: i128) -> bool {
        self.used(now).0 == 0
    }

    fn limit_at(&self, now: i128) -> u64 {
        match &self.counts {
            Counts::Calendar(days) => days.amount(now).unwrap_or(self.limit),
            _ => self.limit,
        }
    }

    /// Returns the permits that count at `now`, in parts of a permit, and the number of parts in a
    /// permit.
    fn used(&self, now: i128) -> (i128, i128) {
        let used = match &self.counts {
            Counts::Epoch { length } => {
                self.sum(|at| at.div_euclid(*length) >= now.div_euclid(*length))
            }
            Counts::First { length, tick, start } if is_within(*start, now, *length, *tick) => {
                self.sum(|at| Some(at) >= *start)
            }
            Counts::First { .. } => 0,
            Counts::Slots { slot, count } => {
                self.sum(|at| at.div_euclid(*slot) > now.div_euclid(*slot) - count)
            }
            Counts::Weighted { length } => return self.with_part_of_one_before(now, *length),
            Counts::Log { .. } => self.sum(|at| self.remembers(at, now)),
            Counts::Calendar(days) => {
                let present = days.window(now);
                self.sum(|at| days.window(at) == present)
            }
        };
        (used, 1)
    }

    /// Returns the sum of the current window, and of the one before as large a part as there is
    /// left of the current one; over a common divisor.
    fn with_part_of_one_before(&self, now: i128, length: i128) -> (i128, i128) {
        let window = now.div_euclid(length);
        let current = self.sum(|at| at.div_euclid(length) >= window);
        let both = self.sum(|at| at.div_euclid(length) >= window - 1);
        let left = length - now.rem_euclid(length);
        ((both - current) * left + current * length, length)
    }

    /// Returns true if a log counts at `now` a grant made at `at`, which is dated up to a tick.
    fn remembers(&self, at: i128, now: i128) -> bool {
        let Counts::Log { length, tick, .. } = self.counts else { unreachable!() };
        now - ceil(at, tick) * tick < length
    }

    fn sum(&self, counts: impl Fn(i128) -> bool) -> i128 {
        self.newest(counts).map(i128::from).sum()
    }

    /// Returns the latest grants, as long as they count.
    fn newest(&self, counts: impl Fn(i128) -> bool) -> impl Iterator<Item = u64> {
        let grants = self.grants.borrow();
        let newest: Vec<u64> = grants
            .iter()
            .rev()
            .take_while(|(at, _)| counts(*at))
            .map(|(_, permits)| *permits)
            .collect();
        newest.into_iter()
    }
}

/// Returns true if a window that began at `start` has not ended.
fn is_within(start: Option<i128>, now: i128, length: i128, tick: i128) -> bool {
    start.is_some_and(|start| now - ceil(start, tick) * tick < length)
}

fn ceil(number: i128, by: i128) -> i128 {
    -(-number).div_euclid(by)
}
