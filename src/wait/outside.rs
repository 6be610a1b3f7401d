//! A line outside of its limiter's word, for limiters whose words have no gate: it has a gate of its
//! own, and asks the limiter as any caller does.
//!
//! ```text
//! try       loads the gate: if it is open, asks the limiter
//! serve     (of `line.rs`, under the lock) closes the gate, then asks the limiter for the first;
//!             granted            opens the gate if nobody stands behind it
//!             denied             the first is due once the wait that the limiter tells has passed
//! update    changes the limiter, then locks the line and serves
//! ```
//!
//! **Theorem.** No caller of this line that starts after another one stands in it is granted permits
//! before that one. (*After* is in the sense of the memory model: another thread learns of the caller
//! in line by something that synchronizes with it.)
//!
//! *Proof.* A caller stands in line when its `stand` returns. That has served: so it closed the gate,
//! or found it closed, and did not open it. Only the holder of the lock moves the gate, and opens it
//! when nobody is left, the other one included. The load of a call that happens after the `stand`
//! reads that store or a later one, so it finds the gate closed until then, and the call does not
//! reach the limiter; a caller that comes to stand is further behind, and a pass asks only for the
//! first. ∎
//!
//! A call that had found the gate open may be granted permits after it was closed: it started before.
//! This is what a bit of the limiter's own word would prevent, and all that it would.
//!
//! **Theorem.** When an `update` has returned, nobody in line could be granted permits that it has
//! brought.
//!
//! *Proof.* It locks the line after the change, whatever the gate is. Whoever stood in line by then is
//! served. Whoever comes later locks the line after that, and asks the limiter under the lock. ∎
//!
//! A look at the gate instead of the lock would not do: the gate is stored before the limiter is
//! loaded, and the limiter before the gate, so both sides could find what was there before.
//!
//! The bound is the limiter's, as every permit is granted by the limiter.

mod periods;

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;
use crate::time::units;

use self::periods::periods_ahead;
use super::charged::Charged;
use super::lane::Lane;
use super::last_turn::LastTurn;
use super::line;
use super::line_lock::LineLock;
use super::turn::{Taken, TakesTurns, Turn};

/// Time after which the first in line asks again, if the limiter does not know how long it has to
/// wait, or has changed its mind.
const LOOK_AGAIN_NANOS: u64 = 10_000_000;

const OPEN: u64 = 0;
const CLOSED: u64 = 1;

/// A line with a gate of its own.
pub(crate) struct OutsideLine {
    /// Closed while callers wait in line. Only the holder of the line's lock moves it.
    gate: AtomicWord<u64>,
    /// The time in which the limiter grants its limit anew: the time in which it earns it, or else the
    /// longest time until it would be full again of those that it has told in line.
    period_nanos: AtomicWord<u64>,
    /// The instant at which that time has passed. Then it counts no longer: a debt may have made it long.
    period_ends_nanos: AtomicWord<u64>,
    /// The wait that the last denial of the first in line told, or the time after which it asks again.
    first_wait_nanos: AtomicWord<u64>,
    line_lock: LineLock,
}

/// A limiter behind a line that is outside of its word.
pub(crate) trait HasOutsideLine {
    fn outside(&self) -> &OutsideLine;

    fn line_clock(&self) -> &dyn Clock;

    /// Asks the limiter for `permits`, whatever the gate is.
    fn ask(&self, permits: u64) -> Result<Grant, Denied>;

    /// Returns the answer that `ask` would give.
    fn look(&self, permits: u64) -> Result<Grant, Denied>;

    /// Returns the answer to the last of several requests for `permits` in all.
    fn look_ahead(&self, permits: u64) -> Result<Grant, Denied>;

    /// Takes `permits` at once, or not, as the gate has it.
    fn ask_at_the_gate(&self, permits: u64) -> Result<Grant, Denied>;

    /// Does the same as `ask` for the first in line. The charge tells what is kept of the grant.
    fn ask_in_line(&self, permits: u64) -> Result<(Grant, Charged), Denied> {
        Ok((self.ask(permits)?, Charged::NOTHING))
    }

    /// Takes back a grant in line, if anything is kept of it.
    fn take_back(&self, _charged: Charged) -> bool {
        false
    }

    /// Forgets what is kept of a grant in line.
    fn forget(&self, _charged: Charged) {}

    /// Returns the lane of a caller that asks through this.
    fn lane_in_line(&self) -> Lane {
        Lane::default()
    }

    /// Returns a mark of the line, if it is found by a user's code.
    fn mark_of_line(&self) -> usize {
        0
    }
}

impl OutsideLine {
    pub(crate) fn new() -> OutsideLine {
        OutsideLine {
            gate: AtomicWord::new(OPEN),
            period_nanos: AtomicWord::new(0),
            period_ends_nanos: AtomicWord::new(0),
            first_wait_nanos: AtomicWord::new(LOOK_AGAIN_NANOS),
            line_lock: LineLock::new(),
        }
    }

