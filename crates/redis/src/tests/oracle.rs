//! Slow references: what is left at any instant, in exact fractions and by loops over all grants.

use std::collections::BTreeSet;
use std::time::Duration;

use num_rational::Ratio;
use sluicegate::{Quota, Rate, Refill};

type Exact = Ratio<i128>;

/// A limiter whose state at any later time, in nanoseconds, is computed from what was taken.
pub(super) trait Oracle {
    /// Returns the whole permits that are left at a time not before the last grant; less than 0 in debt.
    fn room(&self, nanos: i128) -> i128;

    /// Returns whether nothing counts any more.
    fn is_full(&self, nanos: i128) -> bool;

    /// Takes permits, into debt if they are not left.
    fn take(&mut self, nanos: i128, permits: u64);

    /// Begins anew, if the limiter does so with a request at this time.
    fn begin(&mut self, _nanos: i128) {}

    /// Returns whether a limiter begins anew with the next request.
    fn is_forgotten(&self, _nanos: i128) -> bool {
        false
    }
}

/// The tokens of a smooth bucket, or the time left by a GCRA, as one exact number.
#[derive(Clone)]
pub(super) struct Bucket {
    capacity: Exact,
    cost: Exact,
    per_nano: Exact,
    balance: Exact,
    at: i128,
}

impl Bucket {
    pub(super) fn smooth(quota: Quota) -> Bucket {
        let (permits, period) = (quota.rate().permits(), quota.rate().period().as_nanos());
        Bucket::new(
            Exact::from(i128::from(quota.burst())),
            Exact::from(1),
            Exact::new(i128::from(permits), period as i128),
        )
    }

    pub(super) fn cells(interval: Duration, tolerance: Duration) -> Bucket {
        let [interval, tolerance] = [interval, tolerance].map(|time| time.as_nanos() as i128);
        Bucket::new(Exact::from(interval + tolerance), Exact::from(interval), Exact::from(1))
    }

    fn new(capacity: Exact, cost: Exact, per_nano: Exact) -> Bucket {
        Bucket { capacity, cost, per_nano, balance: capacity, at: 0 }
    }

    fn balance(&self, nanos: i128) -> Exact {
        (self.balance + self.per_nano * Exact::from(nanos - self.at)).min(self.capacity)
    }
}

impl Oracle for Bucket {
    fn room(&self, nanos: i128) -> i128 {
        (self.balance(nanos) / self.cost).floor().to_integer()
    }

    fn is_full(&self, nanos: i128) -> bool {
        self.balance(nanos) == self.capacity
    }

    fn take(&mut self, nanos: i128, permits: u64) {
        self.balance = self.balance(nanos) - self.cost * Exact::from(i128::from(permits));
        self.at = nanos;
    }
}

/// A bucket that is refilled in whole intervals, one after the other.
#[derive(Clone)]
pub(super) struct Intervals {
    quota: Quota,
    interval: i128,
    /// The last refill, and the tokens after it; `None` while the bucket is forgotten.
    state: Option<(i128, i128)>,
}

impl Intervals {
    pub(super) fn new(quota: Quota) -> Intervals {
        assert_eq!(quota.refill(), Refill::Interval);
        Intervals { quota, interval: quota.rate().period().as_nanos() as i128, state: None }
    }

    fn burst(&self) -> i128 {
        self.quota.burst().into()
    }

    fn state(&self, nanos: i128) -> Option<(i128, i128)> {
        let (mut at, mut tokens) = self.state?;
        while at + self.interval <= nanos {
            if tokens == self.burst() {
                return None;
            }
            at += self.interval;
            tokens = self.burst().min(tokens + i128::from(self.quota.rate().permits()));
        }
        Some((at, tokens))
    }
}

impl Oracle for Intervals {
    fn room(&self, nanos: i128) -> i128 {
        self.state(nanos).map_or(self.burst(), |(_, tokens)| tokens)
    }

