//! The effect of a change of terms on the balance. No atomics here.
//!
//! | carry   | balance                                  | part of a step earned      |
//! |---------|------------------------------------------|----------------------------|
//! | `Keep`  | the same tokens                          | the same tokens            |
//! | `Scale` | the same share of the burst              | the same tokens            |
//! | `Reset` | the new burst                            | nothing                    |
//! | `Empty` | nothing, or the debt that there is       | the same tokens            |
//!
//! Amounts are rounded down to the new unit, and clamped to what the new terms allow. Units earned
//! before the change were earned at the old rate. If the new terms earn the same units at the same
//! times, the old accrual continues, and nothing is rounded.

use crate::bucket::accrual::stepped::Stepped;
use crate::decision::snapshot::Snapshot;

use super::accrual::Accrual;
use super::level::{Level, UNIT};
use super::terms::Terms;

/// The treatment of a limiter's tokens when its quota changes live.
///
/// With the feature `serde`, it is one of the words `keep`, `scale`, `reset` and `empty`.
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, TokenBucket, quota};
/// use sluicegate::bucket::Carry;
///
/// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
/// bucket.try_acquire(5)?;
/// bucket.reconfigure(quota!(100 / second), Carry::Keep);
/// assert_eq!(bucket.peek(0)?.remaining(), 5);
/// bucket.reconfigure(quota!(1_000 / second), Carry::Scale);
/// assert_eq!(bucket.peek(0)?.remaining(), 50);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Carry {
    /// The tokens stay, up to the new burst. A debt stays too.
    #[default]
    Keep,
    /// The tokens stay a fixed share of the burst: a half-full bucket is half full again.
    Scale,
    /// The limiter starts again from full.
    Reset,
    /// The limiter starts again from nothing, and earns all of its tokens. A debt stays.
    Empty,
}

/// A balance under some terms, between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    /// Half-units; negative for a debt.
    pub(crate) balance: i64,
    /// Time into a period of an interval refill.
    pub(crate) phase_nanos: u64,
}

impl Holding {
    /// Returns what `level` leaves at `now_nanos` under `terms`, for a word that may hold
    /// `capacity`.
    pub(crate) fn of(level: Level, terms: &Terms, capacity: u64, now_nanos: u64) -> Holding {
        Holding {
            balance: level.balance(terms.accrued(now_nanos), capacity),
            phase_nanos: terms.phase(now_nanos),
        }
    }

    /// Returns the holding as full as `terms` allow, at the same time of a period.
    pub(crate) fn filled(self, terms: &Terms) -> Holding {
        Holding { balance: terms.capacity as i64, ..self }
    }

    /// Adds `permits`, as far as `terms` allow.
    pub(crate) fn plus(self, permits: u64, terms: &Terms) -> Holding {
        // More than any debt and capacity together, and whole units.
        const MOST: u64 = (i64::MAX as u64) & !(UNIT - 1);
        let more = permits.saturating_mul(terms.token).min(MOST) as i64;
        let balance = self.balance.saturating_add(more).min(terms.capacity as i64);
        Holding { balance, ..self }
    }

    /// Converts this holding under `old` terms to one under `new` terms.
    pub(crate) fn carried(self, old: &Terms, new: &Terms, carry: Carry) -> Holding {
        let balance = i128::from(self.balance);
        let balance = match carry {
            Carry::Reset if old.has_times_of(new) => return self.filled(new),
            Carry::Reset => return Holding { phase_nanos: 0, ..self.filled(new) },
            Carry::Keep => scaled(balance, new.token, old.token),
            Carry::Scale => scaled(balance, new.capacity, old.capacity),
            Carry::Empty => scaled(balance.min(0), new.token, old.token),
        };
        let part = scaled(old.part_of_step(self.phase_nanos), new.token, old.token);
        let (balance, phase_nanos) = match new.accrual {
            // A smooth refill would have earned that part by now.
            Accrual::Linear(_) => (balance + part, 0),
            Accrual::Stepped(_) if old.has_times_of(new) => (balance, self.phase_nanos),
            Accrual::Stepped(_) => (balance, new.time_for(part)),
        };
        // A debt beyond the new limit stays, as far as a legal sequence of calls can explain it:
        // another thread, whose clock is ahead, may have taken it a moment ago.
        Holding::within(balance, phase_nanos, new.floor(), new)
    }

