//! The ring: what sliding windows share.
//!
//! Permits are not counted per slot. There is one cumulative count, in one hot
//! word with the number of the tick, and a ring that remembers what the count was
//! at the end of each slot of the past. What a window holds is a difference.
//!
//! ```text
//! hot word           (tick k, count C, state)
//! boundary[j]        C at the end of slot j, and j itself; written once
//!
//! admit n   iff C + n - boundary[k - S] <= limit, by CAS: (k, C) -> (k, C + n)
//! ```
//!
//! `S` is the number of slots that count, the present one included. Several
//! windows over the same traffic have the count in common, so one CAS admits to
//! all of them; their slots are of `2^e` ticks each.
//!
//! # A new tick
//!
//! Before anybody is admitted in a new tick, the ends of the slots in between are
//! written. The count must not move meanwhile, so the word is **sealed**: its
//! state says that it is on its way to tick `k`. Whoever finds it so writes what
//! is missing, in order, and opens it; nobody waits for anybody. A denial does not
//! take the trouble: for a slot that has ended since, it takes the count itself.
//!
//! **Invariant.** While the word is open at tick `k`, the boundary of each of the
//! `S` slots before that of `k` is the count at its end.
//!
//! *Proof.* It holds in the beginning. While the word is open, only the count of
//! the present slot moves. While it is sealed the count stands, so all who help
//! write the same values. A boundary that is there already bears the number of its
//! slot; those that are missing are the latest ones, because they are written in
//! order. A thread that is held up between reading a boundary and writing it
//! cannot spoil a later one: after it read the boundary it found the word still
//! sealed as it was, so what it read was there before the word was opened; if that
//! has been written since, its CAS fails. ∎
//!
//! **Theorem.** Where `S` slots cover a window wherever it begins (`S = W / w + 1`),
//! no window of length `W` admits more than the limit, in the time in which permits are
//! counted: for threads' clocks that differ by `d`, no `W - d` of true time.
//!
//! *Proof.* A CAS that admits finds the word as it was when the boundary was read,
//! so the boundary is that of slot `k - S`, and the permits admitted in slots `k -
//! S + 1` to `k` are at most the limit. Each permit is counted in a tick between
//! the one its caller read from the clock and the real one. A window of length `W`
//! meets at most `S` slots, and for the last admission in it they are among
//! these. ∎
//!
//! It needs nothing of the clocks of threads but that no reading is from the
//! future: a caller whose clock is behind is counted in the tick that it finds.
//!
//! # A clock that goes back
//!
//! Ticks are counted as `time / length + shift`. If the hot word is further ahead
//! of the clock than threads' clocks are apart, `shift` is raised by the
//! difference: time goes on from where it stood, and all that was counted stays
//! counted. `healed()` counts it.
//!
//! Progress: lock-free. Memory: 384 bytes padded, the clock included, and 8 for
//! each slot, rounded up to a power of two. Cost: an admission 1 load and 1 CAS of
//! the hot word, and 1 load of a boundary; a denial 2 loads of the hot word, of
//! boundaries as many as a binary search takes, and no write. A new tick: 2 CAS of
//! the hot word, and 1 CAS for each slot that has ended (after an idle window for
//! all), shared by whoever comes.

mod deny;
pub(crate) mod plan;
mod rotate;
pub(crate) mod slots;
mod spend;
mod words;

use alloc::boxed::Box;
use core::fmt;

use crate::config::error::ConfigError;
use crate::contention::Contention;
use crate::decision::history::History;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, fence};
use crate::time::clock::Clock;

use super::limit::Limit;
use super::ticks::{Moment, Ticks};

use self::plan::Plan;
use self::slots::WindowSlots;
use self::words::{Hot, Layout, State};

/// The most slots of a window.
const MAX_SLOTS: u32 = 1 << 16;

/// The most windows over one ring.
const MAX_WINDOWS: usize = 64;

/// A limiter on a ring. `L` is where its hot word is, `W` holds its windows.
pub(crate) struct Ring<L, W, C> {
    hot: L,
    core: Core<W, C>,
}

