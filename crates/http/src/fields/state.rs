//! The state of a policy when a response is written.

use std::time::Duration;

use sluicegate::{Denied, Grant};

/// The state of a policy after a decision, as fields tell it.
///
/// All waits count from the response on. They are rounded up to whole seconds when they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyState<'k> {
    /// The index of the policy among those of the [`FieldWriter`](super::FieldWriter).
    pub which: usize,
    /// The limit in force, if it is not the policy's quota, such as that of a key with limits of its own.
    pub limit: Option<u64>,
    /// The permits that are left. `None` if nobody looked: then the policy is left out.
    pub remaining: Option<u64>,
    /// The wait until there is more than `remaining`.
    pub next_permit_after: Option<Duration>,
    /// The wait until all of the quota is there again.
    pub reset_after: Option<Duration>,
    /// True if the policy has refused the request.
    pub is_denied: bool,
    /// The wait until the request will be granted, if the policy has refused it and waiting helps.
    pub retry_after: Option<Duration>,
    /// The partition key of this request; only drafts 8 to 10 have it. Clients read it.
    pub partition: Option<&'k [u8]>,
}

impl PolicyState<'static> {
    /// The state of a policy of which nothing is known.
    pub(crate) const UNKNOWN: Self = PolicyState {
        which: 0,
        limit: None,
        remaining: None,
        next_permit_after: None,
        reset_after: None,
        is_denied: false,
        retry_after: None,
        partition: None,
    };

    /// Returns the state after a grant, of the first policy.
    #[must_use]
    pub fn granted(grant: &Grant) -> Self {
        PolicyState {
            which: 0,
            limit: None,
            remaining: Some(grant.remaining()),
            next_permit_after: grant.next_permit_after(),
            reset_after: Some(grant.reset_after()),
            is_denied: false,
            retry_after: None,
            partition: None,
        }
    }

    /// Returns the state after a denial, of the first policy.
    #[must_use]
    pub fn denied(denied: &Denied) -> Self {
        PolicyState {
            which: 0,
            limit: None,
            remaining: denied.remaining(),
            next_permit_after: denied.next_permit_after(),
            reset_after: denied.reset_after(),
            is_denied: true,
            retry_after: denied.retry_after(),
            partition: None,
        }
    }
}

impl<'k> PolicyState<'k> {
    /// Returns the same for the policy at index `which`.
    #[must_use]
    pub fn of_policy(self, which: usize) -> Self {
        PolicyState { which, ..self }
    }

    /// Returns the same with a partition key.
    #[must_use]
    pub fn in_partition<'p>(self, key: &'p [u8]) -> PolicyState<'p>
    where
        'k: 'p,
    {
        PolicyState { partition: Some(key), ..self }
    }

    /// Returns the wait until there is more, as drafts 8 to 10 tell it: never later than `Retry-After`.
    pub(super) fn more_after(&self) -> Option<Duration> {
        self.next_permit_after.or(self.retry_after).or(self.reset_after)
    }

    /// Returns the wait until the reset, as drafts 3 to 7 tell it: the same as `Retry-After` on a
    /// refusal.
    pub(super) fn reset_or_retry_after(&self) -> Option<Duration> {
        self.retry_after.or(self.reset_after).or(self.next_permit_after)
    }

    /// Returns the order in which policies refuse: the least is the one that a client has to heed.
    pub(super) fn tightness(&self) -> impl Ord + use<> {
        use std::cmp::Reverse;
        (!self.is_denied, self.remaining, Reverse(self.retry_after), Reverse(self.reset_after))
    }
}
