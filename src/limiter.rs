//! The limiters, and the trait that they share.

pub(crate) mod leaving;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;

/// The operations that every limiter supports, whatever its algorithm.
///
/// If a limiter has an inherent method of the same name as a trait method, both do the same. Use
/// the trait for code that is generic over limiters, and for operations that a limiter does not
/// have as inherent methods. The trait is dyn-compatible, and every limiter can be shared by
/// threads: a clock that is not `Send` and `Sync` leaves only the inherent methods.
///
/// # Examples
///
/// ```
/// use sluicegate::{Gcra, Limiter, TokenBucket, quota};
/// use std::time::Duration;
///
/// fn admit_both(limiters: &[&dyn Limiter]) -> bool {
///     limiters.iter().all(|limiter| limiter.try_acquire(1).is_ok())
/// }
///
/// let bucket = TokenBucket::new(quota!(100 / second));
/// let cells = Gcra::new(Duration::from_millis(10), Duration::ZERO)?;
/// assert!(admit_both(&[&bucket, &cells]));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub trait Limiter: Send + Sync {
    /// Takes all of `permits` or none. Never blocks.
    ///
    /// # Errors
    ///
    /// [`Denied`], which tells whether to retry, and when.
    #[doc(alias = "check", alias = "check_n", alias = "allow")]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied>;

    /// Takes as many of `permits` as are available, at least one. Never blocks.
    ///
    /// # Errors
    ///
    /// [`Denied`] if not even one permit is available.
    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied>;

    /// Returns the answer that [`try_acquire`](Limiter::try_acquire) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Limiter::try_acquire).
    fn peek(&self, permits: u64) -> Result<Grant, Denied>;

    /// Returns the answer that would be given to the last of several requests, made one after the
    /// other, for `permits` in all, if no other permits are taken: no later wait than that. Takes
    /// nothing.
    ///
    /// The default is [`peek`](Limiter::peek): so it is for limiters that grant as much at once as they
    /// ever hold. A `SlidingLog` grants one permit at a time.
    ///
    /// # Errors
    ///
    /// [`Denied`]; [`Denied::TooLarge`] for more than the limiter can foresee.
    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.peek(permits)
    }

    /// Takes permits as [`try_acquire`](Limiter::try_acquire) does, and returns a [`Receipt`] that
    /// can give the permits back as long as nothing else has happened to the limiter.
    ///
    /// Receipts of the default implementation cannot give anything back.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Limiter::try_acquire).
    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(permits).map(Receipt::spent)
    }

    /// Makes the limiter full again.
    ///
    /// May wait until what is in progress has ended: another change of this limiter, such as a
    /// reconfiguration, or a call that gives permits of a window back. If callers stand in line, takes the
    /// line's lock.
    fn reset(&self);

    /// Returns true if the limiter is idle: nobody could tell it from a new one. Its state is that of a
    /// new one, no earlier grant counts any more, and no caller stands in its line or has yet to be told
    /// that it was granted its permits there. An idle limiter may be dropped and recreated when it is
    /// needed. (A quota or a limit that was changed is not kept then.)
    ///
    /// An `Arc` is idle only if it is the last one: who else has one can use the limiter.
    ///
    /// The default implementation decides by [`peek`](Limiter::peek) of 0 permits. That is enough for a
    /// limiter that nobody can wait for, or share.
    fn is_idle(&self) -> bool {
        is_full(self)
    }

    /// Returns how many times the limiter found a state that no call can have left, because its
    /// clock had gone back, and healed. See [`Clock`](crate::Clock) for the conditions. For several
    /// limiters, the sum of theirs.
    ///
    /// Reads one word for each limiter. The default is for limiters that have nothing to heal: 0.
    fn healed(&self) -> u64 {
        0
    }
}

/// Returns whether a limiter answers as a full one does.
pub(crate) fn is_full<L: Limiter + ?Sized>(limiter: &L) -> bool {
    limiter
        .peek(0)
        .is_ok_and(|grant| grant.remaining() == grant.limit() && grant.reset_after().is_zero())
}

/// Returns whether nobody else has the limiter of an `Arc`. Then it is as they have left it.
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
fn is_last<L: ?Sized>(limiter: &alloc::sync::Arc<L>) -> bool {
    use crate::sync::{Ordering::Acquire, fence};

    let is_last =
        alloc::sync::Arc::strong_count(limiter) == 1 && alloc::sync::Arc::weak_count(limiter) == 0;
    // ORDERING: an Acquire fence: the drop of another `Arc` is a Release, and the count was read after
    // it. So what was done by that one is seen by those that look at the limiter now.
    // MODEL: none; the counts are those of the standard library.
    fence(Acquire);
    is_last
}

/// Forwards every method to the limiter behind a pointer. That is idle if `$is_last` of the pointer.
macro_rules! through {
    ($(#[$attribute:meta])* $Pointer:ty, $is_last:expr) => {
        $(#[$attribute])*
        impl<L: Limiter + ?Sized> Limiter for $Pointer {
            #[inline]
            fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
                (**self).try_acquire(permits)
            }

            fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
                (**self).try_acquire_up_to(permits)
            }

            fn peek(&self, permits: u64) -> Result<Grant, Denied> {
                (**self).peek(permits)
            }

            fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
                (**self).peek_ahead(permits)
            }

            fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
                (**self).try_acquire_revocable(permits)
            }

            fn reset(&self) {
                (**self).reset();
            }

            fn is_idle(&self) -> bool {
                $is_last(self) && (**self).is_idle()
            }

            fn healed(&self) -> u64 {
                (**self).healed()
            }
        }
    };
}

through!(&L, |_: &&L| true);
through!(#[cfg(feature = "alloc")] alloc::boxed::Box<L>, |_: &alloc::boxed::Box<L>| true);
through!(#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))] alloc::sync::Arc<L>, is_last);
