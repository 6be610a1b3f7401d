//! The turns of those in line for a bucket, with reservations among them, and the charge of a
//! reservation in line. No atomics here.
//!
//! A reservation that was told the instant `t` is charged before that, and raises the level as a grant just
//! before `t` would:
//!
//! ```text
//! level = max(level, A(t - 1 ns) - capacity) + cost
//! ```
//!
//! So what would overflow by `t` is not there for those behind it. As `t` is the least instant that suffices,
//! the level when all ahead of it have been granted theirs is no lower than that, unless some have left.
//!
//! If its instant has come while a caller still is the first, then that caller's cost does not overflow: it
//! counts as of its own turn, so the reservation is charged as if after it.
//!
//! The level goes no deeper into debt than `max_debt`. If it would (after a `force`, a change of the terms, or
//! because the clock was set back), it rises by the cost alone, as far as the debt allows.
//! [`Foreseen::beneath`] foresees both for those behind it.
//!
//! **Theorem.** The bound of [`bucket`](super) holds with reservations that were in line, each counted
//! just before the instant that it was told, if nothing is forced or changed while they stand there, and
//! the line is served in time. If it is served late, a span may have the permits of one reservation more.
//!
//! *Proof.* Let a reservation count at `i`, a nanosecond before `t`. It starts from a level of at least `A(i) -
//! capacity`. And it ends at a level of at most `A(t)`: with all that stand ahead, it was no higher than that
//! when the reservation was told `t`, and in time those ahead raise it by their costs alone. These are the
//! two facts that the proof for other callers uses of an admission, the end as of `t`: it does not matter
//! that reservations and callers are charged in another order than they count in. A caller that is served
//! late may find that what was there has overflowed, and raises the level by that, too; but to `A` of
//! that moment at most. If that is before `t`, the reservation ends no higher than its cost above `A(t)`;
//! otherwise it was charged before the caller. ∎

use crate::config::refill::Refill;
use crate::decision::forecast::Forecast;
use crate::sync::Word;
use crate::time::units;
use crate::time::units::SKEW_NANOS;
use crate::wait::last_turn::LastTurn;
use crate::wait::place::Demand;
use crate::wait::turn::DueReservation;

use super::level::{Level, UNIT};
use super::terms::Terms;

/// A bucket as those in line find it.
pub(super) struct Foreseen {
    pub(super) terms: Terms,
    /// Balance for them, less what reservations among them take off beyond their cost.
    pub(super) balance: i64,
    pub(super) now_nanos: u64,
    /// True if the clock was set back, so that the bucket starts again from full.
    is_to_be_healed: bool,
}

impl Foreseen {
    pub(super) fn new(terms: Terms, balance: i64, now_nanos: u64) -> Foreseen {
        let is_to_be_healed = balance < 0 && terms.is_impossible(balance, now_nanos);
        Foreseen { terms, balance, now_nanos, is_to_be_healed }
    }

    /// Returns the same for the last of `demands`.
    pub(super) fn beneath(
        self,
        demands: &mut dyn Iterator<Item = Demand>,
        capacity: u64,
    ) -> Foreseen {
        let Foreseen { terms, now_nanos, .. } = self;
        let (mut balance, mut ahead) = (self.balance, 0_i64);
        // What is lacking for the turn of the last caller so far, and what is earned by then.
        let (mut lacking, mut earned_by_then) = (0_i64, None);
        for Demand { permits, told_nanos } in demands {
            let cost = self.cost(permits);
            if let Some(earned) = earned_by_then {
                balance = balance.min(ahead.saturating_add(room_beside(earned, capacity)));
            }
            if let Some(told_nanos) = told_nanos {
                // It is charged once all ahead of it have had their turns, or at its instant.
                let earned = self.earned_with(lacking, told_nanos);
                let unspent = balance.saturating_sub(ahead).saturating_add(earned);
                let most = terms.most_at(told_nanos, now_nanos, capacity).saturating_add(earned);
                let left = terms.left_by(unspent, most, cost);
                balance = left.saturating_sub(earned).saturating_add(ahead).saturating_add(cost);
            }
            ahead = ahead.saturating_add(cost);
            if told_nanos.is_none() {
                lacking = lacking.max(ahead.saturating_sub(balance));
                if terms.overflows_in_line() {
                    earned_by_then = Some(self.earned_with(lacking, u64::MAX));
                }
            }
        }
        Foreseen { balance, ..self }
    }

    /// Returns the same for one that comes to the front at `from_nanos`.
    pub(super) fn from(self, from_nanos: u64, capacity: u64) -> Foreseen {
        if !self.terms.overflows_in_line() {
            return self;
        }
        let earned = self.terms.earned_until(from_nanos, self.now_nanos);
        Foreseen { balance: self.balance.min(room_beside(earned, capacity)), ..self }
    }

