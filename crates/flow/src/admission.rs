//! Admission of a call by several kinds of limits: a rate, a number in flight and a time.
//!
//! Start with [`Admission`].

// Admission of a call by several kinds of limits.
//
// | | |
// |---|---|
// | [`enter`] | a limit in flight, which is tried |
// | [`enter_in_line`] | a limit in flight that callers can wait for |
// | [`rate`] | a rate that callers can wait for, or none |
// | [`admitting`] | a call that waits for both |
// | [`execute`] | an operation, with the time limit |
// | [`error`] | the refusals |
//
// # Order
//
// A call takes its place in flight first, then the permits of its rate, and its time begins last.
//
// * The permits are taken at the instant at which the call begins, so calls begin at the pace of the
//   rate. If they were taken before the wait for a place, as many calls as had paid meanwhile would
//   begin at once when places come back.
// * A place comes back exactly, whatever has happened since; permits do so only if nothing was
//   granted since. So what may be lost is taken last.
//
// The price is that a call keeps its place while it waits for the rate. That costs the rate nothing:
// as long as a call with a place stands in its line, every permit is used as soon as it is earned.

mod admitting;
mod enter;
mod enter_in_line;
mod error;
mod execute;
mod rate;

use std::fmt;
use std::sync::Arc;

use sluicegate::wait::{ThreadTimer, Timer};
use sluicegate::{Grant, Limiter};

use crate::time_limit::TimeLimiter;

pub use self::admitting::Admitting;
pub use self::enter::Enter;
pub use self::enter_in_line::EnterInLine;
pub use self::error::{AdmissionError, AdmitError};
pub use self::rate::{NoRate, WaitOrUnlimited};

/// Admits calls by a rate, by their number in flight, and by a time limit, in this one place; each
/// of the three may be absent, and names itself in its refusal.
///
/// A call first takes its place in flight, then its permits of the rate, and then runs with the
/// time limit. So a refused call is charged to nothing: the place is free again, and the permits
/// were not taken. Permits of a call that then times out or fails stay spent.
///
/// The place in flight belongs to the operation, not to the caller. It is free once the operation
/// has ended or is dropped; an operation that may finish after its time-out keeps it until then.
///
/// Each verb has one form that tries, and one that waits:
///
/// | the caller wants to | now or never | in turn |
/// |---|---|---|
/// | run the operation by itself | [`try_admit(n)`](Admission::try_admit) | [`admit(n)`](Admission::admit), then `.await` or [`.wait_blocking()`](Admitting::wait_blocking) |
/// | run a future | [`execute(n, future)`](Admission::execute) | [`admit(n).execute(future)`](Admitting::execute) |
/// | run a future that may fail | [`try_execute(n, future)`](Admission::try_execute) | [`admit(n).try_execute(future)`](Admitting::try_execute) |
/// | run a closure that blocks | [`run(n, closure)`](Admission::run) | [`admit(n).run(closure)`](Admitting::run) |
///
/// Does not block or allocate by itself, but as its limits do; reads the rate's clock.
///
/// # Waiting
///
/// A call that waits stands in the line of the limit in flight until it has a place, and then in the
/// line of the rate, first come, first served in both. Its time limit begins once it has been
/// admitted. One deadline is for both waits, and the refusal names the limit that was not met in
/// time.
///
/// **A call that waits for the rate keeps its place in flight**, so that calls begin at the pace of
/// the rate, and a call that gives up while it waits for a place has taken no permits. While the
/// rate is scarce, most places may be kept by calls that wait for it: later calls then wait for a
/// place, and calls that try are refused by the limit in flight. The rate does not suffer. Others
/// who share the limit in flight, but not the rate, do: they wait for calls that have not begun.
/// Give them a limit of their own.
///
/// A caller that holds a place and waits for another one may wait for itself for ever.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate_flow::admission::{Admission, AdmissionError};
/// use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let admission = Admission::new()
///     .rate("searches", TokenBucket::new(quota!(2 / hour)))
///     .time(TimeLimiter::new("search time", TimeLimit::new(Duration::from_millis(5))?));
///
/// assert_eq!(admission.execute(1, async { 42 }).await?, 42);
/// let slow = admission.execute(1, std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(slow.limit_name(), Some("search time"));
/// let refused = admission.execute(1, async { 42 }).await.unwrap_err();
/// assert_eq!(refused.limit_name(), Some("searches"));
/// assert!(matches!(refused, AdmissionError::Rate { .. }));
/// # Ok(()) }
/// ```
///
/// # Example: calls that wait
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate_flow::admission::Admission;
/// use sluicegate_flow::concurrency::ConcurrencyLimit;
///
/// let connections = Arc::new(ConcurrencyLimit::new(1));
/// let admission = Admission::new()
///     .in_flight("connections", Arc::clone(&connections))
///     .rate("queries", TokenBucket::new(quota!(1 / hour)));
///
/// let soon = Duration::from_millis(1);
/// let held = connections.acquire_blocking(1)?;
/// let refused = admission.admit(1).timeout(soon).wait_blocking().unwrap_err();
/// assert_eq!(refused.limit_name(), Some("connections"));
/// drop(held);
/// assert_eq!(admission.admit(1).timeout(soon).run(|_| 42)?, 42);
/// // There is a place again, but the next permit comes too late.
/// let refused = admission.admit(1).timeout(soon).wait_blocking().unwrap_err();
/// assert_eq!(refused.limit_name(), Some("queries"));
/// assert_eq!(connections.in_flight(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "bulkhead")]
pub struct Admission<L = NoRate, I = (), T = ThreadTimer> {
    rate: (Arc<str>, L),
    in_flight: (Arc<str>, I),
    time: Option<TimeLimiter<T>>,
    timer: T,
}

