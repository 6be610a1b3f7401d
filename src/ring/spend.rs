//! The loop that spends: everything that raises the count.

use crate::Clock;
use crate::decision::{Counted, Denied, Grant, Outlook, Shortfall, Windowed};
use crate::receipt::{Receipt, Revoke};
use crate::sync::{
    Backoff,
    Ordering::{AcqRel, Acquire, Relaxed},
};

use super::layout::{Hot, State};
use super::{Line, Now, Ring, Span};

/// A grant, and the word before and after it.
struct Granted {
    grant: Grant,
    seen: u64,
    written: u64,
}

impl<L: Line, W: AsRef<[Span]>, C: Clock> Ring<L, W, C> {
    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<true>(|_| permits).map(|granted| granted.grant)
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.spend::<false>(|_| permits).map(|granted| granted.grant)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        // If there is nothing, it is the first permit that is refused.
        self.spend::<true>(|room| permits.min(room().max(1))).map(|granted| granted.grant)
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        let Granted { grant, seen, written } = self.spend::<true>(|_| permits)?;
        Ok(Receipt::revocable(grant, (seen, written), self))
    }

    /// Spends what `ask` makes of the room that there is, if `SPEND`.
    #[inline(always)]
    fn spend<const SPEND: bool>(
        &self,
        ask: impl Fn(&dyn Fn() -> u64) -> u64,
    ) -> Result<Granted, Denied> {
        let mut now = self.now();
        // ORDERING: Acquire. The tick names the boundaries that count; this makes
        // them visible. Pairs with the CAS that opened the word in `help`.
        // MODEL: `no_window_admits_more_than_its_limit`.
        let mut seen = self.hot.word().load(Acquire);
        let backoff = Backoff::new();
        loop {
            let (hot, state) = self.core.layout.read(seen);
            if state != State::Open {
                seen = self.help(seen);
                continue;
            }
            if self.is_behind(hot, &now) {
                seen = self.heal(&mut now);
                continue;
            }
            let permits = ask(&|| self.room(hot, &now));
            if permits == 0 || !self.fits(permits, hot, &now) || !SPEND {
                let answer = self.answer(permits, hot, &now);
                // Nothing to write, so no CAS vouches for the boundaries.
                match self.still(seen) {
                    Ok(()) => {
                        return answer.map(|grant| Granted { grant, seen, written: seen });
                    }
                    Err(found) => seen = found,
                }
                continue;
            }
            if self.core.layout.tick.ahead(now.moment.tick, hot.tick) > 0 {
                seen = self.turn(seen, now.moment.tick);
                continue;
            }
            let after = Hot { count: hot.count.wrapping_add(permits), ..hot };
            let written = self.core.layout.word(after, State::Open);
            // ORDERING: AcqRel on success. Release for the argument in
            // `Span::since`; both, so that what one admitted caller did before it
            // asked is visible to the next one. Acquire on failure, as for the load
            // in `spend`.
            // MODEL: `no_window_admits_more_than_its_limit`.
            match self.hot.word().compare_exchange_weak(seen, written, AcqRel, Acquire) {
                Ok(_) => {
                    let grant = self.granted(permits, hot, &now);
                    return Ok(Granted { grant, seen, written });
                }
                // Lost the race. Decide again from what the winner left; the clock is
                // not read again.
                Err(found) => {
                    seen = found;
                    backoff.spin();
                }
            }
        }
    }

    #[inline]
    fn fits(&self, permits: u64, hot: Hot, now: &Now) -> bool {
        self.windows().iter().all(|window| window.counted(hot, now).fits(permits))
    }

    /// The most that all windows have room for.
    fn room(&self, hot: Hot, now: &Now) -> u64 {
        let rooms = self.windows().iter().map(|window| room(&window.counted(hot, now)));
        rooms.min().unwrap_or(0)
    }

    /// What there is to say of `permits` without taking them.
    #[cold]
    fn answer(&self, permits: u64, hot: Hot, now: &Now) -> Result<Grant, Denied> {
        if permits == 0 || self.fits(permits, hot, now) {
            return Ok(self.granted(permits, hot, now));
        }
        let limits = self.windows().iter().map(|window| window.limit().get()).enumerate();
        if let Some((which, limit)) = limits.min_by_key(|&(_, limit)| limit)
            && permits > limit
        {
            return Err(Denied::TooLarge { limit, which });
        }
        // Of those that refuse, the one that has to be waited for longest.
        let waits = self.windows().iter().map(|window| window.wait_nanos(permits, hot, now));
        let (which, retry_nanos) =
            waits.enumerate().max_by_key(|&(_, wait)| wait).unwrap_or_default();
        let counted = self.windows()[which].counted(hot, now);
        let outlook = Outlook::Windowed(Windowed {
            limit: counted.limit,
            used: counted.used(),
            reset_nanos: self.reset_nanos(hot, now),
            retry_nanos,
        });
        Err(Denied::Wait(Shortfall { wanted: permits as i64, outlook, which }))
    }

    /// The grant of `permits`, as the window with the least room left tells of it.
    #[inline]
    fn granted(&self, permits: u64, hot: Hot, now: &Now) -> Grant {
        let windows = self.windows().iter().map(|window| window.counted(hot, now));
        let scarcest = windows
            .min_by_key(room)
            .map_or((0, 0), |counted| (counted.limit, counted.used().saturating_add(permits)));
        let reset_nanos = if permits == 0 {
            self.reset_nanos(hot, now)
        } else {
            let windows = self.windows().iter();
            windows.map(|window| window.forgotten_nanos(hot, now)).max().unwrap_or(0)
        };
        let (limit, used) = scarcest;
        let outlook = Outlook::Windowed(Windowed { limit, used, reset_nanos, retry_nanos: 0 });
        Grant { permits, outlook }
    }

    /// Until nothing counts any more, in any window.
    #[cold]
    fn reset_nanos(&self, hot: Hot, now: &Now) -> u64 {
        let empty = |window: &Span| window.wait_nanos(window.limit().get(), hot, now);
        self.windows().iter().map(empty).max().unwrap_or(0)
    }
}

/// The permits that fit.
#[inline]
fn room(counted: &Counted) -> u64 {
    counted.limit.saturating_sub(counted.used())
}

impl<L: Line, W: AsRef<[Span]>, C: Clock> Revoke for Ring<L, W, C> {
    fn revoke(&self, seen: u64, written: u64) -> bool {
        // ORDERING: Relaxed. The CAS puts back what was there, and reads nothing by
        // it; a read-modify-write goes on with the release sequence that it finds.
        // No boundary can have been written since: that takes a seal, and no word
        // from before a seal comes back.
        // MODEL: `a_grant_given_back_was_never_there`.
        self.hot.word().compare_exchange(written, seen, Relaxed, Relaxed).is_ok()
    }
}
