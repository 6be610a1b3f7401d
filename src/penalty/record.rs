//! The word of a caller, and its transitions. No atomics here.
//!
//! ```text
//!  bit 63                                  26         16         6       1  0
//!     +--------------------------------------+----------+----------+-------+--+
//!     |           START (38 bits)            | PREVIOUS | CURRENT  |REPEATS| 0|  offences
//!     +--------------------------------------+----------+----------+-------+--+
//!     |           UNTIL (52 bits)                       | SCALE (6)|REPEATS| 1|  a penalty
//!     +-------------------------------------------------+----------+-------+--+
//!      63                                              12          6       1  0
//! ```
//!
//! `START` is the tick of 2^24 ns at which the current window of offences began. `UNTIL` is the tick of
//! 2^11 ns at which the penalty ends, rounded up, and `SCALE` the logarithm of its length in ticks,
//! rounded up. Half of each range, 73 and 146 years, is the past. `REPEATS` is the number of penalties
//! before the next one, as far as they are not forgotten; it stays at its largest value.
//!
//! | from | to | by |
//! |---|---|---|
//! | offences, fewer than the rule's with these | offences, of the window of now | `offended` |
//! | offences, as many as the rule's with these | a penalty | `offended` |
//! | a penalty that has ended | offences, or a penalty | `offended` |
//! | a penalty that runs | the same | `offended` |
//! | any | a penalty, no earlier than one that runs | `penalized` |
//! | a word from ahead of the clock | the same from now on | `healed` |

use core::fmt;
use core::time::Duration;

use crate::bits::Field;
use crate::config::penalty_rule::{MAX_OFFENCES, MAX_TIME_NANOS};
use crate::decision::offence::Offence;
use crate::sync::Word;
use crate::time::units::SKEW_NANOS;

use super::rule::{RuleTicks, START_SHIFT};

/// 1 for a penalty, 0 for offences.
const IS_PENALTY: Field = Field::low(1);
const REPEATS: Field = IS_PENALTY.then(5);

// Offences.
const CURRENT: Field = REPEATS.then(10);
const PREVIOUS: Field = CURRENT.then(10);
const START: Field = PREVIOUS.then(38);

// A penalty.
const SCALE: Field = REPEATS.then(6);
const UNTIL: Field = SCALE.then(52);

const _: () = assert!(START.end() == u64::BITS && UNTIL.end() == u64::BITS, "the fields fill it");
const _: () = assert!(MAX_OFFENCES <= CURRENT.max() && CURRENT.max() == PREVIOUS.max());

/// Logarithm of the tick of `UNTIL`, in nanoseconds.
const UNTIL_SHIFT: u32 = 11;

// Two windows and what is remembered after them are less than the half of the range that is the past.
const _: () = assert!(MAX_TIME_NANOS >> START_SHIFT < START.max() / 8);
const _: () = assert!(MAX_TIME_NANOS >> UNTIL_SHIFT < UNTIL.max() / 8);

/// The offences or the penalty of a caller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record(u64);

impl Word for Record {
    #[inline]
    fn from_bits(bits: u64) -> Record {
        Record(bits)
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self.0
    }
}

/// A penalty at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PenaltyState {
    Free,
    Penalized {
        left_nanos: u64,
    },
    /// The penalty is further ahead than it is long: the clock was set back.
    SetBack,
}

impl Record {
    /// The record of a caller that has not offended.
    pub(crate) const CLEAN: Record = Record(0);

    #[inline]
    pub(super) const fn is_penalty(self) -> bool {
        IS_PENALTY.get(self.0) == 1
    }

    const fn repeats(self) -> u64 {
        REPEATS.get(self.0)
    }

    /// Returns the offences that may still count.
    const fn offences(self) -> u64 {
        CURRENT.get(self.0) + PREVIOUS.get(self.0)
    }

    fn counting(start: u64, (previous, current): (u64, u64), repeats: u64) -> Record {
        if previous + current + repeats == 0 {
            return Record::CLEAN;
        }
        let counts = PREVIOUS.put(previous) | CURRENT.put(current);
        Record(START.wrap(start) | counts | REPEATS.put(repeats))
    }

