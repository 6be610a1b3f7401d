//! A bucket by definition, in big integers.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};
use sluicegate::Quota;

use super::{Ideal, Law};
use crate::support::reference::Plan;

/// A bucket of a quota. Its state is the units spent.
#[derive(Clone)]
pub(crate) struct Bucket {
    plan: Plan,
    burst: u64,
}

impl Bucket {
    pub(crate) fn new(quota: Quota) -> Bucket {
        Bucket { plan: Plan::of_quota(quota), burst: quota.burst() }
    }

    fn accrued(&self, now: u64) -> BigInt {
        self.plan.accrued(&now.into())
    }

    /// Returns the units spent after a grant, by a bucket that is no more than full at `since`.
    fn spend(&self, spent: &BigInt, since: u64, permits: u64) -> BigInt {
        self.empty(since).max(spent.clone()) + &self.plan.token * permits
    }
}

impl Law for Bucket {
    type State = BigInt;

    fn empty(&self, now: u64) -> BigInt {
        self.accrued(now) - &self.plan.capacity
    }

    fn limit(&self) -> u64 {
        self.burst
    }

    fn told(&self, spent: &BigInt, now: u64) -> i64 {
        let units = self.accrued(now) - self.spend(spent, now, 0);
        units.div_floor(&self.plan.token).to_i64().unwrap()
    }

    fn grant(&self, spent: &BigInt, since: u64, now: u64, permits: u64) -> Option<BigInt> {
        let after = self.spend(spent, since, permits);
        (after <= self.accrued(now)).then_some(after)
    }

    /// Forces a grant.
    fn change(ideal: &mut Ideal<Bucket>, now: u64, permits: u64) -> bool {
        let Bucket { plan, burst } = &ideal.law;
        let after = ideal.law.spend(&ideal.state, now, permits);
        let is_granted = ideal.law.accrued(now) - &after >= plan.deepest();
        if is_granted {
            ideal.state = after;
        } else if permits <= burst + plan.max_debt {
            ideal.settle(now);
        }
        is_granted
    }

    /// From each turn on, no more than the capacity is there for the next one.
    fn due(ideal: &Ideal<Bucket>, now: u64, id: usize) -> u64 {
        let Bucket { plan, .. } = &ideal.law;
        let mut turn = ideal.since.unwrap_or(now);
        let mut spent = ideal.state.clone();
        for (other, permits) in &ideal.line {
            spent = ideal.law.spend(&spent, turn, *permits);
            turn = plan.time_of(&spent.clone().max(BigInt::zero())).to_u64().unwrap();
            if *other == id {
                return turn;
            }
        }
        unreachable!("it stands in line")
    }
}
