//! The counter without the feature `wait`: nobody can stand in line, and the gate is always open.

use crate::contention::HotWord;
use crate::decision::denied::Denied;
use crate::decision::receipt::revert;
use crate::decision::undo::{Debit, Undo};
use crate::time::clock::Clock;
use crate::window_counts::WindowCounts;

use super::beside::Beside;
use super::outcome::{AtTheGate, Granted};
use super::{CounterCore, WindowCounter};

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    /// Never called: no word is gated.
    #[cold]
    pub(super) fn ask_at_the_gate(
        &self,
        _now: (u64, &T::Now),
        _ask: &impl Fn(&WindowCounts) -> u64,
    ) -> AtTheGate {
        AtTheGate::Opened { now_nanos: self.clock.now_nanos() }
    }

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "as where callers can wait")]
    pub(super) fn answer_ahead(
        &self,
        _now: (u64, &T::Now),
        _ask: &impl Fn(&WindowCounts) -> u64,
    ) -> Option<Result<Granted, Denied>> {
        None
    }

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "as where callers can wait")]
    pub(super) fn overdraw(&self, _permits: u64) -> u64 {
        0
    }

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "as where callers can wait")]
    pub(super) fn wake(&self) {}

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "as where callers can wait")]
    pub(crate) fn has_line(&self) -> bool {
        false
    }

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "as where callers can wait")]
    pub(super) fn poke(&self) {}

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "as where callers can wait")]
    pub(super) fn poke_after_change(&self) {}
}

impl Undo for HotWord<u64, Beside> {
    fn undo(&self, debit: Debit<'_>) -> bool {
        let Debit::Word { before, after } = debit else { return false };
        revert(self, after, before)
    }
}
