//! New numbers of a limiter that all keys have in common: in place, or by another one that takes over what was used.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::{Denied, Grant};

use super::{CommonLimiter, Parts, most_granted};
use crate::Kind;
use crate::kind::common::ShareGroup;

/// A tenant without a share, which can only borrow.
const STRANGER: &[u8] = b"";

impl CommonLimiter {
    /// Takes over what `old` has granted: the balance of a bucket, and what tenants have left of the limit for all, as far as
    /// it may be lent. Their shares start full. No other call may use this limiter yet.
    pub(crate) fn take_over(&self, old: &CommonLimiter) {
        match (&self.limiter, &old.limiter) {
            (Parts::Classes(new), Parts::Classes(old)) => {
                new.limiter().restore(&old.limiter().snapshot(), Duration::ZERO);
            }
            (_, Parts::Classes(old)) => self.charge(old.limiter().peek(0)),
            (_, Parts::Shares(shares)) => {
                self.charge(shares.peek(usize::MAX, STRANGER, 0).map(Grant::from));
            }
        }
    }

    fn charge(&self, state: Result<Grant, Denied>) {
        let Ok(state) = state else { return };
        let used = state.limit().saturating_sub(state.remaining());
        match &self.limiter {
            Parts::Classes(priorities) => _ = priorities.limiter().try_acquire_up_to(used),
            Parts::Shares(shares) => {
                let most = most_granted(used, |permits| {
                    shares.peek(usize::MAX, STRANGER, permits).is_ok()
                });
                _ = shares.try_acquire(usize::MAX, STRANGER, most);
            }
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
