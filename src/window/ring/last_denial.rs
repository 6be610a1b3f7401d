//! The last denial, kept for the calls that ask for it again: under overload nearly all do.
//!
//! Kept are its times, which take a search of the boundaries, and all that they follow from. A call
//! compares that with what it finds itself, and computes what is in use. So nobody has to tell of a
//! change: not of a grant that is given back, a settlement, a new limit, a reset or a clock that was
//! set back.
//!
//! **Invariant.** In a ring of one window, let `W` be the word, open; `L` the limit; and `B` the boundary
//! of the slot before those that count in the present tick, which is not before the tick of `W`. A
//! denial of `n` permits in this tick is `W - B > L - n`, and its times are a function of `(W, B, L, n)`,
//! the tick, and the time left of it. (A restored history, for which nobody else has the ring, empties
//! the place.)
//!
//! *Proof.* The times follow from `L - n` and from the boundaries between `B` and `W`. These were
//! written before `W` was opened, and then:
//!
//! * a settlement raises them, and `B` last, if it takes anything off what counts. No boundary is ever
//!   lowered, so while `B` is as it was, no settlement has ended that would change an answer;
//! * a reset makes them equal to a count that is greater than each of them was. So if `W` comes back
//!   in this tick, `W - B` is less than it was. ∎
//!
//! Denials that are written go to a line that others only read. So one is written when a word
//! refuses for the second time, and not again for another number of permits: callers that ask for one
//! and for ten would take the line from each other. At most two writes come of a word in each
//! tick, unless the limit is changed or permits are given back.
//!
//! Cost: 9 loads more than the look for a grant, in place of the search; and before that 2 loads, and
//! for the second denial by a word a CAS and 8 stores.

use crossbeam_utils::CachePadded;

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::seq_lock::SeqLock;
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;
use crate::window::intervals::Moment;

use super::slots::WindowSlots;
use super::words::STATE_BITS;
use super::{HotLine, Now, Ring};

const WORDS: usize = 7;

/// The place of the last denial, on cache lines of its own.
#[derive(Debug)]
pub(crate) struct LastDenial(CachePadded<CachedDenial>);

#[derive(Debug)]
struct CachedDenial {
    /// [`Kept`], as words. No limit is 0, so nothing is equal to the place when it is empty.
    kept: SeqLock<WORDS>,
    /// The last word that refused a caller.
    refused_by: AtomicWord<u64>,
}

/// All that the times of a denial follow from, but the time left of the tick.
#[derive(Clone, Copy)]
pub(super) struct Cause {
    pub(super) word: u64,
    pub(super) permits: u64,
    pub(super) limit: u64,
    pub(super) tick: u64,
    /// The boundary of the slot before those that count.
    pub(super) oldest: u64,
}

impl Cause {
    /// Returns whether they are equal. (The derived comparison takes both from memory.)
    #[inline(always)]
    fn is(self, other: Cause) -> bool {
        self.word == other.word
            && self.permits == other.permits
            && self.limit == other.limit
            && self.tick == other.tick
            && self.oldest == other.oldest
    }
}

/// A denial that is kept.
struct Kept {
    of: Cause,
    /// The waits from the end of the tick.
    retry_nanos: u64,
    reset_nanos: u64,
}

impl LastDenial {
    pub(crate) fn new() -> LastDenial {
        let (refused_by, kept) = (AtomicWord::new(0), SeqLock::new([0; WORDS]));
        LastDenial(CachePadded::new(CachedDenial { kept, refused_by }))
    }

    /// Empties the place.
    pub(super) fn clear(&self) {
        self.0.kept.write([0; WORDS]);
    }

    /// Returns the denial that is kept, if it may be by the word `seen`.
    #[inline(always)]
    fn recall(&self, seen: u64) -> Option<Kept> {
        if self.0.kept.first() != seen {
            return None;
        }
        let [word, permits, limit, tick, oldest, retry_nanos, reset_nanos] = self.0.kept.read()?;
        Some(Kept { of: Cause { word, permits, limit, tick, oldest }, retry_nanos, reset_nanos })
    }

    /// Keeps a denial by `of`, if its word has refused before, and the one that is kept does not
    /// differ only by its permits.
    fn keep(&self, of: Cause, retry_nanos: u64, reset_nanos: u64) {
        let CachedDenial { refused_by, kept } = &*self.0;
        // ORDERING: Relaxed. A hint for how often to write; nothing is decided by it.
        // MODEL: none; any value will do.
        if refused_by.load(Relaxed) != of.word {
            // ORDERING: Relaxed, as above.
            // MODEL: none; any value will do.
            return refused_by.store(of.word, Relaxed);
        }
        let Cause { word, permits, limit, tick, oldest } = of;
        if self.recall(word).is_some_and(|last| of.is(Cause { permits, ..last.of })) {
            return;
        }
        kept.write([word, permits, limit, tick, oldest, retry_nanos, reset_nanos]);
    }
}

