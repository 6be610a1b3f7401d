//! The line of a limiter: the lock around its callers, and all that happens under the lock.
//!
//! Wakers are cloned before the lock is taken, and called and dropped after it is released: a waker
//! is a user's code, and may drop another waiting caller, which takes the lock. (What is behind a
//! [line outside](super::outside) is asked under the lock, and may have a line of its own to wake.)

mod last_due;
pub(crate) mod longest_wait;
mod reserve;
mod room;
mod untold;

use alloc::boxed::Box;
use core::task::Waker;
use core::time::Duration;

use crate::decision::grant::Grant;
use crate::sync::LockGuard;
use crate::sync::Ordering::Relaxed;

use self::last_due::Upto;
pub(crate) use self::reserve::{book, release, take_back_reservation};
use self::untold::Untold;
use super::charged::Charged;
use super::error::AcquireError;
use super::line_lock::LineState;
use super::order::Outcome;
use super::place::Place;
use super::turn::{Taken, TakesTurns, Turn};
use super::wakers::Wakers;

/// The answer to a caller that stands in line.
#[derive(Debug)]
pub(crate) enum LineAnswer {
    Told(Outcome),
    /// To be asked again in `wait`, or when woken.
    Waiting {
        wait: Duration,
    },
}

/// The line of `limiter`, locked. Once it is dropped and the lock is free, wakes those that have
/// been told something.
struct Locked<'a> {
    limiter: &'a dyn TakesTurns,
    // Dropped in this order.
    guard: LockGuard<'a, Option<Box<LineState>>>,
    wakers: Wakers,
    /// Wakers that are no longer needed: the one that a caller left, and the one that it came with.
    retired: [Option<Waker>; 2],
}

/// Lets a caller try at the gate at `now_nanos`: serves those in line if the first is due and
/// the lock is free. Returns whether the gate is open now.
pub(crate) fn help(limiter: &dyn TakesTurns, now_nanos: u64) -> bool {
    if !limiter.line_lock().may_be_due(now_nanos) {
        return false;
    }
    let Some(guard) = limiter.line_lock().line.try_lock() else { return false };
    let mut line = Locked::by(limiter, guard);
    line.serve(limiter.now_nanos());
    line.line().order.first().is_none()
}

/// Returns the turn of a caller that would come to the end of the line now, if the lock is free and
/// anybody stands there.
pub(crate) fn due_behind(limiter: &dyn TakesTurns, permits: u64, now_nanos: u64) -> Option<u64> {
    let guard = limiter.line_lock().line.try_lock()?;
    let mut line = Locked::by(limiter, guard);
    line.line().order.first()?;
    line.check_last_turn();
    let (_, due_nanos) = line.last_due(Upto::After { left: 0, permits }, now_nanos);
    Some(due_nanos)
}

/// Puts a caller at the end of the line, and notes its place in `noted`.
///
/// # Errors
///
/// Why it may not stand there.
pub(crate) fn stand(
    limiter: &dyn TakesTurns,
    permits: u64,
    noted: &mut Option<Place>,
    deadline_nanos: Option<u64>,
    waker: Waker,
) -> Result<LineAnswer, AcquireError> {
    let mut untold = Untold::new(limiter);
    let mut line = Locked::of(limiter);
    if line.line().is_closed {
        return Err(AcquireError::Closed);
    }
    let limit = limiter.limit();
    if permits > limit {
        return Err(AcquireError::TooLarge { limit });
    }
    let now_nanos = limiter.now_nanos();
    let own_nanos = deadline_nanos;
    let deadline_nanos = line.bounded(now_nanos, own_nanos);
    line.make_room(permits, now_nanos, deadline_nanos)?;
    // Noted before user code runs again, so that the caller leaves the line if that panics.
    let place = *noted.insert(line.push(permits, deadline_nanos));
    line.note_arrival(place, now_nanos, own_nanos);
    let now_nanos = line.serve(now_nanos);
    let standing = line.answer(place, noted, now_nanos, deadline_nanos, waker);
    Ok(untold.told(line, standing))
}

/// Grants those in line what they are due, and returns the answer to the caller at the place that it `noted`: always one if
/// its time `is_over`, whatever its deadline.
pub(crate) fn ask(
    limiter: &dyn TakesTurns,
    noted: &mut Option<Place>,
    is_over: bool,
    waker: Waker,
) -> LineAnswer {
    let Some(place) = *noted else { return LineAnswer::Waiting { wait: Duration::ZERO } };
    let mut untold = Untold::new(limiter);
    let mut line = Locked::of(limiter);
    let told = line.line().order.take_outcome(place);
    if let Some(outcome) = told {
        *noted = None;
        return LineAnswer::Told(outcome);
    }
    // It is awake.
    line.retired[0] = line.line().order.disarm(place);
    // Any instant is before the turn of a caller that has to wait.
    let deadline_nanos = if is_over { 0 } else { line.line().order.deadline_of(place) };
    let deadline_nanos = (deadline_nanos < u64::MAX).then_some(deadline_nanos);
    let now_nanos = limiter.now_nanos();
    let now_nanos = line.serve(now_nanos);
    let standing = line.answer(place, noted, now_nanos, deadline_nanos, waker);
    untold.told(line, standing)
}