    /// Returns what `snapshot` holds under `terms` after `away_nanos` more.
    pub(crate) fn restored(snapshot: &Snapshot, away_nanos: u64, terms: &Terms) -> Holding {
        let unit = i128::from(UNIT);
        let in_terms = |units: i128| scaled(units * unit, terms.token / UNIT, snapshot.token);
        let balance = in_terms(i128::from(snapshot.balance));
        let part = in_terms(i128::from(snapshot.part));
        let away = u128::from(away_nanos);
        let period = u128::from(terms.rate.period_nanos());
        let (balance, earned, phase_nanos) = match terms.accrual {
            Accrual::Linear(_) => (balance + part, away * terms.gain() / period, 0),
            Accrual::Stepped(stepped) => {
                let phase_nanos = snapshot.phase_nanos.min(stepped.period_nanos - 1);
                let is_alike = terms.part_of_step(phase_nanos) == part;
                let phase_nanos = if is_alike { phase_nanos } else { terms.time_for(part) };
                let time = away + u128::from(phase_nanos);
                (balance, time / period * u128::from(stepped.gain), (time % period) as u64)
            }
        };
        // Below 2^67: a nanosecond earns less than four units.
        let earned = (earned * u128::from(UNIT)) as i128;
        Holding::within(balance + earned, phase_nanos, terms.deepest(), terms)
    }

    /// Returns a snapshot of this holding under `terms`.
    pub(crate) fn snapshot(self, terms: &Terms) -> Snapshot {
        Snapshot {
            balance: self.balance / UNIT as i64,
            token: terms.token / UNIT,
            phase_nanos: self.phase_nanos,
            part: terms.units_of_step(self.phase_nanos),
        }
    }

    /// Clamps `balance` to at most the terms' capacity and at least `deepest`.
    fn within(balance: i128, phase_nanos: u64, deepest: i64, terms: &Terms) -> Holding {
        // Round to whole units: the lowest bits are not the units'.
        let balance = balance & !(i128::from(UNIT) - 1);
        let balance = balance.clamp(i128::from(deepest), i128::from(terms.capacity)) as i64;
        Holding { balance, phase_nanos }
    }
}

impl Terms {
    /// Returns these terms as the successors of `old` at `now_nanos`, set up so that `level` leaves
    /// `holding`.
    pub(crate) fn succeeding(
        self,
        old: &Terms,
        holding: Holding,
        level: Level,
        now_nanos: u64,
    ) -> Terms {
        let accrued = level.accrued_at(holding.balance);
        let is_same_time = holding.phase_nanos == old.phase(now_nanos);
        if self.earns_as(old) && is_same_time && !old.is_out_of_range(now_nanos) {
            // The old accrual continues, with the pending fraction of a unit.
            let base = accrued.wrapping_sub(old.accrued(now_nanos).wrapping_sub(old.base));
            return Terms { origin_nanos: old.origin_nanos, base, accrual: old.accrual, ..self };
        }
        let accrual = match self.accrual {
            Accrual::Linear(linear) => Accrual::Linear(linear),
            Accrual::Stepped(stepped) => {
                Accrual::Stepped(Stepped { phase_nanos: holding.phase_nanos, ..stepped })
            }
        };
        Terms { origin_nanos: old.next_origin(now_nanos), base: accrued, accrual, ..self }
    }

    /// Returns whether both earn the same units at the same times, apart from the phase.
    fn earns_as(&self, other: &Terms) -> bool {
        self.has_times_of(other) && self.token == other.token
    }

    /// Returns whether both earn the same tokens at the same times, apart from the phase.
    fn has_times_of(&self, other: &Terms) -> bool {
        self.refill() == other.refill() && self.rate == other.rate
    }

    /// Time into a period of an interval refill; 0 for a smooth refill.
    fn phase(&self, now_nanos: u64) -> u64 {
        match self.accrual {
            Accrual::Linear(_) => 0,
            Accrual::Stepped(stepped) => stepped.phase(self.elapsed(now_nanos)),
        }
    }

    /// Units that one whole period earns.
    fn gain(&self) -> u128 {
        u128::from(self.rate.permits()) * u128::from(self.token / UNIT)
    }

    /// Units that a part of a step is worth, `phase_nanos` into it: fewer than a period earns.
    fn units_of_step(&self, phase_nanos: u64) -> u64 {
        // Below 2^63: a hundred years at 2^31 units a second.
        (self.gain() * u128::from(phase_nanos) / u128::from(self.rate.period_nanos())) as u64
    }

    /// The same in quarter-units.
    fn part_of_step(&self, phase_nanos: u64) -> i128 {
        i128::from(self.units_of_step(phase_nanos)) * i128::from(UNIT)
    }

    /// Time into a step at which `part` quarter-units are earned, short of its end.
    fn time_for(&self, part: i128) -> u64 {
        let period_nanos = self.rate.period_nanos();
        let units = u128::try_from(part).unwrap_or(0) / u128::from(UNIT);
        let time = units.saturating_mul(u128::from(period_nanos)) / self.gain();
        u64::try_from(time).unwrap_or(u64::MAX).min(period_nanos - 1)
    }
}

/// Returns `amount * numerator / denominator`, rounded down. Amounts are below 2^66; numerators are
/// within the budget, so below 2^61.
fn scaled(amount: i128, numerator: u64, denominator: u64) -> i128 {
    (amount * i128::from(numerator)).div_euclid(i128::from(denominator))
}
