//! The verbs of every limiter on the one-word core, as methods of its own.
//!
//! They are written once, so that the limiters cannot come to differ in them.

/// Implements the verbs for `$Limiter`, which has its core in the field `core`.
/// `$two` makes one, in examples, that holds two permits and earns two a second.
macro_rules! verbs {
    ($Limiter:ident, $two:literal) => {
        impl<C: crate::Clock> $Limiter<C> {
            /// Takes all of `permits`, or none if there are not enough.
            ///
            /// Lock-free; does not allocate; reads the clock once. Asking for 0
            /// permits is always granted and changes nothing. A denial writes
            /// nothing. (The exception to both is a clock that has gone back by more
            /// than a second: a call that grants nothing then heals the limiter, which
            /// writes, and reads the clock twice more, or oftener beside others. See
            /// [`Clock`](crate::Clock).)
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
            /// # #![allow(unused_imports)]
            /// use std::time::Duration;
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert_eq!(limiter.try_acquire(2)?.remaining(), 0);
            ///
            /// let denied = limiter.try_acquire(1).unwrap_err();
            /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
            /// clock.advance(Duration::from_millis(500));
            /// assert!(limiter.try_acquire(1).is_ok());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline(always)]
            pub fn try_acquire(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.try_acquire(permits)
            }

            /// Takes as many of `permits` as there are, at least one.
            ///
            /// Lock-free; does not allocate; reads the clock once (but where it heals).
            /// Asking for 0 permits is always granted and changes nothing.
            ///
            /// # Errors
            ///
            /// [`Denied::Wait`](crate::Denied::Wait) if there is not one permit.
            ///
            /// # Examples
            ///
            /// ```
            /// # #![allow(unused_imports)]
            /// use std::time::Duration;
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

            /// Takes as many of `permits` as there are, at least one, for the caller
            /// to hold and spend: see [`Lease`](crate::Lease).
            ///
            /// What is left of them goes back when the lease is dropped, if nothing
            /// has happened to the limiter since; else it is lost. A lease of 0
            /// permits is always granted. Lock-free; does not allocate; reads the
            /// clock once (but where it heals).
            ///
            /// # Errors
            ///
            /// [`Denied::Wait`](crate::Denied::Wait) if there is not one permit.
            ///
            /// # Examples
            ///
            /// ```
            /// # #![allow(unused_imports)]
            /// use std::time::Duration;
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// let mut lease = limiter.lease(5)?;
            /// assert!(lease.spend(1));
            /// drop(lease);
            /// assert_eq!(limiter.peek(0)?.remaining(), 1);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn lease(&self, permits: u64) -> Result<crate::Lease<'_>, crate::Denied> {
                self.core.lease(permits.min(crate::Lease::MAX))
            }

            /// What [`try_acquire`](Self::try_acquire) would answer now. Takes
            /// nothing.
            ///
            /// The grant describes the limiter as it would be afterwards, so
            /// `peek(0)` reads what is there. Lock-free; does not allocate; reads
            /// the clock once; writes nothing, unless it heals the limiter as
            /// [`try_acquire`](Self::try_acquire) does.
            ///
            /// # Errors
            ///
            /// As [`try_acquire`](Self::try_acquire).
            ///
            /// # Examples
            ///
            /// ```
            /// # #![allow(unused_imports)]
            /// use std::time::Duration;
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert_eq!(limiter.peek(0)?.remaining(), 2);
            /// assert_eq!(limiter.peek(2)?.remaining(), 0);
            /// assert!(limiter.peek(3).is_err());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn peek(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.peek(permits)
            }

            /// Takes `permits` whether or not they are there, running up a debt of
            /// at most the quota's `max_debt`. (A [`Gcra`](crate::Gcra) allows as
            /// many as may pass at once: `1 + tolerance / interval`.)
            ///
            /// For work that has already been done, or that a caller will wait
            /// for: [`Grant::ready_after`](crate::Grant::ready_after) says how
            /// long. May take more than the burst. While there is a debt, the
            /// other verbs deny. Lock-free; does not allocate; reads the clock
            /// once (but where it heals).
            ///
            /// # Errors
            ///
            /// * [`Denied::Wait`](crate::Denied::Wait) if the debt would be too
            ///   deep now.
            /// * [`Denied::TooLarge`](crate::Denied::TooLarge) if it would be even
            ///   from full; its limit is the burst and the debt together.
            ///
            /// # Examples
            ///
            /// ```
            /// # #![allow(unused_imports)]
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
            pub fn force(&self, permits: u64) -> Result<crate::Grant, crate::Denied> {
                self.core.force(permits)
            }

            /// Takes all there is, a part of a permit too; grants the whole ones.
            ///
            /// Lock-free; does not allocate; reads the clock once (but where it
            /// heals). Leaves a debt as it is.
            ///
            /// # Examples
            ///
            /// ```
            /// # #![allow(unused_imports)]
            /// use std::time::Duration;
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert_eq!(limiter.drain().permits(), 2);
            /// assert_eq!(limiter.drain().permits(), 0);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn drain(&self) -> crate::Grant {
                self.core.drain()
            }

            /// Makes the limiter full again and forgives a debt. The times of an
            /// interval refill stay as they are.
            ///
            /// Waits for other changes of this limiter that are under way; no
            /// other verb waits for it. Does not allocate.
            ///
            /// # Examples
            ///
            /// ```
            /// # #![allow(unused_imports)]
            /// use std::time::Duration;
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

            /// What the limiter holds, to be restored elsewhere.
            ///
            /// Lock-free; does not allocate; reads the clock; writes nothing, unless
            /// it heals the limiter as [`try_acquire`](Self::try_acquire) does.
            #[must_use]
            pub fn snapshot(&self) -> crate::Snapshot {
                self.core.snapshot(0)
            }

            /// Holds what `snapshot` held, and what was earned at the present
            /// quota in the time it was `away`.
            ///
            /// What the limiter held before is forgotten. At most full, and never
            /// deeper in debt than the quota allows. Where the time away is not
            /// known, `Duration::ZERO` is the safe answer. Waits for other changes
            /// of this limiter that are under way; no other verb waits for it.
            ///
            /// See [`Snapshot`](crate::Snapshot) for accuracy and an example.
            pub fn restore(&self, snapshot: &crate::Snapshot, away: core::time::Duration) {
                self.core.restore(snapshot, crate::time::units::nanos(away));
            }

            /// How often the limiter found its level impossibly far ahead of the
            /// clock, and started again from full. See
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

        impl<C> core::fmt::Debug for $Limiter<C> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($Limiter)).field(&self.core).finish()
            }
        }

        impl<C: crate::Clock> crate::Limiter for $Limiter<C> {
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

pub(super) use verbs;
