//! New numbers of a limiter that all keys have in common: in place, or by another one that takes over what was used.

use std::time::Duration;

use sluicegate::bucket::{Carry, Snapshot};
use sluicegate::{ManualClock, TokenBucket};

use super::{CommonLimiter, Parts};
use crate::Kind;
use crate::kind::common::ShareGroup;

impl CommonLimiter {
    /// Goes on with what `old` has left for all, so that both together grant no more in any span than the more generous of
    /// them. Tenants have their whole shares if that is enough for all of them, and otherwise as large a part. No other call
    /// may use this limiter yet.
    pub(crate) fn take_over(&self, old: &CommonLimiter) {
        let left = match &old.limiter {
            Parts::Shares(shares) => shares.snapshot(),
            Parts::Classes(priorities) => priorities.limiter().snapshot(),
        };
        self.restore(&left);
        self.granted.go_on_from(old.granted.counts());
    }

    /// Charges what the keys of a limiter without a limit for all have used together. No other call may use this limiter yet.
    pub(crate) fn charge(&self, used: u64) {
        let quota = match &self.limiter {
            Parts::Shares(shares) => shares.quota(),
            Parts::Classes(priorities) => priorities.limiter().quota(),
        };
        let bucket = TokenBucket::with_clock(quota, ManualClock::new());
        _ = bucket.try_acquire_up_to(used);
        self.restore(&bucket.snapshot());
    }

    fn restore(&self, left: &Snapshot) {
        match &self.limiter {
            Parts::Shares(shares) => shares.restore(left, Duration::ZERO),
            Parts::Classes(priorities) => priorities.limiter().restore(left, Duration::ZERO),
        }
    }

    /// Changes the numbers from those of `old` to those of `new`, and returns true if it could: if the same tenants are in
    /// the same groups, which had and have a ceiling, or the same keys in the same classes, with the same reserves.
    pub(crate) fn change(&self, old: &Kind, new: &Kind) -> bool {
        match (&self.limiter, old, new) {
            (
                Parts::Shares(shares),
                Kind::Shares { groups: before, .. },
                Kind::Shares { quota, groups },
            ) => {
                let is_same =
                    |(before, now): (&ShareGroup, &ShareGroup)| before.tenants == now.tenants;
                before.len() == groups.len()
                    && before.iter().zip(groups).all(is_same)
                    && shares.reconfigure(*quota, groups.iter().map(|group| group.share)).is_ok()
            }
            (
                Parts::Classes(priorities),
                Kind::Priorities { classes: before, .. },
                Kind::Priorities { quota, classes },
            ) if before == classes => {
                priorities.limiter().reconfigure(*quota, Carry::Keep);
                true
            }
            _ => false,
        }
    }
}
