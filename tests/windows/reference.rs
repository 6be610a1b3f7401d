//! The limiters of windows by their definitions: every grant that may still count
//! is kept, and what counts is summed up each time. What a wait has to be is not
//! computed but searched for.

#![allow(dead_code, reason = "every test binary uses its own part of the reference")]

mod fixed;
mod from_first;
mod log;
mod ring;

use sluicegate::{Denied, Grant};

pub(crate) use self::fixed::Fixed;
pub(crate) use self::from_first::FromFirst;
pub(crate) use self::log::Log;
pub(crate) use self::ring::Ring;

/// Threads' clocks are taken to agree to so much.
pub(crate) const SKEW_NANOS: i128 = 1_000_000_000;

/// All that an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Granted {
        permits: u64,
        remaining: u64,
        limit: u64,
        /// The wait for one permit more than remains, from limiters that tell it.
        next_nanos: Option<u128>,
        reset_nanos: u128,
    },
    Wait {
        which: usize,
        missing: u64,
        remaining: u64,
        next_nanos: Option<u128>,
        limit: u64,
        retry_nanos: u128,
        reset_nanos: u128,
    },
    TooLarge {
        which: usize,
        limit: u64,
    },
}

impl Said {
    pub(crate) fn permits(self) -> u64 {
        if let Said::Granted { permits, .. } = self { permits } else { 0 }
    }
}

impl From<Grant> for Said {
    fn from(grant: Grant) -> Said {
        assert!(grant.ready_after().is_zero(), "a window has no debts");
        assert_eq!(grant.balance().max(0) as u64, grant.remaining());
        Said::Granted {
            permits: grant.permits(),
            remaining: grant.remaining(),
            limit: grant.limit(),
            next_nanos: grant.next_permit_after().map(|wait| wait.as_nanos()),
            reset_nanos: grant.reset_after().as_nanos(),
        }
    }
}

impl From<Result<Grant, Denied>> for Said {
    fn from(answer: Result<Grant, Denied>) -> Said {
        let which = answer.map_or_else(|denied| denied.which(), |_| 0);
        match answer {
            Ok(grant) => Said::from(grant),
            Err(denied @ Denied::Wait(shortfall)) => {
                assert_eq!(denied.retry_after(), Some(shortfall.retry_after()));
                Said::Wait {
                    which,
                    missing: shortfall.missing(),
                    remaining: shortfall.remaining(),
                    next_nanos: shortfall.next_permit_after().map(|wait| wait.as_nanos()),
                    limit: shortfall.limit(),
                    retry_nanos: shortfall.retry_after().as_nanos(),
                    reset_nanos: shortfall.reset_after().as_nanos(),
                }
            }
            Err(Denied::TooLarge { limit, .. }) => Said::TooLarge { which, limit },
            Err(denied) => panic!("{denied:?} is not an answer that a limiter gives"),
        }
    }
}

/// The state in which limiters differ. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Fixed(Fixed),
    FromFirst(FromFirst),
    Ring(Ring),
    Log(Log),
}

macro_rules! each {
    ($state:expr, $one:ident => $call:expr) => {
        match $state {
            State::Fixed($one) => $call,
            State::FromFirst($one) => $call,
            State::Ring($one) => $call,
            State::Log($one) => $call,
        }
    };
}

/// The record by which a grant is given back.
#[derive(Clone, Debug)]
pub(crate) enum Undo {
    /// Nothing was taken.
    Nothing,
    /// The limiter's state before, and its word after.
    Word(Box<State>, [i128; 3]),
    Never,
}

/// A limiter.
#[derive(Clone, Debug)]
pub(crate) struct Mirror {
    pub(crate) limits: Vec<u64>,
    pub(crate) state: State,
    healed: u64,
}

impl Mirror {
    pub(crate) fn new(limits: Vec<u64>, state: State) -> Mirror {
        Mirror { limits, state, healed: 0 }
    }

    pub(crate) fn healed(&self) -> u64 {
        self.healed
    }

