//! The rotation of the ring to a new tick, and a reset.

use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::time::clock::Clock;

use super::slots::WindowSlots;
use super::words::{Hot, State, is_gated, with_gate};
use super::{HotLine, Ring};

impl<L: HotLine, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    /// Rotates the word, which is open and was read as `seen`, to `tick`, and returns the
    /// word afterwards.
    #[cold]
    #[inline(never)]
    pub(super) fn turn(&self, seen: u64, tick: u64) -> u64 {
        let (hot, _) = self.core.layout.read(seen);
        let sealed = self.core.layout.word(Hot { tick, ..hot }, State::Turning);
        let sealed = with_gate(sealed, is_gated(seen));
        // ORDERING: AcqRel. Acquire orders the boundaries that are written next after
        // the admissions of the old tick, whose CASes are Releases; see
        // `WindowSlots::since_ended`. Release, so that a thread that sees the seal sees the
        // boundaries that were written before. Acquire on failure, as in `spend`.
        // MODEL: `no_window_admits_more_than_its_limit`.
        match self.hot.word().compare_exchange(seen, sealed, AcqRel, Acquire) {
            Ok(_) => self.help(sealed),
            Err(found) => found,
        }
    }

    /// Forgets all earlier grants: every boundary is set to the present count.
    ///
    /// The count is raised by one, so that an earlier word does not recur in this tick, unless the count
    /// wraps in it. Otherwise a receipt could give back a grant that no longer counts. Waits for the
    /// settlements in progress, and ends those that come later.
    pub(crate) fn reset(&self) {
        let change = self.hot.changes().change();
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_reset_forgets_what_was_before_and_nothing_after`.
        let mut seen = self.hot.word().load(Acquire);
        loop {
            let (hot, state) = self.core.layout.read(seen);
            if state != State::Open {
                seen = self.help(seen);
                continue;
            }
            let hot = Hot { count: hot.count.wrapping_add(1), ..hot };
            let sealed = self.core.layout.word(hot, State::Resetting);
            let sealed = with_gate(sealed, is_gated(seen));
            // ORDERING: as in `turn`.
            // MODEL: `a_reset_forgets_what_was_before_and_nothing_after`.
            match self.hot.word().compare_exchange(seen, sealed, AcqRel, Acquire) {
                Ok(_) => {
                    self.help(sealed);
                    drop(change);
                    return self.poke();
                }
                Err(found) => seen = found,
            }
        }
    }

    /// Writes the boundaries that the `sealed` word is missing, opens it, and returns the
    /// word afterwards.
    #[cold]
    #[inline(never)]
    pub(super) fn help(&self, sealed: u64) -> u64 {
        for window in self.windows() {
            if let Err(found) = self.fill(window, sealed) {
                return found;
            }
        }
        let (hot, _) = self.core.layout.read(sealed);
        let open = with_gate(self.core.layout.word(hot, State::Open), is_gated(sealed));
        // ORDERING: AcqRel. Release publishes the boundaries, including those of other threads:
        // they were written here or seen with Acquire. Acquire on failure, as in `spend`.
        // MODEL: `no_window_admits_more_than_its_limit`.
        match self.hot.word().compare_exchange(sealed, open, AcqRel, Acquire) {
            Ok(_) => open,
            Err(found) => found,
        }
    }

    /// Writes the boundaries of `window` that the `sealed` word is missing, in order.
    /// Returns the current word if it is no longer the sealed one.
    fn fill(&self, window: &WindowSlots, sealed: u64) -> Result<(), u64> {
        let (hot, state) = self.core.layout.read(sealed);
        let present = window.slot_of(hot.tick);
        let slot = |ago: u64| present.wrapping_sub(ago);
        // ORDERING: Acquire. Boundaries written by other threads are published by the CAS
        // that opens the word, in whichever thread. Pairs with the CAS below.
        // MODEL: `no_window_admits_more_than_its_limit`.
        let load = |ago: u64| window.boundary(slot(ago)).load(Acquire);
        // A rotation misses the latest ones, a reset rewrites all.
        let missing = match state {
            State::Resetting => window.slots(),
            State::Open | State::Turning => (1..=window.slots())
                .find(|&ago| window.is_of(load(ago), slot(ago)))
                .map_or(window.slots(), |ago| ago - 1),
        };
        let mut ago = missing;
        while ago > 0 {
            let ended = window.word(slot(ago), hot.count);
            let seen = load(ago);
            if seen == ended {
                ago -= 1;
                continue;
            }
            // ORDERING: Acquire, for a caller that continues with the word found. It comes after
            // the load of the boundary, which is an Acquire: a boundary written after
            // the word was opened makes the word of that time visible.
            // MODEL: `a_helper_that_was_held_up_spoils_no_later_boundary`.
            let found = self.hot.word().load(Acquire);
            if found != sealed {
                return Err(found);
            }
            let boundary = window.boundary(slot(ago));
            // ORDERING: Release, for `Ring::still` and for the load above: a thread that sees
            // this boundary sees the seal. Relaxed on failure: it is loaded again. Another thread
            // wrote it; or a settlement has raised the one that was there before, and this one is
            // still missing.
            // MODEL: `no_window_admits_more_than_its_limit`,
            // `a_denial_is_of_a_moment_at_which_the_window_was_full`,
            // `a_settlement_beside_a_rotation_leaves_no_boundary_out`.
            if boundary.compare_exchange(seen, ended, Release, Relaxed).is_ok() {
                ago -= 1;
            }
        }
        Ok(())
    }
}
