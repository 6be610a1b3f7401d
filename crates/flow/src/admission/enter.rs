//! Limits on the number of calls in flight.

use std::convert::Infallible;
use std::sync::Arc;

use crate::concurrency::{ConcurrencyDenied, ConcurrencyLimit, InFlight};

/// A limit on the number of calls in flight, as an [`Admission`](crate::admission::Admission) takes it.
///
/// An [`Arc`] of a [`ConcurrencyLimit`] is one. So is a closure that returns a guard or a refusal:
/// any semaphore can be used. `()` is no limit.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use sluicegate_flow::admission::Admission;
/// use sluicegate_flow::concurrency::ConcurrencyLimit;
///
/// let places = Arc::new(ConcurrencyLimit::new(1));
/// let admission = Admission::new().in_flight("connections", places);
///
/// let first = admission.try_admit(1)?;
/// let refused = admission.try_admit(1).unwrap_err();
/// assert_eq!(refused.limit_name(), Some("connections"));
/// drop(first);
/// assert!(admission.try_admit(1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Enter {
    /// A place among the calls in flight, which is free once this is dropped. It goes with the
    /// operation, to another thread if need be.
    type Guard: Send + 'static;
    /// The answer to a call for which there is no place.
    type Refusal;

    /// Takes a place, or refuses. Does not block.
    ///
    /// # Errors
    ///
    /// [`Refusal`](Enter::Refusal) if there is no place.
    fn try_enter(&self) -> Result<Self::Guard, Self::Refusal>;
}

/// No limit.
impl Enter for () {
    type Guard = ();
    type Refusal = Infallible;

    fn try_enter(&self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl<G: Send + 'static, E, F: Fn() -> Result<G, E>> Enter for F {
    type Guard = G;
    type Refusal = E;

    fn try_enter(&self) -> Result<G, E> {
        self()
    }
}

impl<I: Enter + ?Sized> Enter for Arc<I> {
    type Guard = I::Guard;
    type Refusal = I::Refusal;

    fn try_enter(&self) -> Result<I::Guard, I::Refusal> {
        (**self).try_enter()
    }
}

/// A call takes one permit.
impl Enter for Arc<ConcurrencyLimit> {
    type Guard = InFlight<'static>;
    type Refusal = ConcurrencyDenied;

    fn try_enter(&self) -> Result<InFlight<'static>, ConcurrencyDenied> {
        self.try_acquire_owned(1)
    }
}
