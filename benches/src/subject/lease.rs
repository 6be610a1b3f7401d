//! Permits of this project's sharded limiter that each thread holds, and spends one by
//! one.

use sluicegate::{Lease, QuantaClock, Sharded};

use super::ours::{quota, with_more};
use super::{Limit, Op, Subject};

/// The permits of a lease.
const PERMITS: u64 = 1_000;

pub(super) struct Leased(Sharded<QuantaClock>);

/// What a thread holds, and where it takes more.
pub(super) struct Holder<'a> {
    limiter: &'a Sharded<QuantaClock>,
    lease: Option<Lease<'a>>,
}

impl Holder<'_> {
    /// Spends a permit of a new lease, in the place of the one that is used up.
    #[cold]
    #[inline(never)]
    fn spend_of_another(&mut self) -> bool {
        // The old one ends first: its room is what the new one can have.
        self.lease = None;
        self.lease = self.limiter.lease(PERMITS).ok();
        self.lease.as_mut().is_some_and(|lease| lease.spend(1))
    }
}

impl Subject for Leased {
    const NAME: &'static str = "sluicegate/lease";
    const BASELINE: &'static str = "governor";

    /// Not [`Op::Beside`]: what others hold is not to be had, so nobody ever has the
    /// rest of a burst.
    const OPS: &'static [Op] = &[Op::Allow, Op::Full, Op::Deny, Op::Edge];

    type Own<'a> = Holder<'a>;

    fn limit(op: Op) -> Limit {
        with_more(op)
    }

    fn new(limit: Limit) -> Leased {
        Leased(Sharded::with_clock(quota(limit), QuantaClock::new()))
    }

    fn own(&self) -> Holder<'_> {
        Holder { limiter: &self.0, lease: None }
    }

    #[inline]
    fn try_one(&self, own: &mut Holder<'_>) -> bool {
        own.lease.as_mut().is_some_and(|lease| lease.spend(1)) || own.spend_of_another()
    }
}
