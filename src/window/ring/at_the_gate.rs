//! Callers that find the gate of a ring closed, and changes while it is.
//!
//! A caller that finds the gate closed does not admit and does not rotate: the holder of the line's
//! lock does. Without a line no gate is ever closed.

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::sync::Ordering::{AcqRel, Acquire};
use crate::time::clock::Clock;

use super::slots::WindowSlots;
use super::spend::{RingGrant, RingLook};
use super::words::{Hot, is_gated};
use super::{HotLine, Now, Ring};

impl<L: HotLine, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    /// Answers a caller that found the gate closed: settles for those in line. Returns `None` if it
    /// is to try again: nobody is left, or the clock was set back.
    #[cold]
    #[inline(never)]
    pub(super) fn ask_at_the_gate(
        &self,
        mut now: Now,
        ask: &impl Fn(RingLook) -> u64,
    ) -> Option<Result<RingGrant, Denied>> {
        let answered = self.answer_at_the_gate(&mut now, ask, 0)?;
        if !matches!(answered, Err(Denied::Wait(_))) {
            return Some(answered);
        }
        let now_nanos;
        (now, now_nanos) = self.now_and_nanos();
        if L::help(self, now_nanos) {
            return None;
        }
        // The help may have granted those in line some of what there was.
        self.answer_at_the_gate(&mut now, ask, self.hot.wait_nanos(now_nanos))
    }

    /// Returns the answer at the gate: a denial tells `retry_nanos`. `None` if the clock was set back.
    fn answer_at_the_gate(
        &self,
        now: &mut Now,
        ask: &impl Fn(RingLook) -> u64,
        retry_nanos: u64,
    ) -> Option<Result<RingGrant, Denied>> {
        let seen = self.load();
        let answer = |hot: Hot, now: Now| {
            let look = self.look(hot, now);
            // What there is belongs to those in line.
            let permits = ask(RingLook { used: look.limit, ..look });
            if permits == 0 {
                let grant = self.granted(0, hot, look, now);
                return Ok(RingGrant { grant, seen, written: seen });
            }
            let limits = self.windows().iter().map(|window| window.limit().get()).enumerate();
            let (which, limit) = limits.min_by_key(|&(_, limit)| limit).unwrap_or((0, 0));
            if permits > limit {
                return Err(Denied::TooLarge { limit, which });
            }
            let forecast = Forecast::Known(KnownForecast {
                limit: look.limit,
                used: look.used,
                reset_nanos: self.reset_nanos(hot, now).max(retry_nanos),
                retry_nanos,
            });
            Err(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which }))
        };
        let answered = self.read_at(*now, answer);
        if answered.is_none() {
            self.heal(now);
            self.poke();
        }
        answered
    }

    /// Returns the current time of the ring, and that of the clock.
    fn now_and_nanos(&self) -> (Now, u64) {
        // ORDERING: Acquire, as in `now`.
        // MODEL: `a_ring_adds_its_shift_to_no_earlier_reading`.
        let shift = self.core.shift.load(Acquire);
        let now_nanos = self.core.clock.now_nanos();
        (self.core.moment_at(shift, now_nanos), now_nanos)
    }

    /// Lets those in line look again, after a change.
    pub(super) fn poke(&self) {
        if is_gated(self.load()) {
            L::poke(self);
        }
    }

    /// The same after a change of a limit.
    pub(super) fn poke_after_change(&self) {
        // ORDERING: AcqRel, although it changes nothing: in the order of the word either the CAS
        // that closes the gate comes after this, and the new limit is seen after that; or the gate
        // is found closed here. Acquire, so that it passes on an earlier change.
        // MODEL: `a_raised_limit_of_a_ring_is_seen_by_a_caller_in_line`.
        if is_gated(self.hot.word().fetch_add(0, AcqRel)) {
            L::poke(self);
        }
    }
}
