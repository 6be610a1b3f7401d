//! What a change of terms does to the balance. No atomics here.
//!
//! | carry   | balance                                  | part of a step earned      |
//! |---------|------------------------------------------|----------------------------|
//! | `Keep`  | the same tokens                          | the same tokens            |
//! | `Scale` | the same share of the burst              | the same tokens            |
//! | `Reset` | the new burst                            | nothing                    |
//!
//! Rounded down to the new unit, and clamped to what the new terms allow. What was
//! earned before the change was earned at the old rate. If the new terms earn the
//! same units at the same times, the old accrual goes on, and nothing is rounded.

use crate::bucket::accrual::stepped::Stepped;
use crate::decision::snapshot::Snapshot;

use super::accrual::Accrual;
use super::level::{Level, UNIT};
use super::terms::Terms;

/// What a live change of quota does with the tokens that a limiter holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Carry {
    /// They stay, up to the new burst. A debt stays too.
    #[default]
    Keep,
    /// They stay the same share of the burst: half full is half full again.
    Scale,
    /// The limiter starts again from full.
    Reset,
}

/// A balance under some terms, between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    /// In half-units; less than 0 is a debt.
    pub(crate) balance: i64,
    /// Time into a period of an interval refill.
    pub(crate) phase_nanos: u64,
}

impl Holding {
    /// What `level` leaves under `terms` at `now_nanos`, of which it may hold `capacity`.
    pub(crate) fn of(level: Level, terms: &Terms, capacity: u64, now_nanos: u64) -> Holding {
        Holding {
            balance: level.balance(terms.accrued(now_nanos), capacity),
            phase_nanos: terms.phase(now_nanos),
        }
    }

    /// As full as `terms` allow, at the same time of a period.
    pub(crate) fn filled(self, terms: &Terms) -> Holding {
        Holding { balance: terms.capacity as i64, ..self }
    }

    /// With so many more permits, as far as `terms` allow.
    pub(super) fn plus(self, permits: u64, terms: &Terms) -> Holding {
        let more = permits.saturating_mul(terms.token).min(terms.capacity) as i64;
        let balance = self.balance.saturating_add(more).min(terms.capacity as i64);
        Holding { balance, ..self }
    }

    /// This holding of `old` terms, as one of `new` ones.
    pub(crate) fn carried(self, old: &Terms, new: &Terms, carry: Carry) -> Holding {
        let balance = i128::from(self.balance);
        let balance = match carry {
            Carry::Reset if old.has_times_of(new) => return self.filled(new),
            Carry::Reset => return Holding { phase_nanos: 0, ..self.filled(new) },
            Carry::Keep => scaled(balance, new.token, old.token),
            Carry::Scale => scaled(balance, new.capacity, old.capacity),
        };
        let part = scaled(i128::from(old.part_of_step(self.phase_nanos)), new.token, old.token);
        let (balance, phase_nanos) = match new.accrual {
            // A smooth refill would have paid that part out by now.
            Accrual::Linear(_) => (balance + part, 0),
            Accrual::Stepped(_) if old.has_times_of(new) => (balance, self.phase_nanos),
            Accrual::Stepped(_) => (balance, new.time_for(part)),
        };
        // A debt beyond the new limit stays, as far as it can be one that is legal:
        // it may be what another thread, whose clock is ahead, has just taken.
        Holding::within(balance, phase_nanos, new.floor(), new)
    }

    /// What `snapshot` holds under `terms` after `away_nanos` more.
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
                let is_alike = i128::from(terms.part_of_step(phase_nanos)) == part;
                let phase_nanos = if is_alike { phase_nanos } else { terms.time_for(part) };
                let time = away + u128::from(phase_nanos);
                (balance, time / period * u128::from(stepped.gain), (time % period) as u64)
            }
        };
        // Below 2^67: a nanosecond earns less than four units.
        let earned = (earned * u128::from(UNIT)) as i128;
        Holding::within(balance + earned, phase_nanos, terms.deepest(), terms)
    }

    /// What a snapshot of this holding under `terms` says.
    pub(crate) fn snapshot(self, terms: &Terms) -> Snapshot {
        Snapshot {
            balance: self.balance / UNIT as i64,
            token: terms.token / UNIT,
            phase_nanos: self.phase_nanos,
            part: terms.part_of_step(self.phase_nanos) / UNIT,
        }
    }

    /// `balance`, but no more than the terms' capacity and no deeper than
    /// `deepest`.
    fn within(balance: i128, phase_nanos: u64, deepest: i64, terms: &Terms) -> Holding {
        // Whole units: the lowest bit belongs to the slot.
        let balance = balance & !(i128::from(UNIT) - 1);
        let balance = balance.clamp(i128::from(deepest), i128::from(terms.capacity)) as i64;
        Holding { balance, phase_nanos }
    }
}

impl Terms {
    /// These terms, as the successors of `old` ones at `now_nanos`, such that
    /// `level` leaves `holding`.
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
            // The old accrual goes on, with the part of a unit that is pending.
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

    /// Whether the same units are earned at the same times, but for the phase.
    fn earns_as(&self, other: &Terms) -> bool {
        self.has_times_of(other) && self.token == other.token
    }

    /// Whether the same tokens are earned at the same times, but for the phase.
    fn has_times_of(&self, other: &Terms) -> bool {
        self.refill() == other.refill() && self.rate == other.rate
    }

    /// Time into a period of an interval refill; 0 for a smooth one.
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

    /// The half-units that the part of a step is worth, `phase_nanos` into it.
    fn part_of_step(&self, phase_nanos: u64) -> u64 {
        let part = self.gain() * u128::from(phase_nanos) / u128::from(self.rate.period_nanos());
        // Below `gain`, which is below 2^64, so that only the doubling may not fit.
        u64::try_from(part * u128::from(UNIT)).unwrap_or(u64::MAX)
    }

    /// How far into a step `part` half-units are, short of its end.
    fn time_for(&self, part: i128) -> u64 {
        let period_nanos = self.rate.period_nanos();
        let units = u128::try_from(part).unwrap_or(0) / u128::from(UNIT);
        let time = units.saturating_mul(u128::from(period_nanos)) / self.gain();
        u64::try_from(time).unwrap_or(u64::MAX).min(period_nanos - 1)
    }
}

/// `amount * numerator / denominator`, rounded down. An amount is below 2^66, and
/// a numerator is in the budget, so below 2^61.
fn scaled(amount: i128, numerator: u64, denominator: u64) -> i128 {
    (amount * i128::from(numerator)).div_euclid(i128::from(denominator))
}
