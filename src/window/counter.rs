//! The window counter: the core of fixed windows, the sliding counter and calendar windows.
//!
//! Its whole state is one word: the number of a window, and the permits granted in
//! it (for some, also in the one before). A [`WindowCounter`] is the pure part that reads
//! and writes such words; [`CounterCore`] is the loop.
//!
//! ```text
//! word'  = word brought forward to the window of now
//! admit n   iff used(word') + n <= limit, by CAS: word -> word' plus n
//! ```
//!
//! **Theorem.** In each window, the permits granted are at most the limit, as long as
//! the limiter is not reset or healed.
//!
//! *Proof.* A decision depends only on the word, the limit and a reading
//! of the clock, and a grant takes effect only if its CAS finds the word that was
//! decided on. So the grants of a window are those of its CASes one after the
//! other, and each leaves `used <= limit`. The number of the window never goes
//! back: a caller whose clock is behind counts in the window of the word. ∎
//!
//! A decision is right even if an earlier word recurs (after a
//! grant was given back, or a reset): the word means again what it meant then. A
//! receipt, however, must not accept such a word; see [`Receipt`]. A settlement keeps resets away
//! meanwhile; see [`settle`].
//!
//! # A clock that goes back
//!
//! The window of the word may be the one after that of a caller's own clock, or as far
//! ahead as threads' clocks can differ. The caller counts in that window, so nothing is
//! granted twice, and no caller waits longer than two windows and a second. If it is further ahead,
//! the clock was set back. The counts are then moved to the current window: earlier
//! grants still count, and no caller waits longer than a window. If the clock then
//! comes forward again, that is a jump forward, and a window that it was in before
//! begins anew. `healed()` counts such events.
//!
//! Where windows to come can be reserved, a word that is ahead grants nothing before its window begins:
//! see `reserve.rs`.
//!
//! Progress: lock-free, except that a reset or a healing waits for settlements in progress. Memory: 256 bytes, the clock included. Cost: a denial 1
//! load of the shared word and no write; an admission 1 load and 1 CAS of it.

pub(crate) mod aligned;
mod beside;
#[cfg(feature = "calendar")]
pub(crate) mod by_calendar;
pub(crate) mod from_first;
mod look;
#[cfg(not(feature = "wait"))]
mod no_turns;
mod outcome;
mod renew;
#[cfg(feature = "wait")]
mod reserve;
#[cfg(feature = "wait")]
mod reserve_in_line;
mod settle;
mod show;
pub(crate) mod sliding;
mod spend;
#[cfg(feature = "wait")]
mod turns;

use core::fmt;

use crate::config::error::ConfigError;
use crate::contention::HotWord;
#[cfg(feature = "alloc")]
use crate::decision::history::History;
use crate::sync::AtomicWord;
use crate::time::clock::Clock;
use crate::window_counts::WindowCounts;

use super::limit::Limit;

use self::beside::Beside;
use self::from_first::FromFirst;
use self::settle::CountFields;

/// Reads and writes words whose gate is open. No atomics, except for the limit.
pub(crate) trait WindowCounter {
    /// A time in the counter's terms; computed once per call.
    type Now: Copy;

    fn now(&self, now_nanos: u64) -> Self::Now;

    /// Returns the word of a limiter that has granted nothing.
    fn empty(&self, now: &Self::Now) -> u64;

    /// Brings `word` forward to the window of now; `None` if it is further ahead of
    /// the clock than any caller can have left it.
    fn at(&self, word: u64, now: &Self::Now) -> Option<u64>;

    /// Decodes `word`, brought forward.
    fn counted(&self, word: u64, now: &Self::Now) -> WindowCounts;

    /// Returns a time to come, or long past, without a note of it for the calls of the present.
    fn at_another_time(&self, now_nanos: u64) -> Self::Now {
        self.now(now_nanos)
    }

    /// Returns the most permits that any window grants.
    fn most(&self) -> u64;

    /// Lets windows be reserved that begin up to `ahead_nanos` after now, if they can be.
    fn reserve_ahead(&mut self, _ahead_nanos: u64) {}

