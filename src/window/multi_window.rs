//! Several windows over the same traffic, all or nothing.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::settle::estimate::Estimate;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::time::units;
use crate::window::ring::Ring;
use crate::window::ring::plan::Plan;
use crate::window::ring::slots::WindowSlots;

use super::sliding_window::Padded;
use super::verbs::window_verbs;
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::settle::settles;

/// Grants a request only if each of several windows can: "10 a second, 500 a minute and
/// 10,000 a day".
///
/// All windows read one count of the same traffic, so one CAS admits a request to all
/// of them. There is nothing to roll back, and at no moment has one window counted a
/// permit and another not.
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, rate};
/// use sluicegate::window::MultiWindow;
///
/// let limits = [rate!(10 / second), rate!(15 / minute), rate!(10_000 / day)];
/// let clock = ManualClock::new();
/// let windows = MultiWindow::with_clock(limits, &clock)?;
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
///
/// # Accuracy
///
/// Each window is as exact as a [`SlidingWindow`](crate::SlidingWindow): none of its
/// length admits more than its limit, in the time by which permits are dated (`W - d` in
/// true time, if threads' clocks differ by `d`). A denial describes the window that caused it;
/// a grant reports the smallest limit and the fewest remaining permits. Idle times are
/// handled as by a `SlidingWindow` (and counted in [`healed`](MultiWindow::healed)), for
/// the largest limit and the shortest slot. The length of each window's slots is the
/// shortest slot times a power of two, so a window has as many slots as requested, or up to
/// twice as many.
///
/// # Fairness
///
/// Not first come, first served, unless callers wait in line (`Wait`): a caller that asks when
/// there are permits gets them. After several lost races for one word, a caller has priority
/// over later ones, which back off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted permits
/// happens before what callers granted later do afterwards. A denial does not synchronize.
pub struct MultiWindow<C = DefaultClock> {
    core: Ring<Padded, Box<[WindowSlots]>, C>,
}

#[cfg(feature = "std")]
impl MultiWindow {
    /// Creates windows with the periods of `limits`, in 60 slots each, on a clock of their
    /// own.
    ///
    /// # Errors
    ///
    /// As for [`with_clock`](MultiWindow::with_clock).
    pub fn new(limits: impl IntoIterator<Item = Rate>) -> Result<MultiWindow, ConfigError> {
        MultiWindow::with_clock(limits, DefaultClock::default())
    }

    /// Number of slots into which [`new`](MultiWindow::new) divides each window.
    pub const SLOTS: u32 = Plan::SLOTS;
}

impl<C: Clock> MultiWindow<C> {
    /// Creates windows with the periods of `limits`, in 60 slots each, on `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// As for [`with_slots`](MultiWindow::with_slots).
    pub fn with_clock(
        limits: impl IntoIterator<Item = Rate>,
        clock: C,
    ) -> Result<MultiWindow<C>, ConfigError> {
        MultiWindow::with_slots(limits, Plan::SLOTS, clock)
    }

    /// Creates windows with the periods of `limits`, in at least `slots` slots each, on
    /// `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Count`] if there are no limits, or more than 64.
    /// * [`ConfigError::Slots`] if `slots` is not from 1 to 65,536.
    /// * [`ConfigError::Limit`] if the word has too few bits for the largest limit beside
    ///   the slot numbers, [`ConfigError::Apart`] if it has none left for any limit.
    pub fn with_slots(
        limits: impl IntoIterator<Item = Rate>,
        slots: u32,
        clock: C,
    ) -> Result<MultiWindow<C>, ConfigError> {
        let plan = |limit: Rate| Plan {
            limit: limit.permits(),
            window_nanos: limit.period_nanos(),
            slots,
        };
        let plans: Vec<_> = limits.into_iter().map(plan).collect();
        Ok(MultiWindow { core: Ring::new(&plans, clock)? })
    }

    /// Reserves bits for limits up to `max_limit`, so that
    /// [`reconfigure`](MultiWindow::reconfigure) can raise the limit later. Meant for a new limiter:
    /// earlier grants are forgotten, and so are the bounds of its line.
    ///
    /// It is for each of the windows. Without this, the largest limit is what the numbers of the
    /// slots of 146 years leave room for. With more bits for the count, the numbers repeat sooner.
    /// Allocates anew.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than a limit, above
    /// [`Rate::MAX_PERMITS`], faster than [`Rate::MAX_PER_SECOND`] in the longest window,
    /// or more than the numbers of the slots leave bits for.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::rate;
    /// use sluicegate::window::MultiWindow;
    ///
    /// let windows = MultiWindow::new([rate!(100 / ms), rate!(9_000_000 / hour)])?;
    /// let windows = windows.with_max_limit(10_000_000)?;
    /// windows.reconfigure(0, 1_000_000)?;
    /// assert_eq!(windows.try_acquire(1_000_000)?.remaining(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_max_limit(self, max_limit: u64) -> Result<MultiWindow<C>, ConfigError> {
        Ok(MultiWindow { core: self.core.with_max_limit(max_limit)? })
    }
}

settles!(
    MultiWindow<C>,
    core,
    "window::MultiWindow::with_clock([rate!(10 / minute)], ManualClock::new())?"
);

window_verbs!(
    MultiWindow<C>,
    "window::MultiWindow::with_clock([rate!(2 / minute), rate!(9 / day)], &clock)?"
);

leaving!(
    MultiWindow<C>,
    "window::MultiWindow::with_clock([rate!(2 / minute), rate!(9 / day)], &clock)?"
);

impl<C: Clock> MultiWindow<C> {
    /// Returns the limit and the length of each window, in the order in which they were
    /// given, which is the order of [`Denied::which`](crate::Denied::which).
    pub fn windows(&self) -> impl ExactSizeIterator<Item = (u64, Duration)> + '_ {
        self.core
            .windows()
            .iter()
            .map(|window| (window.limit().get(), Duration::from_nanos(window.window_nanos())))
    }

    /// Returns the permits that count now in the window at `which`; 0 if there is none.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing, unless the clock was set
    /// back, so that the window has to heal.
    #[must_use]
    pub fn count(&self, which: usize) -> u64 {
        self.core.count_of(which)
    }

    /// Returns the largest limit that [`reconfigure`](MultiWindow::reconfigure) accepts for any of
    /// the windows.
    #[must_use]
    pub fn max_limit(&self) -> u64 {
        self.core.windows().first().map_or(0, |window| window.limit().max())
    }

    /// Enforces `limit` permits from now on in the window at `which`.
    ///
    /// Otherwise the same as [`SlidingWindow::reconfigure`](crate::SlidingWindow::reconfigure).
    /// To change several limits, change them one after the other.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Which`] if there is no window at `which`.
    /// * [`ConfigError::NewLimit`] if `limit` is above the largest that this limiter can count to;
    ///   [`with_max_limit`](MultiWindow::with_max_limit) makes that more.
    /// * [`ConfigError::Limit`] if `limit` is 0.
    pub fn reconfigure(&self, which: usize, limit: u64) -> Result<(), ConfigError> {
        self.core.changed(|windows| {
            let count = windows.len();
            let window = windows.get(which).ok_or(ConfigError::Which { which, count })?;
            window.limit().raise(limit)
        })
    }
}

crate::wait::traits::waits_by!(MultiWindow<C>, core);
