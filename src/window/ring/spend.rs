//! The loop that spends: everything that raises the count.

use crate::contention::{Contender, Contention};
use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::decision::undo::Debit;
use crate::limiter::leaving::counted_beside;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::time::clock::Clock;

use super::slots::WindowSlots;
use super::words::{Hot, State, is_gated};
use super::{HotLine, Now, Ring};

/// A grant, with the word before and after it.
pub(super) struct RingGrant {
    pub(super) grant: Grant,
    pub(super) seen: u64,
    pub(super) written: u64,
}

/// The permits available in all windows together.
#[derive(Clone, Copy)]
pub(super) struct RingLook {
    pub(super) limit: u64,
    pub(super) used: u64,
    /// Time until permits granted now no longer count in any window.
    pub(super) forgotten_nanos: u64,
}

impl RingLook {
    #[inline]
    pub(super) fn room(self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Combines two: the smaller limit and the fewer available permits.
    #[inline(always)]
    fn and(self, other: RingLook) -> RingLook {
        let limit = self.limit.min(other.limit);
        let used = limit.saturating_sub(self.room().min(other.room()));
        RingLook { limit, used, forgotten_nanos: self.forgotten_nanos.max(other.forgotten_nanos) }
    }
}

impl<L: HotLine, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend(permits, 0, |granted| granted.grant)
    }

    #[inline(always)]
    pub(crate) fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.spend(permits, counted_beside(permits, reserve), |granted| granted.grant)
            .map_err(|denied| denied.leaving(reserve))
    }

    pub(crate) fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let (now, kept) = (self.now(), counted_beside(permits, reserve));
        self.spend_from::<false>(self.load(), now, false, kept, |_| permits + kept)
            .map(|granted| granted.grant)
            .map_err(|denied| denied.leaving(reserve))
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        let now = self.now();
        self.spend_from::<false>(self.load(), now, false, 0, |_| permits)
            .map(|granted| granted.grant)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        let now = self.now();
        // If nothing is available, the denial is that of one permit.
        self.spend_from::<true>(self.load(), now, false, 0, |look| permits.min(look.room().max(1)))
            .map(|granted| granted.grant)
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.revocable(permits, 0)
    }

    pub(crate) fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.revocable(permits, counted_beside(permits, reserve))
            .map_err(|denied| denied.leaving(reserve))
    }

    #[inline(always)]
    fn revocable(&self, permits: u64, reserve: u64) -> Result<Receipt<'_>, Denied> {
        self.spend(permits, reserve, |RingGrant { grant, seen, written }| {
            Receipt::new(grant, self.hot.undoing(), Debit::Word { before: seen, after: written })
        })
    }

    #[inline]
    pub(super) fn load(&self) -> u64 {
        // ORDERING: Acquire. The tick names the boundaries that count; this makes
        // them visible. Pairs with the CAS that opened the word in `help`.
        // MODEL: `no_window_admits_more_than_its_limit`.
        self.hot.word().load(Acquire)
    }

    /// Spends `permits`, if `reserve` more are there, and returns the part of the answer that `part` takes. The
    /// sum of both fits.
    ///
    /// Inlined as far as the usual case: the word is open in the current tick, permits are available, and no
    /// starved caller is announced. Takes each answer apart by itself, for the reason that
    /// `CounterCore::spend_at` gives.
    #[inline(always)]
    fn spend<P>(
        &self,
        permits: u64,
        reserve: u64,
        part: impl Fn(RingGrant) -> P,
    ) -> Result<P, Denied> {
        let together = permits + reserve;
        let now = self.now();
        let seen = self.load();
        if self.core.layout.is_open_at(seen, now.moment.tick)
            && permits > 0
            && let Some(look) = self.look_at_once(seen, now)
            && together <= look.room()
            && !self.hot.contention().is_some_and(Contention::is_announced)
        {
            let (hot, _) = self.core.layout.read(seen);
            return match self.admit(permits, seen, hot, look, now) {
                Some(granted) => Ok(part(granted)),
                None => self.spend_from::<true>(seen, now, true, reserve, |_| together).map(part),
            };
        }
        if let Some(denied) = self.deny_again(together, seen, now) {
            return Err(denied);
        }
        if let Some(denied) = self.deny_at_once(together, seen, now) {
            return Err(denied);
        }
        self.spend_from::<true>(seen, now, false, reserve, |_| together).map(part)
    }

    /// The loop. It starts from the word `seen`, or reloads it if the caller `has_lost` a
    /// race for that. If `SPEND`, it spends the permits that `ask` chooses, less `reserve` of them, which
    /// only have to be there.
    #[inline(never)]
    pub(super) fn spend_from<const SPEND: bool>(
        &self,
        mut seen: u64,
        mut now: Now,
        has_lost: bool,
        reserve: u64,
        ask: impl Fn(RingLook) -> u64,
    ) -> Result<RingGrant, Denied> {
        let mut contender = Contender::new(self.hot.contention());
        if has_lost {
            contender.lost_race();
            seen = self.load();
        }
        loop {
            if is_gated(seen) {
                if let Some(answer) = self.ask_at_the_gate(now, &ask) {
                    return answer;
                }
                (now, seen) = (self.now(), self.load());
                continue;
            }
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
            let look = self.look(hot, now);
            let together = ask(look);
            let permits = together.saturating_sub(reserve);
            if permits == 0 || together > look.room() || !SPEND {
                let answer = self.answer(together, reserve, hot, look, now);
                // No CAS follows to validate the boundaries, so re-check the word.
                match (self.still(seen), answer) {
                    (Ok(()), Some(answer)) => {
                        return answer.map(|grant| RingGrant { grant, seen, written: seen });
                    }
                    (Ok(()), None) => {}
                    (Err(found), _) => seen = found,
                }
                continue;
            }
            if self.core.layout.tick.ahead(now.moment.tick, hot.tick) > 0 {
                seen = self.turn(seen, now.moment.tick);
                continue;
            }
            if contender.has_stepped_back() {
                seen = self.load();
                continue;
            }
            if let Some(granted) = self.admit(permits, seen, hot, look, now) {
                return Ok(granted);
            }
            // Decide again from the winner's word; the clock is not read again.
            contender.lost_race();
            seen = self.load();
        }
    }

    /// Takes `permits`, which are available; `None` if the word is no longer `seen`.
    #[inline(always)]
    fn admit(
        &self,
        permits: u64,
        seen: u64,
        hot: Hot,
        look: RingLook,
        now: Now,
    ) -> Option<RingGrant> {
        let written = self.core.layout.plus(seen, permits);
        // ORDERING: AcqRel on success. Release for the argument in `WindowSlots::since_ended`;
        // both, so that what an admitted caller did before its request is visible to
        // the next one. Relaxed on failure: the word is loaded again.
        // MODEL: `no_window_admits_more_than_its_limit`,
        // `what_was_done_before_a_grant_is_seen_after_the_next_of_a_ring`.
        self.hot.word().compare_exchange_weak(seen, written, AcqRel, Relaxed).ok()?;
        Some(RingGrant { grant: self.granted(permits, hot, look, now), seen, written })
    }

    #[inline]
    pub(super) fn look(&self, hot: Hot, now: Now) -> RingLook {
        let look = |window: &WindowSlots| {
            let forgotten_nanos = window.forgotten_nanos(hot, now);
            RingLook { limit: window.limit().get(), used: window.used(hot, now), forgotten_nanos }
        };
        let none = RingLook { limit: 0, used: 0, forgotten_nanos: 0 };
        self.windows().iter().map(look).reduce(RingLook::and).unwrap_or(none)
    }

    /// The same for a word that is open in the current tick; `None` if there are no windows.
    #[inline(always)]
    fn look_at_once(&self, seen: u64, now: Now) -> Option<RingLook> {
        let look = |window: &WindowSlots| {
            let used = window.held(seen, now.moment.tick);
            let forgotten_nanos = window.forgotten_at_once_nanos(now);
            RingLook { limit: window.limit().get(), used, forgotten_nanos }
        };
        // The first window by itself: one is the usual number, and the loop of `reduce` would make
        // its CAS wait for the clock.
        let (first, others) = self.windows().split_first()?;
        Some(others.iter().fold(look(first), |least, window| least.and(look(window))))
    }

    /// Returns the answer to a request for `permits`, of which `reserve` only have to be there, and that takes
    /// none; `None` if a limit was raised meanwhile, so that they are available.
    fn answer(
        &self,
        permits: u64,
        reserve: u64,
        hot: Hot,
        look: RingLook,
        now: Now,
    ) -> Option<Result<Grant, Denied>> {
        if permits == 0 || permits <= look.room() {
            return Some(Ok(self.granted(permits.saturating_sub(reserve), hot, look, now)));
        }
        let limits = self.windows().iter().map(|window| window.limit().get()).enumerate();
        if let Some((which, limit)) = limits.min_by_key(|&(_, limit)| limit)
            && permits > limit
        {
            return Some(Err(Denied::TooLarge { limit, which }));
        }
        // Among the windows that deny, the first with the longest wait.
        let waits = self.windows().iter().map(|window| window.wait_nanos(permits, hot, now));
        let (which, retry_nanos) = waits.enumerate().rev().max_by_key(|&(_, wait)| wait)?;
        let window = &self.windows()[which];
        let forecast = Forecast::Known(KnownForecast {
            limit: window.limit().get(),
            used: window.used(hot, now),
            reset_nanos: self.reset_nanos(hot, now),
            retry_nanos,
        });
        (retry_nanos > 0).then_some(Err(Denied::Wait(Shortfall {
            wanted: permits as i64,
            forecast,
            which,
        })))
    }

    /// Returns the grant of `permits`, described for all windows together.
    #[inline(always)]
    pub(super) fn granted(&self, permits: u64, hot: Hot, look: RingLook, now: Now) -> Grant {
        let reset_nanos =
            if permits == 0 { self.reset_nanos(hot, now) } else { look.forgotten_nanos };
        let used = look.used.saturating_add(permits);
        let forecast =
            Forecast::Known(KnownForecast { limit: look.limit, used, reset_nanos, retry_nanos: 0 });
        Grant { permits, forecast }
    }

    /// Returns the time until nothing counts any more in any window.
    #[inline(never)]
    pub(super) fn reset_nanos(&self, hot: Hot, now: Now) -> u64 {
        let empty = |window: &WindowSlots| window.empty_nanos(hot, now);
        self.windows().iter().map(empty).max().unwrap_or(0)
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::time::clock::manual::ManualClock;
    use crate::window::ring::plan::Plan;
    use crate::window::sliding_window::Padded;

    /// Returns the permits that others are granted, one after the other, before a caller that
    /// loses a race to each of them announces itself.
    fn losses(has_lost: bool) -> u64 {
        let plan = Plan { limit: 100, window_nanos: 3_600_000_000_000, slots: 1 };
        let ring: Ring<Padded, [WindowSlots; 1], _> =
            Ring::new(&[plan], ManualClock::new()).unwrap();
        let others = Cell::new(0);
        let granted = ring.spend_from::<true>(ring.load(), ring.now(), has_lost, 0, |_| {
            if !ring.hot.contention().is_some_and(Contention::is_announced) {
                others.set(others.get() + 1);
                ring.spend_from::<true>(ring.load(), ring.now(), false, 0, |_| 1)
                    .map(drop)
                    .unwrap();
            }
            1
        });
        assert!(granted.is_ok());
        others.get()
    }

    #[test]
    fn the_race_that_is_lost_before_the_loop_counts_as_those_in_it_do() {
        assert_eq!(losses(true) + 1, losses(false));
    }
}
