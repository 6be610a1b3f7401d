//! Permits of this project's sharded limiter that each thread holds, and spends one by
//! one.

use sluicegate::Sharded;
use sluicegate::clock::QuantaClock;
use sluicegate::lease::Lease;

use super::ours::{by_thread, with_more};
use super::{Limit, Op, Subject};

/// The permits of a lease.
const PERMITS: u64 = 1_000;

pub(super) struct Leased(Sharded<QuantaClock>);

/// The lease of a thread, and the limiter that it takes another from.
pub(super) struct Holder<'a> {
    limiter: &'a Sharded<QuantaClock>,
    lease: Option<Lease<'a>>,
}

impl Holder<'_> {
    /// Spends a permit of a new lease, which replaces the one that is used up.
    #[cold]
    #[inline(never)]
    fn spend_of_another(&mut self) -> bool {
        // The old lease ends first, so that the new one can have its reserved capacity.
        self.lease = None;
        self.lease = self.limiter.lease(PERMITS).ok();
        self.lease.as_mut().is_some_and(|lease| lease.spend(1))
    }
}

impl Subject for Leased {
    const NAME: &'static str = "sluicegate/lease";
    const BASELINE: &'static str = "governor";

    /// Without [`Op::Beside`]: permits in the leases of others are not available, so no thread
    /// ever has the rest of a burst.
    const OPS: &'static [Op] = &[Op::Allow, Op::Full, Op::Deny, Op::Edge];

    type Own<'a> = Holder<'a>;

    fn limit(op: Op) -> Limit {
        with_more(op)
    }

    fn new(limit: Limit) -> Leased {
        Leased(by_thread(limit, QuantaClock::new()))
    }

    fn own(&self) -> Holder<'_> {
        Holder { limiter: &self.0, lease: None }
    }

    #[inline]
    fn try_one(&self, own: &mut Holder<'_>) -> bool {
        own.lease.as_mut().is_some_and(|lease| lease.spend(1)) || own.spend_of_another()
    }
}