    /// Returns a penalty that ends `length_nanos` after now, or up to a tick later.
    fn penalty(length_nanos: u64, repeats: u64, now_nanos: u64) -> Record {
        let (now, into) = (now_nanos >> UNTIL_SHIFT, now_nanos & ((1 << UNTIL_SHIFT) - 1));
        let ticks = (into + length_nanos).div_ceil(1 << UNTIL_SHIFT);
        // Not of `ticks`, which may be one more: a penalty that heals again and again would grow.
        let scale = length_nanos.div_ceil(1 << UNTIL_SHIFT).next_power_of_two().trailing_zeros();
        let until = UNTIL.wrap(now.wrapping_add(ticks));
        Record(until | SCALE.put(u64::from(scale)) | REPEATS.put(repeats) | IS_PENALTY.put(1))
    }

    /// Returns the time until the end of a penalty; less than 0 after it.
    #[inline]
    fn left_nanos(self, now_nanos: u64) -> i64 {
        let ticks = UNTIL.ahead(UNTIL.get(self.0), now_nanos >> UNTIL_SHIFT);
        (ticks << UNTIL_SHIFT) - (now_nanos & ((1 << UNTIL_SHIFT) - 1)) as i64
    }

    /// Returns the length of a penalty, rounded up to a power of two of ticks.
    fn scale_nanos(self) -> u64 {
        1 << (SCALE.get(self.0) + u64::from(UNTIL_SHIFT)).min(62)
    }

    /// Returns the longest time until the end of the penalty that a clock can show which was not set
    /// back: its length, the rest of a tick, and the time by which clocks differ.
    fn longest_left_nanos(self) -> u64 {
        self.scale_nanos() + (1 << UNTIL_SHIFT) + SKEW_NANOS
    }

    /// Returns the time since the current window began, in ticks; less than 0 if it begins later.
    fn age_ticks(self, now_nanos: u64) -> i64 {
        START.ahead(now_nanos >> START_SHIFT, START.get(self.0))
    }

    /// Returns whether a penalty runs.
    #[inline]
    pub(super) fn standing(self, now_nanos: u64) -> PenaltyState {
        if !self.is_penalty() {
            return PenaltyState::Free;
        }
        match u64::try_from(self.left_nanos(now_nanos)) {
            Err(_) | Ok(0) => PenaltyState::Free,
            Ok(left_nanos) if left_nanos > self.longest_left_nanos() => PenaltyState::SetBack,
            Ok(left_nanos) => PenaltyState::Penalized { left_nanos },
        }
    }

    /// Returns whether no call can have left the word unless the clock was set back since.
    pub(super) fn is_set_back(self, now_nanos: u64) -> bool {
        if self.is_penalty() {
            return self.standing(now_nanos) == PenaltyState::SetBack;
        }
        self != Record::CLEAN
            && self.age_ticks(now_nanos) < -((SKEW_NANOS >> START_SHIFT) as i64 + 1)
    }

    /// Returns the word from now on: a penalty with the length that the word tells, or the offences
    /// in a window that begins now.
    pub(super) fn healed(self, now_nanos: u64) -> Record {
        if self.is_penalty() {
            return Record::penalty(self.scale_nanos(), self.repeats(), now_nanos);
        }
        let counts = (PREVIOUS.get(self.0), CURRENT.get(self.0));
        Record::counting(now_nanos >> START_SHIFT, counts, self.repeats())
    }

    /// Returns the word in the window of now: without the offences that no longer count, and without
    /// penalties that are forgotten. For a word of no penalty that runs.
    fn brought_to(self, rule: &RuleTicks, now_nanos: u64) -> Record {
        let now = now_nanos >> START_SHIFT;
        if self.is_penalty() {
            let is_forgotten = self.idle_after(rule, now_nanos) == 0;
            let repeats = if is_forgotten { 0 } else { self.repeats() };
            return Record::counting(now, (0, 0), repeats);
        }
        let (age, window) = (self.age_ticks(now_nanos), rule.window as i64);
        if age < window {
            return self;
        }
        let is_forgotten = age >= window + rule.forgotten_after as i64;
        let repeats = if is_forgotten { 0 } else { self.repeats() };
        if age < 2 * window {
            let start = START.get(self.0).wrapping_add(rule.window);
            return Record::counting(start, (CURRENT.get(self.0), 0), repeats);
        }
        Record::counting(now, (0, 0), repeats)
    }

