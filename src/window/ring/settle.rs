//! Settlement of a ring: what was not used of an estimate is taken off the slot that was charged, and
//! what was used beyond it is counted in the present one.
//!
//! The permits of a slot `j` are in the cumulative count `C` for good: it only grows. They count in a
//! window as long as its oldest boundary is that of a slot before `j`. So they are taken off by
//! raising the boundaries before `j`, as if they had been counted before them:
//!
//! ```text
//! estimate  note the changes so far; then a grant as any other; note its slot j
//! give back d of it
//!           if nothing has changed since, and slot j counts:
//!           for each slot i from j - 1 down to the oldest that a window of tick k may begin after:
//!           by CAS: boundary[i] -> boundary[i] + d, if it is still that of slot i
//! beyond e  by CAS: (k, C) -> (k, C + e), whatever the limit, in the tick k of now
//! ```
//!
//! **Theorem.** Let the *charge* of a slot be the sum of the estimates that were granted in it and not
//! settled, of what was kept of those that were, of all other grants in it, and of what was taken in it
//! beyond estimates. No window admits a grant that makes the charges of its slots exceed the limit, as
//! long as the ring is not reset; and no permit is given back twice.
//!
//! *Proof.* An estimate is one value, and what it gives back is cut off it first. From its grant to the
//! end of its settlement no reset rewrites the boundaries (see [`changes`](crate::window::changes)). So
//! `C - boundary[i]`, for a slot `i` whose boundary is written, is at least the charges of the slots
//! after `i`: it is their sum when the boundary is written, a grant adds to both, and a
//! settlement takes `d` off the difference only if `i < j`, so that these charges include the estimate.
//!
//! A CAS that admits has found the word unchanged since its boundary was read, so `C` includes every
//! grant before the CAS, and with it every estimate that the boundary was raised for: a raise that
//! is read happens after its grant, and a grant after the CAS happens after the reading. So what it
//! finds in use is at least the charges of its window. ∎
//!
//! **Lemma.** A rotation leaves out no boundary for a settlement. *Proof.* A boundary is
//! raised by a CAS from the number of its slot; a slot that has taken its place since has another
//! one. A rotation whose CAS fails because the boundary there was raised tries again. And one that was
//! held up finds the word opened if it reads a raised boundary of a slot that ended in its own
//! rotation: raises are Releases, and come after the opening. ∎
//!
//! The oldest boundary to raise is told by the tick of the word, not by the reading of the settlement: a
//! caller that was held up, with an earlier reading, still looks at the window of that tick.
//!
//! The word stays as it is, so receipts, callers in line and denials, which go by it, see nothing of
//! a settlement but its result. Boundaries are raised from the latest to the earliest, so that they are in
//! order at each moment.
//!
//! # What is lost
//!
//! * What is given back after the slot has left the window, by the clock of the caller that settles:
//!   nobody could take it. Of several windows, each takes back what it counts.
//! * What is given back after a reset, or if one was in progress at the grant. A change of the limit,
//!   and a healing, which leaves all counts as they are, lose nothing.
//! * What is taken beyond half of what the count can tell apart: at least to the largest limit.
//!
//! Progress: lock-free; a reset waits for the settlements in progress. Memory: two words. Cost: an
//! estimate 2 loads more than a grant; to give back 2 read-modify-writes, one more for each slot that
//! the charged one has yet to stay in the window, and one of the hot word, which changes nothing, to
//! find callers in line; to take beyond it what a grant costs.

use crate::contention::Contender;
use crate::decision::denied::Denied;
use crate::settle::estimate::detached::Detached;
use crate::settle::estimate::{Estimate, Hold, Settles};
use crate::sync::Ordering::{AcqRel, Relaxed, Release};
use crate::time::clock::Clock;

use super::slots::WindowSlots;
use super::words::{Hot, State};
use super::{HotLine, Now, Ring};

impl<L, W, C> Ring<L, W, C>
where
    L: HotLine + Sync,
    W: AsRef<[WindowSlots]> + Sync,
    C: Clock + Sync,
{
    pub(crate) fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        let changes = self.hot.changes().changes();
        let now = self.now();
        let granted = self.spend_from::<true>(self.load(), now, false, 0, |_| permits)?;
        let (Hot { tick, .. }, _) = self.core.layout.read(granted.written);
        let hold = Hold::Slot { tick, changes, since_tick: now.moment.tick };
        Ok(Estimate::new(granted.grant, self, hold))
    }

    pub(crate) fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        Detached::attach(slot, self)
    }
}