/// Lets a caller give up. A grant that it has not been told of is taken back, if nothing was granted
/// since.
pub(crate) fn leave(limiter: &dyn TakesTurns, place: Place) {
    let mut line = Locked::of(limiter);
    match line.line().order.take_outcome(place) {
        Some(Outcome::Refused(_)) => return,
        Some(Outcome::Granted { grant, charged, .. }) => {
            if !line.undo(grant, charged) {
                return;
            }
        }
        None => line.retired[0] = line.line().order.leave(place),
    }
    line.serve_the_others();
}

/// Takes back a grant that a caller was not told of, if nothing was granted since. Serves then, under the
/// lock: the gate is not to be opened over a caller that comes to stand in line meanwhile.
pub(crate) fn take_back(limiter: &dyn TakesTurns, grant: Grant, charged: Charged) {
    let mut line = Locked::of(limiter);
    if line.undo(grant, charged) {
        line.serve_the_others();
    }
}

/// Refuses all callers that stand in line and all that would, from now on. Reservations keep what they
/// were told.
pub(crate) fn close(limiter: &dyn TakesTurns) {
    let mut line = Locked::of(limiter);
    line.line().is_closed = true;
    let wakers = line.line().order.refuse_all(AcquireError::Closed);
    line.wakers.0.extend(wakers);
    line.serve_the_others();
}

/// Serves anew after a change of the terms, or of the level: those in line may be due earlier, or
/// later, or never.
#[cold]
pub(crate) fn poke(limiter: &dyn TakesTurns) {
    let mut line = Locked::of(limiter);
    let now_nanos = limiter.now_nanos();
    line.line().order.renew_since();
    let wakers = line.line().order.refuse_above(limiter.limit());
    line.wakers.0.extend(wakers);
    line.note_permits();
    line.serve(now_nanos);
}

/// Serves after permits have come back otherwise than by time.
pub(crate) fn serve(limiter: &dyn TakesTurns) {
    let mut line = Locked::of(limiter);
    line.serve(limiter.now_nanos());
}

impl<'a> Locked<'a> {
    fn of(limiter: &'a dyn TakesTurns) -> Locked<'a> {
        Locked::by(limiter, limiter.line_lock().line.lock())
    }

    fn by(limiter: &'a dyn TakesTurns, guard: LockGuard<'a, Option<Box<LineState>>>) -> Locked<'a> {
        Locked { limiter, guard, wakers: Wakers::default(), retired: [None, None] }
    }

    fn line(&mut self) -> &mut LineState {
        self.guard.get_or_insert_default()
    }

    fn push(&mut self, permits: u64, deadline_nanos: Option<u64>) -> Place {
        let limiter = self.limiter;
        let line = self.line();
        let end = line.last_turn;
        let place = line.order.push(permits, deadline_nanos);
        if line.order.is_divided() {
            line.order.stand_in(limiter.lane(), place);
        }
        self.note_permits();
        // Those ahead have their turns as before.
        self.line().last_turn = end;
        place
    }

    fn refuse(&mut self, place: Place, error: AcquireError) {
        let waker = self.line().order.refuse(place, error);
        self.wakers.0.extend(waker);
        self.note_permits();
    }

    /// Takes back a grant that its caller was not told of, if nothing was granted since. Returns whether it did.
    fn undo(&mut self, grant: Grant, charged: Charged) -> bool {
        let is_back = self.limiter.undo(charged);
        if is_back {
            let lane = self.limiter.lane();
            self.line().order.refund(lane, grant.permits());
            self.line().order.renew_since();
        }
        is_back
    }

    /// Refuses a caller whose turn, at `due_nanos`, comes after its deadline.
    fn time_out(&mut self, place: Place, now_nanos: u64, due_nanos: u64) {
        let retry_after = wait(now_nanos, due_nanos);
        self.refuse(place, AcquireError::TimedOut { retry_after });
    }

    /// Notes a change of the line for others.
    fn note_permits(&mut self) {
        self.line().last_turn = None;
        let permits = self.line().order.permits();
        // ORDERING: Relaxed, as in `permits`.
        // MODEL: none; no decision depends on it.
        self.limiter.line_lock().waiting.store(permits, Relaxed);
    }

