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
#[cfg(feature = "wait")]
mod turns;

use core::fmt;

use crate::config::error::ConfigError;
use crate::contention::{Contender, HotWord};
use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::forecast::window::WindowForecast;
use crate::decision::grant::Grant;
#[cfg(feature = "alloc")]
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::decision::undo::Debit;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::time::clock::Clock;

use super::gate::is_gated;
use super::limit::Limit;

use self::beside::Beside;
use self::from_first::FromFirst;
use self::outcome::{AtTheGate, Attempt, Granted, Miss, refused};
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
    fn counted(&self, word: u64, now: &Self::Now) -> WindowForecast;

    /// Returns a time to come, or long past, without a note of it for the calls of the present.
    #[cfg(feature = "wait")]
    fn at_another_time(&self, now_nanos: u64) -> Self::Now {
        self.now(now_nanos)
    }

    /// Returns the most permits that any window grants.
    #[cfg(feature = "wait")]
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
    #[cfg(feature = "wait")]
    fn begin(&self, end_nanos: u64) -> (u64, u64) {
        (end_nanos, self.empty(&self.at_another_time(end_nanos)))
    }

    /// Returns the time as of which a caller in line is granted its permits at `now`, from the word as it is,
    /// so that its window has ended at the instant that a reservation behind it was told. That is now, unless
    /// windows begin with a grant.
    #[cfg(feature = "wait")]
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
    #[cfg(feature = "alloc")]
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

    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<true, _>(|_| permits, Granted::grant)
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<false, _>(|_| permits, Granted::grant)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        // If nothing is available, the denial is that of one permit.
        let there = |counted: &WindowForecast| counted.limit.saturating_sub(counted.used()).max(1);
        self.spend::<true, _>(|counted| permits.min(there(counted)), Granted::grant)
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.spend::<true, _>(
            |_| permits,
            |Granted { grant, seen, written }| {
                Receipt::new(grant, &self.word, Debit::Word { before: seen, after: written })
            },
        )
    }

    #[inline(always)]
    fn load(&self) -> u64 {
        // ORDERING: Acquire, for the limit: a caller that sees permits granted under a new
        // limit must not decide by the old one. Pairs with the CAS in `spend`. The counts
        // do not need it: they are all in the word. An admission from a stale word
        // fails in its CAS; a denial from a stale word is the answer of a moment at
        // which the window was full.
        // MODEL: `a_lowered_limit_holds_for_whoever_comes_after`,
        // `a_caller_that_paused_is_told_of_the_limit_in_force`.
        self.word.load(Acquire)
    }

    /// Spends the permits that `ask` chooses from the counts, if `SPEND`, and returns the part of the
    /// answer that `part` takes.
    #[inline(always)]
    fn spend<const SPEND: bool, P>(
        &self,
        ask: impl Fn(&WindowForecast) -> u64,
        part: impl Fn(Granted) -> P,
    ) -> Result<P, Denied> {
        self.spend_at::<SPEND, _>(self.clock.now_nanos(), ask, part)
    }

    /// Does the same at `now_nanos`. Inlined as far as the first attempt.
    ///
    /// The answers of the first attempt and of the loop are taken apart each by itself. If they shared
    /// their memory, every call would compute and store the whole answer, used or not.
    #[inline(always)]
    fn spend_at<const SPEND: bool, P>(
        &self,
        now_nanos: u64,
        ask: impl Fn(&WindowForecast) -> u64,
        part: impl Fn(Granted) -> P,
    ) -> Result<P, Denied> {
        let now = self.counter.now(now_nanos);
        let seen = self.load();
        match self.attempt::<SPEND>(seen, &now, &ask, None) {
            Attempt::Answered(answer) => answer.map(part),
            Attempt::Missed(missed) => {
                self.spend_from::<SPEND>(missed, (now_nanos, now), ask).map(part)
            }
        }
    }

    /// The loop, after an attempt that `missed`.
    #[inline(never)]
    fn spend_from<const SPEND: bool>(
        &self,
        mut missed: Miss,
        (mut now_nanos, mut now): (u64, T::Now),
        ask: impl Fn(&WindowForecast) -> u64,
    ) -> Result<Granted, Denied> {
        let mut contender = self.word.contender();
        loop {
            let seen = match missed {
                Miss::TooFarAhead => {
                    if let Some(answer) = self.answer_ahead((now_nanos, &now), &ask) {
                        return answer;
                    }
                    let (seen, later) = self.heal();
                    self.poke();
                    now = later;
                    seen
                }
                Miss::AtTheGate => {
                    now_nanos = match self.ask_at_the_gate((now_nanos, &now), &ask) {
                        AtTheGate::Opened { now_nanos } => now_nanos,
                        AtTheGate::Answered(answer) => return answer,
                    };
                    now = self.counter.now(now_nanos);
                    self.load()
                }
                // Decide again from the winner's word; the clock is not read again.
                Miss::LostRace => {
                    contender.lost_race();
                    self.load()
                }
                Miss::OthersFirst => self.load(),
            };
            match self.attempt::<SPEND>(seen, &now, &ask, Some(&mut contender)) {
                Attempt::Answered(answer) => return answer,
                Attempt::Missed(next) => missed = next,
            }
        }
    }

    /// Makes one attempt on the word `seen`, by one CAS if there is something to spend.
    #[inline(always)]
    fn attempt<const SPEND: bool>(
        &self,
        seen: u64,
        now: &T::Now,
        ask: &impl Fn(&WindowForecast) -> u64,
        contender: Option<&mut Contender<'_>>,
    ) -> Attempt {
        if is_gated(seen) {
            return Attempt::Missed(Miss::AtTheGate);
        }
        let Some(word) = self.counter.at(seen, now) else {
            return Attempt::Missed(Miss::TooFarAhead);
        };
        let counted = self.counter.counted(word, now);
        let permits = ask(&counted);
        let after = WindowForecast { current: counted.current.saturating_add(permits), ..counted };
        let grant = Grant { permits, forecast: Forecast::Window(after) };
        if permits == 0 {
            return Attempt::Answered(Ok(Granted { grant, seen, written: seen }));
        }
        if !counted.fits(permits) {
            return Attempt::Answered(Err(refused(permits, counted)));
        }
        if !SPEND {
            return Attempt::Answered(Ok(Granted { grant, seen, written: seen }));
        }
        let others_first = match contender {
            Some(contender) => contender.has_stepped_back(),
            // The step back itself is left to the loop.
            None => self.word.contention().is_announced(),
        };
        if others_first {
            return Attempt::Missed(Miss::OthersFirst);
        }
        let written = self.counter.plus(word, permits, now);
        // ORDERING: AcqRel on success, so that what an admitted caller did
        // before its request is visible to the next one. The bound needs neither:
        // the word's CASes have one order under any ordering. Relaxed on
        // failure: the word is loaded again.
        // MODEL: `a_window_admits_no_more_than_its_limit`,
        // `what_was_done_before_a_grant_is_seen_after_the_next`.
        match self.word.compare_exchange_weak(seen, written, AcqRel, Relaxed) {
            Ok(_) => Attempt::Answered(Ok(Granted { grant, seen, written })),
            Err(_) => Attempt::Missed(Miss::LostRace),
        }
    }
}
