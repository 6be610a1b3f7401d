//! The verbs of limiters that callers can wait for.

use alloc::sync::Arc;
use core::time::Duration;

use crate::decision::grant::Grant;
use crate::wait::acquire::Waiting;
use crate::wait::error::AcquireError;
use crate::wait::line_handle::Line;
use crate::wait::reservation::Reservation;
use crate::wait::way_to_line::{CountedLine, KeepsLine, WayToLine};

use crate::limiter::Limiter;

/// Limiters that callers can wait for: in one line for threads and tasks, first come, first served.
///
/// As long as somebody stands in line, the limiter's other verbs grant nothing, except for a
/// `force` and for requests for 0 permits: a [`try_acquire`](Limiter::try_acquire) does not
/// overtake waiting callers. Its `retry_after` then is the wait until all in line have had their
/// turn. For a bucket it is exact, and includes the caller's own permits (but too early if a caller
/// has left ahead of a reservation that still stands in line). For a window it is an estimate, as
/// the last in line was told; by then the line may have left nothing.
///
/// A [`Queued`](crate::wait::Queued) implements it for any limiter, with a line that is not part of
/// the limiter's word; it tells the differences. A [`Counted`](crate::compose::Counted) and a
/// [`Gate`](crate::compose::Gate) implement it if the limiter inside does, with its line.
///
/// The limiter's bound holds. For a bucket, the grant of a caller in line counts at the instant of
/// its turn: if it is told later, callers may receive up to one request more in a span of time than
/// the bound says. A window counts it in the window in which the line is served: permits of an
/// earlier one are lost if nobody came.
///
/// A limiter that nobody waits for costs no more than without this trait. The first caller that
/// waits allocates the line; a line takes about eighty bytes for each caller in it. To stand in
/// line for a window may take a step for each caller ahead, to find the window of its turn. While
/// callers wait, each arrival, grant and departure takes a lock for a moment. So do changes of the
/// limiter, receipts and leases that are given back, and any other verb when the first in line is
/// due: it then serves the line, reads the clock again, and wakes callers that it grants their
/// permits. (A verb that must not block only tries the lock.)
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::wait::AcquireError;
///
/// let bucket = TokenBucket::new(quota!(10 / second, burst 5));
/// bucket.acquire_blocking(5)?;
/// // Blocks for a tenth of a second.
/// bucket.acquire_blocking(1)?;
/// // Blocks for no time at all: the permits would come too late.
/// let refused = bucket.acquire(5).timeout(Duration::from_micros(100)).wait_blocking().unwrap_err();
/// assert!(matches!(refused, AcquireError::TimedOut { .. }));
/// # Ok::<(), AcquireError>(())
/// ```
#[doc(alias = "until_ready")]
#[diagnostic::on_unimplemented(
    message = "nobody can wait for a `{Self}`",
    label = "has no line of its own",
    note = "put it into `wait::Queued`, which gives any limiter a line: `Queued::new(limiter)`"
)]
pub trait Wait: Limiter {
    /// Returns the line before this limiter, to ask about it, to bound it or to close it.
    ///
    /// Where a limiter of your own returns another one than before, a [`Caller`](crate::wait::Caller) that waits
    /// stands there anew, and its turn in the line before passes unused.
    fn line(&self) -> Line<'_>;

    /// Returns a future that takes all of `permits` once they are there: to `.await`, or for a thread to
    /// [block](Waiting::wait_blocking) on, with or without a [`timeout`](Waiting::timeout).
    ///
    /// # Errors
    ///
    /// The future's: [`AcquireError::TooLarge`] at once for more than the limiter can ever hold;
    /// [`AcquireError::LineFull`], [`AcquireError::Evicted`] and [`AcquireError::Closed`] as the line has it.
    #[doc(alias = "until_ready", alias = "until_n_ready", alias = "acquire_one")]
    fn acquire(&self, permits: u64) -> Waiting<'_> {
        Waiting::new(WayToLine::Borrowed(self.line().line), permits)
    }

    /// Waits as [`acquire`](Wait::acquire) does, with a future that keeps the limiter alive: to be kept in
    /// a struct, such as a service that is polled until it is ready, or moved into a task. Clones the `Arc`.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](Wait::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::thread;
    /// use sluicegate::{TokenBucket, Wait, quota};
    ///
    /// let bucket = Arc::new(TokenBucket::new(quota!(1_000 / second)));
    /// bucket.try_acquire(1_000)?;
    /// let waiting = bucket.acquire_owned(3);
    /// drop(bucket);
    /// let answer = thread::spawn(|| waiting.wait_blocking());
    /// assert_eq!(answer.join().unwrap()?.permits(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn acquire_owned(self: &Arc<Self>, permits: u64) -> Waiting<'static>
    where
        Self: Sized + 'static,
    {
        Waiting::new(WayToLine::Owned(Arc::clone(self) as _), permits)
    }

    /// Takes all of `permits`, and blocks the thread until they are there. Not for tasks: it would hold up the
    /// others of their thread.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](Wait::acquire).
    #[doc(alias = "until_ready")]
    fn acquire_blocking(&self, permits: u64) -> Result<Grant, AcquireError> {
        self.acquire(permits).wait_blocking()
    }
}

