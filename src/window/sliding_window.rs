//! The sliding window: at most a limit of permits in any window of time.

use core::fmt;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::contention::{Contention, HotWord};
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::decision::undo::Undo;
use crate::settle::estimate::Estimate;
use crate::sync::AtomicWord;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::time::units;
use crate::wait::line;
use crate::window::changes::Changes;
use crate::window::ring::Lined;
use crate::window::ring::plan::Plan;
use crate::window::ring::slots::WindowSlots;
use crate::window::ring::{HotLine, LastDenial, LineBeside, Ring};

use super::verbs::{one_limit, window_verbs};
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::settle::settles;

/// The placement of a [`SlidingWindow`]'s *hot word*, the one that every admission
/// writes: on its own cache lines ([`Padded`]), or beside the rest ([`Compact`]). This
/// trait is sealed.
pub trait Placement: HotLine + Send + Sync {}

/// Keeps the hot word on its own cache lines, for a limiter that threads share.
///
/// # Examples
///
/// ```
/// use sluicegate::{SlidingWindow, rate};
/// use sluicegate::clock::DefaultClock;
/// use sluicegate::window::Padded;
///
/// // The placement of a type that names none.
/// let window: SlidingWindow<DefaultClock, Padded> = SlidingWindow::new(rate!(100 / minute))?;
/// assert!(window.try_acquire(100).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Padded(HotWord<u64, LineBeside>, LastDenial);

/// Keeps the hot word beside the rest, for many limiters that are each rarely
/// used, such as one per key. They have no line to wait in.
///
/// # Examples
///
/// ```
/// use sluicegate::{SlidingWindow, rate};
/// use sluicegate::clock::DefaultClock;
/// use sluicegate::window::Compact;
///
/// struct User {
///     requests: SlidingWindow<DefaultClock, Compact>,
/// }
///
/// let clock = DefaultClock::default();
/// let user = User { requests: SlidingWindow::compact(rate!(100 / minute), 10, clock)? };
/// assert!(user.requests.try_acquire(100).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Compact(AtomicWord<u64>, Changes);

impl Placement for Padded {}

impl Lined for Padded {
    fn line_lock(&self) -> &crate::wait::line_lock::LineLock {
        &self.0.companion().line_lock
    }
}

impl Placement for Compact {}

#[expect(private_bounds, reason = "as in the trait")]
#[expect(private_interfaces, reason = "as in the trait")]
impl HotLine for Padded {
    fn new(word: u64) -> Padded {
        Padded(HotWord::beside(word, LineBeside::new()), LastDenial::new())
    }

    #[inline]
    fn word(&self) -> &AtomicWord<u64> {
        &self.0
    }

    #[cfg(feature = "wait")]
    fn undoing(&self) -> &dyn Undo {
        &self.0
    }

    #[cfg(not(feature = "wait"))]
    fn undoing(&self) -> &dyn Undo {
        &*self.0
    }

    fn changes(&self) -> &Changes {
        &self.0.companion().changes
    }

    #[inline]
    fn contention(&self) -> Option<&Contention> {
        Some(self.0.contention())
    }

    #[inline]
    fn last_denial(&self) -> Option<&LastDenial> {
        Some(&self.1)
    }

    fn help<W: AsRef<[WindowSlots]>, C: Clock>(ring: &Ring<Padded, W, C>, now_nanos: u64) -> bool {
        line::help(ring, now_nanos)
    }

    fn poke<W: AsRef<[WindowSlots]>, C: Clock>(ring: &Ring<Padded, W, C>) {
        line::poke(ring);
    }

    fn has_line(&self) -> bool {
        !self.0.companion().line_lock.is_unused()
    }

    fn wait_nanos(&self, now_nanos: u64) -> u64 {
        self.0.companion().line_lock.wait_nanos(now_nanos)
    }
}

#[expect(private_interfaces, reason = "as in the trait")]
impl HotLine for Compact {
    fn new(word: u64) -> Compact {
        Compact(AtomicWord::new(word), Changes::new())
    }

    #[inline]
    fn word(&self) -> &AtomicWord<u64> {
        &self.0
    }

    fn undoing(&self) -> &dyn Undo {
        &self.0
    }

    fn changes(&self) -> &Changes {
        &self.1
    }

    /// None: it would enlarge each of many rings, and they are used little.
    #[inline]
    fn contention(&self) -> Option<&Contention> {
        None
    }
}

