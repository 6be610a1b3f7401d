//! The methods by which a limiter built on `BucketCore` leases permits.

/// Implements them for `$Limiter`, as [`verbs!`](super::verbs::verbs) does the others. In
/// examples, `$two` constructs one that holds two permits.
macro_rules! lease_verbs {
    ($Limiter:ident, $two:literal) => {
        impl<C: Clock> $Limiter<C> {
            /// Takes as many of `permits` as are available, at least one, for the caller
            /// to hold and spend: see [`Lease`](crate::lease::Lease).
            ///
            /// Dropping the lease returns the unspent permits if the limiter has not
            /// changed in the meantime; otherwise they are lost, unless the limiter is a
            /// [`SettleableBucket`](crate::bucket::SettleableBucket). A lease of 0 permits
            /// is always granted. Lock-free; does not allocate; reads the clock once
            /// (unless it heals the limiter).
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
            /// let mut lease = limiter.lease(5)?;
            /// assert!(lease.spend(1));
            /// drop(lease);
            /// assert_eq!(limiter.peek(0)?.remaining(), 1);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn lease(&self, permits: u64) -> Result<Lease<'_>, Denied> {
                self.core.lease(permits.min(Lease::MAX))
            }

            /// Takes all of `permits` or none, for the caller to hold and spend: see
            /// [`Lease`](crate::lease::Lease).
            ///
            /// In all else the same as [`lease`](Self::lease).
            ///
            /// # Errors
            ///
            /// As for [`try_acquire`](Self::try_acquire);
            /// [`Denied::TooLarge`](crate::Denied::TooLarge) also for more than
            /// [`Lease::MAX`](crate::lease::Lease::MAX).
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert!(limiter.lease_exact(3).is_err());
            /// assert_eq!(limiter.lease_exact(2)?.left(), 2);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn lease_exact(&self, permits: u64) -> Result<Lease<'_>, Denied> {
                self.core.lease_exact(permits)
            }

            /// Takes a lease as [`lease`](Self::lease) does. The lease keeps the limiter alive, so it
            /// can be moved to another thread or kept in a struct.
            ///
            /// # Errors
            ///
            /// As for [`lease`](Self::lease).
            ///
            /// # Examples
            ///
            /// ```
            /// use std::sync::Arc;
            /// use std::thread;
            /// use sluicegate::*;
            ///
            /// let limiter = Arc::new(TokenBucket::new(quota!(2 / hour)));
            /// let mut lease = limiter.lease_owned(2)?;
            /// let spent = thread::spawn(move || lease.spend(1));
            /// assert!(spent.join().unwrap());
            /// // The thread has dropped the lease.
            /// assert_eq!(limiter.peek(0)?.remaining(), 1);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
            pub fn lease_owned(
                self: &alloc::sync::Arc<Self>,
                permits: u64,
            ) -> Result<Lease<'static>, Denied>
            where
                C: Send + Sync + 'static,
            {
                Ok(self.lease(permits)?.owned(alloc::sync::Arc::clone(self) as _))
            }

            /// Takes a lease as [`lease_exact`](Self::lease_exact) does. The lease keeps the limiter
            /// alive, as with [`lease_owned`](Self::lease_owned).
            ///
            /// # Errors
            ///
            /// As for [`lease_exact`](Self::lease_exact).
            #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
            pub fn lease_exact_owned(
                self: &alloc::sync::Arc<Self>,
                permits: u64,
            ) -> Result<Lease<'static>, Denied>
            where
                C: Send + Sync + 'static,
            {
                Ok(self.lease_exact(permits)?.owned(alloc::sync::Arc::clone(self) as _))
            }
        }

        #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
        impl<C: Clock + Sync> Undo for $Limiter<C> {
            fn undo(&self, debit: Debit<'_>) -> bool {
                self.core.line().undo(debit)
            }
        }
    };
}

pub(crate) use lease_verbs;
