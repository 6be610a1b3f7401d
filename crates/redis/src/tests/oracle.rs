//! Slow references: what is left at any instant, in exact fractions and by loops over all grants.

use std::time::Duration;

use num_rational::Ratio;
use num_traits::Signed;
use sluicegate::{Quota, Rate, Refill};

type Exact = Ratio<i128>;

/// A limiter whose state at any later time, in nanoseconds, is computed from what was taken.
pub(super) trait Oracle {
    /// Returns the whole permits that are left at a time not before the last grant; less than 0 in debt.
    fn room(&self, nanos: i128) -> i128;

    /// Returns whether nothing counts any more.
    fn is_full(&self, nanos: i128) -> bool;

    /// Takes permits that are left.
    fn take(&mut self, nanos: i128, permits: u64);

    /// Returns whether a limiter begins anew with the next request.
    fn is_forgotten(&self, _nanos: i128) -> bool {
        false
    }
}

/// The tokens of a smooth bucket, or the time left by a GCRA, as one exact number.
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
        assert!(!self.balance.is_negative());
    }
}

/// A bucket that is refilled in whole intervals, one after the other.
pub(super) struct Intervals {
    quota: Quota,
    interval: i128,
    /// The last refill, and the tokens after it; `None` while the bucket is forgotten.
    state: Option<(i128, u64)>,
}

impl Intervals {
    pub(super) fn new(quota: Quota) -> Intervals {
        assert_eq!(quota.refill(), Refill::Interval);
        Intervals { quota, interval: quota.rate().period().as_nanos() as i128, state: None }
    }

    fn state(&self, nanos: i128) -> Option<(i128, u64)> {
        let (mut at, mut tokens) = self.state?;
        while at + self.interval <= nanos {
            if tokens == self.quota.burst() {
                return None;
            }
            at += self.interval;
            tokens = self.quota.burst().min(tokens + self.quota.rate().permits());
        }
        Some((at, tokens))
    }
}

impl Oracle for Intervals {
    fn room(&self, nanos: i128) -> i128 {
        self.state(nanos).map_or(self.quota.burst(), |(_, tokens)| tokens).into()
    }

    fn is_full(&self, nanos: i128) -> bool {
        self.room(nanos) == i128::from(self.quota.burst())
    }

    fn take(&mut self, nanos: i128, permits: u64) {
        let (at, tokens) = self.state(nanos).unwrap_or((nanos, self.quota.burst()));
        self.state = Some((at, tokens - permits));
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
        }
    }

    /// Returns the permits of the grants whose time is such that `counts`.
    fn sum(&self, counts: impl Fn(i128) -> bool) -> i128 {
        self.grants.iter().filter(|&&(at, _)| counts(at)).map(|&(_, permits)| permits).sum()
    }

    fn used(&self, nanos: i128) -> i128 {
        let length = self.length;
        match self.rule {
            Rule::Aligned => self.sum(|at| at / length == nanos / length),
            Rule::FromFirst => self.sum(|_| nanos < self.grants[0].0 + length),
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
        let (length, rule) = (self.length, self.rule);
        if matches!(rule, Rule::FromFirst) && self.used(nanos) == 0 {
            self.grants.clear();
        }
        // Twice the window, and a slot, is more than any rule looks back.
        if !matches!(rule, Rule::FromFirst) {
            self.grants.retain(|&(at, _)| at > nanos - 3 * length);
        }
        self.grants.push((nanos, permits.into()));
    }
}