    /// Returns the instant at which there are `permits`. Never too early.
    pub(super) fn due_nanos(&self, permits: u64) -> u64 {
        if self.is_to_be_healed {
            return self.now_nanos.saturating_add(SKEW_NANOS);
        }
        self.now_nanos.saturating_add(self.wait_nanos(self.cost(permits)))
    }

    /// Returns the turn of the last of all `permits`, and the level after it.
    pub(super) fn end(&self, permits: u64) -> LastTurn {
        let left = self.balance.checked_sub(self.cost(permits));
        let is_known = |left: &i64| !self.terms.is_impossible(*left, self.now_nanos);
        let level = |left| Level::leaving(left, self.terms.accrued(self.now_nanos)).to_bits();
        LastTurn { due_nanos: self.due_nanos(permits), word: left.filter(is_known).map(level) }
    }

    /// Returns the time until the last of all `permits` can be reserved, as debts go: 0 if it can be now.
    pub(super) fn reservable_in(&self, permits: u64) -> u64 {
        let (cost, deepest) = (self.cost(permits), self.terms.deepest());
        if self.balance.saturating_sub(cost) >= deepest {
            return 0;
        }
        self.wait_nanos(deepest.saturating_add(cost)).max(1)
    }

    /// Returns what will have been earned when `lacking` has been, or at `last_nanos` if that is earlier.
    fn earned_with(&self, lacking: i64, last_nanos: u64) -> i64 {
        if lacking <= 0 {
            return 0;
        }
        let wait_nanos = self.wait_nanos(self.balance.saturating_add(lacking));
        let then_nanos = self.now_nanos.saturating_add(wait_nanos).min(last_nanos);
        self.terms.earned_until(then_nanos, self.now_nanos).max(0)
    }

    fn cost(&self, permits: u64) -> i64 {
        self.terms.cost(permits).unwrap_or(i64::MAX)
    }

    fn wait_nanos(&self, wanted: i64) -> u64 {
        units::nanos(self.forecast().retry_after(wanted / UNIT as i64))
    }

    fn forecast(&self) -> Forecast {
        self.terms.forecast(self.balance, self.now_nanos)
    }
}

/// Returns the most that may be unspent now, so that no more than `capacity` is once `earned` is there.
fn room_beside(earned: i64, capacity: u64) -> i64 {
    i64::try_from(capacity).unwrap_or(i64::MAX).saturating_sub(earned)
}

impl Terms {
    /// Returns whether more may be there at the turn of one in line than it wants. An accrual in steps
    /// leaves the rest of a step to those behind it, up to the capacity.
    pub(super) fn overflows_in_line(&self) -> bool {
        self.refill() == Refill::Interval
    }

    /// Returns the most that may be unspent at `now_nanos`, so that no more than `capacity` is unspent just
    /// before the instant `told_nanos`.
    fn most_at(&self, told_nanos: u64, now_nanos: u64, capacity: u64) -> i64 {
        room_beside(self.earned_until(told_nanos.saturating_sub(1), now_nanos), capacity)
    }

    /// Returns what is earned from `now_nanos` to `then_nanos`: less than 0 if that is earlier; the most or
    /// the least that there is if it is more than any balance.
    pub(super) fn earned_until(&self, then_nanos: u64, now_nanos: u64) -> i64 {
        let forecast = self.forecast(0, now_nanos);
        let reach_nanos = units::nanos(forecast.retry_after((i64::MAX / 2) / UNIT as i64));
        if then_nanos.saturating_sub(now_nanos) >= reach_nanos {
            return i64::MAX;
        }
        if now_nanos.saturating_sub(then_nanos) >= reach_nanos {
            return i64::MIN;
        }
        self.accrued(then_nanos).wrapping_sub(self.accrued(now_nanos)) as i64
    }

    /// Returns `open`, the level, with a reservation that is `due`.
    pub(super) fn level_with(&self, open: Level, due: DueReservation, capacity: u64) -> Level {
        let accrued = self.accrued(due.now_nanos);
        let cost = self.cost(due.permits).unwrap_or(i64::MAX);
        // Without the clamp of an idle bucket, so that it is the level.
        let unspent = accrued.wrapping_sub(open.accrued_at(0)) as i64;
        let most = self.most_at(due.told_nanos, due.now_nanos, capacity);
        let first = self.cost(due.first_permits).unwrap_or(i64::MAX);
        Level::leaving(self.left_by(unspent, most.saturating_add(first), cost), accrued)
    }

    /// Returns what a reservation leaves of `unspent`, of which there may be at most `most`.
    fn left_by(&self, unspent: i64, most: i64, cost: i64) -> i64 {
        let (left, deepest) = (unspent.min(most).saturating_sub(cost), self.deepest());
        if left >= deepest {
            return left;
        }
        unspent.saturating_sub(cost).max(deepest).min(unspent)
    }
}
