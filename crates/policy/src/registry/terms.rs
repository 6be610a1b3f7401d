//! The terms of a policy beside its limiter's own numbers.

use sluicegate::Denied;

use crate::cost::Cost;
use crate::limiter::LimiterPolicy;

/// The terms of a policy that the handle applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// Permits of a call that names none.
    pub(super) cost: u64,
    /// True if denials are only counted.
    pub(super) is_shadow: bool,
    /// True if callers may stand in line.
    pub(super) waits: bool,
}

impl Terms {
    pub(super) fn of(policy: &LimiterPolicy) -> Terms {
        let cost = match &policy.cost {
            Cost::Permits(permits) => *permits,
            // They depend on the request, so the caller is to name the permits.
            Cost::Bytes | Cost::Named(_) | Cost::Rules(_) => 1,
        };
        Terms { cost, is_shadow: policy.shadow, waits: policy.wait.is_some() && !policy.shadow }
    }

    /// Returns true if a caller that the limiter denies so may wait for its permits.
    pub(super) fn may_wait(self, denied: &Denied) -> bool {
        self.waits && !matches!(denied, Denied::TooLarge { .. })
    }
}