    /// Returns how far ahead windows can be reserved; 0 if they cannot. Then a word that is ahead of
    /// the clock by any window is not for [`at`](WindowCounter::at).
    fn reserves_nanos(&self) -> u64 {
        0
    }

    /// Returns the time until the window of `word` begins, if [`at`](WindowCounter::at) refuses that
    /// because of reservations, and not because the clock was set back.
    fn begins_in(&self, _word: u64, _now: &Self::Now) -> Option<u64> {
        None
    }

    /// Returns the first instant from `end_nanos` on at which a window can be begun, and its word,
    /// with nothing granted.
    fn begin(&self, end_nanos: u64) -> (u64, u64) {
        (end_nanos, self.empty(&self.at_another_time(end_nanos)))
    }

    /// Returns the time as of which a caller in line is granted its permits at `now`, from the word as it is,
    /// so that its window has ended at the instant that a reservation behind it was told. That is now, unless
    /// windows begin with a grant.
    fn turn_before(&self, _told_nanos: u64, _word: u64, now: &Self::Now) -> Self::Now {
        *now
    }

    /// Returns `word`, brought forward, with `permits` more, which are within the limit.
    fn plus(&self, word: u64, permits: u64, now: &Self::Now) -> u64;

    /// Returns the fields in which a settlement finds and moves counts.
    fn fields(&self) -> CountFields;

    /// Returns the time after which a number of a window means another one.
    fn range_nanos(&self) -> u64;

    /// Moves the counts of `word` to the window of now.
    fn moved(&self, word: u64, now: &Self::Now) -> u64;

    /// Displays `limit` in the syntax of a rate: `100 / minute`.
    fn show_limit(&self, limit: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Returns the permits that count, with the least age that each can have.
    #[cfg(feature = "alloc")]
    fn history(&self, word: u64, now: &Self::Now) -> History;

    /// Returns a word that counts `spent`: ages in nanoseconds, and permits.
    fn restored(&self, spent: impl Iterator<Item = (u64, u64)>, now: &Self::Now) -> u64;
}

/// A counter with the same limit for every window, and windows of one length.
pub(crate) trait OneLimit: WindowCounter + Sized {
    fn limit(&self) -> &Limit;

    fn window_nanos(&self) -> u64;

    /// Returns the same counter with bits for limits up to `max_limit`, and nothing reserved ahead.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, or too large.
    fn with_max_limit(&self, max_limit: u64) -> Result<Self, ConfigError>;
}

/// A limiter whose state is a word of a `T`.
pub(crate) struct CounterCore<T, C> {
    word: HotWord<u64, Beside>,
    counter: T,
    clock: C,
    healed: AtomicWord<u64>,
}

impl<T: OneLimit, C> CounterCore<T, C> {
    pub(crate) fn limit(&self) -> &Limit {
        self.counter.limit()
    }

    pub(crate) fn window_nanos(&self) -> u64 {
        self.counter.window_nanos()
    }
}

impl<T: OneLimit, C: Clock> CounterCore<T, C> {
    /// Returns the same limiter with room for limits up to `max_limit`, and nothing granted.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, or too large.
    pub(crate) fn with_max_limit(self, max_limit: u64) -> Result<CounterCore<T, C>, ConfigError> {
        let mut counter = self.counter.with_max_limit(max_limit)?;
        counter.reserve_ahead(self.counter.reserves_nanos());
        Ok(CounterCore::new(counter, self.clock))
    }
}

impl<C> CounterCore<FromFirst, C> {
    /// Returns the length of a tick; a window is too long by less than this.
    pub(crate) fn resolution_nanos(&self) -> u64 {
        self.counter.tick_nanos()
    }
}

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    pub(crate) fn new(counter: T, clock: C) -> CounterCore<T, C> {
        let now = counter.now(clock.now_nanos());
        CounterCore {
            word: HotWord::beside(counter.empty(&now), Beside::new()),
            counter,
            clock,
            healed: AtomicWord::new(0),
        }
    }

    #[cfg(feature = "calendar")]
    pub(crate) fn counter(&self) -> &T {
        &self.counter
    }

    pub(crate) fn clock(&self) -> &C {
        &self.clock
    }
}
