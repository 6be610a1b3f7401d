//! The answers that a table must give: one bucket for each key, exact in whole numbers.

use std::collections::HashMap;
use std::time::Duration;

use sluicegate::*;

/// An answer in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Granted {
        permits: u64,
        remaining: u64,
        limit: u64,
        next_permit_after: Option<Duration>,
        reset_after: Duration,
    },
    Wait {
        retry_after: Duration,
        missing: u64,
        remaining: u64,
        next_permit_after: Option<Duration>,
        reset_after: Duration,
    },
    TooLarge {
        limit: u64,
    },
    Full {
        retry_after: Duration,
    },
}

impl From<Result<Grant, Denied>> for Said {
    fn from(answer: Result<Grant, Denied>) -> Said {
        match answer {
            Ok(grant) => Said::Granted {
                permits: grant.permits(),
                remaining: grant.remaining(),
                limit: grant.limit(),
                next_permit_after: grant.next_permit_after(),
                reset_after: grant.reset_after(),
            },
            Err(Denied::Wait(short)) => Said::Wait {
                retry_after: short.retry_after(),
                missing: short.missing(),
                remaining: short.remaining(),
                next_permit_after: short.next_permit_after(),
                reset_after: short.reset_after(),
            },
            Err(Denied::TooLarge { limit, .. }) => Said::TooLarge { limit },
            Err(Denied::Full { retry_after }) => Said::Full { retry_after },
            Err(other) => panic!("not an answer of a table: {other:?}"),
        }
    }
}

/// A quota in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) cost: i128,
    pub(crate) burst: u64,
    /// The ticks of `period` nanoseconds.
    gain: i128,
    period: i128,
}

impl Part {
    pub(crate) fn capacity(&self) -> i128 {
        self.cost * i128::from(self.burst)
    }
}

/// A bucket for each key, of which there is always room for one more.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    pub(crate) parts: Vec<Part>,
    /// The ticks for which a key is live: the longest fill of all quotas that there is room for.
    span: i128,
    origin_nanos: u64,
    elapsed: i128,
    /// The ticks that each key had spent.
    levels: HashMap<u64, i128>,
}

impl Exact {
    pub(crate) fn new(quotas: &[Quota], origin_nanos: u64) -> Exact {
        Exact::with_room(quotas, quotas.len(), origin_nanos)
    }

    /// Makes a table whose tiers have the first `tiers` quotas, with room for the others.
    pub(crate) fn with_room(quotas: &[Quota], tiers: usize, origin_nanos: u64) -> Exact {
        let mut parts = parts(quotas);
        let span = parts.iter().map(Part::capacity).max().unwrap();
        parts.truncate(tiers);
        Exact { parts, span, origin_nanos, elapsed: 0, levels: HashMap::new() }
    }

    /// Changes the quota of a tier. A permit must take a whole number of ticks.
    pub(crate) fn reconfigure(&mut self, which: usize, quota: Quota) {
        let Part { gain, period, .. } = self.parts[0];
        let (permits, nanos) = (quota.rate().permits(), quota.rate().period().as_nanos());
        let (ticks, permits) =
            (gain * i128::try_from(nanos).unwrap(), period * i128::from(permits));
        assert_eq!(ticks % permits, 0);
        self.parts[which] = Part { cost: ticks / permits, burst: quota.burst(), gain, period };
    }

    /// Returns the longest fill of all quotas that there is room for.
    pub(crate) fn longest_fill(&self) -> Duration {
        self.wait(self.span)
    }

    pub(crate) fn at(&mut self, now_nanos: u64) {
        self.elapsed = i128::from(now_nanos.saturating_sub(self.origin_nanos));
    }

    pub(crate) fn now(&self) -> i128 {
        self.elapsed * self.parts[0].gain / self.parts[0].period
    }

    fn balance(&self, key: u64, part: Part) -> i128 {
        let level = self.levels.get(&key);
        level.map_or(part.capacity(), |level| (self.now() - level).min(part.capacity()))
    }

    /// The level of a key, to be put back.
    pub(crate) fn level(&self, key: u64) -> Option<i128> {
        self.levels.get(&key).copied()
    }

    pub(crate) fn put_back(&mut self, key: u64, level: Option<i128>) {
        self.remove(key);
        self.levels.extend(level.map(|level| (key, level)));
    }

    pub(crate) fn remove(&mut self, key: u64) {
        self.levels.remove(&key);
    }

