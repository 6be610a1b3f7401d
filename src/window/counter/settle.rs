//! Settlement of a counter: what was not used of an estimate is given back in the window that was
//! charged, and what was used beyond it is taken in the present one.
//!
//! ```text
//! estimate  note the changes so far; then a grant as any other; note the window of its word
//! give back d of it
//!           if nothing has changed since, and the window still counts:
//!           by CAS: word -> word minus d, in the count of that window
//! beyond e  word' = word brought forward to the window of now
//!           by CAS: word -> word' plus e, whatever the limit
//! ```
//!
//! **Theorem.** Let a window's *charge* be the sum of the estimates that were granted in it and not
//! settled, of what was kept of those that were, and of all other grants in it. It is at most the
//! limit plus what was taken in the window beyond estimates, as long as the limiter is not reset or
//! healed; and no permit is given back twice.
//!
//! *Proof.* An estimate is one value, and what it gives back is cut off it first; so in all it gives
//! back no more than it was granted. From its grant to the end of its settlement no change replaces the
//! word (see [`changes`](crate::window::changes)), so the number of the window does not go back (only a healing
//! moves it back, also that of a window that begins with a grant and has none; and what is given back
//! of the only grant or reservation in a window), and counts move by
//! grants, settlements, receipts and reservations only. So, by induction over the CASes of the
//! word, its count of a window is that window's charge: a grant adds what it grants, and what is taken
//! beyond an estimate is added as well; what is given back is taken off the count of the window that was
//! charged with it; and a receipt that puts back the word from before a grant takes off that grant. (If
//! that is a word of an earlier window, the count was that of the one grant: all else that was
//! granted in the window had been given back.) A grant finds a count that leaves room for it within
//! the limit; only what is taken beyond an estimate may not. ∎
//!
//! Permits that are given back are at once there for others: a word means what it says, whatever it was before,
//! so a CAS that finds an earlier word again does the right thing. For receipts and callers that leave
//! the line, which need more than that, see `turns.rs`.
//!
//! A *credit* gives back what no estimate names: permits are taken off the count of the present window as far
//! as there are any, so that window's charge is the less by them.
//!
//! # What is lost
//!
//! * What is given back after the window has ended, by the clock of the caller that settles. Nobody
//!   could take it, and the next window has its own limit. In a sliding counter it is given back in
//!   the previous window, too, as long as that counts; it weighs as much as it would have.
//! * What is given back after a reset or a healing: the counts are others. Also if one was in progress
//!   at the grant, or the grant healed the limiter itself. A change of the
//!   limit leaves the counts as they are, and loses nothing.
//! * What is taken beyond the largest count that the word holds. Where windows to come can be reserved, it
//!   fills those instead, and no window exceeds its limit: see `reserve.rs`.
//! * What is given back after a later window was reserved: the word has no count for the earlier one.
//!
//! Progress: lock-free; a reset or a healing waits for the settlements in progress. Memory: two
//! words. Cost: an estimate 2 loads more than a grant; to give back a load, 3 read-modify-writes and one
//! reading of the clock; to take beyond it, a load, a CAS and a reading of the clock.

use crate::bits::Field;
use crate::decision::denied::Denied;
use crate::settle::estimate::detached::Detached;
use crate::settle::estimate::{Estimate, Hold, Settles};
use crate::sync::Ordering::{AcqRel, Relaxed};
use crate::time::clock::Clock;
use crate::window::gate::{is_gated, opened, with_gate};

use super::outcome::Granted;
use super::{CounterCore, WindowCounter};

/// The fields of a word that a settlement reads and moves. No atomics here; the gate stays as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountFields {
    /// Number of the present window.
    pub(super) window: Field,
    pub(super) current: Field,
    /// Count of the window before, where that counts, too.
    pub(super) previous: Option<Field>,
}

impl CountFields {
    pub(super) fn number(&self, word: u64) -> u64 {
        self.window.get(word)
    }

    /// Returns the count of the window with this number, if `word` has it.
    fn count_of(&self, number: u64, word: u64) -> Option<Field> {
        match self.window.ahead(self.window.get(word), number) {
            0 => Some(self.current),
            1 => self.previous,
            _ => None,
        }
    }

    /// Returns `word` with up to `permits` less in the window with this number, and how many less.
    /// There are as many, unless a receipt from before a reset has put back an earlier count.
    fn less(&self, word: u64, number: u64, permits: u64) -> Option<(u64, u64)> {
        let count = self.count_of(number, word)?;
        let given = permits.min(count.get(word));
        Some((word - count.put(given), given))
    }

    /// Returns `word` with up to `permits` more in its present window, and how many more.
    pub(super) fn more(&self, word: u64, permits: u64) -> (u64, u64) {
        let taken = permits.min(self.current.max() - self.current.get(word));
        (word + self.current.put(taken), taken)
    }
}

