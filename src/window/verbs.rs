//! The methods of every limiter that counts in windows.
//!
//! A macro writes them once for all, so that the limiters cannot diverge.

/// Implements the methods for `$Limiter`, whose field `core` holds its core. In examples,
/// `$two` constructs one that grants two permits a minute; `$also` are further methods of the trait.
/// The file of the limiter imports the types that the methods name.
macro_rules! window_verbs {
    ($Limiter:ident<C $(, $more:ident: $bound:path)?>, $two:literal $(, $($also:tt)+)?) => {
        impl<C: Clock $(, $more: $bound)?> $Limiter<C $(, $more)?> {
            /// Takes all of `permits`, or none if too few are available.
            ///
            /// Lock-free; does not allocate; reads the clock once. A request for 0
            /// permits is always granted and changes nothing. A denial writes nothing.
            /// (The exceptions are healing after a clock was set back, see
            /// [`Clock`](crate::Clock), which waits for settlements in progress; callers in
            /// line, see `Wait`; a ring that other
            /// threads are rotating to a new slot, which every call helps with; and a
            /// budget that searches for a later day. A
            /// `SlidingWindow` that refuses two requests in a row
            /// keeps the second answer, for requests of as many permits in that slot.)
            ///
            /// # Errors
            ///
            /// * [`Denied::Wait`](crate::Denied::Wait) if there are too few now. It
            ///   carries the shortest wait that suffices; with callers in line, when
            ///   they have had their turns.
            /// * [`Denied::TooLarge`](crate::Denied::TooLarge) if the limiter can never
            ///   grant that many.
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
            #[doc(alias = "check", alias = "allow")]
            #[inline]
            pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
                self.core.try_acquire(permits)
            }

            /// Takes as many of `permits` as are available, at least one.
            ///
            /// Lock-free; does not allocate; reads the clock once (a log of single
            /// permits, once for each). A request for 0 permits is always granted and
            /// changes nothing.
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
            /// the clock once; writes nothing. (The exceptions to both are those of
            /// [`try_acquire`](Self::try_acquire).)
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
            /// assert_eq!(limiter.peek(1)?.remaining(), 1);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
                self.core.peek(permits)
            }

            /// Takes permits as [`try_acquire`](Self::try_acquire) does, and returns a
            /// [`Receipt`](crate::settle::Receipt) that can give the permits back as long as
            /// nothing else has happened to the limiter.
            ///
            /// # Errors
            ///
            /// As for [`try_acquire`](Self::try_acquire).
            pub fn try_acquire_revocable(
                &self,
                permits: u64,
            ) -> Result<Receipt<'_>, Denied> {
                self.core.try_acquire_revocable(permits)
            }

            /// Forgets all earlier grants. (A concurrent grant may be forgotten or
            /// kept.) Lock-free, unless callers wait in line, who are then granted what there
            /// is, or another thread is in the middle of settling an estimate, which it waits
            /// for; does not allocate; reads the clock.
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

            /// Returns the permits that still count, and how long ago they were granted,
            /// to be restored elsewhere.
            ///
            /// Lock-free; allocates; reads the clock; writes nothing, unless the clock
            /// was set back, so that the window has to heal. In a log, a concurrent
            /// grant makes it start again, so take snapshots at quiet moments.
            #[cfg(feature = "alloc")]
            #[must_use]
            pub fn snapshot(&self) -> History {
                self.core.snapshot()
            }

            /// Replaces the counts by those of `history`, as they would be after the
            /// time `away`.
            ///
            /// The previous counts are forgotten. If the time away is unknown,
            /// `Duration::ZERO` is the safe choice. Meant for the start of a process,
            /// before the limiter is shared.
            ///
            /// See [`History`](crate::window::History) for accuracy and an example.
            #[cfg(feature = "alloc")]
            pub fn restore(&mut self, history: &History, away: Duration) {
                self.core.restore(history, units::nanos(away));
            }

            /// Returns how many times the limiter found itself impossibly far ahead of
            /// the clock and went on from what it had counted. See
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

        /// Shows the limit in force and the permits that remain; `{:#?}` shows the words behind them
        /// too. Permits are unknown while the clock is too far behind for them, until a call heals
        /// the limiter. Lock-free; does not allocate; reads the clock; heals nothing.
        impl<C: Clock $(, $more: $bound)?> fmt::Debug for $Limiter<C $(, $more)?> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let is_long = f.alternate();
                let mut shown = f.debug_struct(stringify!($Limiter));
                self.core.show(&mut shown);
                if is_long {
                    shown.field("core", &self.core);
                }
                shown.finish()
            }
        }

        impl<C: Clock + Send + Sync $(, $more: $bound)?> Limiter
            for $Limiter<C $(, $more)?>
        {
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

            fn try_acquire_revocable(
                &self,
                permits: u64,
            ) -> Result<Receipt<'_>, Denied> {
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

            $($($also)+)?
        }
    };
}

/// Implements the further methods of limiters with a single limit.
macro_rules! one_limit {
    ($Limiter:ident<C $(, $more:ident: $bound:path)?>) => {
        impl<C: Clock $(, $more: $bound)?> $Limiter<C $(, $more)?> {
            /// Returns the maximum number of permits in one window.
            #[must_use]
            pub fn limit(&self) -> u64 {
                self.core.limit().get()
            }

            /// Returns the largest limit that [`reconfigure`](Self::reconfigure) accepts: the most
            /// that the word can count, or the number of permits that a log can remember.
            ///
            /// A word that numbers windows or slots counts with the remaining bits: up to
            /// 2^29 - 1 in a `FixedWindow` of a second, 16,383 in a `SlidingCounter` of a second, or
            /// 2,047 in a `SlidingWindow` of a millisecond. If the initial limit needs more bits
            /// than that, it gets them. A `WindowFromFirst` and a `WeightedLog` have the bits that
            /// their limit needs, so up to one less than the next power of two; a `SlidingLog` has
            /// its limit. `with_max_limit` of each reserves more.
            #[must_use]
            pub fn max_limit(&self) -> u64 {
                self.core.limit().max()
            }

            /// Returns the permits that count now, with a fraction rounded up.
            ///
            /// Lock-free; does not allocate; reads the clock; writes nothing, unless
            /// the clock was set back, so that the window has to heal.
            #[must_use]
            pub fn count(&self) -> u64 {
                self.core.count()
            }

            /// Returns the length of the window.
            #[must_use]
            pub fn window(&self) -> Duration {
                Duration::from_nanos(self.core.window_nanos())
            }

            /// Enforces `limit` permits per window from now on.
            ///
            /// Live: earlier grants stay counted, and a concurrent call is decided by
            /// one of the two limits, as if it had come before the change or after it.
            /// Lock-free; does not allocate. The length of the window cannot be changed
            /// after construction: counts for one length do not translate exactly to
            /// another. Callers in line are served by the new limit; those that want more than it
            /// are refused.
            ///
            /// # Errors
            ///
            /// * [`ConfigError::NewLimit`](crate::ConfigError::NewLimit) if `limit` is above
            ///   [`max_limit`](Self::max_limit). A limiter from
            ///   [`with_max_limit`](Self::with_max_limit) can be raised further.
            /// * [`ConfigError::Limit`](crate::ConfigError::Limit) if `limit` is 0. (A
            ///   [`Gate`](crate::compose::Gate) has a mode for that.)
            ///
            /// The limiter is then unchanged.
            pub fn reconfigure(&self, limit: u64) -> Result<(), ConfigError> {
                self.core.set_limit(limit)
            }
        }
    };
}

pub(crate) use {one_limit, window_verbs};
