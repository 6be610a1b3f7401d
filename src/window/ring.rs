//! The ring: the core of the sliding windows.
//!
//! Permits are not counted per slot. One hot word holds a cumulative count and the number
//! of the current tick; a ring holds the value of the count at the end of each past slot,
//! its boundary. The permits in a window are a difference of two counts.
//!
//! ```text
//! hot word           (tick k, count C, state)
//! boundary[j]        C at the end of slot j, and j itself; written once, raised by settlements
//!
//! admit n   iff C + n - boundary[k - S] <= limit, by CAS: (k, C) -> (k, C + n)
//! ```
//!
//! `S` is the number of slots that count, including the present one. Several
//! windows over the same traffic share the count, so one CAS admits a request to
//! all of them; their slots are of `2^e` ticks each.
//!
//! # A new tick
//!
//! Before any request is admitted in a new tick, the boundaries of the slots that have
//! ended are written. The count must not move meanwhile, so the word is **sealed**: its
//! state says that it is rotating to tick `k`. Any thread that finds it sealed writes the
//! missing boundaries, in order, and opens it; no thread waits for another. A denial does
//! not rotate the ring: for a slot that has ended since, it uses the count itself.
//!
//! **Invariant.** While the word is open at tick `k`, the boundary of each of the
//! `S` slots before that of `k` is the count at its end.
//!
//! (What settlements give back is added to boundaries, as if it had been counted before them: see
//! [`settle`].)
//!
//! *Proof.* It holds initially. While the word is open, only the count of
//! the present slot moves. While it is sealed the count is constant, so all helpers
//! write the same values. A boundary that has been written carries the number of its
//! slot; the missing ones are the latest ones, because they are written in
//! order, so a helper finds the first of them by searching back. A thread that is suspended between reading a boundary and writing it
//! cannot overwrite a later one: after it read the boundary it found the word still
//! sealed as before, so the value that it read was there before the word was opened; if
//! that has been overwritten since, its CAS fails. ∎
//!
//! **Theorem.** If `S` slots cover a window wherever it begins (`S = W / w + 1`),
//! no window of length `W` admits more than the limit, in the time by which permits are
//! counted. (For threads' clocks that differ, see [the module of windows](crate::window).)
//!
//! *Proof.* A CAS that admits finds the word as it was when the boundary was read,
//! so the boundary is that of slot `k - S`, and the permits admitted in slots `k -
//! S + 1` to `k` are at most the limit. Each permit is counted in a tick between
//! the one its caller read from the clock and the real one. A window of length `W`
//! overlaps at most `S` slots, and for the last admission in it they are among
//! these. ∎
//!
//! The only requirement on threads' clocks is that no reading is from the
//! future: a caller whose clock is behind is counted in the tick of the word.
//!
//! # A clock that goes back
//!
//! Ticks are counted as `time / length + shift`. If the hot word is further ahead
//! of the clock than threads' clocks can differ, `shift` is raised by the
//! difference: time continues from where it stood, and all permits stay
//! counted. `healed()` counts such events.
//!
//! Progress: lock-free; a reset waits for the settlements in progress. Memory: 512 bytes padded, the
//! clock included, or 192 compact, and 8 for each slot, rounded up to a power of two. Cost: an admission 1 load and 1 CAS of
//! the hot word, and 1 load of a boundary; a denial 2 loads of the hot word, as many
//! loads of boundaries as a binary search takes, and no write, unless it is kept for the next
//! calls (see [`last_denial`]). A new tick: 2 CAS of
//! the hot word, and 1 CAS for each slot that has ended (all of them after an idle
//! window), shared by the threads that help.

#[cfg(feature = "wait")]
mod ahead;
mod at_the_gate;
mod build;
mod deny;
mod hot_line;
mod last_denial;
pub(crate) mod plan;
mod rotate;
mod settle;
mod show;
pub(crate) mod slots;
mod spend;
#[cfg(feature = "wait")]
mod turns;
mod words;

use crate::config::error::ConfigError;
use crate::decision::history::History;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, fence};
use crate::time::clock::Clock;

use super::intervals::{Intervals, Moment};
use super::limit::Limit;

pub(crate) use self::hot_line::Lined;
pub(crate) use self::hot_line::{HotLine, LineBeside};
pub(crate) use self::last_denial::LastDenial;

