//! Permits given back: the use that is known only afterwards, and grants that are undone.
//!
//! | type | for |
//! |---|---|
//! | [`Settle`] | code that is generic over limiters whose grants can be settled |
//! | [`Estimate`] | a call of which the use is known only at its end: unused permits come back |
//! | `Estimates`, `Settling` | several limiters, each settled at an amount of its own |
//! | `AllOrNone`, `Revocable` | grants of several limiters that are kept together, or given back |
//! | [`Settled`], [`Unpaid`] | the permits that a settlement has moved, and the use that it could not charge |
//! | [`Receipt`] | a grant that may be undone whole, as long as nothing else has happened to its limiter |
//! | [`Detached`] | authors of a limiter that wraps another one |
//!
//! To begin with, take a [`SettleableBucket`](crate::bucket::SettleableBucket), or any window.

pub(crate) mod estimate;
#[cfg(feature = "alloc")]
pub(crate) mod estimates;

pub use self::estimate::Estimate;
pub use self::estimate::detached::Detached;
#[cfg(feature = "alloc")]
pub use self::estimates::{Estimates, Settling};
#[cfg(feature = "alloc")]
pub use crate::decision::all_or_none::{AllOrNone, Revocable};
pub use crate::decision::receipt::Receipt;
pub use crate::decision::settled::{Settled, Unpaid};

use crate::decision::denied::Denied;

use crate::limiter::Limiter;

/// Limiters for callers that know only afterwards how much they have used: they take an estimate
/// now, and settle it at the true use.
///
/// | limiter | unused permits come back |
/// |---|---|
/// | [`SettleableBucket`](crate::bucket::SettleableBucket) | for most of the time in which it fills |
/// | [windows](crate::window) of one word, `CalendarWindow`, `Budget` | until the window that was charged ends |
/// | windows of slots: `SlidingWindow`, `MultiWindow` | as long as the slot that was charged is in the window |
/// | an `All` of these, also with an amount for each | as to each of them |
/// | a [`Gate`](crate::compose::Gate), a `Counted`, a pointer to one of these | as to the wrapped limiter |
/// | a `Queued`, which lets its line look again | as to the wrapped limiter |
/// | [`Unlimited`](crate::compose::Unlimited) | always |
///
/// [`Estimate`] tells how long permits can be given back, and how use beyond an estimate is
/// charged. A `Keyed` of `Each<Arc<..>>` of such limiters is settled by key, without this trait:
/// see `KeyEstimate`.
///
/// Others cannot be settled. The words of a `KeyTable` do not tell one key that had a place from
/// the next, so late returns could be another's. Permits that were spent from a shard of a
/// `Sharded` have no date, so nobody could tell how long they may be given back; a lease of it
/// gives back unused permits, and holds its capacity until then. Logs have no count to take permits
/// off. A `TopUp` gives back by receipts.
///
/// The trait is dyn-compatible. A limiter that is never settled grants and denies as fast as without.
/// Estimates of several limiters, or of none of them, are `Estimates`.
///
/// # Examples
///
/// ```
/// use sluicegate::{FixedWindow, quota, rate};
/// use sluicegate::bucket::SettleableBucket;
/// use sluicegate::settle::Settle;
///
/// let limits: [Box<dyn Settle>; 2] = [
///     Box::new(SettleableBucket::new(quota!(10_000 / minute))),
///     Box::new(FixedWindow::new(rate!(100_000 / day))?),
/// ];
/// for limit in &limits {
///     limit.try_acquire_settleable(4_000)?.settle(2_600)?;
/// }
/// assert_eq!(limits[1].peek(0)?.remaining(), 97_400);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "permits of a `{Self}` are not settled",
    label = "cannot give back a part of what was taken",
    note = "a `bucket::SettleableBucket` can, and so can the windows"
)]
pub trait Settle: Limiter {
    /// Takes permits as [`try_acquire`](Limiter::try_acquire) does, as an [`Estimate`] that can be
    /// settled. Blocks no more than `try_acquire`.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Limiter::try_acquire). An estimate of more than the limiter can ever
    /// grant is [`Denied::TooLarge`], also if less may be used in the end.
    #[doc(alias = "reserve", alias = "precharge")]
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied>;

