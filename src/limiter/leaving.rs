//! Requests that leave a reserve for others.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;

use super::Limiter;

/// Limiters that can refuse a request while too little would remain for more important ones.
///
/// | limiter | the reserve is exact |
/// |---|---|
/// | [buckets](crate::bucket) of one word | to a fraction of a permit |
/// | [windows](crate::window) of one word, `CalendarWindow` | as are their counts |
/// | windows of slots: `SlidingWindow`, `MultiWindow` | in each of the windows |
/// | `SlidingLog`, `WeightedLog` | in permits. A `WeightedLog` with room for fewer requests than its limit may run out of that room |
/// | a [`SettleableBucket`](crate::bucket::SettleableBucket) | of the bucket's permits and returned ones together, at one instant of the call. Another call that takes only returned permits after that instant counts as a later one |
/// | `Budget` | of the amount of a day, today or whenever both are there |
/// | `Sharded` | to a fraction of a permit, at a `TokenBucket`'s cost instead of a shard's |
/// | a [`Gate`](crate::compose::Gate), a `Counted`, a pointer to one of these | as in the wrapped limiter; an open gate has no reserve |
/// | a `Queued` | as in the wrapped limiter. Callers in line go first, and leave none |
/// | a [`TopUp`](crate::compose::TopUp) | in the limiter or in the balance, whichever pays: the other one is not counted |
/// | an `All` | in each of the limiters |
/// | [`Unlimited`](crate::compose::Unlimited), a [`PenaltyBox`](crate::penalty::PenaltyBox) | nothing is used up, so any reserve is left |
///
/// Stores have these verbs for each key: `keyed::KeyedLeaving`. `Shares` have none. A loan leaves the sum of the assured
/// bursts already; and a tenant's assured part is a promise to the tenant, which a reserve for others would break. For requests
/// of a tenant that matter less, ask a `Priorities` of that tenant first.
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

    /// Takes permits as [`try_acquire_leaving`](Leaving::try_acquire_leaving) does, and returns a [`Receipt`] that can
    /// give them back, as that of [`try_acquire_revocable`](Limiter::try_acquire_revocable) can.
    ///
    /// Receipts of the default implementation cannot give anything back.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire_leaving`](Leaving::try_acquire_leaving).
    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.try_acquire_leaving(permits, reserve).map(Receipt::spent)
    }
}

/// Implements the verbs for `$Limiter`, whose field `core` has them. In examples, `$two` constructs one
/// that grants two permits at once.
macro_rules! leaving {
    ($Limiter:ident<C $(, $more:ident: $bound:path)?>, $two:literal) => {
        impl<C: crate::time::clock::Clock $(, $more: $bound)?> $Limiter<C $(, $more)?> {
            /// Takes all of `permits`, or none if fewer than `reserve` would remain.
            ///
            /// A request of less importance leaves so much for others: see
            /// [`Leaving`](crate::share::Leaving). Exact under contention: decided and taken in one step. In
            /// all else as [`try_acquire`](Self::try_acquire).
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
            #[inline(always)]
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

            fn try_acquire_leaving_revocable(
                &self,
                permits: u64,
                reserve: u64,
            ) -> Result<crate::decision::receipt::Receipt<'_>, Denied> {
                self.core.try_acquire_leaving_revocable(permits, reserve)
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

            fn try_acquire_leaving_revocable(
                &self,
                permits: u64,
                reserve: u64,
            ) -> Result<Receipt<'_>, Denied> {
                (**self).try_acquire_leaving_revocable(permits, reserve)
            }
        }
    };
}

through!(&L);
through!(#[cfg(feature = "alloc")] alloc::boxed::Box<L>);
through!(#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))] alloc::sync::Arc<L>);
