//! Reservations that find others in line: they take a place there.
//!
//! A reservation is told the instant of its turn, as that is foreseen when it comes, and the instant is
//! fixed: its permits may be used from then on, whatever becomes of the line. It has no thread and no
//! waker. Whoever serves charges it, as of the instant that it was told:
//!
//! * as soon as nobody waits ahead of it: then it is one that has found no line;
//! * before anything else, once its instant has come: it may have been used. Those ahead of it are late then
//!   (nobody served it in time, or a `force` or a change has put them off), and come after it.
//!
//! So the first in line is a caller whenever the lock is free, and somebody's timer brings the next
//! pass. Until it is charged, a reservation has taken nothing, and can be cancelled exactly.

use crate::wait::charged::{Booked, Charged};
use crate::wait::error::AcquireError;
use crate::wait::limits::WhenLineFull;
use crate::wait::place::Place;
use crate::wait::turn::{DueReservation, TakesTurns};

use super::{Locked, wait};

/// Puts a reservation at the end of the line. Returns `None` if nobody stands there any more.
///
/// # Errors
///
/// The reason for which it cannot be made.
#[cold]
#[inline(never)]
pub(crate) fn book(
    limiter: &dyn TakesTurns,
    permits: u64,
    longest_nanos: u64,
) -> Result<Option<Booked>, AcquireError> {
    let mut line = Locked::of(limiter);
    let now_nanos = line.serve(limiter.now_nanos());
    if line.line().order.first().is_none() {
        return Ok(None);
    }
    let limit = limiter.limit();
    if permits > limit {
        return Err(AcquireError::TooLarge { limit });
    }
    let Some(now_nanos) = line.room_for_reservation(permits, now_nanos, longest_nanos)? else {
        return Ok(None);
    };
    let end = line.quote(permits, 0, now_nanos, longest_nanos)?;
    let place = line.line().order.push_reserved(permits, end.due_nanos);
    line.note_permits();
    line.line().last_turn = end.word.map(|_| (place, end));
    limiter.line_lock().note_end(end.due_nanos);
    Ok(Some(Booked {
        at_nanos: end.due_nanos,
        wait_nanos: end.due_nanos.saturating_sub(now_nanos),
        cost: 0,
        charged: Charged::NOTHING,
        place: Some(place),
    }))
}

/// Forgets who holds a reservation.
pub(crate) fn release(limiter: &dyn TakesTurns, place: Place) {
    Locked::of(limiter).line().order.release_reserved(place);
}

/// Takes a reservation out of the line, or returns what was charged for it.
pub(crate) fn take_back_reservation(limiter: &dyn TakesTurns, place: Place) -> Option<Charged> {
    let mut line = Locked::of(limiter);
    let charged = line.line().order.take_reserved(place);
    if charged.is_none() {
        line.serve_the_others();
    }
    charged
}

impl Locked<'_> {
    /// Charges a reservation, and takes it out of the line.
    pub(super) fn charge(&mut self, place: Place, now_nanos: u64) {
        let line = self.line();
        let has_others = line.order.len() > 1;
        let (permits, told_nanos) = (line.order.permits_of(place), line.order.told_of(place));
        let first = line.order.first().filter(|first| *first != place);
        let first_permits = match first {
            Some(first) if line.order.since(now_nanos) < told_nanos => line.order.permits_of(first),
            _ => 0,
        };
        let due = DueReservation { permits, told_nanos, first_permits, now_nanos, has_others };
        let charged = self.limiter.charge(due);
        self.line().order.note_charge(place, charged);
        self.note_permits();
    }

    /// Finds room for a reservation, as for a caller. Returns the reading of the clock that it came to, or
    /// `None` if nobody stands in line any more.
    fn room_for_reservation(
        &mut self,
        permits: u64,
        now_nanos: u64,
        longest_nanos: u64,
    ) -> Result<Option<u64>, AcquireError> {
        let line = self.line();
        if line.admits(permits) {
            return Ok(Some(now_nanos));
        }
        let evicts = line.order.has_place()
            && line.limits.when_full == WhenLineFull::EvictOldest
            && line.limits.admit(0, 0, permits);
        if !evicts {
            let end = self.quote(permits, 0, now_nanos, u64::MAX)?;
            let retry_after = wait(now_nanos, end.due_nanos);
            return Err(AcquireError::LineFull { retry_after });
        }
        // Nobody is to leave for one that cannot be made.
        let left = line.order.oldest_that_leave(line.limits, permits);
        self.quote(permits, left, now_nanos, longest_nanos)?;
        let mut now_nanos = now_nanos;
        while !self.line().admits(permits) {
            let Some(first) = self.line().order.first() else { return Ok(None) };
            self.refuse(first, AcquireError::Evicted);
            now_nanos = self.serve(now_nanos);
        }
        let is_empty = self.line().order.first().is_none();
        Ok((!is_empty).then_some(now_nanos))
    }
}