    /// Grants all that is due at `now_nanos`, in order, and leaves the gate as the line needs it.
    /// Refuses those at the front that are known to be too late, so that nobody waits for them. Returns
    /// the reading of the clock that it came to: a later one if the limiter was healed.
    fn serve(&mut self, mut now_nanos: u64) -> u64 {
        let mut may_heal = true;
        loop {
            self.line().order.note_since(now_nanos);
            if let Some(reservation) = self.line().order.due_reserved(now_nanos) {
                self.charge(reservation, now_nanos);
                continue;
            }
            let Some(first) = self.line().order.first() else {
                self.limiter.open_gate();
                self.note_due(now_nanos, 0);
                return now_nanos;
            };
            if self.line().order.is_too_late(first, now_nanos) {
                let (_, due_nanos) = self.last_due(Upto::Place(first), now_nanos);
                self.time_out(first, now_nanos, due_nanos);
                continue;
            }
            let turn = Turn { may_heal, ..self.turn(first, now_nanos) };
            match self.limiter.take_turn(turn) {
                Taken::Granted(grant, charged) => {
                    let waker = self.line().order.grant(first, grant, charged);
                    self.wakers.0.extend(waker);
                    self.note_permits();
                }
                Taken::TooLarge { limit } => {
                    self.refuse(first, AcquireError::TooLarge { limit });
                }
                Taken::Healed => {
                    may_heal = false;
                    now_nanos = self.limiter.now_nanos();
                    self.line().order.renew_since();
                    self.line().last_turn = None;
                }
                Taken::NotYet => {
                    let due_nanos = self.limiter.due_nanos(turn);
                    let deadline_nanos = self.line().order.deadline_of(first);
                    if deadline_nanos < due_nanos
                        && self.is_missed(turn, due_nanos, Some(deadline_nanos))
                    {
                        self.time_out(first, now_nanos, due_nanos);
                        continue;
                    }
                    // The first may have come to the front earlier than it had thought.
                    let waker = self.line().order.wake_if_later(first, now_nanos, due_nanos);
                    self.wakers.0.extend(waker);
                    // A reservation behind it may be told an earlier instant, if it was put off.
                    let told_nanos = self.line().order.next_told();
                    self.note_due(now_nanos, due_nanos.min(deadline_nanos).min(told_nanos));
                    if !turn.has_others {
                        self.limiter.line_lock().note_end(due_nanos);
                    }
                    return now_nanos;
                }
            }
        }
    }

    /// Serves after a caller has left, or permits that it was not told of have come back.
    fn serve_the_others(&mut self) {
        self.note_permits();
        if self.line().order.first().is_none() {
            // Without the clock, which may panic.
            return self.limiter.open_gate();
        }
        // Should the clock panic, any other call serves.
        self.note_due(0, 0);
        if std::thread::panicking() {
            // The caller leaves as it unwinds. A clock, or a limiter of the user, that panics once more
            // would abort the process: so somebody else serves.
            let waker = self.line().order.disarm_first();
            return self.wakers.0.extend(waker);
        }
        self.serve(self.limiter.now_nanos());
    }

    /// Notes for callers that try when it is the first one's turn.
    fn note_due(&self, now_nanos: u64, due_nanos: u64) {
        self.limiter.line_lock().note_due(now_nanos, due_nanos);
    }

    fn turn(&mut self, first: Place, now_nanos: u64) -> Turn {
        let order = &self.line().order;
        let permits = order.permits_of(first);
        let since_nanos = order.since(now_nanos);
        let has_others = order.len() > 1;
        let told_nanos = order.first_told();
        Turn { permits, since_nanos, now_nanos, has_others, may_heal: true, told_nanos }
    }

    /// Answers the caller at `place` after a pass at `now_nanos`. A caller whose deadline is before
    /// its turn leaves the line.
    fn answer(
        &mut self,
        place: Place,
        noted: &mut Option<Place>,
        now_nanos: u64,
        deadline_nanos: Option<u64>,
        waker: Waker,
    ) -> LineAnswer {
        if let Some(outcome) = self.line().order.take_outcome(place) {
            *noted = None;
            self.retired[1] = Some(waker);
            return LineAnswer::Told(outcome);
        }
        self.check_last_turn();
        let ahead = self.line().last_turn_ahead_of(place);
        let (turn, due_nanos) = self.last_due(Upto::Place(place), now_nanos);
        if self.is_missed(turn, due_nanos, deadline_nanos) {
            let retry_after = wait(now_nanos, due_nanos);
            *noted = None;
            // It has left no waker here, or none since it is awake.
            drop(self.line().order.leave(place));
            self.retired[1] = Some(waker);
            self.note_permits();
            // If it was the last, those ahead have their turns as before.
            self.line().last_turn = ahead;
            self.serve(now_nanos);
            return LineAnswer::Told(Outcome::Refused(AcquireError::TimedOut { retry_after }));
        }
        if self.line().order.last() == Some(place) {
            self.limiter.line_lock().note_end(due_nanos);
        }
        let wake_nanos = self.line().order.arm(place, due_nanos, waker);
        LineAnswer::Waiting { wait: wait(now_nanos, wake_nanos) }
    }
}

/// Returns the time until `due_nanos`; the longest if that is beyond the clock's range.
fn wait(now_nanos: u64, due_nanos: u64) -> Duration {
    match due_nanos {
        u64::MAX => Duration::MAX,
        _ => Duration::from_nanos(due_nanos.saturating_sub(now_nanos)),
    }
}