impl<L: Wait> KeepsLine for L {
    fn counted_line(&self) -> CountedLine<'_> {
        self.line().line
    }
}

/// Limiters whose permits can be reserved: taken now, for the earliest instant at which they will
/// have been earned.
///
/// A reservation is a debt, so it is bounded as debts are, by the quota's `max_debt`. Reservations
/// of a bucket are for different instants, in the order in which they were made. (In line, one that
/// is made after callers have left may be for an earlier instant than one before it, which keeps
/// its own.)
///
/// While callers wait in line, a reservation takes a place behind them: it is told the instant of its turn
/// and keeps that, whatever becomes of the line. It counts for the bounds of the line, and is neither
/// evicted nor closed out. It is charged when nobody waits ahead of it any more, or when its instant has
/// come.
///
/// Buckets reserve, and windows of one word that follow one another: `FixedWindow`, `WindowFromFirst`,
/// `CalendarWindow` and `Budget`.
///
/// A window reserves permits of windows to come, as far ahead as its `with_reservations` allows. A
/// reservation is for the first window that has room for it after those that were reserved before:
/// for the instant at which that begins, or at once if it is the present one. **In each window,
/// grants and reservations together are at most the limit.** As soon as a later window is reserved,
/// the earlier ones are closed: their rest is lost, as it is while a caller waits in line. A change
/// of the limit leaves reservations where they are. A reset forgets them, and so does a snapshot,
/// which counts them in the present window.
///
/// Others cannot reserve exactly. In a `SlidingCounter` grants until then would weigh on the window
/// to come, and a reservation would fade from the start of its window instead of its instant. A
/// `SlidingWindow`, a `MultiWindow` and the logs judge by the dates of all permits in the last `W`;
/// one with a date to come would be counted in spans that end before it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, TokenBucket, quota};
/// use sluicegate::wait::{AcquireError, Reserve};
///
/// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
/// assert_eq!(bucket.reserve(10)?.ready_after(), Duration::ZERO);
/// // The permits are taken now; the caller may use them in 0.3 s.
/// let reservation = bucket.reserve_within(3, Duration::from_secs(1))?;
/// assert_eq!(reservation.ready_after(), Duration::from_millis(300));
/// # Ok::<(), AcquireError>(())
/// ```
pub trait Reserve: Limiter {
    /// Takes all of `permits`, if they are earned within `longest`.
    ///
    /// Lock-free; does not allocate; reads the clock once. While others wait in line it locks that, serves
    /// for them (see [`Wait`]), and may allocate its place; to find its window may take a step for each ahead.
    ///
    /// # Errors
    ///
    /// * [`AcquireError::TooLarge`] for more than the burst, or than the limit of any window.
    /// * [`AcquireError::TimedOut`] if they come later than that; `retry_after` is the wait that
    ///   they would have taken.
    /// * [`AcquireError::LineFull`] if the debt would be too deep, or the window too far ahead; or if others
    ///   wait in line and that is full.
    fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<Reservation<'_>, AcquireError>;

    /// Takes all of `permits`, whenever they will have been earned.
    ///
    /// # Errors
    ///
    /// As for [`reserve_within`](Reserve::reserve_within), except for [`AcquireError::TimedOut`].
    fn reserve(&self, permits: u64) -> Result<Reservation<'_>, AcquireError> {
        self.reserve_within(permits, Duration::MAX)
    }
}

/// Implements [`Wait`] for a limiter whose `$core` takes turns.
macro_rules! waits_by {
    ($Limiter:ident<C $(, $more:ident: $bound:path)?>, $($core:ident).+) => {
        impl<C: crate::time::clock::Clock + Send + Sync $(, $more: $bound)?>
            crate::wait::traits::Wait for $Limiter<C $(, $more)?>
        {
            fn line(&self) -> crate::wait::line_handle::Line<'_> {
                crate::wait::line_handle::Line::of(&self.$($core).+)
            }
        }
    };
}

