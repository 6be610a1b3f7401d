//! What a change of terms does to the balance. No atomics here.
//!
//! | carry   | balance                                  | part of a step earned      |
//! |---------|------------------------------------------|----------------------------|
//! | `Keep`  | the same tokens                          | the same tokens            |
//! | `Scale` | the same share of the burst              | the same tokens            |
//! | `Reset` | the new burst                            | nothing                    |
//!
//! Rounded down each time, and clamped to what the new terms allow. What was
//! earned before the change was earned at the old rate.

use crate::Snapshot;
use crate::accrual::{Accrual, Stepped};

use super::level::{Level, UNIT};
use super::terms::Terms;

/// What a live change of quota does with the tokens that a limiter holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Carry {
    /// They stay, up to the new burst. A debt stays too, up to the new limit of
    /// debt.
    #[default]
    Keep,
    /// They stay the same share of the burst: half full is half full again.
    Scale,
    /// The limiter starts again from full.
    Reset,
}

/// A balance under some terms, between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holding {
    /// In half-units; less than 0 is a debt.
    pub(super) balance: i64,
    /// Time into a period of an interval refill.
    pub(super) phase_nanos: u64,
}

impl Holding {
    /// As full as `terms` allow.
    pub(super) fn full(terms: &Terms) -> Holding {
        Holding { balance: terms.capacity as i64, phase_nanos: 0 }
    }

    /// What `level` leaves under `terms` at `now_nanos`.
    pub(super) fn of(level: Level, terms: &Terms, now_nanos: u64) -> Holding {
        let phase_nanos = match terms.accrual {
            Accrual::Linear(_) => 0,
            Accrual::Stepped(stepped) => stepped.phase(terms.elapsed(now_nanos)),
        };
        Holding { balance: level.balance(terms.accrued(now_nanos), terms.capacity), phase_nanos }
    }

    /// `terms` from `now_nanos` on, under which `level` leaves this holding.
    pub(super) fn starting(self, terms: Terms, level: Level, now_nanos: u64) -> Terms {
        let accrual = match terms.accrual {
            Accrual::Linear(linear) => Accrual::Linear(linear),
            Accrual::Stepped(stepped) => {
                Accrual::Stepped(Stepped { phase_nanos: self.phase_nanos, ..stepped })
            }
        };
        Terms { origin_nanos: now_nanos, base: level.accrued_at(self.balance), accrual, ..terms }
    }

    /// This holding of `old` terms, as one of `new` ones.
    pub(super) fn carried(self, old: &Terms, new: &Terms, carry: Carry) -> Holding {
        let balance = match carry {
            Carry::Reset => return Holding::full(new),
            Carry::Keep => scaled(self.balance, new.token, old.token),
            Carry::Scale => scaled(self.balance, new.capacity, old.capacity),
        };
        let part = match old.accrual {
            Accrual::Linear(_) => 0,
            Accrual::Stepped(_) => part_of_step(old, self.phase_nanos),
        };
        match new.accrual {
            // A smooth refill would have paid that part out by now.
            Accrual::Linear(_) => {
                let part = scaled(part.min(i64::MAX as u64) as i64, new.token, old.token);
                Holding { balance: balance.saturating_add(part), phase_nanos: 0 }
            }
            Accrual::Stepped(_) if old.accrual_alike(new) => {
                Holding { balance, phase_nanos: self.phase_nanos }
            }
            Accrual::Stepped(_) => {
                let part = u128::from(part) * u128::from(new.token) / u128::from(old.token);
                Holding { balance, phase_nanos: time_for(new, part) }
            }
        }
        .clamped(new)
    }

    /// What `snapshot` holds under `terms` after `away_nanos` more.
    pub(super) fn restored(snapshot: &Snapshot, away_nanos: u64, terms: &Terms) -> Holding {
        let balance = scaled(
            snapshot.balance.saturating_mul(UNIT as i64),
            terms.token / UNIT,
            snapshot.token,
        );
        let (earned, phase_nanos) = match terms.accrual {
            Accrual::Linear(_) => {
                let (gain, period) = (terms.gain(), u128::from(terms.rate.period_nanos()));
                (u128::from(away_nanos) * gain / period, 0)
            }
            Accrual::Stepped(stepped) => {
                let phase_nanos = snapshot.phase_nanos.min(stepped.period_nanos - 1);
                let time = u128::from(away_nanos) + u128::from(phase_nanos);
                let period = u128::from(stepped.period_nanos);
                (time / period * u128::from(stepped.gain), (time % period) as u64)
            }
        };
        let earned = i64::try_from(earned.saturating_mul(u128::from(UNIT))).unwrap_or(i64::MAX);
        Holding { balance: balance.saturating_add(earned), phase_nanos }.clamped(terms)
    }

    /// What a snapshot of this holding under `terms` says.
    pub(super) fn snapshot(self, terms: &Terms) -> Snapshot {
        Snapshot {
            balance: self.balance / UNIT as i64,
            token: terms.token / UNIT,
            phase_nanos: self.phase_nanos,
        }
    }

    /// No more than the terms' capacity, and no deeper than a legal call may
    /// find it, so that no change leaves a level that would be healed.
    fn clamped(self, terms: &Terms) -> Holding {
        // Whole units: the lowest bit belongs to the slot.
        let balance = self.balance & !(UNIT as i64 - 1);
        Holding { balance: balance.clamp(terms.floor(), terms.capacity as i64), ..self }
    }
}

impl Terms {
    /// Units that one whole period earns.
    fn gain(&self) -> u128 {
        u128::from(self.rate.permits()) * u128::from(self.token / UNIT)
    }

    /// Whether a step is the same number of tokens at the same times.
    fn accrual_alike(&self, other: &Terms) -> bool {
        self.refill() == other.refill() && self.rate == other.rate
    }
}

/// The half-units that the part of a step is worth, `phase_nanos` into it.
fn part_of_step(terms: &Terms, phase_nanos: u64) -> u64 {
    let part = terms.gain() * u128::from(phase_nanos) / u128::from(terms.rate.period_nanos());
    // Below `gain`, which is below 2^64, so that only the doubling may not fit.
    u64::try_from(part * u128::from(UNIT)).unwrap_or(u64::MAX)
}

/// How far into a step `part` half-units are, short of its end.
fn time_for(terms: &Terms, part: u128) -> u64 {
    let period_nanos = terms.rate.period_nanos();
    let time = (part / u128::from(UNIT)).saturating_mul(u128::from(period_nanos)) / terms.gain();
    u64::try_from(time).unwrap_or(u64::MAX).min(period_nanos - 1)
}

/// `amount * numerator / denominator`, rounded down; saturates.
fn scaled(amount: i64, numerator: u64, denominator: u64) -> i64 {
    let product = i128::from(amount) * i128::from(numerator);
    let quotient = product.div_euclid(i128::from(denominator));
    i64::try_from(quotient).unwrap_or(if amount < 0 { i64::MIN } else { i64::MAX })
}
