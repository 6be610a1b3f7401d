//! At most a limit in any window of time.

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::contention::{Contention, HotWord};
use crate::sync::AtomicWord;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::window::ring::plan::{Cover, Plan};
use crate::window::ring::slots::WindowSlots;
use crate::window::ring::{Line, Ring};

use super::window_verbs::{one_limit, window_verbs};

/// Which slots a sliding window counts, and so what it guarantees.
///
/// With slots of length `w` in a window of length `W`, of the time that permits are dated
/// by (if threads' clocks differ by `d`, read `W - d` for `W` in true time):
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// All slots that a window can touch wherever it begins. **No window of length
    /// `W` admits more than the limit**; a permit counts for `W` to `W + w` (`w`
    /// longer than a part of `W` where that is no whole number of nanoseconds: then
    /// to the end of as many slots and one).
    #[default]
    Strict,
    /// As many slots as make up the window. A permit counts for `W - w` to `W`; a
    /// window of length `W - w` never admits more than the limit.
    Aligned,
    /// As aligned, and of the slot before them the part that the window still
    /// covers. Closer to the true count where traffic is even; a window of length
    /// `W` may admit more than the limit, by at most what was granted in one slot.
    Interpolated,
}

impl From<Coverage> for Cover {
    fn from(coverage: Coverage) -> Cover {
        match coverage {
            Coverage::Strict => Cover::Strict,
            Coverage::Aligned => Cover::Aligned,
            Coverage::Interpolated => Cover::Interpolated,
        }
    }
}

/// Where a [`SlidingWindow`] has its hot word: on cache lines of its own
/// ([`Padded`]), or beside the rest ([`Compact`]). Nobody else can implement it.
pub trait Placement: Line {}

/// The hot word has its cache lines to itself. For a limiter that threads share.
#[derive(Debug)]
pub struct Padded(HotWord<u64>);

/// The hot word is beside the rest. For many limiters of which each is used
/// little, such as one per key.
#[derive(Debug)]
pub struct Compact(AtomicWord<u64>);

impl Placement for Padded {}

impl Placement for Compact {}

#[expect(private_interfaces, reason = "as in the trait")]
impl Line for Padded {
    fn new(word: u64) -> Padded {
        Padded(HotWord::new(word))
    }

    #[inline]
    fn word(&self) -> &AtomicWord<u64> {
        &self.0
    }

    #[inline]
    fn contention(&self) -> Option<&Contention> {
        Some(self.0.contention())
    }
}

#[expect(private_interfaces, reason = "as in the trait")]
impl Line for Compact {
    fn new(word: u64) -> Compact {
        Compact(AtomicWord::new(word))
    }

    #[inline]
    fn word(&self) -> &AtomicWord<u64> {
        &self.0
    }

    /// None: it would make each of many rings larger, and they are used little.
    #[inline]
    fn contention(&self) -> Option<&Contention> {
        None
    }
}

