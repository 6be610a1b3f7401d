//! The rule that a limiter enforces, derived again from its documentation in big integers.

use num_bigint::BigInt;
use num_integer::Integer;
use sluicegate::{Quota, Refill};

use super::{SKEW_NANOS, nanos, whole};

/// The most that a limiter's burst and debt may take, in units.
const BUDGET_BITS: u32 = 60;

/// The most units in a second, for a hundred years of them to fit the word.
const PACE_BITS: u32 = 31;

/// Rate, burst and debt, in units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) permits: u64,
    pub(crate) period_nanos: u64,
    pub(crate) refill: Refill,
    /// The units of a token.
    pub(crate) token: BigInt,
    /// The most units that can be unspent.
    pub(crate) capacity: BigInt,
    /// In tokens.
    pub(crate) max_debt: u64,
}

impl Plan {
    pub(crate) fn of_quota(quota: Quota) -> Plan {
        let (permits, period_nanos) = (quota.rate().permits(), nanos(quota.rate().period()));
        let token = units_per_token(permits, period_nanos, quota.burst() + quota.max_debt());
        Plan {
            permits,
            period_nanos,
            refill: quota.refill(),
            capacity: &token * quota.burst(),
            token,
            max_debt: quota.max_debt(),
        }
    }

    /// A cell every `interval_nanos`, each up to `tolerance_nanos` early.
    pub(crate) fn of_cells(interval_nanos: u64, tolerance_nanos: u64) -> Plan {
        let span = BigInt::from(tolerance_nanos) + interval_nanos;
        let cells = whole(&(&span / interval_nanos));
        let max_debt = cells.min(Quota::MAX_DEBT);
        let token = units_per_token(1, interval_nanos, cells + 1 + max_debt);
        Plan {
            permits: 1,
            period_nanos: interval_nanos,
            refill: Refill::Smooth,
            capacity: span * &token / interval_nanos,
            token,
            max_debt,
        }
    }

    /// Returns the value of a period, in units.
    pub(crate) fn worth(&self) -> BigInt {
        &self.token * self.permits
    }

    /// Returns what a period pays out: an interval refill never more than fills the bucket from its
    /// deepest debt.
    pub(crate) fn pay(&self) -> BigInt {
        match self.refill {
            Refill::Smooth => self.worth(),
            Refill::Interval => self.worth().min(BigInt::from(1_u64 << BUDGET_BITS)),
        }
    }

    /// Units accrued in `time_nanos`, of which a period began at 0.
    pub(crate) fn accrued(&self, time_nanos: &BigInt) -> BigInt {
        match self.refill {
            Refill::Smooth => (self.worth() * time_nanos).div_floor(&self.period()),
            Refill::Interval => self.pay() * time_nanos.div_floor(&self.period()),
        }
    }

    /// Returns the value of `phase_nanos` of a step; `phase_nanos` is 0 for a smooth refill.
    pub(crate) fn part(&self, phase_nanos: u64) -> BigInt {
        self.worth() * phase_nanos / self.period_nanos
    }

    /// Returns the time into a step that so many quarter-units are worth, short of its end.
    pub(crate) fn phase_worth(&self, quarters: &BigInt) -> u64 {
        let time: BigInt = quarters / 4_u64 * self.period_nanos / self.worth();
        whole(&time.min(BigInt::from(self.period_nanos - 1)))
    }

    /// Returns whether tokens arrive at the same times.
    pub(crate) fn steps_as(&self, other: &Plan) -> bool {
        let rate = |plan: &Plan| (plan.permits, plan.period_nanos, plan.refill);
        rate(self) == rate(other)
    }

    /// The first time at which `units` have accrued.
    pub(crate) fn time_of(&self, units: &BigInt) -> BigInt {
        match self.refill {
            Refill::Smooth => (units * self.period()).div_ceil(&self.worth()),
            Refill::Interval => units.div_ceil(&self.pay()) * self.period(),
        }
    }

    /// The deepest balance that debt may reach.
    pub(crate) fn deepest(&self) -> BigInt {
        -(&self.token * self.max_debt)
    }

    /// The deepest balance that clocks which agree to a second can show.
    pub(crate) fn floor(&self) -> BigInt {
        let skew = match self.refill {
            Refill::Smooth => self.accrued(&BigInt::from(SKEW_NANOS)) + 1,
            Refill::Interval => (1 + BigInt::from(SKEW_NANOS / self.period_nanos)) * self.pay(),
        };
        self.deepest() - skew
    }

    fn period(&self) -> BigInt {
        BigInt::from(self.period_nanos)
    }
}

/// The documented choice: the reduced period if there are one or two permits in
/// it, and else the largest power of two; both within the budget.
fn units_per_token(permits: u64, period_nanos: u64, tokens: u64) -> BigInt {
    let divisor = permits.gcd(&period_nanos);
    let reduced = BigInt::from(period_nanos / divisor);
    let budget = BigInt::from(1_u64 << BUDGET_BITS);
    if permits / divisor <= 2 && &reduced * tokens <= budget {
        return reduced;
    }
    let most_in_period = (BigInt::from(period_nanos) << PACE_BITS) / 1_000_000_000;
    (0..=BUDGET_BITS)
        .rev()
        .map(|bits| BigInt::from(1) << bits)
        .find(|token| token * tokens <= budget && token * permits <= most_in_period)
        .expect("a rate of at most 2^31 per second has room for a unit per token")
}
