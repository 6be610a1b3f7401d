//! Limits on the number of calls in flight that calls can wait for.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use crate::concurrency::{ConcurrencyLimit, Entering, InFlight, InFlightError};

use super::enter::Enter;

/// A limit on the number of calls in flight that the calls of an [`Admission`](crate::admission::Admission) can
/// wait for.
///
/// An [`Arc`] of a [`ConcurrencyLimit`] is one, with its fair line. So is a pair of closures, for any
/// semaphore: the first one tries, as [`Enter`] has it, and the second one returns a future of a
/// place. `()` is no limit.
///
/// # Examples
///
/// The places of one tenant:
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use sluicegate_flow::admission::Admission;
/// use sluicegate_flow::concurrency::{InFlightError, KeyedConcurrency};
///
/// let uploads = Arc::new(KeyedConcurrency::<String>::new(1));
/// let in_flight = |tenant: &'static str| {
///     let (tries, waits) = (Arc::clone(&uploads), Arc::clone(&uploads));
///     let waits = move || {
///         waits.acquire(tenant, 1)
///     };
///     (move || tries.try_acquire(tenant, 1), waits)
/// };
/// let ada = Admission::new().in_flight("uploads of a tenant", in_flight("ada"));
/// let bob = Admission::new().in_flight("uploads of a tenant", in_flight("bob"));
///
/// let _first = ada.admit_blocking(1)?;
/// assert!(ada.admit(1).timeout(Duration::from_millis(1)).wait_blocking().is_err());
/// assert!(bob.admit_blocking(1).is_ok());
/// # Ok::<(), sluicegate_flow::admission::AdmitError>(())
/// ```
pub trait EnterInLine: Enter {
    /// A caller that waits for a place. To drop it must leave nothing behind: neither a place, nor a
    /// turn in line.
    type Entering: Future<Output = Result<Self::Guard, InFlightError>>;

    /// Returns true for what is no limit at all, so that nobody can be too late for it.
    #[doc(hidden)]
    fn is_unlimited(&self) -> bool {
        false
    }

    /// Returns a future of a place. It is dropped if the caller's time is over.
    fn enter(&self) -> Self::Entering;

    /// Takes a place for a caller that has no time to wait for one. Does not block, and stands in no
    /// line.
    ///
    /// # Errors
    ///
    /// [`InFlightError::TimedOut`] if there is no place, unless the limit knows better.
    fn enter_now(&self) -> Result<Self::Guard, InFlightError> {
        self.try_enter().map_err(|_| InFlightError::TimedOut)
    }
}

/// No limit.
impl EnterInLine for () {
    type Entering = Ready<Result<(), InFlightError>>;

    fn is_unlimited(&self) -> bool {
        true
    }

    fn enter(&self) -> Self::Entering {
        ready(Ok(()))
    }
}

/// The first closure tries, and the second one waits.
impl<F: Enter, W> Enter for (F, W) {
    type Guard = F::Guard;
    type Refusal = F::Refusal;

    fn try_enter(&self) -> Result<F::Guard, F::Refusal> {
        self.0.try_enter()
    }
}

/// The first closure tries, and the second one waits.
impl<F: Enter, W, E> EnterInLine for (F, W)
where
    W: Fn() -> E,
    E: Future<Output = Result<F::Guard, InFlightError>>,
{
    type Entering = E;

    fn enter(&self) -> E {
        (self.1)()
    }
}

impl<I: EnterInLine + ?Sized> EnterInLine for Arc<I> {
    type Entering = I::Entering;

    fn is_unlimited(&self) -> bool {
        (**self).is_unlimited()
    }

    fn enter(&self) -> I::Entering {
        (**self).enter()
    }

    fn enter_now(&self) -> Result<I::Guard, InFlightError> {
        (**self).enter_now()
    }
}

/// A call waits for one permit, in the limit's line.
impl EnterInLine for Arc<ConcurrencyLimit> {
    type Entering = Entering<'static>;

    fn enter(&self) -> Entering<'static> {
        self.acquire_owned(1)
    }

    fn enter_now(&self) -> Result<InFlight<'static>, InFlightError> {
        self.acquire_owned(1).timeout(Duration::ZERO).wait_blocking()
    }
}
