//! A sharded limiter and the exact model of what is there, side by side on one clock.
//!
//! All permits are in the root and in shards, and only time and admissions may change the
//! sum; so the model is that of one bucket. It is told what was cut off for want of capacity,
//! which is allowed only near the burst.

mod checks;

use std::collections::HashMap;
use std::time::Duration;

use num_bigint::BigInt;
use num_traits::Zero;
use sluicegate::bucket::{Carry, Snapshot};
use sluicegate::lease::Lease;
use sluicegate::*;

use crate::support::ops::{Amount, LIFE_NANOS, Setup, Step};
use crate::support::reference::{Held, Mirror, Said};

pub(crate) type Manual<'c> = Sharded<&'c ManualClock>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Acquire {
        shard: usize,
        amount: Amount,
    },
    UpTo {
        shard: usize,
        amount: Amount,
    },
    Peek(Amount),
    /// The reserve is so many 16ths of what is there beside the permits, and one or none more. Takes nothing if
    /// `is_look`.
    Leaving {
        shard: usize,
        amount: Amount,
        parts: u64,
        more: u64,
        is_look: bool,
    },
    Credit(Amount),
    Lease {
        shard: usize,
        amount: Amount,
    },
    /// So many 16ths of what the lease still has, of the leases that there are.
    Spend {
        lease: usize,
        parts: u64,
    },
    Drop {
        lease: usize,
    },
    Reset,
    Reconfigure(Setup, Carry),
    Save,
    Restore {
        away_nanos: u64,
    },
    Move(Step),
    /// Less than a second in all.
    Back {
        nanos: u64,
    },
}

pub(crate) struct Pair<'l, 'c> {
    clock: &'c ManualClock,
    limiter: &'l Manual<'c>,
    /// The tokens that the root and the shards hold together.
    mirror: Mirror,
    leases: Vec<Lease<'l>>,
    /// The most capacity that may be reserved and empty, beside the quarter of the burst that
    /// shards may have refilled by: what leases took since the last denial.
    leased: u64,
    /// The part of that which leases took that ended while the clock was behind: a lease that gives
    /// back less than a burst that was lowered may find no place beside it.
    unclosed: u64,
    /// The requests that each shard has refused since the terms began, and may remember; and how
    /// often something had been taken or cut off by then.
    refused: Vec<HashMap<u64, u64>>,
    losses: u64,
    saved: Snapshot,
    /// The highest reading of all.
    latest_nanos: u64,
    /// The highest since the terms began, and the most that the clock was behind it.
    until_nanos: u64,
    lag_nanos: u64,
    end_nanos: u64,
    /// The last time at which the root can tell a full bucket from a debt, even if nothing has been written
    /// to its word since the terms began. (The mirror is told what is cut off; the word need not be.)
    reach_nanos: u64,
    /// Some terms began while the clock was behind: what it was behind by is a debt of the
    /// root since, of which shards know nothing.
    is_blurred: bool,
    /// The tokens that leases held beyond the burst when the terms began, in units.
    overhang: BigInt,
    /// Units admitted in excess of what was earned, in the span where that is most.
    going: BigInt,
    last: BigInt,
}

impl<'l, 'c> Pair<'l, 'c> {
    pub(crate) fn new(setup: Setup, limiter: &'l Manual<'c>) -> Pair<'l, 'c> {
        let clock = *limiter.clock();
        let now_nanos = clock.now_nanos();
        let mirror = Mirror::new(setup.plan(), setup.initial(), now_nanos);
        Pair {
            clock,
            limiter,
            reach_nanos: *mirror.reach_nanos().end(),
            mirror,
            leases: Vec::new(),
            leased: 0,
            unclosed: 0,
            refused: vec![HashMap::new(); limiter.shards()],
            losses: 0,
            saved: limiter.snapshot(),
            latest_nanos: now_nanos,
            until_nanos: now_nanos,
            lag_nanos: 0,
            end_nanos: now_nanos.saturating_add(LIFE_NANOS / 4),
            is_blurred: false,
            overhang: BigInt::zero(),
            going: BigInt::zero(),
            last: BigInt::zero(),
        }
    }

