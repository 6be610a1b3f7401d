//! Callers that find the gate of a ring closed, and changes while it is.
//!
//! A caller that finds the gate closed does not admit and does not rotate: the holder of the line's
//! lock does. Without a line no gate is ever closed.

use alloc::vec::Vec;
use core::iter::repeat_n;

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::sync::Ordering::AcqRel;
use crate::time::clock::Clock;

use super::ahead::Ahead;
use super::slots::WindowSlots;
use super::spend::{RingGrant, RingLook};
use super::words::{Hot, is_gated};
use super::{HotLine, Now, Ring};

/// Callers in line that a denial looks at, at most, as if each wanted as much as ever is granted.
const MOST_AHEAD: u64 = 64;

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
                reset_nanos: self.reset_nanos(hot, now),
                retry_nanos: self.wait_behind_the_line(permits, limit, hot, now),
            });
            Err(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which }))
        };
        let Some(answered) = self.read_at(now, answer) else {
            self.heal(&mut now);
            self.poke();
            return None;
        };
        if matches!(answered, Err(Denied::Wait(_))) && L::help(self, self.core.clock.now_nanos()) {
            return None;
        }
        Some(answered)
    }

    /// Returns a time until all in line can have had their turns, and `permits` are there.
    fn wait_behind_the_line(&self, permits: u64, limit: u64, hot: Hot, now: Now) -> u64 {
        let waiting = self.hot.waiting();
        let whole = waiting.checked_div(limit).unwrap_or(0).min(MOST_AHEAD);
        let rest = waiting.saturating_sub(whole.saturating_mul(limit)).min(limit);
        let sizes: Vec<u64> = repeat_n(limit, whole as usize).chain([rest, permits]).collect();
        Ahead::new(self.windows(), hot, now, self.core.ticks.length_nanos()).wait_nanos(&sizes)
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