impl<L, W, C> Settles for Ring<L, W, C>
where
    L: HotLine + Sync,
    W: AsRef<[WindowSlots]> + Sync,
    C: Clock + Sync,
{
    fn give_back(&self, hold: &mut Hold, permits: u64) -> u64 {
        let Hold::Slot { tick, changes: Some(changes), since_tick } = *hold else { return 0 };
        if permits == 0 {
            return 0;
        }
        let now = self.now();
        // So late that the numbers of ticks may repeat. The clock may also be behind.
        let elapsed = now.moment.tick.wrapping_sub(since_tick) as i64;
        if elapsed >= (self.core.layout.tick.max() >> 1) as i64
            || !self.lower(tick, changes, permits, now)
        {
            return 0;
        }
        // Wakers are a user's code, so the settlement has ended.
        self.poke_after_change();
        permits
    }

    fn take_beyond(&self, _: &mut Hold, permits: u64) -> u64 {
        let mut now = self.now();
        let mut contender = Contender::new(self.hot.contention());
        let mut seen = self.load();
        loop {
            let (hot, state) = self.core.layout.read(seen);
            if state != State::Open {
                seen = self.help(seen);
                continue;
            }
            if self.is_behind(hot, now) {
                seen = self.heal(&mut now);
                self.poke();
                continue;
            }
            if self.core.layout.tick.ahead(now.moment.tick, hot.tick) > 0 {
                seen = self.turn(seen, now.moment.tick);
                continue;
            }
            let used = self.windows().iter().map(|window| window.used(hot, now)).max();
            let most = self.core.layout.count.max() >> 1;
            let taken = permits.min(most.saturating_sub(used.unwrap_or(0)));
            let written = self.core.layout.plus(seen, taken);
            // ORDERING: AcqRel and Relaxed, as in `admit`: it is a grant, though one that nobody
            // decides on. Those in line see it when their turn comes.
            // MODEL: `settlements_of_a_ring_lose_and_mint_nothing`,
            // `what_was_done_before_a_ring_was_charged_beyond_an_estimate_is_seen_after_the_next_grant`.
            if self.hot.word().compare_exchange_weak(seen, written, AcqRel, Relaxed).is_ok() {
                return taken;
            }
            contender.lost_race();
            seen = self.load();
        }
    }
}

impl<L: HotLine, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    /// Takes `permits` off the slots of `tick`, in each window that counts them at `now`, if there were
    /// no more `changes`. Returns whether any does.
    fn lower(&self, tick: u64, changes: u64, permits: u64, now: Now) -> bool {
        let Some(_settlement) = self.hot.changes().settlement(changes) else { return false };
        let (hot, _) = self.core.layout.read(self.load());
        let counts = self.windows().iter().any(|window| window.counts(tick, hot, now));
        if counts {
            self.windows().iter().for_each(|window| window.lower(tick, permits, hot));
        }
        counts
    }
}

impl WindowSlots {
    /// Takes `permits` off the slot of `tick`, in which they were granted.
    ///
    /// By the tick of the hot word, not by a reading of the clock: a caller with an older one may still
    /// look at a window that has passed.
    fn lower(&self, tick: u64, permits: u64, hot: Hot) {
        let charged = self.slot_of(tick);
        for before in 1..=self.slots_left(charged, self.slot_of(hot.tick)) {
            self.raise(charged.wrapping_sub(before), permits);
        }
    }

    /// Adds `permits` to the boundary at the end of `slot`, unless a later one has its place.
    fn raise(&self, slot: u64, permits: u64) {
        let boundary = self.boundary(slot);
        // ORDERING: Relaxed. Only the expected value of the CAS. It is not from before the boundary was
        // written: the caller was granted permits in a later slot.
        // MODEL: `settlements_of_a_ring_lose_and_mint_nothing`.
        let mut seen = boundary.load(Relaxed);
        while self.is_of(seen, slot) {
            let raised = self.raised(seen, permits);
            // ORDERING: Release, so that a thread that reads it finds a hot word that counts the
            // estimate (a denial or a look, which re-checks the word), and one that was opened since the
            // boundary was written (a helper that was held up). A CAS of the hot word needs neither: if
            // it comes before the estimate's, the boundary was read before this. Not Acquire: nothing is
            // decided by what others have raised it for.
            // MODEL: `a_look_beside_a_settlement_of_a_ring_is_of_one_moment`,
            // `a_helper_that_was_held_up_takes_nothing_back_that_was_given_back`.
            match boundary.compare_exchange_weak(seen, raised, Release, Relaxed) {
                Ok(_) => return,
                Err(found) => seen = found,
            }
        }
    }
}