/// All but the hot word: what is read often and seldom written.
struct Core<W, C> {
    ticks: Ticks,
    layout: Layout,
    windows: W,
    clock: C,
    /// By how many ticks the limiter's time is ahead of the clock's.
    shift: AtomicWord<u64>,
    healed: AtomicWord<u64>,
}

/// A place for the hot word.
#[expect(private_interfaces, reason = "public only so that `Placement` can build on it")]
pub trait Line {
    fn new(word: u64) -> Self;

    fn word(&self) -> &AtomicWord<u64>;

    /// Where callers that are starved of the word are announced, if there is room for that.
    fn contention(&self) -> Option<&Contention>;
}

/// Holds the windows of a ring.
pub(crate) trait Windows: AsRef<[WindowSlots]> + Sized {
    fn collect(
        spans: impl Iterator<Item = Result<WindowSlots, ConfigError>>,
    ) -> Result<Self, ConfigError>;
}

/// One window, in place.
impl Windows for [WindowSlots; 1] {
    fn collect(
        mut spans: impl Iterator<Item = Result<WindowSlots, ConfigError>>,
    ) -> Result<Self, ConfigError> {
        Ok([spans.next().ok_or(ConfigError::Count { count: 0 })??])
    }
}

impl Windows for Box<[WindowSlots]> {
    fn collect(
        spans: impl Iterator<Item = Result<WindowSlots, ConfigError>>,
    ) -> Result<Self, ConfigError> {
        spans.collect()
    }
}

impl<L: Line, W: Windows, C: Clock> Ring<L, W, C> {
    /// A ring for the windows of `plans`.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Count`] if there are none or too many,
    /// [`ConfigError::Slots`] and [`ConfigError::Limit`] for one that is out of
    /// range.
    pub(crate) fn new(plans: &[Plan], clock: C) -> Result<Ring<L, W, C>, ConfigError> {
        if plans.is_empty() || plans.len() > MAX_WINDOWS {
            return Err(ConfigError::Count { count: plans.len() });
        }
        for &Plan { slots, .. } in plans {
            if slots == 0 || slots > MAX_SLOTS {
                return Err(ConfigError::Slots { slots });
            }
        }
        let ticks = plan::ticks_of(plans);
        let layout = Layout::new(plans, &ticks)?;
        let tick = layout.tick.max() & ticks.moment(clock.now_nanos()).tick;
        let spans = plans.iter().map(|plan| WindowSlots::new(plan, &ticks, &layout, tick));
        let windows = W::collect(spans)?;
        let word = layout.word(Hot { tick, count: 0 }, State::Open);
        let (shift, healed) = (AtomicWord::new(0), AtomicWord::new(0));
        Ok(Ring { hot: L::new(word), core: Core { ticks, layout, windows, clock, shift, healed } })
    }
}