    fn is_full(&self, nanos: i128) -> bool {
        self.room(nanos) == self.burst()
    }

    fn take(&mut self, nanos: i128, permits: u64) {
        let (at, tokens) = self.state(nanos).unwrap_or((nanos, self.burst()));
        self.state = Some((at, tokens - i128::from(permits)));
    }

    fn begin(&mut self, nanos: i128) {
        if self.is_forgotten(nanos) {
            self.state = Some((nanos, self.burst()));
        }
    }

    fn is_forgotten(&self, nanos: i128) -> bool {
        self.state(nanos).is_none()
    }
}

/// The grants of a window, and the rule by which they count.
pub(super) struct Windows {
    limit: i128,
    length: i128,
    rule: Rule,
    grants: Vec<(i128, i128)>,
    /// The grants before this one count no more.
    first: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// Those of the same multiple of the length count.
    Aligned,
    /// Those since the first count, until its window ends.
    FromFirst,
    /// Those of this multiple count, and a part of those of the one before.
    Weighted,
    /// Those count of as many slots as a window of this length can touch.
    Slots { slot: i128 },
    /// Those count that are younger than the window.
    Log,
}

impl Windows {
    pub(super) fn new(limit: Rate, rule: Rule) -> Windows {
        Windows {
            limit: limit.permits().into(),
            length: limit.period().as_nanos() as i128,
            rule,
            grants: Vec::new(),
            first: 0,
        }
    }

    /// Returns the permits of the grants whose time is such that `counts`.
    fn sum(&self, counts: impl Fn(i128) -> bool) -> i128 {
        self.grants[self.first..]
            .iter()
            .filter(|&&(at, _)| counts(at))
            .map(|&(_, permits)| permits)
            .sum()
    }

    fn used(&self, nanos: i128) -> i128 {
        let length = self.length;
        match self.rule {
            Rule::Aligned => self.sum(|at| at / length == nanos / length),
            Rule::FromFirst => self.sum(|_| nanos < self.grants[self.first].0 + length),
            Rule::Weighted => {
                let present = nanos / length;
                let before = self.sum(|at| at / length == present - 1);
                let covered = (present + 1) * length - nanos;
                let weight = Exact::new(before * covered, length).ceil().to_integer();
                weight + self.sum(|at| at / length == present)
            }
            Rule::Slots { slot } => {
                let oldest = nanos / slot - (length + slot - 1) / slot;
                self.sum(|at| at / slot >= oldest)
            }
            Rule::Log => self.sum(|at| at > nanos - length),
        }
    }
}

impl Oracle for Windows {
    fn room(&self, nanos: i128) -> i128 {
        self.limit - self.used(nanos)
    }

    fn is_full(&self, nanos: i128) -> bool {
        self.used(nanos) == 0
    }

    fn take(&mut self, nanos: i128, permits: u64) {
        if matches!(self.rule, Rule::FromFirst) && self.used(nanos) == 0 {
            self.first = self.grants.len();
        }
        // Twice the window, and a slot, is more than any rule looks back.
        if !matches!(self.rule, Rule::FromFirst) {
            let is_old = |&&(at, _): &&(i128, i128)| at <= nanos - 3 * self.length;
            self.first += self.grants[self.first..].iter().take_while(is_old).count();
        }
        self.grants.push((nanos, permits.into()));
    }
}

/// A limiter whose grants can be given back. Each has a number, in the order in which they are taken.
pub(super) trait Model: Oracle {
    /// Gives back permits of a grant, and returns how many of them others can take.
    fn give_back(&mut self, nanos: i128, grant: usize, permits: u64) -> u64;
}

/// A bucket as the numbers of its tokens, in the order in which they are earned. One dies when the capacity has been
/// earned after it. If it is to give more than it has, it gives what it has.
pub(super) struct UnitsOfBucket {
    quota: Quota,
    free: BTreeSet<i128>,
    grants: Vec<Vec<i128>>,
    /// The number of the last token that was earned, and the time at which its count was exact.
    earned: i128,
    at: i128,
    part: Exact,
    /// All tokens of higher numbers are free.
    level: i128,
}