impl<T: WindowCounter + Sync, C: Clock + Sync> CounterCore<T, C> {
    pub(crate) fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        let changes = self.word.companion().changes();
        let since_nanos = self.clock.now_nanos();
        let Granted { grant, written, .. } =
            self.spend_at::<true, _>(since_nanos, 0, |_| permits, |granted| granted)?;
        let number = self.counter.fields().number(written);
        Ok(Estimate::new(grant, self, Hold::Count { number, changes, since_nanos }))
    }

    pub(crate) fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        Detached::attach(slot, self)
    }
}

impl<T: WindowCounter + Sync, C: Clock + Sync> Settles for CounterCore<T, C> {
    fn give_back(&self, hold: &mut Hold, permits: u64) -> u64 {
        let Hold::Count { number, changes: Some(changes), since_nanos } = *hold else { return 0 };
        if permits == 0 {
            return 0;
        }
        let now_nanos = self.clock.now_nanos();
        if now_nanos.saturating_sub(since_nanos) >= self.counter.range_nanos() / 2 {
            return 0;
        }
        let now = self.counter.now(now_nanos);
        self.lower_and_wake(number, changes, permits, &now)
    }

    fn take_beyond(&self, _: &mut Hold, permits: u64) -> u64 {
        if self.counter.reserves_nanos() > 0 {
            return self.overdraw(permits);
        }
        let mut now = self.counter.now(self.clock.now_nanos());
        let mut contender = self.word.contender();
        let mut seen = self.load();
        loop {
            let Some(word) = self.counter.at(opened(seen), &now) else {
                (seen, now) = self.heal();
                self.poke();
                continue;
            };
            let (next, taken) = self.counter.fields().more(word, permits);
            if taken == 0 {
                return 0;
            }
            let next = with_gate(next, is_gated(seen));
            // ORDERING: AcqRel and Relaxed, as in `attempt`: it is a grant, though one that nobody
            // decides on. Those in line see it when their turn comes.
            // MODEL: `settlements_of_a_window_lose_and_mint_nothing`,
            // `what_was_done_before_a_window_was_charged_beyond_an_estimate_is_seen_after_the_next_grant`.
            if self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed).is_ok() {
                return taken;
            }
            contender.lost_race();
            seen = self.load();
        }
    }
}

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    /// Takes up to `permits` off the count of the present window, and returns how many.
    pub(crate) fn credit(&self, permits: u64) -> u64 {
        if permits == 0 {
            return 0;
        }
        let (word, now) = self.look();
        let number = self.counter.fields().number(word);
        // A reset in progress leaves nothing to give back.
        let Some(changes) = self.word.companion().changes() else { return 0 };
        self.lower_and_wake(number, changes, permits, &now)
    }

    /// Takes up to `permits` off the count of the window with this number, if that counts at `now`, and
    /// there were no more `changes`. Returns how many, and lets those in line look again.
    fn lower_and_wake(&self, number: u64, changes: u64, permits: u64, now: &T::Now) -> u64 {
        let Some((seen, given)) = self.lower(number, changes, permits, now) else { return 0 };
        // Wakers are a user's code, so the settlement has ended.
        if is_gated(seen) {
            self.wake();
        }
        given
    }

    /// Takes `permits` off the count of the window with this number, if that counts at `now`, and
    /// there were no more `changes`. Returns the word from before, and how many it took off.
    pub(super) fn lower(
        &self,
        number: u64,
        changes: u64,
        permits: u64,
        now: &T::Now,
    ) -> Option<(u64, u64)> {
        let fields = self.counter.fields();
        let mut contender = self.word.contender();
        let _settlement = self.word.companion().settlement(changes)?;
        // ORDERING: Relaxed. Only the expected value of the CAS.
        // MODEL: `settlements_of_a_window_lose_and_mint_nothing`.
        let mut seen = self.word.load(Relaxed);
        loop {
            let word = opened(seen);
            // A word that is too far ahead is to be healed: it counts.
            let present = self.counter.at(word, now).unwrap_or(word);
            fields.count_of(number, present)?;
            let (next, given) = fields.less(word, number, permits)?;
            let next = with_gate(next, is_gated(seen));
            // ORDERING: Relaxed, as in `revert`: a caller that acquires this word synchronizes with the
            // grants before it, because a read-modify-write continues their release sequences. It
            // tells of nothing else. Those in line see it as they see a receipt's.
            // MODEL: `settlements_of_a_window_lose_and_mint_nothing`,
            // `what_a_window_is_given_back_wakes_its_line`.
            match self.word.compare_exchange_weak(seen, next, Relaxed, Relaxed) {
                Ok(_) => return Some((seen, given)),
                Err(_) => contender.lost_race(),
            }
            // ORDERING: Relaxed, as above.
            // MODEL: `settlements_of_a_window_lose_and_mint_nothing`.
            seen = self.word.load(Relaxed);
        }
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests;