impl<L: Line, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    pub(crate) fn clock(&self) -> &C {
        &self.core.clock
    }

    pub(crate) fn windows(&self) -> &[WindowSlots] {
        self.core.windows.as_ref()
    }

    pub(crate) fn healed(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; nothing is decided by it.
        // MODEL: `a_ring_too_far_ahead_goes_on_from_there`.
        self.core.healed.load(Relaxed)
    }

    /// The permits that count now in the window at `which`, a part of one counted
    /// whole.
    pub(crate) fn count_of(&self, which: usize) -> u64 {
        self.read(|hot, now| {
            self.windows().get(which).map_or(0, |window| window.counted(hot, now).used())
        })
    }

    pub(crate) fn snapshot(&self) -> History {
        self.read(|hot, now| slots::history(self.windows(), hot, now))
    }

    /// Counts what `history` counted. Nobody else is there to see the words change
    /// one after the other.
    pub(crate) fn restore(&mut self, history: &History, away_nanos: u64) {
        let now = self.now();
        let total = history.permits().min(self.core.layout.count.max());
        for window in self.core.windows.as_ref() {
            window.refill(total, history.after(away_nanos), now);
        }
        let word = self.core.layout.word(Hot { tick: now.moment.tick, count: total }, State::Open);
        // ORDERING: Relaxed. `&mut self`: whoever shares it next synchronizes.
        // MODEL: none; there is no other thread.
        self.hot.word().store(word, Relaxed);
    }

    /// What `read` makes of the ring at one moment.
    fn read<T>(&self, read: impl Fn(Hot, Now) -> T) -> T {
        let mut now = self.now();
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_window_was_full`.
        let mut seen = self.hot.word().load(Acquire);
        loop {
            let (hot, state) = self.core.layout.read(seen);
            seen = match state {
                State::Open if !self.is_behind(hot, now) => {
                    let value = read(hot, now);
                    match self.still(seen) {
                        Ok(()) => return value,
                        Err(found) => found,
                    }
                }
                State::Open => self.heal(&mut now),
                State::Turning | State::Resetting => self.help(seen),
            };
        }
    }

    /// The time at hand.
    #[inline]
    fn now(&self) -> Now {
        // ORDERING: Acquire, so that the clock is read after the shift: an old shift
        // gives an earlier tick, as a clock that is behind would, but an old reading
        // with a new shift a tick to come. Pairs with the CAS in `heal`.
        // MODEL: `a_ring_adds_its_shift_to_no_earlier_reading`.
        self.core.moment(self.core.shift.load(Acquire))
    }

    /// Whether the clock is further behind the word than threads' clocks are apart.
    #[inline]
    fn is_behind(&self, hot: Hot, now: Now) -> bool {
        // Exactly half of the circle ahead counts as behind too.
        self.core.layout.tick.ahead(now.moment.tick, hot.tick) < -(self.core.ticks.skew() as i64)
    }

    /// Whether the word is still `seen`, so that the boundaries that were read are
    /// those of its tick; the word as it is now if not.
    #[inline]
    fn still(&self, seen: u64) -> Result<(), u64> {
        // ORDERING: an Acquire fence, so that the look at the word comes after the
        // loads of boundaries. Pairs with the Release of the CAS in `fill`: had one
        // from a later tick been seen, so would be the seal before it.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_window_was_full`.
        fence(Acquire);
        // ORDERING: Acquire, because the caller goes on with what is found.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_window_was_full`.
        let found = self.hot.word().load(Acquire);
        if found == seen { Ok(()) } else { Err(found) }
    }

    /// Lets time go on from the tick of the word, if the clock was set back; the
    /// word, and the time in `now`.
    #[cold]
    #[inline(never)]
    fn heal(&self, now: &mut Now) -> u64 {
        // ORDERING: Acquire for both, so that they are read in this order and the
        // clock after them: with an earlier reading, a tick that came in between
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
            // To the tick before: from its own, which the clock may be at the end of,
            // time would be ahead of where it stood.
            let shift = (shift, shift.wrapping_add(ahead).wrapping_sub(1));
            // ORDERING: Release, so that whoever sees the new shift sees the tick that
            // it was made for, and reads the clock as it was set back. Not Acquire:
            // what the shift was before has been acquired above. Relaxed on failure:
            // somebody else did it, and it is loaded next.
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

/// A time, as the ring sees it. Its tick is not yet modulo what a word can number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) moment: Moment,
}

impl<W, C: Clock> Core<W, C> {
    #[inline]
    fn moment(&self, shift: u64) -> Now {
        let moment = self.ticks.moment(self.clock.now_nanos());
        Now { moment: Moment { tick: moment.tick.wrapping_add(shift), ..moment } }
    }
}

impl<L: Line, W: AsRef<[WindowSlots]>, C> fmt::Debug for Ring<L, W, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("hot", self.hot.word())
            .field("contention", &self.hot.contention())
            .field("windows", &self.core.windows.as_ref().len())
            .field("healed", &self.core.healed)
            .finish_non_exhaustive()
    }
}

impl<L: Line, C: Clock> Ring<L, [WindowSlots; 1], C> {
    pub(crate) fn limit(&self) -> &Limit {
        self.core.windows[0].limit()
    }

    pub(crate) fn window_nanos(&self) -> u64 {
        self.core.windows[0].window_nanos()
    }

    pub(crate) fn count(&self) -> u64 {
        self.count_of(0)
    }
}
