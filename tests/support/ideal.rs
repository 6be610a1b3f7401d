//! The textbook bucket, in rational numbers: no units, no rounding at all.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;
use sluicegate::Refill;

use super::reference::Plan;

/// A bucket of `burst` tokens that earns `rate` of them per nanosecond.
#[derive(Clone, Debug)]
pub(crate) struct Ideal {
    rate: BigRational,
    burst: BigRational,
    /// The tokens that the engine's unit stands for.
    unit: BigRational,
    balance: BigRational,
    at_nanos: u64,
}

impl Ideal {
    /// Full at `now_nanos`. Only for smooth refill: in whole steps the engine
    /// does not round.
    pub(crate) fn full(plan: &Plan, now_nanos: u64) -> Ideal {
        assert!(plan.refill == Refill::Smooth);
        let unit = BigRational::new(BigInt::from(1), plan.token.clone());
        let burst = &unit * BigRational::from(plan.capacity.clone());
        let rate = BigRational::new(plan.permits.into(), plan.period_nanos.into());
        Ideal { rate, unit, balance: burst.clone(), burst, at_nanos: now_nanos }
    }

    /// Lets time pass; time that goes back is time that stands still.
    pub(crate) fn pass(&mut self, now_nanos: u64) {
        let passed = tokens(now_nanos.saturating_sub(self.at_nanos));
        self.balance = (&self.balance + &self.rate * passed).min(self.burst.clone());
        self.at_nanos = self.at_nanos.max(now_nanos);
    }

    /// Returns whether `permits` are there.
    pub(crate) fn has(&self, permits: u64) -> bool {
        permits == 0 || self.balance >= tokens(permits)
    }

    /// Returns whether the balance is within a unit of the cost of `permits`, so that the engine's
    /// rounding decides.
    pub(crate) fn is_close_to(&self, permits: u64) -> bool {
        let margin = &self.balance - tokens(permits);
        -&self.unit < margin && margin < self.unit
    }

    pub(crate) fn take(&mut self, permits: u64) {
        self.balance -= tokens(permits);
    }

    /// Takes all there is, a part of a token too.
    pub(crate) fn drain(&mut self) {
        self.balance = self.balance.clone().min(BigRational::zero());
    }
}

/// The most by which what was admitted in any window exceeded the burst and the
/// rate times the window.
///
/// `admissions` are times and permits, by time. One pass: the excess up to each
/// admission is the greater of starting with it and going on from the last.
pub(crate) fn excess(plan: &Plan, admissions: &[(u64, u64)]) -> BigRational {
    let mut worst = -BigRational::from(plan.capacity.clone());
    let mut going = BigRational::zero();
    let mut last_nanos = 0;
    let rate = BigRational::new(plan.worth(), plan.period_nanos.into());
    for &(at_nanos, permits) in admissions {
        assert!(at_nanos >= last_nanos, "by time");
        let earned = &rate * tokens(at_nanos - last_nanos);
        going = (going - earned).max(BigRational::zero());
        going += BigRational::from(&plan.token * permits);
        worst = worst.max(&going - BigRational::from(plan.capacity.clone()));
        last_nanos = at_nanos;
    }
    worst / BigRational::from(plan.token.clone())
}

fn tokens(count: u64) -> BigRational {
    BigRational::from(BigInt::from(count))
}
