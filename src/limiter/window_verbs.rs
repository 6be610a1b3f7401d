//! The verbs of every limiter of windows, as methods of its own.
//!
//! They are written once, so that the limiters cannot come to differ in them.

/// Implements the verbs for `$Limiter`, which has its core in the field `core`.
/// `$two` makes one, in examples, that grants two permits in a minute.
macro_rules! window_verbs {
    ($Limiter:ident<C $(, $more:ident: $bound:path)?>, $two:literal) => {
        impl<C: crate::Clock $(, $more: $bound)?> $Limiter<C $(, $more)?> {
            /// Takes all of `permits`, or none if there are not enough.
            ///
            /// Lock-free; does not allocate; reads the clock once. Asking for 0
            /// permits is always granted and changes nothing. A denial writes
            /// nothing. (The exceptions are a clock that was set back, see
            /// [`Clock`](crate::Clock); a ring that others are just turning to a new
            /// slot, which every call helps with; and a budget that looks for a later
            /// day.)
            ///
            /// # Errors
            ///
            /// * [`Denied::Wait`](crate::Denied::Wait) if there are too few now. It
            ///   knows the least wait that suffices.
            /// * [`Denied::TooLarge`](crate::Denied::TooLarge) if there can never
            ///   be that many.
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert_eq!(limiter.try_acquire(1)?.remaining(), 1);
            /// assert_eq!(limiter.try_acquire(1)?.remaining(), 0);
            ///
            /// let denied = limiter.try_acquire(1).unwrap_err();
            /// clock.advance(denied.retry_after().unwrap());
            /// assert!(limiter.try_acquire(1).is_ok());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline]
            pub fn try_acquire(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.try_acquire(permits)
            }

            /// Takes as many of `permits` as there are, at least one.
            ///
            /// Lock-free; does not allocate; reads the clock once (a log of single
            /// permits, once for each). Asking for 0 permits is always granted and
            /// changes nothing.
            ///
            /// # Errors
            ///
            /// [`Denied::Wait`](crate::Denied::Wait) if there is not one permit.
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
            pub fn try_acquire_up_to(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.try_acquire_up_to(permits)
            }

            /// What [`try_acquire`](Self::try_acquire) would answer now. Takes
            /// nothing.
            ///
            /// The grant describes the limiter as it would be afterwards, so
            /// `peek(0)` reads what is there. Lock-free; does not allocate; reads
            /// the clock once; writes nothing. (The exceptions to both are those of
            /// [`try_acquire`](Self::try_acquire).)
            ///
            /// # Errors
            ///
            /// As [`try_acquire`](Self::try_acquire).
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert_eq!(limiter.peek(0)?.remaining(), 2);
            /// assert_eq!(limiter.peek(1)?.remaining(), 1);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn peek(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.peek(permits)
            }

            /// As [`try_acquire`](Self::try_acquire), with a
            /// [`Receipt`](crate::Receipt) by which the permits can be given back as
            /// long as nothing else has happened.
            ///
            /// # Errors
            ///
            /// The same.
            pub fn try_acquire_revocable(
                &self,
                permits: u64,
            ) -> Result<crate::Receipt<'_>, crate::Denied> {
                self.core.try_acquire_revocable(permits)
            }

            /// Forgets what was granted. (What is granted while it runs may be
            /// forgotten or not.) Lock-free; does not allocate; reads the clock.
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// limiter.try_acquire(1)?;
            /// limiter.reset();
            /// assert_eq!(limiter.peek(0)?.remaining(), 2);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn reset(&self) {
                self.core.reset();
            }

            /// What still counts, and how long ago it was granted: to be restored
            /// elsewhere.
            ///
            /// Lock-free; allocates; reads the clock; writes nothing, unless the clock
            /// was set back, so that the window has to heal. A log begins
            /// again if something was granted meanwhile, so it is for quiet moments.
            #[cfg(feature = "alloc")]
            #[must_use]
            pub fn snapshot(&self) -> crate::History {
                self.core.snapshot()
            }

            /// Counts what `history` counted, as it would after the time it was
            /// `away`.
            ///
            /// What the limiter counted before is forgotten. Where the time away is
            /// not known, `Duration::ZERO` is the safe answer. For the start of a
            /// process, before the limiter is shared.
            ///
            /// See [`History`](crate::History) for accuracy and an example.
            #[cfg(feature = "alloc")]
            pub fn restore(&mut self, history: &crate::History, away: core::time::Duration) {
                self.core.restore(history, crate::time::units::nanos(away));
            }

            /// How often the limiter found itself impossibly far ahead of the
            /// clock, and went on from what it had counted. See
            /// [`Clock`](crate::Clock) for when that is.
            #[must_use]
            pub fn healed(&self) -> u64 {
                self.core.healed()
            }

            /// The clock that the limiter reads.
            #[must_use]
            pub fn clock(&self) -> &C {
                self.core.clock()
            }
        }

        impl<C $(, $more: $bound)?> core::fmt::Debug for $Limiter<C $(, $more)?> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($Limiter)).field(&self.core).finish()
            }
        }

        impl<C: crate::Clock $(, $more: $bound)?> crate::Limiter for $Limiter<C $(, $more)?> {
            #[inline]
            fn try_acquire(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.try_acquire(permits)
            }

            fn try_acquire_up_to(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.try_acquire_up_to(permits)
            }

            fn peek(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.peek(permits)
            }

            fn try_acquire_revocable(
                &self,
                permits: u64,
            ) -> Result<crate::Receipt<'_>, crate::Denied> {
                self.core.try_acquire_revocable(permits)
            }

            fn reset(&self) {
                self.core.reset();
            }
        }
    };
}