    /// Takes an estimate as [`try_acquire_settleable`](Settle::try_acquire_settleable) does. The
    /// estimate keeps the limiter alive, so it can be moved into a task that is spawned, or kept in
    /// a struct.
    ///
    /// [`Estimate::into_owned`] makes any other estimate such a one: of a wait, or of an `Arc<dyn
    /// Settle>`.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire_settleable`](Settle::try_acquire_settleable).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::thread;
    /// use sluicegate::quota;
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::settle::Settle;
    ///
    /// let tokens = Arc::new(SettleableBucket::new(quota!(10_000 / hour)));
    /// let estimate = tokens.try_acquire_settleable_owned(4_000)?;
    /// let answer = thread::spawn(move || estimate.settle(1_500));
    /// assert_eq!(answer.join().unwrap()?.given_back(), 2_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    fn try_acquire_settleable_owned(
        self: &alloc::sync::Arc<Self>,
        permits: u64,
    ) -> Result<Estimate<'static>, Denied>
    where
        Self: Sized + 'static,
    {
        Ok(self.try_acquire_settleable(permits)?.owned(alloc::sync::Arc::clone(self) as _))
    }

    /// Lets the line look again, if this is a `Queued` or has one inside. Called when permits of an
    /// estimate have come back.
    fn let_line_look_again(&self) {}

    /// Takes a detached estimate of this limiter out of the `slot`, and returns it as one that can be
    /// settled. If it was taken from another limiter, leaves it there and returns `None`.
    ///
    /// The default takes up nothing. Then some estimates give nothing back: of a key
    /// (`KeyEstimate`), of an `All` of this limiter, of a line before it (`Queued`), and owned
    /// ones.
    ///
    /// A limiter of your own that wraps another one should pass this on to it, as well as
    /// [`try_acquire_settleable`](Settle::try_acquire_settleable). It has to keep that limiter as long as
    /// estimates of it live.
    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        _ = slot;
        None
    }
}

/// Implements the verb for a limiter, whose field `core` does it. In the example, `$ten` constructs one
/// that grants ten permits.
macro_rules! settles {
    ($Limiter:ident<C $(, $more:ident: $bound:path)?>, $core:ident, $ten:literal) => {
        impl<C: Clock + Sync $(, $more: $bound)?> $Limiter<C $(, $more)?> {
            /// Takes permits as [`try_acquire`](Self::try_acquire) does, as an
            /// [`Estimate`](crate::settle::Estimate) that can be settled.
            ///
            /// A bucket's costs no more; a window's, two loads. (To give back to a window of slots takes an
            /// atomic operation for each slot that the charged one has yet to stay in it.) An estimate of 0 permits is always
            /// granted, and can be settled for more.
            ///
            /// # Errors
            ///
            /// As for [`try_acquire`](Self::try_acquire). An estimate of more than the limiter can
            /// ever grant is [`Denied::TooLarge`](crate::Denied::TooLarge), also if less may be
            /// used in the end.
            ///
            /// # Examples
            ///
            /// ```
            /// use sluicegate::*;
            /// use sluicegate::settle::Settle;
            ///
            #[doc = concat!("let limiter = ", $ten, ";")]
            /// let estimate = limiter.try_acquire_settleable(6)?;
            /// limiter.try_acquire(2)?;
            /// let settled = estimate.settle(1)?;
            /// assert_eq!(settled.given_back(), 5);
            /// assert_eq!(limiter.peek(0)?.remaining(), 7);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[doc(alias = "reserve", alias = "precharge")]
            pub fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
                self.$core.try_acquire_settleable(permits)
            }
        }

        impl<C: Clock + Send + Sync $(, $more: $bound)?> crate::settle::Settle
            for $Limiter<C $(, $more)?>
        {
            fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
                self.$core.try_acquire_settleable(permits)
            }

            fn take_up(&self, slot: &mut Option<crate::settle::Detached>) -> Option<Estimate<'_>> {
                self.$core.take_up(slot)
            }
        }
    };
}

pub(crate) use settles;

/// Forwards the verb to the limiter behind a pointer.
macro_rules! through {
    ($(#[$attribute:meta])* $Pointer:ty) => {
        $(#[$attribute])*
        impl<L: Settle + ?Sized> Settle for $Pointer {
            fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
                (**self).try_acquire_settleable(permits)
            }

            fn let_line_look_again(&self) {
                (**self).let_line_look_again();
            }

            fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
                (**self).take_up(slot)
            }
        }
    };
}

through!(&L);
through!(#[cfg(feature = "alloc")] alloc::boxed::Box<L>);
through!(#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))] alloc::sync::Arc<L>);
