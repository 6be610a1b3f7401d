//! Changes of the model's terms and of what it holds.

use std::time::Duration;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::ToPrimitive;
use sluicegate::Refill;
use sluicegate::bucket::Carry;

use super::{Held, Mirror, Plan, nanos, whole};

impl Mirror {
    /// Full again; the times of an interval refill stay.
    pub(crate) fn reset(&mut self, now_nanos: u64) {
        let (plan, phase_nanos) = (self.plan.clone(), self.phase(now_nanos));
        self.begin(now_nanos, plan, &self.plan.capacity.clone(), phase_nanos);
    }

    /// Adds permits, until the limiter is full at most.
    pub(crate) fn credit(&mut self, now_nanos: u64, permits: u64) {
        if permits > 0 {
            let (plan, phase_nanos) = (self.plan.clone(), self.phase(now_nanos));
            let more = self.balance(now_nanos) + &plan.token * permits;
            let balance = more.min(plan.capacity.clone());
            self.begin(now_nanos, plan, &balance, phase_nanos);
        }
    }

    pub(crate) fn reconfigure(&mut self, now_nanos: u64, new: Plan, carry: Carry) {
        let old = &self.plan;
        let (balance, phase_nanos) = (self.balance(now_nanos), self.phase(now_nanos));
        let same_steps = old.steps_as(&new);
        let held = match carry {
            Carry::Reset => {
                let (full, phase) =
                    (new.capacity.clone(), if same_steps { phase_nanos } else { 0 });
                return self.begin(now_nanos, new, &full, phase);
            }
            Carry::Keep => quarters(&balance, &new.token, &old.token),
            Carry::Scale => quarters(&balance, &new.capacity, &old.capacity),
            Carry::Empty => quarters(&balance.min(BigInt::ZERO), &new.token, &old.token),
            _ => unreachable!("no model of {carry:?}"),
        };
        let part = quarters(&old.part(phase_nanos), &new.token, &old.token);
        let (held, phase_nanos) = match new.refill {
            Refill::Smooth => (held + part, 0),
            Refill::Interval if same_steps => (held, phase_nanos),
            Refill::Interval => (held, new.phase_worth(&part)),
        };
        let held = held.div_floor(&BigInt::from(4)).clamp(new.floor(), new.capacity.clone());
        self.begin(now_nanos, new, &held, phase_nanos);
    }

    pub(crate) fn snapshot(&mut self, now_nanos: u64) -> Held {
        self.look(now_nanos);
        let phase_nanos = self.phase(now_nanos);
        Held {
            balance: self.balance(now_nanos).to_i64().expect("the budget is 2^60 units"),
            token: whole(&self.plan.token),
            phase_nanos,
            part: whole(&self.plan.part(phase_nanos)),
        }
    }

    pub(crate) fn restore(&mut self, now_nanos: u64, held: Held, away: Duration) {
        let plan = self.plan.clone();
        let away = BigInt::from(nanos(away));
        let from = BigInt::from(held.token);
        let balance = quarters(&held.balance.into(), &plan.token, &from);
        let part = quarters(&held.part.into(), &plan.token, &from);
        let (balance, time) = match plan.refill {
            Refill::Smooth => (balance + part, away),
            Refill::Interval => {
                // The very phase if it is worth the part, and else what is.
                let phase_nanos = held.phase_nanos.min(plan.period_nanos - 1);
                let is_alike = plan.part(phase_nanos) * 4 == part;
                (balance, away + if is_alike { phase_nanos } else { plan.phase_worth(&part) })
            }
        };
        let balance = balance.div_floor(&BigInt::from(4)) + plan.accrued(&time);
        let balance = balance.clamp(plan.deepest(), plan.capacity.clone());
        let phase_nanos = match plan.refill {
            Refill::Smooth => 0,
            Refill::Interval => whole(&(time % plan.period_nanos)),
        };
        self.begin(now_nanos, plan, &balance, phase_nanos);
    }

    /// Puts `plan` in force with `balance` at `now_nanos`.
    ///
    /// If it earns as the old one did, the old accrual goes on, with the part of
    /// a unit that is pending. If not, the new one begins: not before the old one,
    /// since time that clocks may disagree by is not to be lived through twice.
    fn begin(&mut self, now_nanos: u64, plan: Plan, balance: &BigInt, phase_nanos: u64) {
        let goes_on = plan.steps_as(&self.plan) && plan.token == self.plan.token;
        let is_beyond = self.is_beyond(now_nanos);
        if goes_on && phase_nanos == self.phase(now_nanos) && !is_beyond {
            self.spent = self.accrued(now_nanos) - balance;
        } else {
            let begins = if is_beyond { now_nanos } else { now_nanos.max(self.origin_nanos) };
            (self.origin_nanos, self.phase_nanos) = (begins, phase_nanos);
            self.spent = -balance;
        }
        self.plan = plan;
    }
}

/// Units of one kind as quarter-units of another, rounded down.
fn quarters(units: &BigInt, to: &BigInt, from: &BigInt) -> BigInt {
    (units * 4_u64 * to).div_floor(from)
}
