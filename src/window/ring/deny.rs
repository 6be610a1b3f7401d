//! The fast path of denials, the most frequent answer under overload: the word is open, in
//! the current tick or an earlier one.
//!
//! It gives the same answer as the general path in `spend`, but looks at each window once
//! instead of once for each part of the answer.

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;
use crate::window::intervals::Moment;

use super::last_denial::Cause;
use super::slots::WindowSlots;
use super::words::{Hot, STATE_BITS, State, is_gated};
use super::{HotLine, Now, Ring};

impl<L: HotLine, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    /// Returns the denial of `permits` for the word `seen`; `None` if there is none, or if
    /// this case needs the general path.
    #[inline(never)]
    pub(super) fn deny_at_once(&self, permits: u64, seen: u64, now: Now) -> Option<Denied> {
        let (hot, state) = self.core.layout.read(seen);
        let is_simple = state == State::Open
            && !is_gated(seen)
            && permits > 0
            && self.core.layout.tick.ahead(now.moment.tick, hot.tick) >= 0;
        if !is_simple {
            return None;
        }
        // Among the windows that deny, the first with the longest wait.
        let mut longest: Option<(usize, KnownForecast, u64)> = None;
        for (which, window) in self.windows().iter().enumerate() {
            let limit = window.limit().get();
            // A request above the limit is denied differently.
            let room = limit.checked_sub(permits)?;
            let in_view = InView::new(window, seen, hot, now);
            if in_view.used() <= room {
                continue;
            }
            let retry_nanos = in_view.wait_nanos(room);
            if longest.is_none_or(|(_, known, _)| retry_nanos > known.retry_nanos) {
                let known =
                    KnownForecast { limit, used: in_view.used(), reset_nanos: 0, retry_nanos };
                longest = Some((which, known, in_view.boundary));
            }
        }
        let (which, known, oldest) = longest?;
        let mut reset_nanos = 0;
        for window in self.windows() {
            reset_nanos = reset_nanos.max(InView::new(window, seen, hot, now).wait_nanos(0));
        }
        // No CAS follows to validate the boundaries, so re-check the word.
        self.still(seen).ok()?;
        let known = KnownForecast { reset_nanos, ..known };
        let Now { moment: Moment { tick, .. } } = now;
        let of = Cause { word: seen, permits, limit: known.limit, tick, oldest };
        self.keep_denial(of, now, &known);
        let forecast = Forecast::Known(known);
        Some(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which }))
    }
}

/// The slots of a window that count now, for a word that is not ahead of now.
struct InView<'a> {
    window: &'a WindowSlots,
    word: u64,
    now: Now,
    /// Slot before the first that counts.
    oldest: u64,
    /// Number of slots from that one to the slot of the word; 0 if nothing counts. The
    /// boundaries before it are written, and nothing was counted after it.
    known: u64,
    /// The boundary at its end, if anything counts.
    boundary: u64,
    /// Permits that count, at the bits of the count in a word.
    used: u64,
}

impl InView<'_> {
    #[inline(always)]
    fn new(window: &WindowSlots, word: u64, hot: Hot, now: Now) -> InView<'_> {
        let present = window.slot_of(now.moment.tick);
        let oldest = present.wrapping_sub(window.slots());
        let known = window.slots().saturating_sub(window.slots_since(hot, present));
        let in_view = InView { window, word, now, oldest, known, boundary: 0, used: 0 };
        let boundary = if known > 0 { in_view.boundary_after(0) } else { word };
        InView { boundary, used: in_view.counted_since(boundary), ..in_view }
    }

    /// Returns the permits counted since the end of the slot that is `slots` after the oldest,
    /// fewer than are known; at the bits of the count.
    #[inline(always)]
    fn since(&self, slots: u64) -> u64 {
        self.counted_since(self.boundary_after(slots))
    }

    /// Returns the permits counted since `boundary`, at the bits of the count.
    #[inline(always)]
    fn counted_since(&self, boundary: u64) -> u64 {
        self.word.wrapping_sub(boundary) & self.window.count_mask()
    }

    /// Returns the boundary at the end of the slot that is `slots` after the oldest.
    #[inline(always)]
    fn boundary_after(&self, slots: u64) -> u64 {
        // ORDERING: Relaxed, as in `WindowSlots::since_ended`; `still` checks the word again,
        // after a fence.
        // MODEL: `a_denial_is_of_a_moment_at_which_the_window_was_full`.
        self.window.boundary(self.oldest.wrapping_add(slots)).load(Relaxed)
    }

    /// Returns the permits that count.
    #[inline(always)]
    fn used(&self) -> u64 {
        self.used >> STATE_BITS
    }

    /// Returns the time until at most `room` permits count.
    #[inline(always)]
    fn wait_nanos(&self, room: u64) -> u64 {
        let room = room << STATE_BITS;
        if self.used <= room {
            return 0;
        }
        // Finds the smallest number of slots that have to leave. Usually the first suffices, or
        // all known ones have to leave.
        let (mut too_few, mut enough) = (0, self.known);
        if enough > 1 {
            if self.since(1) <= room {
                enough = 1;
            } else if self.since(enough - 1) > room {
                too_few = enough - 1;
            }
        }
        while enough - too_few > 1 {
            let middle = too_few.midpoint(enough);
            if self.since(middle) <= room { enough = middle } else { too_few = middle }
        }
        let end = self.oldest.wrapping_add(enough).wrapping_add(self.window.slots());
        self.window.until_later(end, self.now)
    }
}