    #[inline]
    pub(crate) fn is_gated(&self) -> bool {
        // ORDERING: Relaxed. A call that starts after the gate was closed finds it so by coherence;
        // permits, and all that goes with them, are synchronized by the limiter.
        // MODEL: `nobody_overtakes_a_caller_in_line_for_a_queued_limiter`.
        self.gate.load(Relaxed) != OPEN
    }

    /// Moves the gate. Only for the holder of the line's lock.
    fn move_gate(&self, to: u64) {
        if self.is_gated() != (to == CLOSED) {
            // ORDERING: Relaxed, as in `is_gated`. No other thread stores it now.
            // MODEL: `nobody_overtakes_a_caller_in_line_for_a_queued_limiter`,
            // `a_queued_limiter_whose_line_everybody_has_left_is_open`.
            self.gate.store(to, Relaxed);
        }
    }

    pub(crate) fn line_lock(&self) -> &LineLock {
        &self.line_lock
    }

    /// Lets those in line look again, after a change of the limiter.
    pub(crate) fn poke(&self, limiter: &dyn TakesTurns) {
        self.store_period(0, 0);
        // Takes the lock, whatever the gate is.
        if self.line_lock.waiters() > 0 {
            line::poke(limiter);
        }
    }

    fn first_wait_nanos(&self) -> u64 {
        // ORDERING: Relaxed. Only the holder of the line's lock stores it, and needs it.
        // MODEL: none; no decision depends on it.
        self.first_wait_nanos.load(Relaxed)
    }

    /// Notes the wait of the first in line, which was denied at `now_nanos`.
    fn note_denial(&self, denied: Denied, now_nanos: u64) {
        if let Denied::Wait(shortfall) = denied {
            self.note_period(shortfall.forecast, now_nanos);
        }
        let wait_nanos = match known_wait(denied) {
            // Space for a key may come at any time, and nobody tells.
            Some(nanos) if matches!(denied, Denied::Full { .. }) => nanos.min(LOOK_AGAIN_NANOS),
            Some(nanos) => nanos,
            None => LOOK_AGAIN_NANOS,
        };
        // ORDERING: Relaxed, as in `first_wait_nanos`.
        // MODEL: none; no decision depends on it.
        self.first_wait_nanos.store(wait_nanos, Relaxed);
    }

    fn period_nanos(&self) -> u64 {
        // ORDERING: Relaxed. Only a forecast is made of it.
        // MODEL: none; no decision depends on it.
        self.period_nanos.load(Relaxed)
    }

    /// Notes the period of a limiter as it was found at `now_nanos`, unless a longer one still counts.
    fn note_period(&self, found: Forecast, now_nanos: u64) {
        let nanos = match found.fill_nanos() {
            0 => units::nanos(found.reset_after()),
            fill_nanos => fill_nanos,
        };
        // ORDERING: Relaxed, as in `period_nanos`.
        // MODEL: none; no decision depends on it.
        let left_nanos = self.period_ends_nanos.load(Relaxed).saturating_sub(now_nanos);
        let longest_nanos = self.period_nanos();
        // More than all of it is left if the clock was set back.
        let counts = (1..=longest_nanos).contains(&left_nanos);
        if nanos >= longest_nanos || !counts {
            self.store_period(nanos, now_nanos.saturating_add(nanos));
        }
    }

    fn store_period(&self, nanos: u64, ends_nanos: u64) {
        // ORDERING: Relaxed, as in `period_nanos`.
        // MODEL: none; no decision depends on it.
        self.period_nanos.store(nanos, Relaxed);
        // ORDERING: Relaxed, as in `period_nanos`.
        // MODEL: none; no decision depends on it.
        self.period_ends_nanos.store(ends_nanos, Relaxed);
    }
}

/// Returns the wait that `denied` tells, if it tells one. No wait is no answer: whoever has been denied
/// has to let some time pass.
fn known_wait(denied: Denied) -> Option<u64> {
    denied.retry_after().map(units::nanos).filter(|nanos| *nanos > 0)
}

/// Serves for those in line, for a caller that has found the gate closed.
///
/// # Errors
///
/// The denial of `permits`, if somebody still stands there.
#[cold]
#[inline(never)]
pub(crate) fn serve_at_the_gate(limiter: &impl HasOutsideLine, permits: u64) -> Result<(), Denied> {
    let now_nanos = limiter.line_clock().now_nanos();
    if line::help(limiter, now_nanos) {
        return Ok(());
    }
    // What there is belongs to those in line.
    let (limit, remaining, reset_after) = match limiter.look(permits) {
        // As it stands, and not as it would be after the grant.
        Ok(grant) => {
            (grant.limit(), grant.remaining().saturating_add(permits), grant.reset_after())
        }
        Err(Denied::Wait(wait)) => (wait.limit(), wait.remaining(), wait.reset_after()),
        Err(denied) => return Err(denied),
    };
    let retry_nanos = match limiter.outside().line_lock.wait_nanos(now_nanos) {
        // Nobody knows, but it is not for ever.
        u64::MAX => LOOK_AGAIN_NANOS,
        wait_nanos => wait_nanos,
    };
    let forecast = Forecast::Known(KnownForecast {
        limit,
        used: limit.saturating_sub(remaining),
        reset_nanos: units::nanos(reset_after).max(retry_nanos),
        retry_nanos,
    });
    Err(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 }))
}