    pub(crate) fn try_acquire(&mut self, now: u64, permits: u64) -> Said {
        let said = self.peek(now, permits);
        if said.permits() > 0 {
            each!(&mut self.state, one => one.record(now.into(), permits));
        }
        said
    }

    pub(crate) fn try_acquire_up_to(&mut self, now: u64, permits: u64) -> Said {
        if !self.is_of_single_permits() {
            self.heal(now);
            let room = self.room(self.scarcest(now), now);
            return self.try_acquire(now, permits.min(room.max(1)));
        }
        // One after the other, but no more than the limit even if the clock goes on.
        let permits = permits.min(self.limits[0]);
        let mut last = self.try_acquire(now, permits.min(1));
        while (1..permits).contains(&last.permits()) {
            let Said::Granted { remaining, limit, next_nanos, reset_nanos, .. } =
                self.try_acquire(now, 1)
            else {
                break;
            };
            let permits = last.permits() + 1;
            last = Said::Granted { permits, remaining, limit, next_nanos, reset_nanos };
        }
        last
    }

    pub(crate) fn try_acquire_revocable(&mut self, now: u64, permits: u64) -> (Said, Undo) {
        if permits > 0 {
            self.peek(now, permits); // heals
            if let State::Ring(ring) = &mut self.state
                && self.limits.iter().enumerate().all(|(which, limit)| {
                    ring.used(which, now.into()).saturating_add(permits) <= *limit
                })
            {
                ring.turn(now.into()); // what a grant leaves when it is given back
            }
        }
        let before = Box::new(self.state.clone());
        let said = self.try_acquire(now, permits);
        let undo = match self.word() {
            _ if said.permits() == 0 => Undo::Nothing,
            Some(word) => Undo::Word(before, word),
            None => Undo::Never,
        };
        (said, undo)
    }

    pub(crate) fn give_back(&mut self, undo: Undo) -> bool {
        match undo {
            Undo::Nothing => true,
            Undo::Never => false,
            Undo::Word(_, word) if self.word() != Some(word) => false,
            Undo::Word(before, _) => {
                match (&mut self.state, *before) {
                    (State::Ring(ring), State::Ring(before)) => ring.take_back(&before),
                    (state, before) => *state = before,
                }
                true
            }
        }
    }

    pub(crate) fn peek(&mut self, now: u64, permits: u64) -> Said {
        if permits > 1 && self.is_of_single_permits() {
            return Said::TooLarge { which: 0, limit: 1 };
        }
        self.heal(now);
        if (0..self.limits.len()).all(|which| permits == 0 || self.fits(which, now, permits)) {
            return self.granted(now, permits);
        }
        let (which, &limit) =
            self.limits.iter().enumerate().min_by_key(|(_, limit)| **limit).expect("a limit");
        if permits > limit {
            return Said::TooLarge { which, limit };
        }
        let waits = (0..self.limits.len())
            .map(|which| least(|after| self.fits(which, now_after(now, after), permits)));
        // The first of those that have to be waited for longest.
        let (which, retry_nanos) =
            waits.enumerate().rev().max_by_key(|(_, wait)| *wait).expect("a limit");
        let (limit, used) = (self.limits[which], self.limits[which] - self.room(which, now));
        let used = used.max(self.used(which, now));
        let remaining = limit.saturating_sub(used);
        let is_next = permits == remaining + 1;
        Said::Wait {
            which,
            missing: (used + permits).saturating_sub(limit),
            remaining,
            next_nanos: self.next_nanos(which, now, remaining).or(is_next.then_some(retry_nanos)),
            limit,
            retry_nanos,
            reset_nanos: self.reset_nanos(now),
        }
    }

    fn granted(&self, now: u64, permits: u64) -> Said {
        let which = self.scarcest(now);
        let mut after = self.clone();
        if permits > 0 {
            each!(&mut after.state, one => one.record(now.into(), permits));
        }
        let remaining = self.room(which, now).saturating_sub(permits);
        Said::Granted {
            permits,
            remaining,
            next_nanos: after.next_nanos(which, now, remaining),
            limit: self.limits.iter().copied().min().expect("a limit"),
            reset_nanos: after.reset_nanos(now),
        }
    }

