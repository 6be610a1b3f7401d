//! Rates that calls can wait for.

use sluicegate::compose::Unlimited;
use sluicegate::settle::Receipt;
use sluicegate::wait::Waiting;
use sluicegate::{Denied, Grant, Limiter, Wait};

/// A rate that the calls of an [`Admission`](crate::admission::Admission) can wait for: any limiter that is
/// [`Wait`], and [`NoRate`].
///
/// A limiter that is neither gets a line by a [`Queued`](sluicegate::wait::Queued). This trait cannot be
/// implemented for others.
pub trait WaitOrUnlimited: Limiter + sealed::Sealed {
    /// Returns a caller that waits for `permits`; `None` if all are granted at once.
    #[doc(hidden)]
    fn waiting(&self, permits: u64) -> Option<Waiting<'_>>;
}

/// The rate of an [`Admission`](crate::admission::Admission) that was given none: grants every request, as an
/// [`Unlimited`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoRate;

impl Limiter for NoRate {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        Unlimited.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        Unlimited.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        Unlimited.peek(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        const UNLIMITED: &Unlimited = &Unlimited;
        UNLIMITED.try_acquire_revocable(permits)
    }

    fn reset(&self) {}

    fn is_idle(&self) -> bool {
        true
    }
}

impl<L: Wait> WaitOrUnlimited for L {
    fn waiting(&self, permits: u64) -> Option<Waiting<'_>> {
        Some(self.acquire(permits))
    }
}

impl WaitOrUnlimited for NoRate {
    fn waiting(&self, _: u64) -> Option<Waiting<'_>> {
        None
    }
}

mod sealed {
    pub trait Sealed {}

    impl<L: super::Wait> Sealed for L {}

    impl Sealed for super::NoRate {}
}