/// Implements what the limiters of one limit have besides.
macro_rules! one_limit {
    ($Limiter:ident<C $(, $more:ident: $bound:path)?>) => {
        impl<C: crate::Clock $(, $more: $bound)?> $Limiter<C $(, $more)?> {
            /// The most permits in one window.
            #[must_use]
            pub fn limit(&self) -> u64 {
                self.core.limit().get()
            }

            /// The largest limit that [`reconfigure`](Self::reconfigure) takes: what its word
            /// can count, or as many permits as a log of them remembers.
            ///
            /// A word that numbers windows or slots counts with the bits that these leave: up
            /// to 2^30 - 1 in a `FixedWindow` of a second, or 4,095 in a `SlidingWindow` of a
            /// millisecond; or with as many as the limit at first needs, if those are more.
            #[must_use]
            pub fn max_limit(&self) -> u64 {
                self.core.limit().max()
            }

            /// The permits that count now, a part of one counted whole.
            ///
            /// Lock-free; does not allocate; reads the clock; writes nothing, unless
            /// the clock was set back, so that the window has to heal.
            #[must_use]
            pub fn count(&self) -> u64 {
                self.core.count()
            }

            /// The length of the window.
            #[must_use]
            pub fn window(&self) -> core::time::Duration {
                core::time::Duration::from_nanos(self.core.window_nanos())
            }

            /// Enforces `limit` permits per window from now on.
            ///
            /// Live: what was granted stays counted, and a call that is under way
            /// is decided by one of the two limits, as if it had come before the
            /// change or after it. Lock-free; does not allocate. The length of the
            /// window is the limiter's for life: counts of one length say nothing
            /// exact of another.
            ///
            /// # Errors
            ///
            /// [`ConfigError::Limit`](crate::ConfigError::Limit) if it is not from 1 to
            /// [`max_limit`](Self::max_limit). Nothing is changed then.
            pub fn reconfigure(&self, limit: u64) -> Result<(), crate::ConfigError> {
                self.core.limit().set(limit)
            }
        }
    };
}

pub(super) use {one_limit, window_verbs};