/// Grants no more permits than a limit in any window of a given length, wherever the
/// window begins.
///
/// Time is divided into slots, by default 60 to a window, and the window advances one
/// slot at a time. More slots follow the true window more closely, and take eight
/// bytes each; an admission touches them only when a new slot has begun.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, SlidingWindow, rate};
///
/// let clock = ManualClock::new();
/// let window = SlidingWindow::with_clock(rate!(5 / minute), &clock)?;
/// clock.advance(Duration::from_secs(59));
/// window.try_acquire(5)?;
/// // A fixed window would begin anew here.
/// clock.advance(Duration::from_secs(1));
/// assert!(window.try_acquire(1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// **No window of that length admits more than the limit**, not by a single permit. All slots
/// that a window can touch are counted, wherever it begins, so a permit counts for its window
/// and up to one slot longer, and at least `slots / (slots + 1)` of the limit gets through. (A
/// slot is the window divided by the slots, rounded up to a nanosecond.) For an estimate of the
/// window in a single word there is [`SlidingCounter`](crate::SlidingCounter).
///
/// A permit is dated by the slot of its caller's clock, or by the latest slot that any thread
/// has reached, if that is later, and windows are measured in these dates. If threads'
/// clocks differ by `d`, at most a second, no `W - d` of true time admits more than the limit.
///
/// Slots are numbered. If the limit is so large that the hot word has too few bits to number
/// the slots of 146 years twice, the numbers repeat sooner. After an idle time of half as
/// long as they take to repeat, old permits may count for one window more (and
/// [`healed`](SlidingWindow::healed) counts that).
///
/// # Fairness
///
/// Not first come, first served, unless callers wait in line (`Wait`): a caller that asks when
/// there are permits gets them. In a [`Padded`] window, a caller that has lost several races for
/// the hot word gets priority: later callers back off for it once, for a bounded time. In a
/// [`Compact`] one there is no such priority.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: everything that a caller did before its grant
/// happens before everything that a caller with a later grant does after that. A denial does
/// not synchronize.
pub struct SlidingWindow<C = DefaultClock, P: Placement = Padded> {
    core: Ring<P, [WindowSlots; 1], C>,
}

#[cfg(feature = "std")]
impl SlidingWindow {
    /// Creates a window of `limit`'s period, in 60 slots, on a clock of its own.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the hot word has too few bits for the limit.
    pub fn new(limit: Rate) -> Result<SlidingWindow, ConfigError> {
        SlidingWindow::with_clock(limit, DefaultClock::default())
    }

    /// Number of slots into which [`new`](SlidingWindow::new) divides a window.
    pub const SLOTS: u32 = Plan::SLOTS;
}

impl<C: Clock> SlidingWindow<C> {
    /// Creates a window of `limit`'s period in 60 slots on `clock`, which is read once. Allocates 512 bytes.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the hot word has too few bits for the limit.
    pub fn with_clock(limit: Rate, clock: C) -> Result<SlidingWindow<C>, ConfigError> {
        SlidingWindow::with_slots(limit, Plan::SLOTS, clock)
    }

    /// Creates a window of `limit`'s period in `slots` slots on `clock`, which is
    /// read once. Allocates eight bytes per slot, for `slots + 1` slots rounded up to a power
    /// of two.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Slots`] if `slots` is not from 1 to 65,536.
    /// * [`ConfigError::Limit`] if the hot word has too few bits for the limit.
    pub fn with_slots(limit: Rate, slots: u32, clock: C) -> Result<SlidingWindow<C>, ConfigError> {
        SlidingWindow::placed(limit, slots, clock)
    }
}

impl<C: Clock> SlidingWindow<C, Compact> {
    /// Creates a window without padding around the hot word, for many limiters that are each
    /// rarely used.
    ///
    /// # Errors
    ///
    /// As for [`with_slots`](SlidingWindow::with_slots).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, SlidingWindow, rate};
    ///
    /// let clock = ManualClock::new();
    /// let window = SlidingWindow::compact(rate!(5 / minute), 7, &clock)?;
    /// assert!(size_of_val(&window) < size_of::<SlidingWindow<&ManualClock>>());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn compact(
        limit: Rate,
        slots: u32,
        clock: C,
    ) -> Result<SlidingWindow<C, Compact>, ConfigError> {
        SlidingWindow::placed(limit, slots, clock)
    }
}

impl<C: Clock, P: Placement> SlidingWindow<C, P> {
    fn placed(limit: Rate, slots: u32, clock: C) -> Result<SlidingWindow<C, P>, ConfigError> {
        let (limit, window_nanos) = (limit.permits(), limit.period_nanos());
        let plan = Plan { limit, window_nanos, slots };
        Ok(SlidingWindow { core: Ring::new(&[plan], clock)? })
    }

    /// Reserves bits for limits up to `max_limit`, so that
    /// [`reconfigure`](SlidingWindow::reconfigure) can raise the limit later. Meant for a new limiter:
    /// earlier grants are forgotten, and so are the bounds of its line.
    ///
    /// Without this, the largest limit is what the numbers of the slots of 146 years leave room
    /// for: 2,047 for 60 slots of a millisecond, over 1,000,000 for those of a second. With more
    /// bits for the count, the numbers repeat sooner. Allocates anew.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, above
    /// [`Rate::MAX_PERMITS`], faster than [`Rate::MAX_PER_SECOND`],
    /// or more than the numbers of its slots leave bits for.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{SlidingWindow, rate};
    ///
    /// let window = SlidingWindow::new(rate!(100 / ms))?.with_max_limit(1_000_000)?;
    /// window.reconfigure(1_000_000)?;
    /// assert_eq!(window.try_acquire(1_000_000)?.remaining(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_max_limit(self, max_limit: u64) -> Result<SlidingWindow<C, P>, ConfigError> {
        Ok(SlidingWindow { core: self.core.with_max_limit(max_limit)? })
    }
}

settles!(
    SlidingWindow<C, P: Placement>,
    core,
    "SlidingWindow::with_clock(rate!(10 / minute), ManualClock::new())?"
);

window_verbs!(
    SlidingWindow<C, P: Placement>,
    "SlidingWindow::with_clock(rate!(2 / minute), &clock)?"
);
leaving!(
    SlidingWindow<C, P: Placement>,
    "SlidingWindow::with_clock(rate!(2 / minute), &clock)?"
);
one_limit!(SlidingWindow<C, P: Placement>);

crate::wait::traits::waits_by!(SlidingWindow<C>, core);
