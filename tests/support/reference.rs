//! The theorem's model, slowly and in big integers: what every limiter on one
//! word must answer, to the unit and to the nanosecond.
//!
//! `A(t)` is the exact product of rate and time since the origin, rounded down
//! once. The balance is `min(A - spent, capacity)`. Nothing here shares a line
//! with the engine: no quarter-units, no reciprocals, no wrapping.

#![allow(dead_code, reason = "every test binary uses its own part of the support")]

mod answer;
mod changes;
mod plan;

use std::ops::RangeInclusive;
use std::time::Duration;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};
use sluicegate::Refill;

pub(crate) use self::answer::{Held, Said};
pub(crate) use self::plan::Plan;

/// Clocks of different threads are taken to agree to a second.
pub(crate) const SKEW_NANOS: u64 = 1_000_000_000;

/// Units to charge, and the permits to grant for them.
struct Charge {
    permits: u64,
    units: BigInt,
}

enum Refusal {
    /// Not until the balance is this.
    Until(BigInt),
    Never {
        limit: u64,
    },
}

/// A limiter, by definition.
#[derive(Clone, Debug)]
pub(crate) struct Mirror {
    plan: Plan,
    origin_nanos: u64,
    /// Nanoseconds into a period at the origin.
    phase_nanos: u64,
    /// Units spent since the origin; less than 0 is what it began with.
    spent: BigInt,
    healed: u64,
}