    /// Returns whether a key is idle (full) in every tier.
    pub(crate) fn is_full(&self, key: u64) -> bool {
        self.levels.get(&key).is_none_or(|&level| self.now() - level >= self.span)
    }

    /// The keys that are not full in the slowest tier.
    pub(crate) fn live(&self) -> usize {
        self.levels.keys().filter(|&&key| !self.is_full(key)).count()
    }

    pub(crate) fn peek(&self, which: usize, key: u64, permits: u64) -> Said {
        let part = self.parts[which];
        if permits > part.burst {
            return Said::TooLarge { limit: part.burst };
        }
        let (balance, wanted) = (self.balance(key, part), part.cost * i128::from(permits));
        if permits > 0 && balance < wanted {
            return Said::Wait {
                retry_after: self.wait(wanted - balance),
                missing: whole((wanted - balance + part.cost - 1) / part.cost),
                remaining: whole(balance.max(0) / part.cost),
                next_permit_after: self.next(part, balance),
                reset_after: self.wait(part.capacity() - balance),
            };
        }
        let left = balance - wanted;
        Said::Granted {
            permits,
            remaining: whole(left.max(0) / part.cost),
            limit: part.burst,
            next_permit_after: self.next(part, left),
            reset_after: self.wait(part.capacity() - left),
        }
    }

    /// Returns the wait for the first whole permit above the balance, if the burst has room for it.
    fn next(&self, part: Part, balance: i128) -> Option<Duration> {
        let units = (balance.max(0) / part.cost + 1) * part.cost;
        (units <= part.capacity()).then(|| self.wait(units - balance))
    }

    pub(crate) fn acquire(&mut self, which: usize, key: u64, permits: u64) -> Said {
        let said = self.peek(which, key, permits);
        if matches!(said, Said::Granted { .. }) && permits > 0 {
            let part = self.parts[which];
            let left = self.balance(key, part) - part.cost * i128::from(permits);
            self.levels.insert(key, self.now() - left);
        }
        said
    }

    pub(crate) fn up_to(&mut self, which: usize, key: u64, permits: u64) -> Said {
        let part = self.parts[which];
        let there = whole(self.balance(key, part).max(0) / part.cost);
        self.acquire(which, key, permits.min(there.max(1)))
    }

    /// The least time until so many ticks more have passed.
    fn wait(&self, ticks: i128) -> Duration {
        let part = self.parts[0];
        if ticks <= 0 {
            return Duration::ZERO;
        }
        let then = ((self.now() + ticks) * part.period + part.gain - 1) / part.gain;
        let nanos = u128::try_from(then - self.elapsed).unwrap();
        let seconds = u64::try_from(nanos / 1_000_000_000).unwrap();
        Duration::new(seconds, (nanos % 1_000_000_000) as u32)
    }
}

/// The ticks of the quotas: as documented, a permit of each is a whole number of them, 16 at
/// least, and the largest burst is about 2^18, unless that makes more than 2^31 in a second.
fn parts(quotas: &[Quota]) -> Vec<Part> {
    let permits = |quota: &Quota| i128::from(quota.rate().permits());
    let period = |quota: &Quota| i128::try_from(quota.rate().period().as_nanos()).unwrap();
    // Of the first, one permit takes `period / permits`: all times in a common fraction.
    let common: i128 = quotas.iter().map(permits).fold(1, |all, one| all / gcd(all, one) * one);
    let mut costs: Vec<i128> =
        quotas.iter().map(|quota| period(quota) * (common / permits(quota))).collect();
    let unit = costs.iter().copied().fold(0, gcd);
    for cost in &mut costs {
        *cost /= unit;
    }
    let pace = |costs: &[i128]| costs[0] * permits(&quotas[0]) * 1_000_000_000;
    let is_fine = |costs: &[i128]| {
        let spans = std::iter::zip(costs, quotas).map(|(cost, q)| cost * i128::from(q.burst()));
        spans.max().unwrap() <= 1 << 18 && pace(costs) <= (1 << 31) * period(&quotas[0])
    };
    let double = |costs: &[i128]| costs.iter().map(|cost| cost * 2).collect::<Vec<_>>();
    while costs.iter().any(|&cost| cost < 16) || is_fine(&double(&costs)) {
        costs = double(&costs);
    }
    let part = |(cost, quota): (i128, &Quota)| Part {
        cost,
        burst: quota.burst(),
        gain: permits(quota) * cost,
        period: period(quota),
    };
    std::iter::zip(costs, quotas).map(part).collect()
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn whole(count: i128) -> u64 {
    u64::try_from(count).unwrap()
}