    /// Returns the word with `offences` more, or the penalty that they begin. Not for a word from ahead
    /// of the clock.
    pub(super) fn offended(
        self,
        offences: u64,
        rule: &RuleTicks,
        now_nanos: u64,
    ) -> (Record, Offence) {
        if let PenaltyState::Penalized { left_nanos } = self.standing(now_nanos) {
            return (self, Offence::Ignored { retry_after: Duration::from_nanos(left_nanos) });
        }
        let present = self.brought_to(rule, now_nanos);
        let counted = present.offences().saturating_add(offences);
        if offences == 0 {
            // Nothing is written for nothing.
            return (self, Offence::Counted { remaining: rule.offences.saturating_sub(counted) });
        }
        if counted < rule.offences {
            // A word without offences has no window, unless it is one of penalties that are over.
            let is_anew = present.offences() == 0;
            let start = if is_anew { now_nanos >> START_SHIFT } else { START.get(present.0) };
            let counts = (PREVIOUS.get(present.0), CURRENT.get(present.0) + offences);
            let remaining = rule.offences - counted;
            let next = Record::counting(start, counts, present.repeats());
            return (next, Offence::Counted { remaining });
        }
        let length_nanos = rule.penalty_nanos(present.repeats());
        let repeats = if rule.doubles() { (present.repeats() + 1).min(REPEATS.max()) } else { 0 };
        begun(length_nanos, repeats, now_nanos)
    }

    /// Returns a penalty of `length_nanos`, unless one runs that ends later.
    pub(super) fn penalized(
        self,
        length_nanos: u64,
        rule: &RuleTicks,
        now_nanos: u64,
    ) -> (Record, Offence) {
        let running = match self.standing(now_nanos) {
            PenaltyState::Penalized { left_nanos } => left_nanos,
            PenaltyState::Free | PenaltyState::SetBack => 0,
        };
        if length_nanos == 0 && running == 0 {
            return self.offended(0, rule, now_nanos);
        }
        if length_nanos <= running {
            return (self, Offence::Ignored { retry_after: Duration::from_nanos(running) });
        }
        let repeats =
            if running > 0 { self.repeats() } else { self.brought_to(rule, now_nanos).repeats() };
        begun(length_nanos, repeats, now_nanos)
    }

    /// Returns the offences that count.
    pub(super) fn counted(self, rule: &RuleTicks, now_nanos: u64) -> u64 {
        if self.is_penalty() { 0 } else { self.brought_to(rule, now_nanos).offences() }
    }

    /// Returns the time until the word is like that of a caller that has not offended; 0 if it is so
    /// now.
    pub(super) fn idle_after(self, rule: &RuleTicks, now_nanos: u64) -> u64 {
        let is_repeated = self.repeats() > 0;
        let left_nanos = if self == Record::CLEAN {
            0
        } else if self.is_penalty() {
            let forgotten = if is_repeated { rule.forgotten_after << START_SHIFT } else { 0 };
            self.left_nanos(now_nanos).saturating_add(forgotten as i64)
        } else {
            let forgotten = if is_repeated { rule.forgotten_after } else { 0 };
            let ticks = rule.window + forgotten.max(rule.window);
            let into = (now_nanos & ((1 << START_SHIFT) - 1)) as i64;
            ((ticks as i64 - self.age_ticks(now_nanos)) << START_SHIFT) - into
        };
        u64::try_from(left_nanos).unwrap_or(0)
    }
}

/// Returns a penalty that begins now.
fn begun(length_nanos: u64, repeats: u64, now_nanos: u64) -> (Record, Offence) {
    let penalty = Record::penalty(length_nanos, repeats, now_nanos);
    let retry_after = Duration::from_nanos(penalty.left_nanos(now_nanos).unsigned_abs());
    (penalty, Offence::Penalized { retry_after })
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Record");
        if self.is_penalty() {
            shown.field("until", &UNTIL.get(self.0)).field("scale", &SCALE.get(self.0));
        } else {
            shown.field("start", &START.get(self.0));
            shown.field("previous", &PREVIOUS.get(self.0)).field("current", &CURRENT.get(self.0));
        }
        shown.field("repeats", &self.repeats()).finish()
    }
}

#[cfg(test)]
mod tests;