use self::slots::WindowSlots;
use self::words::{Hot, Layout, State, is_gated, with_gate};

/// A limiter on a ring. `L` places its hot word, `W` holds its windows.
pub(crate) struct Ring<L, W, C> {
    hot: L,
    core: Core<W, C>,
}

/// Everything but the hot word: fields that are read often and seldom written.
struct Core<W, C> {
    ticks: Intervals,
    layout: Layout,
    windows: W,
    clock: C,
    /// Ticks by which the limiter's time is ahead of the clock's.
    shift: AtomicWord<u64>,
    healed: AtomicWord<u64>,
}

impl<L: HotLine, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    pub(crate) fn clock(&self) -> &C {
        &self.core.clock
    }

    pub(crate) fn windows(&self) -> &[WindowSlots] {
        self.core.windows.as_ref()
    }

    /// Returns whether anybody stands in line or has yet to be told an answer there, or the line is closed.
    pub(crate) fn has_line(&self) -> bool {
        self.hot.has_line()
    }

    pub(crate) fn healed(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; nothing is decided by it.
        // MODEL: `a_ring_too_far_ahead_goes_on_from_there`.
        self.core.healed.load(Relaxed)
    }

    /// Returns the permits that count now in the window at `which`.
    pub(crate) fn count_of(&self, which: usize) -> u64 {
        self.read(|hot, now| self.windows().get(which).map_or(0, |window| window.used(hot, now)))
    }

    pub(crate) fn snapshot(&self) -> History {
        self.read(|hot, now| slots::history(self.windows(), hot, now))
    }

    /// Replaces the counts by those of `history`. No other thread can see the words change
    /// one after the other.
    pub(crate) fn restore(&mut self, history: &History, away_nanos: u64) {
        let now = self.now();
        let total = history.permits().min(self.core.layout.count.max());
        for window in self.core.windows.as_ref() {
            window.refill(total, history.after(away_nanos), now);
        }
        let word = self.core.layout.word(Hot { tick: now.moment.tick, count: total }, State::Open);
        let word = with_gate(word, is_gated(self.load()));
        // ORDERING: Relaxed. `&mut self`: sharing the ring afterwards synchronizes.
        // MODEL: none; there is no other thread.
        self.hot.word().store(word, Relaxed);
        if let Some(last) = self.hot.last_denial() {
            last.clear();
        }
        // One that was forgotten while it stood in line.
        self.poke();
    }

    /// Changes the limits by `change`, and lets those in line look again.
    pub(crate) fn changed<R>(&self, change: impl FnOnce(&[WindowSlots]) -> R) -> R {
        let result = change(self.windows());
        self.poke_after_change();
        result
    }

    /// Returns the value that `read` computes from the ring as it was at one moment.
    fn read<T>(&self, read: impl Fn(Hot, Now) -> T) -> T {
        let mut now = self.now();
        loop {
            if let Some(value) = self.read_at(now, &read) {
                return value;
            }
            self.heal(&mut now);
            self.poke();
        }
    }

    /// Does the same at `now`; `None` if the clock was set back.
    fn read_at<T>(&self, now: Now, read: impl Fn(Hot, Now) -> T) -> Option<T> {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_window_was_full`.
        let mut seen = self.hot.word().load(Acquire);
        loop {
            let (hot, state) = self.core.layout.read(seen);
            seen = match state {
                State::Open if !self.is_behind(hot, now) => {
                    let value = read(hot, now);
                    match self.still(seen) {
                        Ok(()) => return Some(value),
                        Err(found) => found,
                    }
                }
                State::Open => return None,
                State::Turning | State::Resetting => self.help(seen),
            };
        }
    }

    /// Returns the current time of the ring.
    #[inline]
    fn now(&self) -> Now {
        // ORDERING: Acquire, so that the clock is read after the shift. An old shift
        // gives an earlier tick, as a clock that is behind would, but an old reading
        // with a new shift gives a tick in the future. Pairs with the CAS in `heal`.
        // MODEL: `a_ring_adds_its_shift_to_no_earlier_reading`.
        self.core.moment(self.core.shift.load(Acquire))
    }

    /// Returns whether the clock is further behind the word than threads' clocks can differ.
    #[inline]
    fn is_behind(&self, hot: Hot, now: Now) -> bool {
        // A distance of exactly half of the circle counts as behind too.
        self.core.layout.tick.ahead(now.moment.tick, hot.tick) < -(self.core.ticks.skew() as i64)
    }

    /// Checks that the word is still `seen`, so that the boundaries that were read are
    /// those of its tick. Returns the current word if it is not.
    #[inline]
    fn still(&self, seen: u64) -> Result<(), u64> {
        // ORDERING: an Acquire fence, so that this load of the word comes after the
        // loads of boundaries. Pairs with the Release of the CAS in `fill`: a caller that read
        // a boundary of a later tick also sees the seal before it.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_window_was_full`.
        fence(Acquire);
        // ORDERING: Acquire, because the caller continues with the value found.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_window_was_full`.
        let found = self.hot.word().load(Acquire);
        if found == seen { Ok(()) } else { Err(found) }
    }

    /// Makes time continue from the tick of the word if the clock was set back. Returns the
    /// word, and sets `now` to the current time.
    #[cold]
    #[inline(never)]
    fn heal(&self, now: &mut Now) -> u64 {
        // ORDERING: Acquire for both, so that they are read in this order and the
        // clock after them: with an earlier reading, a tick that began in between
        // would look like a fault. Pairs with the CAS below, and with those of the
        // hot word.
        // MODEL: `a_ring_adds_its_shift_to_no_earlier_reading`,
        // `a_tick_that_came_in_between_is_no_fault`.
        let shift = self.core.shift.load(Acquire);
        // ORDERING: see above.
        // MODEL: `a_tick_that_came_in_between_is_no_fault`.
        let seen = self.hot.word().load(Acquire);
        *now = self.core.moment(shift);
        let (hot, _) = self.core.layout.read(seen);
        if self.is_behind(hot, *now) {
            let ahead = hot.tick.wrapping_sub(now.moment.tick) & self.core.layout.tick.max();
            // Up to the tick before the word's: the clock may be at the end of its own tick,
            // so from the word's own tick time would be ahead of where it stood.
            let shift = (shift, shift.wrapping_add(ahead).wrapping_sub(1));
            // ORDERING: Release, so that a thread that sees the new shift sees the tick that
            // it was made for, and reads the clock as it was set back. Not Acquire:
            // the previous shift has been acquired above. Relaxed on failure:
            // another thread did it, and the shift is loaded next.
            // MODEL: `a_ring_adds_its_shift_to_no_earlier_reading`.
            if self.core.shift.compare_exchange(shift.0, shift.1, Release, Relaxed).is_ok() {
                // ORDERING: Relaxed, as in `healed`.
                // MODEL: `a_ring_too_far_ahead_goes_on_from_there`.
                self.core.healed.fetch_add(1, Relaxed);
            }
            // ORDERING: Acquire, as in `now`.
            // MODEL: `a_ring_adds_its_shift_to_no_earlier_reading`.
            *now = self.core.moment(self.core.shift.load(Acquire));
        }
        seen
    }
}

/// A time, as the ring sees it. Its tick is not yet reduced modulo the field of a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) moment: Moment,
}

impl<W, C: Clock> Core<W, C> {
    #[inline]
    fn moment(&self, shift: u64) -> Now {
        self.moment_at(shift, self.clock.now_nanos())
    }

    #[inline]
    fn moment_at(&self, shift: u64, now_nanos: u64) -> Now {
        let moment = self.ticks.moment(now_nanos);
        Now { moment: Moment { tick: moment.tick.wrapping_add(shift), ..moment } }
    }
}

impl<L: HotLine, C: Clock> Ring<L, [WindowSlots; 1], C> {
    pub(crate) fn limit(&self) -> &Limit {
        self.core.windows[0].limit()
    }

    /// Sets the limit, as `Limit::raise` does.
    pub(crate) fn set_limit(&self, permits: u64) -> Result<(), ConfigError> {
        self.changed(|windows| windows[0].limit().raise(permits))
    }

    pub(crate) fn window_nanos(&self) -> u64 {
        self.core.windows[0].window_nanos()
    }

    pub(crate) fn count(&self) -> u64 {
        self.count_of(0)
    }
}