impl Mirror {
    pub(crate) fn new(plan: Plan, initial: u64, now_nanos: u64) -> Mirror {
        let held = (&plan.token * initial).min(plan.capacity.clone());
        Mirror { plan, origin_nanos: now_nanos, phase_nanos: 0, spent: -held, healed: 0 }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn healed(&self) -> u64 {
        self.healed
    }

    pub(crate) fn origin_nanos(&self) -> u64 {
        self.origin_nanos
    }

    /// Returns what may be spent.
    pub(crate) fn balance(&self, now_nanos: u64) -> BigInt {
        (self.accrued(now_nanos) - &self.spent).min(self.plan.capacity.clone())
    }

    /// Whole permits there to take.
    pub(crate) fn remaining(&self, now_nanos: u64) -> u64 {
        whole(&(self.balance(now_nanos).max(BigInt::zero()) / &self.plan.token))
    }

    /// The largest request that is granted at once.
    pub(crate) fn limit(&self) -> u64 {
        whole(&(&self.plan.capacity / &self.plan.token))
    }

    // === Verbs ===

    pub(crate) fn try_acquire(&mut self, now_nanos: u64, permits: u64) -> Said {
        self.decide(now_nanos, true, |mirror, balance| mirror.all_of(permits, balance))
    }

    pub(crate) fn peek(&mut self, now_nanos: u64, permits: u64) -> Said {
        self.decide(now_nanos, false, |mirror, balance| mirror.all_of(permits, balance))
    }

    /// Takes `permits`, or looks, if `reserve` more are there; that may be more than can be.
    pub(crate) fn leaving(
        &mut self,
        now_nanos: u64,
        spends: bool,
        (permits, reserve): (u64, u64),
    ) -> Said {
        self.decide(now_nanos, spends, |mirror, balance| {
            let kept = if permits == 0 { 0 } else { reserve };
            let refused = |refusal| match refusal {
                Refusal::Never { limit } => Refusal::Never { limit: limit.saturating_sub(reserve) },
                until @ Refusal::Until(_) => until,
            };
            mirror.all_of(permits.saturating_add(kept), balance).map_err(refused)?;
            mirror.all_of(permits, balance)
        })
    }

    pub(crate) fn try_acquire_up_to(&mut self, now_nanos: u64, permits: u64) -> Said {
        self.decide(now_nanos, true, |mirror, balance| {
            let there = whole(&(balance.max(&BigInt::zero()) / &mirror.plan.token));
            mirror.all_of(permits.min(there.max(1)), balance)
        })
    }

    pub(crate) fn force(&mut self, now_nanos: u64, permits: u64) -> Said {
        self.decide(now_nanos, true, |mirror, balance| {
            let units = &mirror.plan.token * permits;
            let deepest = mirror.plan.deepest();
            if units.is_zero() || balance - &units >= deepest {
                Ok(Charge { permits, units })
            } else if &mirror.plan.capacity - &units >= deepest {
                Err(Refusal::Until(deepest + units))
            } else {
                let most = &mirror.plan.capacity - deepest;
                Err(Refusal::Never { limit: whole(&(most / &mirror.plan.token)) })
            }
        })
    }

    pub(crate) fn drain(&mut self, now_nanos: u64) -> Said {
        self.decide(now_nanos, true, |mirror, balance| {
            let units = balance.max(&BigInt::zero()).clone();
            Ok(Charge { permits: whole(&(&units / &mirror.plan.token)), units })
        })
    }

    /// Permits that have not leaked out, a part of one counted whole.
    pub(crate) fn level(&mut self, now_nanos: u64) -> u64 {
        self.look(now_nanos);
        let missing = &self.plan.capacity - self.balance(now_nanos);
        whole(&missing.div_ceil(&self.plan.token))
    }

    /// From now on `balance` is what may be spent: some is kept elsewhere.
    pub(crate) fn hold(&mut self, now_nanos: u64, balance: &BigInt) {
        self.spent = self.accrued(now_nanos) - balance;
    }

    // === The model ===

    /// Units accrued since the origin. Time before it is the origin.
    pub(crate) fn accrued(&self, now_nanos: u64) -> BigInt {
        self.plan.accrued(&self.time(now_nanos))
    }

    fn time(&self, now_nanos: u64) -> BigInt {
        BigInt::from(now_nanos.saturating_sub(self.origin_nanos)) + self.phase_nanos
    }

    fn phase(&self, now_nanos: u64) -> u64 {
        match self.plan.refill {
            Refill::Smooth => 0,
            Refill::Interval => whole(&(self.time(now_nanos) % self.plan.period_nanos)),
        }
    }

    /// The times at which the word can tell ahead from behind, if nothing more is
    /// taken: 2^61 units either way, and up to 2^62 ns from the origin.
    pub(crate) fn reach_nanos(&self) -> RangeInclusive<u64> {
        let half = BigInt::from(1_u64 << 61);
        let earliest = match &self.spent - &half {
            // Before the origin is as the origin.
            units if units.is_negative() => 0,
            units => self.when(self.plan.time_of(&(units + 1))),
        };
        let latest = self.plan.time_of(&(&self.spent + &half)).min(half * 2_u64);
        earliest..=self.when(latest - 1)
    }

    /// The reading of the clock at a time of the accrual.
    fn when(&self, time_nanos: BigInt) -> u64 {
        let reading: BigInt = time_nanos - self.phase_nanos + self.origin_nanos;
        reading.to_u64().unwrap_or(u64::MAX)
    }

    /// Returns whether the clock is at a time that the limiter cannot tell: too long before its
    /// beginning for clocks that agree to a second, or 146 years after.
    fn is_beyond(&self, now_nanos: u64) -> bool {
        let is_smooth = self.plan.refill == Refill::Smooth;
        self.origin_nanos.saturating_sub(now_nanos) > SKEW_NANOS
            || (is_smooth && now_nanos.saturating_sub(self.origin_nanos) >= 1 << 62)
    }

    /// Returns whether no legal call can have left the limiter as it is.
    pub(crate) fn is_impossible(&self, now_nanos: u64) -> bool {
        self.balance(now_nanos) < self.plan.floor() || self.is_beyond(now_nanos)
    }

    /// Starts again from full if no legal call can have left the limiter as it
    /// is. Whether it did.
    fn look(&mut self, now_nanos: u64) -> bool {
        let is_impossible = self.is_impossible(now_nanos);
        if is_impossible {
            self.reset(now_nanos);
            self.healed += 1;
        }
        is_impossible
    }

    fn all_of(&self, permits: u64, balance: &BigInt) -> Result<Charge, Refusal> {
        let units = &self.plan.token * permits;
        if permits == 0 || units <= *balance {
            Ok(Charge { permits, units })
        } else if units <= self.plan.capacity {
            Err(Refusal::Until(units))
        } else {
            Err(Refusal::Never { limit: self.limit() })
        }
    }

    fn decide(
        &mut self,
        now_nanos: u64,
        spends: bool,
        charge: impl Fn(&Mirror, &BigInt) -> Result<Charge, Refusal>,
    ) -> Said {
        let mut balance = self.balance(now_nanos);
        let mut charged = charge(self, &balance);
        let writes = spends && charged.as_ref().is_ok_and(|charge| !charge.units.is_zero());
        if !writes && self.look(now_nanos) {
            balance = self.balance(now_nanos);
            charged = charge(self, &balance);
        }
        let wait = |until: &BigInt, balance: &BigInt| self.wait_for(now_nanos, &(until - balance));
        let there = |balance: &BigInt| whole(&(balance.max(&BigInt::zero()) / &self.plan.token));
        // The first multiple of a token above what can be spent, if it can be held.
        let next = |balance: &BigInt| {
            let units = &self.plan.token * (there(balance) + 1);
            (units <= self.plan.capacity).then(|| wait(&units, balance))
        };
        let signed = |balance: &BigInt| {
            balance.div_floor(&self.plan.token).to_i64().expect("a balance of permits")
        };
        match charged {
            Ok(Charge { permits, units }) => {
                let left = balance - &units;
                let said = Said::Granted {
                    permits,
                    remaining: there(&left),
                    balance: signed(&left),
                    limit: self.limit(),
                    next_permit_after: next(&left),
                    reset_after: wait(&self.plan.capacity, &left),
                    ready_after: wait(&BigInt::zero(), &left),
                };
                if spends && units.is_positive() {
                    self.spent = self.accrued(now_nanos) - left;
                }
                said
            }
            Err(Refusal::Until(wanted)) => Said::Wait {
                missing: whole(&(&wanted - &balance).div_ceil(&self.plan.token)),
                remaining: there(&balance),
                balance: signed(&balance),
                next_permit_after: next(&balance),
                retry_after: wait(&wanted, &balance),
                reset_after: wait(&self.plan.capacity, &balance),
            },
            Err(Refusal::Never { limit }) => Said::TooLarge { limit },
        }
    }

    /// The least time in which `missing` units accrue from now.
    fn wait_for(&self, now_nanos: u64, missing: &BigInt) -> Duration {
        if !missing.is_positive() {
            return Duration::ZERO;
        }
        let until = self.plan.time_of(&(self.accrued(now_nanos) + missing));
        // By the clock, not by what counts of it: nothing accrues before the origin.
        let early_nanos = self.origin_nanos.saturating_sub(now_nanos);
        let wait = until - self.time(now_nanos) + early_nanos;
        let (seconds, rest) = wait.div_rem(&BigInt::from(1_000_000_000));
        let rest = rest.to_u32().expect("less than a second");
        seconds.to_u64().map_or(Duration::MAX, |seconds| Duration::new(seconds, rest))
    }
}

/// `amount` as a `u64`, which it is by the limits of the vocabulary.
pub(crate) fn whole(amount: &BigInt) -> u64 {
    amount.to_u64().expect("an amount of permits or of nanoseconds")
}

/// `duration` in nanoseconds, at most the 584 years of a `u64`.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
