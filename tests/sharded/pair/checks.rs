//! Checks of each call: its answer follows from what was there, and nothing else has changed.

use std::time::Duration;

use num_bigint::BigInt;
use num_traits::Zero;
use sluicegate::lease::Lease;
use sluicegate::*;

use super::{Op, Pair};
use crate::support::reference::{Mirror, Said};

impl<'l> Pair<'l, '_> {
    /// Time has passed. What is there now is what was earned, but for what was cut off;
    /// nothing is cut off as long as there is capacity for what may be reserved.
    pub(super) fn catch_up(&mut self) {
        let now_nanos = self.clock.now_nanos();
        self.latest_nanos = self.latest_nanos.max(now_nanos);
        self.until_nanos = self.until_nanos.max(now_nanos);
        self.lag_nanos = self.lag_nanos.max(self.until_nanos - now_nanos);
        let there = self.there();
        let most = self.mirror.balance(now_nanos);
        assert!(there <= most, "{there} of {most} are there");
        let plan = self.mirror.plan();
        let lent = &plan.capacity / 4 + &plan.token * self.leased;
        if &most + lent <= plan.capacity {
            assert_eq!(there, most, "nothing was cut off");
        }
        if there != most {
            self.mirror.hold(now_nanos, &there);
            self.losses += 1;
        }
    }

    /// A caller of the shard was answered, who asked for so many permits, of which some had only to be there.
    pub(super) fn admit(
        &mut self,
        shard: usize,
        (permits, reserve): (u64, u64),
        answer: Result<Grant, Denied>,
        mirror: impl Fn(&mut Mirror) -> Said,
    ) {
        let shard = shard % self.refused.len();
        let (now_nanos, there) = (self.clock.now_nanos(), self.there_before());
        let expected = self.beside_leases((permits, reserve), mirror(&mut self.mirror.clone()));
        let said = Said::from(answer);
        if let Ok(grant) = answer {
            self.losses += 1;
            self.count(grant.permits());
            let left = there - &self.mirror.plan().token * grant.permits();
            self.mirror.hold(now_nanos, &left);
        } else if permits == 1 {
            self.close();
        }
        if self.is_behind() {
            self.note(shard, permits);
            return;
        }
        match (said, expected) {
            (Said::Granted { permits, .. }, Said::Granted { permits: wanted, .. }) => {
                assert_eq!(permits, wanted);
                assert_is_no_more_than(said, expected);
            }
            (
                Said::Wait { retry_after, missing, .. },
                Said::Wait { retry_after: least, missing: most, .. },
            ) => {
                // A remembered one tells what was true when it was first given; and that of
                // one permit answers for any number, also for one that was refused before.
                let refused = &self.refused[shard];
                let blurred = refused.get(&1).filter(|since| **since == u64::MAX);
                match blurred.or(refused.get(&permits)) {
                    None => {
                        assert_eq!(said, expected);
                        self.refused[shard].insert(permits, self.losses);
                    }
                    Some(losses) if *losses == self.losses => {
                        assert_eq!(retry_after, least);
                        assert!(missing >= most);
                    }
                    Some(_) => assert!(retry_after <= least),
                }
            }
            // The same: leases may have taken some since.
            (Said::Wait { .. }, Said::Leased { .. }) => {
                let refused = &self.refused[shard];
                assert!(refused.contains_key(&permits) || refused.contains_key(&1));
            }
            _ => assert_eq!(said, expected, "{permits} of {:?}", self.mirror),
        }
    }

    /// No wait is named for what cannot be granted as long as leases hold their capacity.
    pub(super) fn beside_leases(&self, (permits, reserve): (u64, u64), said: Said) -> Said {
        let limit = self.mirror.limit().saturating_sub(self.taken());
        match said {
            Said::Wait { .. } if permits > limit => {
                Said::Leased { limit: limit.saturating_sub(reserve) }
            }
            said => said,
        }
    }

    pub(super) fn lease(&mut self, shard: usize, permits: u64) {
        let now_nanos = self.clock.now_nanos();
        let there = self.mirror.remaining(now_nanos);
        match self.limiter.shard(shard).lease(permits) {
            Ok(lease) => {
                let most = permits.min(Lease::MAX);
                assert_eq!(lease.left(), lease.grant().permits());
                assert!((most.min(1)..=most).contains(&lease.left()));
                if self.limiter.shards() == 1 && !self.is_behind() {
                    assert_eq!(lease.left(), most.min(there));
                }
                let left = self.there_before() - &self.mirror.plan().token * lease.left();
                self.mirror.hold(now_nanos, &left);
                self.leased = self.leased.saturating_add(lease.left());
                self.losses += 1;
                self.leases.push(lease);
            }
            Err(denied) => {
                self.close();
                self.note(shard, 1);
                if !self.is_behind() {
                    let wait = self.limiter.peek(1).unwrap_err().retry_after();
                    assert!(there == 0 && denied.retry_after() <= wait);
                }
            }
        }
    }

    /// The shard may remember to have refused `permits`, or what it was asked on the way
    /// to fewer. (If the clock is behind, what it remembers is not to be compared.)
    pub(super) fn note(&mut self, shard: usize, permits: u64) {
        let shard = shard % self.refused.len();
        let is_behind = self.is_behind();
        for asked in [permits, self.mirror.limit(), 1] {
            let since = self.refused[shard].entry(asked).or_insert(self.losses);
            if is_behind {
                *since = u64::MAX;
            }
        }
    }

    /// All that a lease has left goes back, as far as the burst allows.
    pub(super) fn give_back(&mut self, lease: Lease<'l>) {
        let taken = self.taken() + lease.grant().permits() + self.unclosed;
        if self.is_behind() {
            self.unclosed += lease.grant().permits();
        }
        let back = &self.mirror.plan().token * lease.left();
        drop(lease);
        let (now_nanos, before, there) =
            (self.clock.now_nanos(), self.there_before(), self.there());
        let plan = self.mirror.plan();
        assert!(there <= plan.capacity && before <= there && there <= &before + &back);
        if before.clone().max(BigInt::zero()) + &plan.token * taken <= plan.capacity {
            assert_eq!(there, before + back);
        }
        self.mirror.hold(now_nanos, &there);
    }

    /// So many were credited: they are there, as far as the burst and what leases hold of it allow.
    pub(super) fn credited(&mut self, permits: u64) {
        if permits == 0 {
            return;
        }
        let (now_nanos, before, there) =
            (self.clock.now_nanos(), self.there_before(), self.there());
        let plan = self.mirror.plan();
        let most = &before + &plan.token * permits;
        assert!(before <= there && there <= most && there <= plan.capacity, "{there}");
        if !self.is_behind() {
            let room = &plan.capacity - &plan.token * self.taken();
            assert_eq!(there, most.min(room).max(before.clone()), "{:?}", self.limiter);
        }
        // In every span that ends from now on it counts as earned.
        self.going = (&self.going - (&there - &before)).max(BigInt::zero());
        self.mirror.hold(now_nanos, &there);
        for refused in &mut self.refused {
            refused.clear();
        }
    }

    /// Nothing is left, so reserved capacity that is empty is released, but for that of leases
    /// that are open. If the clock is behind it stays reserved: when it was emptied is not known,
    /// and what was cut off before must not come back.
    fn close(&mut self) {
        if !self.is_behind() {
            self.leased = self.taken();
            self.unclosed = 0;
        }
    }

    /// Returns the permits that leases took, spent or not: capacity that is reserved for nobody
    /// else.
    fn taken(&self) -> u64 {
        self.leases.iter().map(|lease| lease.grant().permits()).sum()
    }

    /// A change has begun a new history, with less than full if leases have reserved capacity.
    pub(super) fn begin(&mut self) {
        let now_nanos = self.clock.now_nanos();
        self.is_blurred |= now_nanos < self.latest_nanos;
        (self.leased, self.unclosed) = (self.taken(), 0);
        for refused in &mut self.refused {
            refused.clear();
        }
        let plan = self.mirror.plan().clone();
        let room = (&plan.capacity - &plan.token * self.leased).max(BigInt::zero());
        let there = self.mirror.balance(now_nanos).min(room);
        self.mirror.hold(now_nanos, &there);
        let held: u64 = self.leases.iter().map(Lease::left).sum();
        self.overhang =
            (there.max(BigInt::zero()) + &plan.token * held - &plan.capacity).max(BigInt::zero());
        (self.until_nanos, self.lag_nanos) = (now_nanos, 0);
        self.going = BigInt::zero();
        self.last = self.mirror.accrued(now_nanos);
        self.reach_nanos = *self.mirror.reach_nanos().end();
    }

    /// Counts `permits` that were admitted in every span that ends now.
    pub(super) fn count(&mut self, permits: u64) {
        let accrued = self.mirror.accrued(self.until_nanos);
        self.going = (&self.going - (&accrued - &self.last)).max(BigInt::zero());
        self.going += &self.mirror.plan().token * permits;
        self.last = accrued;
        let plan = self.mirror.plan();
        let lag = match self.lag_nanos {
            0 => BigInt::zero(),
            lag_nanos => {
                let step = if plan.refill == Refill::Smooth { 1.into() } else { plan.pay() };
                plan.accrued(&lag_nanos.into()) + step
            }
        };
        let most = &plan.capacity + &self.overhang + lag;
        assert!(self.going <= most, "{} of {:?}", self.going, self.mirror);
    }

    /// Nothing but what was admitted or leased is gone, and nothing has come.
    pub(super) fn assert_nothing_is_lost(&self, op: Op) {
        assert_eq!(self.there(), self.there_before(), "{op:?} of {:?}", self.limiter);
        if !self.is_behind() {
            let there = self.limiter.peek(0).unwrap().remaining();
            assert_eq!(there, self.mirror.remaining(self.clock.now_nanos()));
        }
    }
}

/// A grant tells of the shard that it came from: at least so much remains, and it takes
/// at most so long.
fn assert_is_no_more_than(said: Said, exact: Said) {
    let (
        Said::Granted { remaining, limit, reset_after, .. },
        Said::Granted { remaining: most, limit: same, reset_after: least, .. },
    ) = (said, exact)
    else {
        unreachable!("both are grants");
    };
    // A shard knows of no time that is longer.
    let least = least.min(Duration::from_nanos(u64::MAX));
    assert!(remaining <= most && limit == same && reset_after >= least, "{said:?} of {exact:?}");
}
