//! Several windows over the same traffic, all or nothing.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::window::ring::Ring;
use crate::window::ring::plan::Plan;
use crate::window::ring::slots::WindowSlots;

use super::sliding_window::{Coverage, Padded};
use super::window_verbs::window_verbs;

/// Grants what all of several windows have room for, or nothing: "10 a second, 500
/// a minute and 10,000 a day".
///
/// The windows look at the same count of the same traffic, so one CAS is an
/// admission to all of them; there is nothing to roll back, and no moment at which
/// one has counted a permit and another has not.
///
/// # Accuracy
///
/// Each window as a strict [`SlidingWindow`](crate::SlidingWindow): none of its
/// length admits more than its limit, by the time that permits are dated by (`W - d` in
/// true time, for threads' clocks that differ by `d`). A denial tells of the window that
/// refused, a grant of the least limit and the least room. Idle times as with a
/// `SlidingWindow` (and [`healed`](MultiWindow::healed) counts them as that does), by the
/// largest limit and the shortest slot. The slots of all windows are a power of two
/// of the shortest one's; each window has as many as were asked for, or up to twice
/// as many.
///
/// # Fairness
///
/// No order of asking: whoever asks when there are permits gets them. A caller that has
/// lost several races for the same word goes before those that come after; they step back
/// for it once, a bounded time.
///
/// # Memory ordering
///
/// What a caller did before it was granted permits happens before what the
/// callers granted after it do. A denial orders nothing.
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, MultiWindow, rate};
///
/// let limits = [rate!(10 / second), rate!(15 / minute), rate!(10_000 / day)];
/// let clock = ManualClock::new();
/// let windows = MultiWindow::with_clock(limits, 60, &clock)?;
/// windows.try_acquire(10)?;
///
/// let denied = windows.try_acquire(5).unwrap_err();
/// assert_eq!(limits[denied.which()], rate!(10 / second));
/// clock.advance(denied.retry_after().unwrap());
/// windows.try_acquire(5)?;
///
/// let denied = windows.try_acquire(1).unwrap_err();
/// assert_eq!(limits[denied.which()], rate!(15 / minute));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MultiWindow<C = DefaultClock> {
    core: Ring<Padded, Box<[WindowSlots]>, C>,
}

#[cfg(feature = "std")]
impl MultiWindow {
    /// Windows of the periods of `limits`, in 60 slots each, on a clock of their
    /// own.
    ///
    /// # Errors
    ///
    /// As [`with_clock`](MultiWindow::with_clock).
    pub fn new(limits: impl IntoIterator<Item = Rate>) -> Result<MultiWindow, ConfigError> {
        MultiWindow::with_clock(limits, MultiWindow::SLOTS, DefaultClock::default())
    }

    /// How many slots [`new`](MultiWindow::new) divides each window into.
    pub const SLOTS: u32 = 60;
}

impl<C: Clock> MultiWindow<C> {
    /// Windows of the periods of `limits`, in at least `slots` slots each, on
    /// `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Count`] if there are no limits, or more than 64.
    /// * [`ConfigError::Slots`] if they are not from 1 to 65,536.
    /// * [`ConfigError::Limit`] if the word has not the bits for the largest limit
    ///   beside the numbers of the slots, [`ConfigError::Apart`] if not for any.
    pub fn with_clock(
        limits: impl IntoIterator<Item = Rate>,
        slots: u32,
        clock: C,
    ) -> Result<MultiWindow<C>, ConfigError> {
        let plan = |limit: Rate| Plan {
            limit: limit.permits(),
            window_nanos: limit.period_nanos(),
            slots,
            cover: Coverage::Strict.into(),
        };
        let plans: Vec<_> = limits.into_iter().map(plan).collect();
        Ok(MultiWindow { core: Ring::new(&plans, clock)? })
    }

    /// The limit and the length of each window, in the order in which they were
    /// given, which is that of [`Denied::which`](crate::Denied::which).
    pub fn windows(&self) -> impl ExactSizeIterator<Item = (u64, Duration)> + '_ {
        self.core
            .windows()
            .iter()
            .map(|window| (window.limit().get(), Duration::from_nanos(window.window_nanos())))
    }

    /// The permits that count now in the window at `which`; 0 if there is none.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing, unless the clock was set
    /// back, so that the window has to heal.
    #[must_use]
    pub fn count(&self, which: usize) -> u64 {
        self.core.count_of(which)
    }

    /// Enforces `limit` permits from now on in the window at `which`.
    ///
    /// As [`SlidingWindow::reconfigure`](crate::SlidingWindow::reconfigure). Limits
    /// that are to change together change one after the other.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Which`] if there is no window at `which`.
    /// * [`ConfigError::Limit`], with the largest limit that this limiter can count
    ///   to.
    pub fn reconfigure(&self, which: usize, limit: u64) -> Result<(), ConfigError> {
        let windows = self.core.windows();
        let count = windows.len();
        let window = windows.get(which).ok_or(ConfigError::Which { which, count })?;
        window.limit().set(limit)
    }
}

window_verbs!(
    MultiWindow<C>,
    "MultiWindow::with_clock([rate!(2 / minute), rate!(9 / day)], 60, &clock)?"
);