impl<L: HotLine, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    /// Returns the denial of `permits` for the word `seen`, if it is the one that is kept.
    #[inline(always)]
    pub(super) fn deny_again(&self, permits: u64, seen: u64, now: Now) -> Option<Denied> {
        let [window] = self.windows() else { return None };
        let Kept { of, retry_nanos, reset_nanos } = self.hot.last_denial()?.recall(seen)?;
        // ORDERING: Relaxed. If it is the boundary that the denial is of, it was there with the word, when
        // the denial was written or when the word was loaded, whichever came later. A settlement that
        // has ended before is seen by its caller, and by whoever was told of it.
        // MODEL: `a_denial_that_is_kept_is_not_told_after_permits_came_back`.
        let oldest = window.boundary(window.slot_in(of.oldest)).load(Relaxed);
        let Moment { tick, left_nanos } = now.moment;
        let limit = window.limit().get();
        if !of.is(Cause { word: seen, permits, limit, tick, oldest }) {
            return None;
        }
        let known = KnownForecast {
            limit,
            used: (seen.wrapping_sub(oldest) & window.count_mask()) >> STATE_BITS,
            reset_nanos: reset_nanos.wrapping_add(left_nanos),
            retry_nanos: retry_nanos.wrapping_add(left_nanos),
        };
        let forecast = Forecast::Known(known);
        Some(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 }))
    }

    /// Keeps a denial by the word, the limit and the boundary in `of`, with its times as of `now`.
    #[inline]
    pub(super) fn keep_denial(&self, of: Cause, now: Now, known: &KnownForecast) {
        if let (Some(last), [_]) = (self.hot.last_denial(), self.windows()) {
            let left_nanos = now.moment.left_nanos;
            last.keep(
                of,
                known.retry_nanos.wrapping_sub(left_nanos),
                known.reset_nanos.wrapping_sub(left_nanos),
            );
        }
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::decision::history::History;
    use crate::time::clock::manual::ManualClock;
    use crate::window::ring::plan::Plan;
    use crate::window::sliding_window::Padded;

    const SECOND: u64 = 1_000_000_000;

    type OneWindow<'a> = Ring<Padded, [WindowSlots; 1], &'a ManualClock>;

    /// Returns the permits of the denial that is kept, if it is told at the present word and time.
    fn kept(ring: &OneWindow<'_>) -> Option<u64> {
        let (seen, now) = (ring.load(), ring.now());
        (1..=9).find(|&permits| ring.deny_again(permits, seen, now).is_some())
    }

    #[test]
    fn the_second_denial_by_a_word_is_kept_until_the_tick_ends_and_not_written_over() {
        let clock = ManualClock::new();
        let plan = Plan { limit: 9, window_nanos: 60 * SECOND, slots: 60 };
        let ring: OneWindow<'_> = Ring::new(&[plan], &clock).unwrap();
        let refuse = |permits| assert!(ring.try_acquire(permits).is_err());
        ring.try_acquire(9).unwrap();
        refuse(2);
        assert_eq!(kept(&ring), None);
        refuse(2);
        assert_eq!(kept(&ring), Some(2));
        refuse(3);
        assert_eq!(kept(&ring), Some(2));

        // It is out of date, so another one takes its place.
        ring.set_limit(8).unwrap();
        assert_eq!(kept(&ring), None);
        refuse(3);
        assert_eq!(kept(&ring), Some(3));
        clock.set_nanos(SECOND - 1);
        assert_eq!(kept(&ring), Some(3));
        clock.set_nanos(SECOND);
        assert_eq!(kept(&ring), None);
        refuse(4);
        assert_eq!(kept(&ring), Some(4));
    }

    #[test]
    fn a_restored_history_may_be_of_the_same_word_and_empties_the_place() {
        let clock = ManualClock::new();
        let plan = Plan { limit: 9, window_nanos: 60 * SECOND, slots: 60 };
        let mut ring: OneWindow<'_> = Ring::new(&[plan], &clock).unwrap();
        ring.try_acquire(9).unwrap();
        let before = ring.load();
        (0..2).for_each(|_| assert!(ring.try_acquire(2).is_err()));
        assert_eq!(kept(&ring), Some(2));
        ring.restore(&History::new([(Duration::from_secs(30), 9)]), 0);
        assert_eq!((ring.load(), kept(&ring)), (before, None));
    }
}
