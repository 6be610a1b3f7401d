//! The methods of every limiter that is built on `BucketCore`, except `try_acquire`.
//!
//! A macro writes them once for all, so that the limiters cannot diverge. `try_acquire` is written
//! out in the file of each, where a reader looks for it.

use core::fmt;

use crate::bucket::terms::Terms;

/// Implements the methods for `$Limiter`, whose field `core` holds its core. In examples,
/// `$two` constructs one that holds two permits and earns two a second. `$show` adds the terms to the
/// output of `Debug`. The file of the limiter imports the types that the methods name.
macro_rules! verbs {
    ($Limiter:ident, $show:path, $two:literal) => {
        impl<C: Clock> $Limiter<C> {
            /// Takes as many of `permits` as are available, at least one.
            ///
            /// Lock-free; does not allocate; reads the clock once (unless it heals the
            /// limiter). A request for 0 permits is always granted and changes nothing.
            ///
            /// # Errors
            ///
            /// [`Denied::Wait`](crate::Denied::Wait) if not even one permit is available.
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert_eq!(limiter.try_acquire_up_to(10)?.permits(), 2);
            /// assert!(limiter.try_acquire_up_to(10).is_err());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
                self.core.try_acquire_up_to(permits)
            }

            /// Returns the answer that [`try_acquire`](Self::try_acquire) would give now,
            /// without taking anything.
            ///
            /// The grant describes the limiter as it would be afterwards, so
            /// `peek(0)` reads the current state. Lock-free; does not allocate; reads
            /// the clock once; writes nothing, unless it heals the limiter as
            /// [`try_acquire`](Self::try_acquire) does.
            ///
            /// # Errors
            ///
            /// As for [`try_acquire`](Self::try_acquire).
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert_eq!(limiter.peek(0)?.remaining(), 2);
            /// assert_eq!(limiter.peek(2)?.remaining(), 0);
            /// assert!(limiter.peek(3).is_err());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
                self.core.peek(permits)
            }

            /// Takes `permits` even if they are not available, going into debt by at
            /// most the quota's `max_debt`. (For a [`Gcra`](crate::Gcra) the most is the
            /// number of cells that may pass at once: `1 + tolerance / interval`.)
            ///
            /// Use it for work that is already done, or that the caller will delay by
            /// [`Grant::ready_after`](crate::Grant::ready_after). It may take more than
            /// the burst. While in debt, the other methods deny. Lock-free; does not
            /// allocate; reads the clock once (unless it heals the limiter).
            ///
            /// # Errors
            ///
            /// * [`Denied::Wait`](crate::Denied::Wait) if the debt would be too
            ///   deep now.
            /// * [`Denied::TooLarge`](crate::Denied::TooLarge) if it would be too deep
            ///   even from full; the limit it reports is the burst plus `max_debt`.
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// let grant = limiter.force(3)?;
            /// assert_eq!(grant.ready_after(), Duration::from_millis(500));
            /// assert!(limiter.try_acquire(1).is_err());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[doc(alias = "reserve")]
            pub fn force(&self, permits: u64) -> Result<Grant, Denied> {
                self.core.force(permits)
            }

            /// Takes the whole balance, including a fraction of a permit, and grants the
            /// whole permits.
            ///
            /// Lock-free; does not allocate; reads the clock once (unless it heals the
            /// limiter). Leaves a debt unchanged.
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert_eq!(limiter.drain().permits(), 2);
            /// assert_eq!(limiter.drain().permits(), 0);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn drain(&self) -> Grant {
                self.core.drain()
            }

            /// Adds `permits` to the balance, at most to full. A debt becomes less.
            ///
            /// Use it for permits that were not used after all, such as those of a request
            /// that failed, or for permits that a customer bought. The permits need not have
            /// been taken here. In any span of time the limiter then admits at most the
            /// burst, and its earnings and credits in that span. The excess is dropped.
            /// A [`Receipt`](crate::settle::Receipt) gives a grant back without adding
            /// to the bound, but only as long as nothing else has happened to the limiter;
            /// a grant that is credited must not be given back too. A credit of 0 permits
            /// does nothing.
            ///
            /// Exact: the fraction of a permit that has been earned stays, and so does the
            /// schedule of an interval refill. Waits for other changes in progress (`reset`,
            /// `restore`, `reconfigure`, healing); no call that takes permits waits for it.
            /// Does not allocate; reads the clock once, and again after each race that it
            /// loses.
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// limiter.try_acquire(2)?;
            /// limiter.credit(1);
            /// assert_eq!(limiter.peek(0)?.remaining(), 1);
            /// limiter.credit(1_000);
            /// assert_eq!(limiter.peek(0)?.remaining(), 2);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[doc(alias = "refund", alias = "put_back", alias = "add_tokens")]
            pub fn credit(&self, permits: u64) {
                self.core.credit(permits);
            }
        }

        crate::bucket::lease_verbs::lease_verbs!($Limiter, $two);

        impl<C: Clock> $Limiter<C> {
            /// Makes the limiter full again and forgives any debt. The schedule of an
            /// interval refill is unchanged.
            ///
            /// Waits for other changes in progress (`reset`, `restore`, `reconfigure`,
            /// healing); nothing else waits for it. Does not allocate.
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// limiter.force(4)?;
            /// limiter.reset();
            /// assert_eq!(limiter.peek(0)?.remaining(), 2);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn reset(&self) {
                self.core.reset();
            }

            /// Returns the limiter's balance, to be restored elsewhere.
            ///
            /// Lock-free; does not allocate; reads the clock; writes nothing, unless
            /// it heals the limiter as [`try_acquire`](Self::try_acquire) does.
            #[must_use]
            pub fn snapshot(&self) -> Snapshot {
                self.core.snapshot(0)
            }

            /// Replaces the balance by that of `snapshot`, plus what the quota in force
            /// earns in the time `away`.
            ///
            /// The previous balance is forgotten. The result is at most full, and never
            /// deeper in debt than the quota allows. If the time away is unknown,
            /// `Duration::ZERO` is the safe choice. Waits for other changes in progress
            /// (`reset`, `restore`, `reconfigure`, healing); nothing else waits for it.
            ///
            /// See [`Snapshot`](crate::bucket::Snapshot) for accuracy and an example.
            pub fn restore(&self, snapshot: &Snapshot, away: Duration) {
                self.core.restore(snapshot, units::nanos(away));
            }

            /// Returns how many times the limiter started again from full because its state
            /// was further ahead of the clock than any call can have put it. See
            /// [`Clock`](crate::Clock) for the conditions.
            #[must_use]
            pub fn healed(&self) -> u64 {
                self.core.healed()
            }

            /// Returns the clock that the limiter reads.
            #[must_use]
            pub fn clock(&self) -> &C {
                self.core.clock()
            }
        }

        /// Shows the terms in force and the whole permits that remain; `{:#?}` shows the words behind
        /// them too. Lock-free; does not allocate; reads the clock; writes nothing, and heals nothing.
        impl<C: Clock> fmt::Debug for $Limiter<C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (terms, remaining) = self.core.shown();
                let is_long = f.alternate();
                let mut shown = f.debug_struct(stringify!($Limiter));
                $show(&terms, &mut shown);
                shown.field("remaining", &remaining);
                if is_long {
                    shown.field("core", &self.core);
                }
                shown.finish()
            }
        }

        impl<C: Clock + Send + Sync> Limiter for $Limiter<C> {
            #[inline]
            fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
                self.core.try_acquire(permits)
            }

            fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
                self.core.try_acquire_up_to(permits)
            }

            fn peek(&self, permits: u64) -> Result<Grant, Denied> {
                self.core.peek(permits)
            }

            fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
                self.core.try_acquire_revocable(permits)
            }

            fn reset(&self) {
                self.core.reset();
            }

            fn is_idle(&self) -> bool {
                crate::limiter::is_full(self) && !self.core.has_line()
            }

            fn healed(&self) -> u64 {
                self.core.healed()
            }
        }
    };
}

/// Shows the quota of `terms` in the syntax of its literal.
pub(super) fn show_quota(terms: &Terms, shown: &mut fmt::DebugStruct<'_, '_>) {
    shown.field("quota", &terms.quota());
}

pub(crate) use verbs;
