//! Buckets, which earn or leak as time goes by. Times are nanoseconds since 1970.

use num_rational::BigRational;
use num_traits::Zero;
use sluicegate::{Quota, Rate};

use super::{nanos, whole};

pub(super) enum Bucket {
    /// tokens = min(burst, tokens + elapsed * rate)
    Smooth { tokens: BigRational, burst: BigRational, per_nano: BigRational, seen: i128 },
    /// tokens = min(burst, tokens + permits), once at the end of each period
    Interval { tokens: u128, burst: u128, permits: u128, period: i128, next: i128 },
    /// A cell conforms if it comes no earlier than its theoretical arrival time
    /// less the tolerance.
    Gcra { arrival: i128, interval: i128, tolerance: i128 },
    /// level = max(0, level - elapsed * rate)
    Meter { level: BigRational, capacity: BigRational, per_nano: BigRational, seen: i128 },
    /// Admissions are at least `apart` nanoseconds apart.
    Apart { apart: BigRational, last: Option<i128> },
}

impl Bucket {
    pub(super) fn smooth(quota: Quota, initial: u64, now: i128) -> Bucket {
        Bucket::Smooth {
            tokens: whole(initial),
            burst: whole(quota.burst()),
            per_nano: per_nano(quota.rate()),
            seen: now,
        }
    }

    pub(super) fn interval(quota: Quota, initial: u64, now: i128) -> Bucket {
        let period = nanos(quota.rate().period());
        Bucket::Interval {
            tokens: initial.into(),
            burst: quota.burst().into(),
            permits: quota.rate().permits().into(),
            period,
            next: now + period,
        }
    }

    pub(super) fn meter(quota: Quota, now: i128) -> Bucket {
        Bucket::Meter {
            level: BigRational::zero(),
            capacity: whole(quota.burst()),
            per_nano: per_nano(quota.rate()),
            seen: now,
        }
    }

    pub(super) fn apart(rate: Rate) -> Bucket {
        Bucket::Apart { apart: per_nano(rate).recip(), last: None }
    }

    pub(super) fn fits(&self, now: i128, permits: u64) -> bool {
        match self {
            Bucket::Smooth { .. } => self.tokens(now) >= whole(permits),
            Bucket::Interval { .. } => self.steps(now).0 >= u128::from(permits),
            Bucket::Gcra { arrival, interval, tolerance } => {
                // Only the last of the cells may come too early.
                let start = now.max(*arrival);
                start + (i128::from(permits) - 1) * *interval - *tolerance <= now
            }
            Bucket::Meter { capacity, .. } => self.level(now) + whole(permits) <= *capacity,
            Bucket::Apart { apart, last } => {
                permits == 1 && last.is_none_or(|last| whole(now - last) >= *apart)
            }
        }
    }

    pub(super) fn take(&mut self, now: i128, permits: u64) {
        let (earned, left) = match self {
            Bucket::Smooth { .. } => (Some(self.tokens(now)), None),
            Bucket::Interval { .. } => (None, Some(self.steps(now))),
            Bucket::Meter { .. } => (Some(self.level(now)), None),
            Bucket::Gcra { .. } | Bucket::Apart { .. } => (None, None),
        };
        match (self, earned, left) {
            (Bucket::Smooth { tokens, seen, .. }, Some(earned), _) => {
                (*tokens, *seen) = (earned - whole(permits), now);
            }
            (Bucket::Interval { tokens, next, .. }, _, Some((earned, after))) => {
                (*tokens, *next) = (earned - u128::from(permits), after);
            }
            (Bucket::Meter { level, seen, .. }, Some(leaked), _) => {
                (*level, *seen) = (leaked + whole(permits), now);
            }
            (Bucket::Gcra { arrival, interval, .. }, ..) => {
                *arrival = now.max(*arrival) + i128::from(permits) * *interval;
            }
            (Bucket::Apart { last, .. }, ..) => *last = Some(now),
            _ => unreachable!("each has what it keeps"),
        }
    }

    /// Returns true if it is as a new one would be. One by intervals never is, since these begin with it.
    pub(super) fn is_idle(&self, now: i128) -> bool {
        match self {
            Bucket::Smooth { burst, .. } => self.tokens(now) >= *burst,
            Bucket::Interval { .. } => false,
            Bucket::Gcra { arrival, .. } => *arrival <= now,
            Bucket::Meter { .. } => self.level(now).is_zero(),
            Bucket::Apart { apart, last } => last.is_none_or(|last| whole(now - last) >= *apart),
        }
    }

    /// Returns the most that can be granted at once.
    pub(super) fn limit(&self) -> BigRational {
        match self {
            Bucket::Smooth { burst: limit, .. } | Bucket::Meter { capacity: limit, .. } => {
                limit.clone()
            }
            Bucket::Interval { burst, .. } => whole(*burst as i128),
            Bucket::Gcra { interval, tolerance, .. } => whole(tolerance / interval + 1),
            Bucket::Apart { .. } => whole(1),
        }
    }

    fn tokens(&self, now: i128) -> BigRational {
        let Bucket::Smooth { tokens, burst, per_nano, seen } = self else { unreachable!() };
        (tokens + whole(now - seen) * per_nano).min(burst.clone())
    }

    fn level(&self, now: i128) -> BigRational {
        let Bucket::Meter { level, per_nano, seen, .. } = self else { unreachable!() };
        (level - whole(now - seen) * per_nano).max(BigRational::zero())
    }

    /// Returns the tokens, and the time of the next ones.
    fn steps(&self, now: i128) -> (u128, i128) {
        let Bucket::Interval { tokens, burst, permits, period, next } = self else {
            unreachable!()
        };
        if now < *next {
            return (*tokens, *next);
        }
        let steps = (now - next) / period + 1;
        ((tokens + permits * steps as u128).min(*burst), next + steps * period)
    }
}

fn per_nano(rate: Rate) -> BigRational {
    whole(rate.permits()) / whole(nanos(rate.period()))
}