    /// Returns the wait until one permit more than `remaining` fits, for limiters that tell it.
    fn next_nanos(&self, which: usize, now: u64, remaining: u64) -> Option<u128> {
        let tells = matches!(self.state, State::Fixed(_) | State::FromFirst(_));
        (tells && remaining < self.limits[which])
            .then(|| least(|after| self.fits(which, now_after(now, after), remaining + 1)))
    }

    pub(crate) fn reset(&mut self, now: u64) {
        each!(&mut self.state, one => one.reset(now.into()));
    }

    /// Counts permits of these ages, oldest first, and nothing else.
    pub(crate) fn restore(&mut self, now: u64, spent: &[(u64, u64)]) {
        each!(&mut self.state, one => one.restore(now.into(), spent));
    }

    /// The permits that count, a part of one counted whole.
    pub(crate) fn used(&self, which: usize, now: impl Into<i128>) -> u64 {
        each!(&self.state, one => one.used(which, now.into()))
    }

    /// Returns the entries of a log: how long ago, and how many.
    pub(crate) fn spent(&self, now: u64) -> Option<Vec<(u64, u64)>> {
        if let State::Log(log) = &self.state { Some(log.spent(now.into())) } else { None }
    }

    /// Returns whether the clock is not behind what was last written.
    pub(crate) fn is_current(&self, now: u64) -> bool {
        each!(&self.state, one => one.is_current(now.into()))
    }

    pub(crate) fn heal(&mut self, now: u64) {
        self.healed += u64::from(each!(&mut self.state, one => one.heal(now.into())));
    }

    /// Begins the slot of `now`, as a call does that then is refused; whether it had
    /// not begun.
    pub(crate) fn turn(&mut self, now: u64) -> bool {
        let State::Ring(ring) = &mut self.state else { return false };
        let before = ring.word();
        ring.turn(now.into());
        ring.word() != before
    }

    fn word(&self) -> Option<[i128; 3]> {
        match &self.state {
            State::Fixed(one) => Some(one.word()),
            State::FromFirst(one) => Some(one.word()),
            State::Ring(one) => Some(one.word()),
            State::Log(_) => None,
        }
    }

    fn is_of_single_permits(&self) -> bool {
        matches!(&self.state, State::Log(log) if log.is_of_single_permits)
    }

    /// The window with the least room.
    fn scarcest(&self, now: u64) -> usize {
        let windows = 0..self.limits.len();
        windows.min_by_key(|&which| self.room(which, now)).expect("a limit")
    }

    fn room(&self, which: usize, now: u64) -> u64 {
        let is_full = matches!(&self.state, State::Log(log) if log.is_full(now.into()));
        if is_full { 0 } else { self.limits[which].saturating_sub(self.used(which, now)) }
    }

    fn fits(&self, which: usize, now: impl Into<i128>, permits: u64) -> bool {
        let now = now.into();
        let has_place = !matches!(&self.state, State::Log(log) if log.is_full(now));
        self.used(which, now).saturating_add(permits) <= self.limits[which] && has_place
    }

    fn reset_nanos(&self, now: u64) -> u128 {
        least(|after| {
            (0..self.limits.len()).all(|which| self.used(which, now_after(now, after)) == 0)
        })
    }
}

fn now_after(now: u64, after: u128) -> i128 {
    i128::from(now) + after as i128
}

/// The least number that is enough, if all larger ones are.
fn least(enough: impl Fn(u128) -> bool) -> u128 {
    if enough(0) {
        return 0;
    }
    let mut high = 1_u128;
    while !enough(high) {
        high *= 2;
        assert!(high < 1 << 70, "no wait will do");
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

/// `a / b`, rounded down, and up.
pub(crate) fn floor(a: i128, b: i128) -> i128 {
    a.div_euclid(b)
}

pub(crate) fn ceil(a: i128, b: i128) -> i128 {
    -floor(-a, b)
}
