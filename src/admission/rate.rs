//! Rates that calls can wait for.

use crate::compose::gate::Unlimited;
use crate::limiter::Limiter;
use crate::wait::acquire::Waiting;
use crate::wait::traits::Wait;

/// A rate that the calls of an [`Admission`](crate::admission::Admission) can wait for: any limiter that is
/// [`Wait`], and [`Unlimited`], which is the rate of an admission that was given none.
///
/// A limiter that is neither gets a line by a [`Queued`](crate::wait::Queued). This trait cannot be
/// implemented for others.
pub trait WaitOrUnlimited: Limiter + sealed::Sealed {
    /// Returns a caller that waits for `permits`; `None` if all are granted at once.
    #[doc(hidden)]
    fn waiting(&self, permits: u64) -> Option<Waiting<'_>>;
}

impl<L: Wait> WaitOrUnlimited for L {
    fn waiting(&self, permits: u64) -> Option<Waiting<'_>> {
        Some(self.acquire(permits))
    }
}

impl WaitOrUnlimited for Unlimited {
    fn waiting(&self, _: u64) -> Option<Waiting<'_>> {
        None
    }
}

mod sealed {
    pub trait Sealed {}

    impl<L: super::Wait> Sealed for L {}

    impl Sealed for super::Unlimited {}
}
