//! Requests that leave a reserve for others.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;

use super::Limiter;

/// Limiters that can refuse a request while too little would remain for more important ones.
///
/// | limiter | the reserve is exact |
/// |---|---|
/// | [`TokenBucket`](crate::TokenBucket), [`Gcra`](crate::Gcra), [`LeakyBucket`](crate::LeakyBucket) | to a fraction of a permit |
/// | windows of one word: [`FixedWindow`](crate::FixedWindow), [`WindowFromFirst`](crate::window::WindowFromFirst), [`SlidingCounter`](crate::SlidingCounter), `CalendarWindow` | as are their counts |
/// | windows of slots: `SlidingWindow`, `MultiWindow` | in each of the windows |
/// | a [`Gate`](crate::compose::Gate), a `Counted`, a pointer to one of these | as in the wrapped limiter; an open gate has no reserve |
///
/// A `Keyed` of buckets and a `KeyTable` have these verbs for each key.
///
/// Two uses: priorities, where a class of requests leaves what higher classes may need, and room for a
/// guarantee to somebody else. The class with the reserve 0 asks by
/// [`try_acquire`](Limiter::try_acquire).
///
/// # Examples
///
/// ```
/// use sluicegate::share::Leaving;
/// use sluicegate::{Denied, Grant, ManualClock, TokenBucket, quota};
///
/// enum Class {
///     Critical,
///     Normal,
///     Batch,
/// }
///
/// /// Of 100 permits, leaves 20 to critical requests, and another 30 to normal ones.
/// fn admit(limiter: &impl Leaving, class: Class) -> Result<Grant, Denied> {
///     limiter.try_acquire_leaving(1, match class {
///         Class::Critical => 0,
///         Class::Normal => 20,
///         Class::Batch => 50,
///     })
/// }
///
/// let bucket = TokenBucket::with_clock(quota!(100 / second), ManualClock::new());
/// let admitted = |class: fn() -> Class| (0..).take_while(|_| admit(&bucket, class()).is_ok()).count();
/// assert_eq!(admitted(|| Class::Batch), 50);
/// assert_eq!(admitted(|| Class::Normal), 30);
/// assert_eq!(admitted(|| Class::Critical), 20);
/// ```
pub trait Leaving: Limiter {
    /// Takes all of `permits`, or none if fewer than `reserve` would remain.
    ///
    /// The decision and the grant are one step: no other caller can come in between and leave less. A
    /// reserve is no reservation: others may take it. Blocks, allocates and reads the clock as
    /// [`try_acquire`](Limiter::try_acquire) does. A request for 0 permits is always granted.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] if there are too few now. It carries the shortest wait after which `permits`
    ///   and `reserve` are there together.
    /// * [`Denied::TooLarge`] if the limiter can never hold both. The limit that it tells is without the
    ///   reserve.
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied>;

    /// Returns the answer that [`try_acquire_leaving`](Leaving::try_acquire_leaving) would give. Takes
    /// nothing.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire_leaving`](Leaving::try_acquire_leaving).
    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied>;
}

/// Implements the verbs for `$Limiter`, whose field `core` has them. In examples, `$two` constructs one
/// that grants two permits at once.
macro_rules! leaving {
    ($Limiter:ident<C $(, $more:ident: $bound:path)?>, $two:literal) => {
        impl<C: crate::time::clock::Clock $(, $more: $bound)?> $Limiter<C $(, $more)?> {
            /// Takes all of `permits`, or none if fewer than `reserve` would remain.
            ///
            /// A request of less importance leaves so much for others: see
            /// [`Leaving`](crate::share::Leaving). Exact under contention, by one compare-and-swap. In
            /// all else the same as [`try_acquire`](Self::try_acquire).
            ///
            /// # Errors
            ///
            /// * [`Denied::Wait`](crate::Denied::Wait) with the shortest wait after which `permits` and
            ///   `reserve` are there together.
            /// * [`Denied::TooLarge`](crate::Denied::TooLarge) if both are more than the limiter can
            ///   hold. The limit that it tells is without the reserve.
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            ///
            /// let clock = ManualClock::new();
            #[doc = concat!("let limiter = ", $two, ";")]
            /// assert!(limiter.try_acquire_leaving(1, 1).is_ok());
            /// let denied = limiter.try_acquire_leaving(1, 1).unwrap_err();
            /// assert!(limiter.try_acquire(1).is_ok(), "the reserve is there for others");
            /// clock.advance(denied.retry_after().unwrap());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline]
            pub fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
                self.core.try_acquire_leaving(permits, reserve)
            }

            /// Returns the answer that [`try_acquire_leaving`](Self::try_acquire_leaving) would give
            /// now, without taking anything.
            ///
            /// # Errors
            ///
            /// As for [`try_acquire_leaving`](Self::try_acquire_leaving).
            pub fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
                self.core.peek_leaving(permits, reserve)
            }
        }

        impl<C: crate::time::clock::Clock + Send + Sync $(, $more: $bound)?> crate::share::Leaving
            for $Limiter<C $(, $more)?>
        {
            #[inline]
            fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
                self.core.try_acquire_leaving(permits, reserve)
            }

            fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
                self.core.peek_leaving(permits, reserve)
            }
        }
    };
}

pub(crate) use leaving;

/// Returns as much of a reserve as counts beside `permits`: none of it beside 0, and no more than makes
/// `u64::MAX` with them, which no limit is.
#[inline(always)]
pub(crate) const fn counted_beside(permits: u64, reserve: u64) -> u64 {
    let most = u64::MAX - permits;
    match permits {
        0 => 0,
        _ if reserve > most => most,
        _ => reserve,
    }
}

/// Forwards both verbs to the limiter behind a pointer.
macro_rules! through {
    ($(#[$attribute:meta])* $Pointer:ty) => {
        $(#[$attribute])*
        impl<L: Leaving + ?Sized> Leaving for $Pointer {
            #[inline]
            fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
                (**self).try_acquire_leaving(permits, reserve)
            }

            fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
                (**self).peek_leaving(permits, reserve)
            }
        }
    };
}

through!(&L);
through!(#[cfg(feature = "alloc")] alloc::boxed::Box<L>);
through!(#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))] alloc::sync::Arc<L>);