/// Implements both traits for a limiter whose field `core` is a bucket's.
macro_rules! waits {
    ($Limiter:ident) => {
        crate::wait::traits::waits_by!($Limiter<C>, core);

        impl<C: crate::time::clock::Clock + Send + Sync> crate::wait::traits::Reserve
            for $Limiter<C>
        {
            fn reserve_within(
                &self,
                permits: u64,
                longest: core::time::Duration,
            ) -> Result<crate::wait::reservation::Reservation<'_>, crate::wait::error::AcquireError>
            {
                let booked = self.core.reserve_within(permits, longest)?;
                Ok(crate::wait::reservation::Reservation::new(&self.core, permits, booked))
            }
        }
    };
}

/// Implements both traits for a limiter of windows whose `$core` is a counter's. In the example, `$two`
/// constructs one that grants two permits in each window of so many `$seconds`.
macro_rules! reserves_windows {
    ($Limiter:ident, $($core:ident).+, $two:literal, $seconds:literal) => {
        crate::wait::traits::waits_by!($Limiter<C>, $($core).+);

        impl<C: Clock> $Limiter<C> {
            /// Lets permits of windows to come be reserved, for instants up to `ahead` from now: see
            /// [`Reserve`](crate::wait::Reserve). By default, and with 0, only permits of the present window
            /// can be reserved.
            ///
            /// * A grant costs no more.
            /// * Once a later window is reserved, the windows before it grant nothing more. A denial then
            ///   tells the wait until the last reserved window, or the next one if that has no room.
            /// * A caller whose clock is a little behind others is denied until its clock reaches
            ///   the present window.
            /// * If the clock is set back by less than `ahead`, nothing is granted until it is where it was.
            /// * Use beyond an [`Estimate`](crate::settle::Estimate) is taken from the windows to
            ///   come, as far ahead as they can be reserved, and from 32 windows at most; the rest
            ///   is `Unpaid`.
            /// * `ahead` is at most a quarter of the time for which the limiter can number its windows. A
            ///   longer one is shortened to that.
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            /// use sluicegate::*;
            /// use sluicegate::wait::AcquireError;
            /// use sluicegate::wait::Reserve;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let window = Duration::from_secs(", $seconds, ");")]
            #[doc = concat!("let limiter = ", $two, ".with_reservations(window * 3 / 2);")]
            /// limiter.try_acquire(1)?;
            /// let (now, later) = (limiter.reserve(1)?, limiter.reserve(1)?);
            /// assert_eq!(now.wait_left(), Duration::ZERO);
            /// assert_eq!(later.wait_left().as_secs(), window.as_secs());
            ///
            /// // The next window has one more, and the one after it is too far ahead.
            /// assert_eq!(limiter.peek(1).unwrap_err().retry_after(), Some(later.wait_left()));
            /// assert!(matches!(limiter.reserve(2), Err(AcquireError::LineFull { .. })));
            /// assert!(later.cancel());
            /// assert_eq!(limiter.reserve(2)?.wait_left().as_secs(), window.as_secs());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[must_use]
            pub fn with_reservations(mut self, ahead: core::time::Duration) -> $Limiter<C> {
                self.$($core).+.reserve_ahead(crate::time::units::nanos(ahead));
                self
            }
        }

        impl<C: Clock + Send + Sync> crate::wait::traits::Reserve for $Limiter<C> {
            fn reserve_within(
                &self,
                permits: u64,
                longest: core::time::Duration,
            ) -> Result<crate::wait::reservation::Reservation<'_>, crate::wait::error::AcquireError>
            {
                let core = &self.$($core).+;
                let booked = core.reserve_within(permits, longest)?;
                Ok(crate::wait::reservation::Reservation::new(core, permits, booked))
            }
        }
    };
}

pub(crate) use {reserves_windows, waits, waits_by};

/// Implements both traits for a pointer to a limiter.
macro_rules! through {
    ($Pointer:ty) => {
        impl<L: Wait + ?Sized> Wait for $Pointer {
            fn line(&self) -> Line<'_> {
                (**self).line()
            }
        }

        impl<L: Reserve + ?Sized> Reserve for $Pointer {
            fn reserve_within(
                &self,
                permits: u64,
                longest: Duration,
            ) -> Result<Reservation<'_>, AcquireError> {
                (**self).reserve_within(permits, longest)
            }
        }
    };
}

through!(&L);
through!(alloc::boxed::Box<L>);
#[cfg(target_has_atomic = "ptr")]
through!(alloc::sync::Arc<L>);