/// Grants at most a limit of permits in any window of a length, wherever it
/// begins.
///
/// Time is divided into slots, by default 60 to a window: the window moves on by a
/// slot at a time. More slots follow the true window more closely and take eight
/// bytes each; none of them is touched by an admission but in a new slot.
///
/// # Accuracy
///
/// [`Coverage::Strict`], the default: **no window of the length admits more than
/// the limit**, to the permit. A permit counts for its window
/// and up to one slot longer (a slot is the window divided by the slots, rounded
/// up to a nanosecond), so at least `slots / (slots + 1)` of the limit gets
/// through. See [`Coverage`] for the others.
///
/// Windows are of the time that permits are dated by: the slot of their caller's clock, or
/// the one that others have found, if that is later. If threads' clocks differ by `d`, at
/// most a second, no `W - d` of true time admits more than the limit.
///
/// If the limit is so large that its word has not the bits to number the slots of
/// 146 years twice, the numbers come back sooner; after an idle time of half as long old
/// permits may count for one window more (and [`healed`](SlidingWindow::healed) counts it).
///
/// # Fairness
///
/// No order of asking: whoever asks when there are permits gets them. In a [`Padded`] window
/// a caller that has lost several races for the same word goes before those that come
/// after; they step back for it once, a bounded time. In a [`Compact`] one it does not.
///
/// # Memory ordering
///
/// What a caller did before it was granted permits happens before what the
/// callers granted after it do. A denial orders nothing.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, SlidingWindow, rate};
///
/// let clock = ManualClock::new();
/// let window = SlidingWindow::with_clock(rate!(5 / minute), 60, &clock)?;
/// clock.advance(Duration::from_secs(59));
/// window.try_acquire(5)?;
/// // A fixed window would begin anew here.
/// clock.advance(Duration::from_secs(1));
/// assert!(window.try_acquire(1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SlidingWindow<C = DefaultClock, P: Placement = Padded> {
    core: Ring<P, [WindowSlots; 1], C>,
}

#[cfg(feature = "std")]
impl SlidingWindow {
    /// A strict window of `limit`'s period, in 60 slots, on a clock of its own.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the word has not the bits for it.
    pub fn new(limit: Rate) -> Result<SlidingWindow, ConfigError> {
        SlidingWindow::with_clock(limit, SlidingWindow::SLOTS, DefaultClock::default())
    }

    /// How many slots [`new`](SlidingWindow::new) divides a window into.
    pub const SLOTS: u32 = 60;
}

impl<C: Clock> SlidingWindow<C> {
    /// A strict window of `limit`'s period in `slots` slots on `clock`, which is read
    /// once. Allocates eight bytes for each of `slots + 1`, rounded up to a power of
    /// two.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Slots`] if they are not from 1 to 65,536.
    /// * [`ConfigError::Limit`] if the word has not the bits for it.
    pub fn with_clock(limit: Rate, slots: u32, clock: C) -> Result<SlidingWindow<C>, ConfigError> {
        SlidingWindow::with_coverage(limit, slots, Coverage::Strict, clock)
    }

    /// The same, with another coverage.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn with_coverage(
        limit: Rate,
        slots: u32,
        coverage: Coverage,
        clock: C,
    ) -> Result<SlidingWindow<C>, ConfigError> {
        SlidingWindow::placed(limit, slots, coverage, clock)
    }
}

impl<C: Clock> SlidingWindow<C, Compact> {
    /// The same, with the hot word not padded: for many limiters of which each is
    /// used little.
    ///
    /// # Errors
    ///
    /// The same.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Coverage, ManualClock, SlidingWindow, rate};
    ///
    /// let clock = ManualClock::new();
    /// let window = SlidingWindow::compact(rate!(5 / minute), 7, Coverage::Strict, &clock)?;
    /// assert!(size_of_val(&window) < size_of::<SlidingWindow<&ManualClock>>());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn compact(
        limit: Rate,
        slots: u32,
        coverage: Coverage,
        clock: C,
    ) -> Result<SlidingWindow<C, Compact>, ConfigError> {
        SlidingWindow::placed(limit, slots, coverage, clock)
    }
}

impl<C: Clock, P: Placement> SlidingWindow<C, P> {
    fn placed(
        limit: Rate,
        slots: u32,
        coverage: Coverage,
        clock: C,
    ) -> Result<SlidingWindow<C, P>, ConfigError> {
        let (limit, window_nanos) = (limit.permits(), limit.period_nanos());
        let plan = Plan { limit, window_nanos, slots, cover: coverage.into() };
        Ok(SlidingWindow { core: Ring::new(&[plan], clock)? })
    }
}

window_verbs!(
    SlidingWindow<C, P: Placement>,
    "SlidingWindow::with_clock(rate!(2 / minute), 60, &clock)?"
);
one_limit!(SlidingWindow<C, P: Placement>);