/// A call that was admitted, for a caller that runs the operation by itself.
///
/// Dropping it frees its place in flight. The permits stay spent.
#[derive(Debug)]
#[must_use = "the place in flight is free again once this is dropped"]
pub struct Admitted<G> {
    grant: Grant,
    guard: G,
}

impl<G> Admitted<G> {
    /// Returns the grant of the rate.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Returns the place in flight, which is free once it is dropped.
    pub fn into_guard(self) -> G {
        self.guard
    }
}

impl Admission {
    /// Creates an admission without limits: it admits everything.
    #[must_use]
    pub fn new() -> Admission {
        let (rate, in_flight) = (("".into(), NoRate), ("".into(), ()));
        Admission { rate, in_flight, time: None, timer: ThreadTimer }
    }
}

impl Default for Admission {
    fn default() -> Admission {
        Admission::new()
    }
}

impl<L, I, T> Admission<L, I, T> {
    /// Sets the limiter of the rate, and its name. Take an [`All`](sluicegate::compose::All) for several rates, and a
    /// [`Queued`](sluicegate::wait::Queued) in front of a limiter that has no line, if calls are to wait.
    #[must_use]
    pub fn rate<M: Limiter>(self, name: impl Into<String>, limiter: M) -> Admission<M, I, T> {
        let Admission { in_flight, time, timer, .. } = self;
        Admission { rate: (name.into().into(), limiter), in_flight, time, timer }
    }

    /// Sets the limit of calls in flight, and its name.
    #[must_use]
    pub fn in_flight<J: Enter>(self, name: impl Into<String>, limit: J) -> Admission<L, J, T> {
        let Admission { rate, time, timer, .. } = self;
        Admission { rate, in_flight: (name.into().into(), limit), time, timer }
    }

    /// Sets the time limit, which has a name already. Its timer serves waiting calls too.
    #[must_use]
    pub fn time<U: Clone>(self, limiter: TimeLimiter<U>) -> Admission<L, I, U> {
        let Admission { rate, in_flight, .. } = self;
        let timer = limiter.timer().clone();
        Admission { rate, in_flight, time: Some(limiter), timer }
    }

    /// Lets tasks sleep by `timer` instead of [`ThreadTimer`], waiting or under a time limit. For
    /// threads, the timer does not matter.
    #[must_use]
    pub fn timer<U: Clone>(self, timer: U) -> Admission<L, I, U> {
        let Admission { rate, in_flight, time, .. } = self;
        let time = time.map(|limiter| limiter.with_timer(timer.clone()));
        Admission { rate, in_flight, time, timer }
    }
}

impl<L: Limiter, I: Enter, T> Admission<L, I, T> {
    /// Admits a call of so many permits, which the caller runs by itself, without the time limit.
    ///
    /// Never blocks.
    ///
    /// # Errors
    ///
    /// [`AdmissionError::InFlight`] or [`AdmissionError::Rate`]; nothing is charged then.
    pub fn try_admit(
        &self,
        permits: u64,
    ) -> Result<Admitted<I::Guard>, AdmissionError<I::Refusal>> {
        let (name, in_flight) = &self.in_flight;
        let guard = in_flight
            .try_enter()
            .map_err(|refusal| AdmissionError::InFlight { name: Arc::clone(name), refusal })?;
        let (name, rate) = &self.rate;
        match rate.try_acquire(permits) {
            Ok(grant) => Ok(Admitted { grant, guard }),
            Err(denied) => Err(AdmissionError::Rate { name: Arc::clone(name), denied }),
        }
    }
}

impl<L: WaitOrUnlimited, I: EnterInLine, T: Timer + Clone> Admission<L, I, T> {
    /// Returns a future of a call that is admitted once there is a place in flight for it, and then its permits
    /// are there: to `.await`, or for a thread to [block](Admitting::wait_blocking) on. The caller runs the call
    /// by itself, without the time limit, or gives it to the future to run.
    ///
    /// # Errors
    ///
    /// The future's: [`AdmissionError::InFlight`] and [`AdmissionError::Rate`], as the two lines have it: a line
    /// that is full or closed, more permits than the rate can ever grant. Nothing is charged then.
    pub fn admit(&self, permits: u64) -> Admitting<'_, L, I, T> {
        Admitting::new(self, permits)
    }

    /// Admits a call, and blocks the thread until there is a place in flight for it and its permits are there.
    ///
    /// # Errors
    ///
    /// As for [`admit`](Admission::admit).
    pub fn admit_blocking(&self, permits: u64) -> Result<Admitted<I::Guard>, AdmitError> {
        self.admit(permits).wait_blocking()
    }
}

impl<L: fmt::Debug, I: fmt::Debug, T> fmt::Debug for Admission<L, I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("rate", &self.rate)
            .field("in_flight", &self.in_flight)
            .field("time", &self.time)
            .finish()
    }
}
