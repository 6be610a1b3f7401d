//! The limiters, and the trait that they share.
//!
//! | limiter | state | admits at most, in any span of `t` | a denial writes |
//! |---|---|---|---|
//! | [`TokenBucket`] | one word | burst + what `t` earns | nothing |
//! | [`Gcra`] | one word | 1 + (tolerance + t) / interval | nothing |
//! | [`LeakyBucket`] | one word | burst + what leaks out in `t` | nothing |
//! | [`FixedWindow`] | one word | its limit in each window, twice that in other spans | nothing |
//! | [`WindowFromFirst`] | one word | the same | nothing |
//! | [`SlidingCounter`] | one word | less than twice its limit in a window | nothing |
//! | [`SlidingWindow`] | a word, and a ring of slots | its limit in any window | nothing |
//! | [`MultiWindow`] | a word, and a ring for each window | each limit in any window | nothing |
//! | [`SlidingLog`] | a ring of times | its limit in any window | nothing |
//! | [`WeightedLog`] | a ring of times and counts | its limit in any window | nothing |
//! | `CalendarWindow`, `Budget` | one word | its limit in each day, month ... | nothing |
//! | [`Sharded`](crate::Sharded) | one word, and one for each shard | burst + what `t` earns | nothing, once it is remembered |
//! | [`Sticky`](crate::Sticky) | another, and a memory for each thread | what that admits | what is remembered, once |
//! | [`All`] | others | what each of them admits | nothing |
//!
//! Windows are of the time that permits are dated by: where threads' clocks differ by `d`,
//! a bound for a window `W` is one for `W - d` of true time.

#[cfg(feature = "alloc")]
mod all;
#[cfg(feature = "calendar")]
mod budget;
#[cfg(feature = "calendar")]
mod calendar_window;
mod fixed_window;
mod gcra;
mod leaky_bucket;
#[cfg(feature = "alloc")]
mod multi_window;
mod sliding_counter;
#[cfg(feature = "alloc")]
mod sliding_log;
#[cfg(feature = "alloc")]
pub(crate) mod sliding_window;
#[cfg(feature = "alloc")]
pub(crate) mod sticky;
mod token_bucket;
mod verbs;
mod window_verbs;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;

#[cfg(feature = "alloc")]
pub use self::all::All;
#[cfg(feature = "calendar")]
pub use self::budget::Budget;
#[cfg(feature = "calendar")]
pub use self::calendar_window::CalendarWindow;
pub use self::fixed_window::{FixedWindow, WindowFromFirst};
pub use self::gcra::Gcra;
pub use self::leaky_bucket::LeakyBucket;
#[cfg(feature = "alloc")]
pub use self::multi_window::MultiWindow;
pub use self::sliding_counter::SlidingCounter;
#[cfg(feature = "alloc")]
pub use self::sliding_log::{SlidingLog, WeightedLog};
#[cfg(feature = "alloc")]
pub use self::sliding_window::{Compact, Coverage, Padded, Placement, SlidingWindow};
pub use self::token_bucket::TokenBucket;
#[cfg(feature = "calendar")]
pub use crate::limiter::budget::usage::UsageBudget;

/// What every limiter can do, whatever its algorithm.
///
/// A method of a limiter's own does the same as the verb of its name here. The trait is needed to
/// be generic over limiters, and for the verbs that a limiter has not by itself. It can be made
/// into an object.
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
pub trait Limiter {
    /// Takes all of `permits` or none. Never blocks.
    ///
    /// # Errors
    ///
    /// [`Denied`] says whether and when to come back.
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied>;

    /// Takes as many of `permits` as there are, at least one. Never blocks.
    ///
    /// # Errors
    ///
    /// [`Denied`] if there is not one.
    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied>;

    /// What [`try_acquire`](Limiter::try_acquire) would answer. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same.
    fn peek(&self, permits: u64) -> Result<Grant, Denied>;

    /// As [`try_acquire`](Limiter::try_acquire), with a [`Receipt`] by which the
    /// permits can be given back as long as nothing else has happened.
    ///
    /// What a limiter returns that does not override this cannot be given back.
    ///
    /// # Errors
    ///
    /// The same.
    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(permits).map(Receipt::spent)
    }

    /// Makes the limiter full again. May wait for other changes of this limiter
    /// that are under way.
    fn reset(&self);

    /// Whether the limiter is as one that was never asked: nothing that was granted counts
    /// any more. One that is may be dropped, and made anew when it is needed.
    ///
    /// If not overridden: whether [`peek`](Limiter::peek) of nothing says so.
    fn is_idle(&self) -> bool {
        self.peek(0)
            .is_ok_and(|grant| grant.remaining() == grant.limit() && grant.reset_after().is_zero())
    }
}

/// Hands every verb on to what a pointer points to.
macro_rules! through {
    ($(#[$attribute:meta])* $Pointer:ty) => {
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

            fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
                (**self).try_acquire_revocable(permits)
            }

            fn reset(&self) {
                (**self).reset();
            }

            fn is_idle(&self) -> bool {
                (**self).is_idle()
            }
        }
    };
}

through!(&L);
through!(#[cfg(feature = "alloc")] alloc::boxed::Box<L>);
through!(#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))] alloc::sync::Arc<L>);