impl UnitsOfBucket {
    pub(super) fn new(quota: Quota, at: i128) -> UnitsOfBucket {
        let free = (1..=i128::from(quota.burst())).collect();
        let earned = quota.burst().into();
        UnitsOfBucket {
            quota,
            free,
            grants: Vec::new(),
            earned,
            at,
            part: Exact::from(0),
            level: 0,
        }
    }

    /// Returns the tokens earned by then, and the part of the next one.
    fn earned(&self, nanos: i128) -> (i128, Exact) {
        let (permits, period) = (self.quota.rate().permits(), self.quota.rate().period());
        let rate = Exact::new(permits.into(), period.as_nanos() as i128);
        let all = self.part + rate * Exact::from(nanos - self.at);
        (self.earned + all.floor().to_integer(), all.fract())
    }

    fn oldest_alive(&self, earned: i128) -> i128 {
        earned - i128::from(self.quota.burst()) + 1
    }

    fn advance(&mut self, nanos: i128) {
        let (earned, part) = self.earned(nanos);
        self.free.extend(self.earned + 1..=earned);
        self.free = self.free.split_off(&self.oldest_alive(earned));
        self.level = self.level.max(self.oldest_alive(earned) - 1);
        // Above full, not even a fraction is kept.
        let is_full = self.level < self.oldest_alive(earned);
        (self.earned, self.at) = (earned, nanos);
        self.part = if is_full { Exact::from(0) } else { part };
    }
}

impl Oracle for UnitsOfBucket {
    fn room(&self, nanos: i128) -> i128 {
        let (earned, _) = self.earned(nanos);
        let alive = self.free.range(self.oldest_alive(earned)..).count() as i128;
        (alive + earned - self.earned).min(self.quota.burst().into())
    }

    fn is_full(&self, nanos: i128) -> bool {
        self.room(nanos) == i128::from(self.quota.burst())
    }

    fn take(&mut self, nanos: i128, permits: u64) {
        self.advance(nanos);
        let taken: Vec<_> = self.free.iter().copied().take(permits as usize).collect();
        self.free.retain(|unit| !taken.contains(unit));
        self.level = self.level.max(taken.last().copied().unwrap_or(0));
        self.grants.push(taken);
    }
}

impl Model for UnitsOfBucket {
    fn give_back(&mut self, nanos: i128, grant: usize, permits: u64) -> u64 {
        self.advance(nanos);
        let oldest = self.oldest_alive(self.earned);
        let held = &mut self.grants[grant];
        let youngest = held.split_off(held.len().saturating_sub(permits as usize));
        let alive: Vec<_> = youngest.into_iter().filter(|&unit| unit >= oldest).collect();
        self.free.extend(&alive);
        if alive.last() == Some(&self.level) {
            self.level -= alive.len() as i128;
        }
        alive.len() as u64
    }
}

impl Model for Windows {
    fn give_back(&mut self, nanos: i128, grant: usize, permits: u64) -> u64 {
        let (length, at) = (self.length, self.grants[grant].0);
        // Whether it counts at all, with whatever weight.
        let counts = match self.rule {
            Rule::Aligned => at / length == nanos / length,
            Rule::FromFirst => {
                let start = self.grants[self.first].0;
                grant >= self.first && nanos < start + length && self.used(nanos) > 0
            }
            Rule::Weighted => at / length >= nanos / length - 1,
            Rule::Slots { slot } => at / slot >= nanos / slot - (length + slot - 1) / slot,
            Rule::Log => at > nanos - length,
        };
        if counts {
            self.grants[grant].1 -= i128::from(permits);
            permits
        } else {
            0
        }
    }
}