impl<T: HasOutsideLine> TakesTurns for T {
    fn line_lock(&self) -> &LineLock {
        &self.outside().line_lock
    }

    fn clock(&self) -> &dyn Clock {
        self.line_clock()
    }

    fn is_gated(&self) -> bool {
        self.outside().is_gated()
    }

    /// No limit, if the limiter would grant any number some time.
    fn limit(&self) -> u64 {
        match self.look(u64::MAX) {
            Err(Denied::TooLarge { limit, .. }) => limit,
            _ => u64::MAX,
        }
    }

    fn try_now(&self, permits: u64) -> Result<Grant, Denied> {
        self.ask_at_the_gate(permits)
    }

    fn take_turn(&self, turn: Turn) -> Taken {
        let line = self.outside();
        line.move_gate(CLOSED);
        match self.ask_in_line(turn.permits) {
            Ok((grant, charged)) => {
                if !turn.has_others {
                    line.move_gate(OPEN);
                }
                line.note_period(grant.forecast, turn.now_nanos);
                Taken::Granted(grant, charged)
            }
            Err(Denied::TooLarge { limit, .. }) => Taken::TooLarge { limit },
            Err(denied) => {
                line.note_denial(denied, turn.now_nanos);
                Taken::NotYet
            }
        }
    }

    fn open_gate(&self) {
        self.outside().move_gate(OPEN);
    }

    /// Returns the instant that the denial of the turn has told. To ask again would be to ask later.
    fn due_nanos(&self, turn: Turn) -> u64 {
        let now_nanos = self.now_nanos().max(turn.now_nanos);
        now_nanos.saturating_add(self.outside().first_wait_nanos())
    }

    /// Returns the turn as the limiter tells it for the sum, if that is no more than its limit. Beyond
    /// it, returns an estimate: as if the limiter granted its limit anew a period after each grant.
    fn last_due(
        &self,
        turn: Turn,
        _: Option<LastTurn>,
        sizes: &mut dyn Iterator<Item = u64>,
    ) -> LastTurn {
        let first = sizes.next();
        let sizes = &mut first.into_iter().chain(sizes);
        // A sum may be granted in parts, from more than one source. The first in line has one request.
        let is_first = first == Some(turn.permits);
        let mut answer =
            if is_first { self.look(turn.permits) } else { self.look_ahead(turn.permits) };
        let mut periods = 0;
        if let Err(Denied::TooLarge { limit, .. }) = answer {
            let permits;
            (permits, periods) = periods_ahead(limit, sizes);
            answer = self.look_ahead(permits);
        }
        // After the limiter's reading, so that the turn is not before that of the limiter's clock.
        let now_nanos = self.now_nanos().max(turn.now_nanos);
        let wait_nanos = match answer.map_err(known_wait) {
            Err(Some(wait_nanos)) => wait_nanos,
            // The wait is just over, or that of the first is for something else.
            Ok(_) => self.outside().first_wait_nanos().min(LOOK_AGAIN_NANOS),
            // Nobody knows; those behind the first are woken when they are the first.
            Err(None) if periods > 0 || sizes.nth(1).is_some() => u64::MAX,
            Err(None) => LOOK_AGAIN_NANOS,
        };
        let ahead_nanos = self.outside().period_nanos().saturating_mul(periods);
        let due_nanos = now_nanos.saturating_add(wait_nanos).saturating_add(ahead_nanos);
        LastTurn { due_nanos, word: None }
    }

    /// An estimate refuses nobody: before the deadline, only what the limiter itself tells does.
    fn is_missed(&self, turn: Turn, due_nanos: u64, deadline_nanos: u64) -> bool {
        if deadline_nanos >= due_nanos || deadline_nanos <= turn.now_nanos {
            return deadline_nanos < due_nanos;
        }
        let wait = match self.look_ahead(turn.permits) {
            Err(Denied::Wait(shortfall)) => shortfall.retry_after(),
            Err(Denied::TooLarge { limit, .. }) => match self.look_ahead(limit) {
                Err(Denied::Wait(shortfall)) => shortfall.retry_after_in_parts(turn.permits),
                _ => return false,
            },
            _ => return false,
        };
        deadline_nanos < turn.now_nanos.saturating_add(units::nanos(wait))
    }

    /// In general never: the limiter keeps what it has granted.
    fn undo(&self, charged: Charged) -> bool {
        self.take_back(charged)
    }

    fn release(&self, charged: Charged) {
        self.forget(charged);
    }

    fn lane(&self) -> Lane {
        self.lane_in_line()
    }

    fn mark(&self) -> usize {
        self.mark_of_line()
    }

    // Whatever the gate is: it may be seen open by a caller that has just given back, while the first in
    // line closes it, and asks before that.
    fn wake_first(&self) {
        self.outside().line_lock.wake_first();
    }
}