    pub(crate) fn apply(&mut self, op: Op) {
        self.catch_up();
        let now = self.clock.now_nanos();
        let seen = self.there_before();
        match op {
            Op::Acquire { shard, amount } => {
                let permits = self.permits(amount);
                let answer = self.limiter.shard(shard).try_acquire(permits);
                self.admit(shard, (permits, 0), answer, |mirror| mirror.try_acquire(now, permits));
            }
            Op::UpTo { shard, amount } => {
                let permits = self.permits(amount);
                let answer = self.limiter.shard(shard).try_acquire_up_to(permits);
                self.note(shard, permits);
                // The last that it asked for was one.
                self.admit(shard, (1, 0), answer, |mirror| mirror.try_acquire_up_to(now, permits));
            }
            Op::Peek(amount) => {
                let permits = self.permits(amount);
                let said = Said::from(self.limiter.peek(permits));
                if !self.is_behind() {
                    let expected = self.mirror.peek(now, permits);
                    assert_eq!(said, self.beside_leases((permits, 0), expected));
                }
            }
            Op::Leaving { shard, amount, parts, more, is_look } => {
                let permits = self.permits(amount);
                let there = self.mirror.remaining(now).saturating_sub(permits);
                let reserve = (u128::from(there) * u128::from(parts) / 16) as u64 + more;
                let both = (permits, reserve);
                let asked =
                    (if permits == 0 { 0 } else { permits.saturating_add(reserve) }, reserve);
                if !is_look {
                    let answer = self.limiter.shard(shard).try_acquire_leaving(permits, reserve);
                    self.admit(shard, asked, answer, |mirror| mirror.leaving(now, true, both));
                } else if !self.is_behind() {
                    let said = Said::from(self.limiter.peek_leaving(permits, reserve));
                    let expected = self.mirror.leaving(now, false, both);
                    assert_eq!(said, self.beside_leases(asked, expected));
                }
            }
            Op::Credit(amount) => {
                let permits = self.permits(amount);
                self.limiter.credit(permits);
                self.credited(permits);
            }
            Op::Lease { shard, amount } => self.lease(shard, self.permits(amount)),
            Op::Spend { lease, parts } if !self.leases.is_empty() => {
                let index = lease % self.leases.len();
                let lease = &mut self.leases[index];
                let permits = lease.left() * parts.min(16) / 16;
                assert!(!lease.spend(lease.left() + 1) && lease.spend(permits));
                self.count(permits);
            }
            Op::Drop { lease } if !self.leases.is_empty() => {
                let lease = self.leases.swap_remove(lease % self.leases.len());
                self.give_back(lease);
            }
            Op::Spend { .. } | Op::Drop { .. } => {}
            Op::Reset => {
                self.limiter.reset();
                self.mirror.reset(now);
                self.begin();
            }
            Op::Reconfigure(setup, carry) => {
                self.limiter.reconfigure(setup.quota(), carry);
                self.mirror.reconfigure(now, setup.plan(), carry);
                assert_eq!(self.limiter.quota(), setup.quota());
                self.begin();
            }
            Op::Save => self.saved = self.limiter.snapshot(),
            Op::Restore { away_nanos } => {
                let away = Duration::from_nanos(away_nanos);
                self.limiter.restore(&self.saved, away);
                self.mirror.restore(now, Held::from(self.saved), away);
                self.begin();
            }
            Op::Move(step) => self.go(step),
            Op::Back { nanos } => {
                // A second before the latest it would heal.
                let least = self.latest_nanos.saturating_sub(999_999_999);
                let then = now.saturating_sub(nanos).max(least).min(now);
                // And so it would if a change has scaled what the clock was behind by.
                if !self.mirror.is_impossible(then) {
                    self.clock.set_nanos(then);
                }
                // What only looked as if it were cut off may be there again; no more.
                let there = self.there();
                assert!(there <= seen);
                self.mirror.hold(self.clock.now_nanos(), &there);
            }
        }
        if !matches!(op, Op::Move(_) | Op::Back { .. }) {
            self.assert_nothing_is_lost(op);
        }
        assert_eq!(self.limiter.healed(), 0);
    }

    /// Ends all leases.
    pub(crate) fn drop_leases(&mut self) {
        self.catch_up();
        while let Some(lease) = self.leases.pop() {
            self.give_back(lease);
        }
    }

    /// Takes all that there is, and one more.
    pub(crate) fn exhaust(&mut self) {
        self.clock.set_nanos(self.latest_nanos);
        let mut losses = u64::MAX;
        while losses != self.losses {
            losses = self.losses;
            self.apply(Op::UpTo { shard: 0, amount: Amount::Exactly(u64::MAX) });
        }
    }

    /// Moves the clock to when the whole burst would be there. Whether that is in reach.
    pub(crate) fn idle(&mut self) -> bool {
        let limit = self.mirror.limit();
        self.clock.set_nanos(self.latest_nanos);
        self.catch_up();
        self.go(Step::Ready(Amount::Exactly(limit), 0));
        self.mirror.remaining(self.clock.now_nanos()) == limit
    }

    /// Returns the balance that the limiter reports, in units.
    fn there(&self) -> BigInt {
        Held::from(self.limiter.snapshot()).balance.into()
    }

    fn there_before(&self) -> BigInt {
        self.mirror.balance(self.clock.now_nanos())
    }

    /// Returns whether a shard may remember that it has refused something.
    pub(crate) fn has_refused(&self) -> bool {
        self.refused.iter().any(|refused| !refused.is_empty())
    }

    /// Returns whether the root may have begun with a debt. Until that is repaid no reserved
    /// capacity is released.
    pub(crate) fn is_blurred(&self) -> bool {
        self.is_blurred
    }

    /// Returns whether the clock has gone back: a shard reads none, and spends what it has.
    fn is_behind(&self) -> bool {
        self.is_blurred
            || self.clock.now_nanos() < self.latest_nanos.max(self.mirror.origin_nanos())
    }

    fn permits(&self, amount: Amount) -> u64 {
        match amount {
            Amount::Exactly(permits) => permits,
            Amount::There(more) => {
                self.mirror.remaining(self.clock.now_nanos()).saturating_add_signed(more.into())
            }
            Amount::Limit(more) | Amount::Deepest(more) => {
                self.mirror.limit().saturating_add_signed(more.into())
            }
        }
    }

    fn go(&mut self, step: Step) {
        let nanos = match step {
            Step::Nanos(nanos) => u128::from(nanos),
            Step::Parts(parts) => {
                u128::from(self.mirror.plan().period_nanos) * u128::from(parts) / 256
            }
            Step::Ready(amount, more) => {
                let denied = self.limiter.peek(self.permits(amount)).err();
                let wait = denied.and_then(|denied| denied.retry_after());
                wait.map_or(0, |wait| wait.as_nanos().saturating_add_signed(more.into()))
            }
            Step::Back(_) => 0,
        };
        let now_nanos = self.clock.now_nanos();
        self.reach_nanos = self.reach_nanos.min(*self.mirror.reach_nanos().end());
        let end_nanos = self.end_nanos.min(self.reach_nanos);
        let until = u128::from(now_nanos).saturating_add(nanos).min(end_nanos.into());
        self.clock.set_nanos((until as u64).max(now_nanos));
    }
}
