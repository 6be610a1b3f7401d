//! Limits on the number of calls in flight.

use core::convert::Infallible;

use alloc::sync::Arc;

/// A limit on the number of calls in flight, as an [`Admission`](crate::Admission) takes it.
///
/// A closure that returns a guard or a refusal is one, so any semaphore can be used. `()` is no
/// limit.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::Admission;
/// use tokio::sync::Semaphore;
///
/// let places = Arc::new(Semaphore::new(1));
/// let admission = Admission::new()
///     .in_flight("connections", move || Arc::clone(&places).try_acquire_owned());
///
/// let first = admission.try_admit(1)?;
/// let refused = admission.try_admit(1).unwrap_err();
/// assert_eq!(refused.limit_name(), Some("connections"));
/// drop(first);
/// assert!(admission.try_admit(1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait InFlight {
    /// A place among the calls in flight, which is free once this is dropped. It goes with the
    /// operation, to another thread if need be.
    type Guard: Send + 'static;
    /// The answer to a call for which there is no place.
    type Refusal;

    /// Takes a place, or refuses. Does not block.
    ///
    /// # Errors
    ///
    /// [`Refusal`](InFlight::Refusal) if there is no place.
    fn try_enter(&self) -> Result<Self::Guard, Self::Refusal>;
}

/// No limit.
impl InFlight for () {
    type Guard = ();
    type Refusal = Infallible;

    fn try_enter(&self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl<G: Send + 'static, E, F: Fn() -> Result<G, E>> InFlight for F {
    type Guard = G;
    type Refusal = E;

    fn try_enter(&self) -> Result<G, E> {
        self()
    }
}

impl<I: InFlight + ?Sized> InFlight for Arc<I> {
    type Guard = I::Guard;
    type Refusal = I::Refusal;

    fn try_enter(&self) -> Result<I::Guard, I::Refusal> {
        (**self).try_enter()
    }
}
