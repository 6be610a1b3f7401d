//! The slow path, for a key that has a seat with too few permits.

use crate::decision::denial_cache::CachedDenial;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::prepay::{Prepay, PrepayRequest};
use crate::sync::Ordering::Acquire;
use crate::time::clock::Clock;
use crate::time::units;

use super::HotKeys;
use super::seat::{ClosedSeat, Seat, SeatLook};
use super::seat_word::SeatWord;

/// The caller of an operation, and the key that it is for.
pub(super) struct Caller<'a, K: ?Sized> {
    pub(super) key: &'a K,
    pub(super) hash: u64,
    /// The place, by index, wrapping around.
    pub(super) index: usize,
}

/// Number of attempts to close a seat that others change too, before a call does without it.
const TRIES: usize = 4;

/// The outcome of a search of the other places.
enum Elsewhere {
    Taken(Grant),
    Nothing,
    /// A seat was being changed, and may have had permits.
    Unsure,
}

impl<S> HotKeys<S> {
    /// Takes `permits` for a key that has the seat, when the seat has too few, or they are good for
    /// too short a time.
    #[cold]
    #[inline(never)]
    pub(super) fn acquire<K: ?Sized>(
        &self,
        caller: &Caller<'_, K>,
        (seat, seen): (&Seat, SeatWord),
        permits: u64,
        now_nanos: u64,
    ) -> Result<Grant, Denied>
    where
        S: Prepay<K>,
    {
        if permits == 0 || seat.is_ahead(now_nanos) {
            // No permits are wanted, or those of the seat are not good yet by this clock.
            return self.store.acquire(caller.hash, caller.key, permits);
        }
        // ORDERING: Acquire, before anything else is loaded; pairs with `update`. A denial cached
        // before a change is not repeated after it.
        // MODEL: `a_change_takes_back_what_was_drawn`.
        let changes = self.changes.load(Acquire);
        // The seat's count of keys is added, so that a denial cached for another key that sat here
        // is not repeated either: both counts only ever grow.
        let changes = changes.wrapping_add(seat.generation());
        let denials = self.at(caller.index).denials(caller.hash);
        if let Some(last) = denials.cached_denial(permits, changes) {
            match last.at(now_nanos) {
                Some(denied) if seat.is_still(seen) => return Err(denied),
                // The clock has gone back, and perhaps the store has started the key again.
                None if last.is_after(now_nanos) => denials.clear(),
                _ => {}
            }
        }
        if seen.left() == 0 && seat.is_dry() {
            return self.acquire_from_store(caller, None, permits, (changes, now_nanos));
        }
        let Some(mut closed) = close(seat, seen, caller.hash) else {
            return self.store.acquire(caller.hash, caller.key, permits);
        };
        closed.give_first_to(caller.hash);
        let (left, drawn) = closed.left_and_drawn(now_nanos);
        if permits > closed.limit() && left > 0 {
            // This may be more than the key can ever have: the store knows.
            return self.store.acquire(caller.hash, caller.key, permits);
        }
        if permits <= left {
            closed.keep(left - permits);
            return Ok(closed.grant_of(permits));
        }
        // The permits left, and those that come to them from the store, are granted at one reading:
        // by a later one than this, the permits left may no longer be good.
        let more = PrepayRequest::after(drawn, closed.found());
        let want = PrepayRequest { least: permits, more, places: self.places() as u64 };
        if let Some(drawn) = self.store.draw(caller.hash, caller.key, want) {
            let left = if closed.is_good(drawn.at_nanos) { left } else { 0 };
            // None of the permits left before are kept: those kept are all of one prepayment.
            closed.keep_drawn(&drawn, left + drawn.grant.permits - permits);
            return Ok(closed.grant_of(permits));
        }
        let closed = (left > 0).then_some(closed);
        self.acquire_from_store(caller, closed, permits, (changes, now_nanos))
    }

    /// Takes `permits` from the store, combined with those of the closed seat if they are good; or
    /// else from another place.
    fn acquire_from_store<K: ?Sized>(
        &self,
        caller: &Caller<'_, K>,
        mut closed: Option<ClosedSeat<'_>>,
        permits: u64,
        (changes, now_nanos): (u64, u64),
    ) -> Result<Grant, Denied>
    where
        S: Prepay<K>,
    {
        let left = good(&mut closed, now_nanos).map_or(0, |closed| closed.found());
        let shortfall = match self.store.acquire(caller.hash, caller.key, permits - left) {
            Ok(grant) if left == 0 => return Ok(grant),
            Ok(grant) => {
                if let Some(closed) = good(&mut closed, self.store.clock().now_nanos()) {
                    closed.keep(0);
                    return Ok(Grant { permits, ..grant });
                }
                // It took so long that the permits left are lost, and so are those granted to go
                // with them.
                return self.store.acquire(caller.hash, caller.key, permits);
            }
            Err(Denied::Wait(shortfall)) => shortfall,
            Err(other) => return Err(other),
        };
        let later_nanos = self.store.clock().now_nanos();
        let mut closed = good(&mut closed, later_nanos);
        let left = closed.as_ref().map_or(0, |closed| closed.found());
        let elsewhere = self.take_elsewhere(caller, permits - left, later_nanos);
        if let Elsewhere::Taken(grant) = elsewhere {
            if let Some(closed) = &mut closed {
                closed.keep(0);
            }
            return Ok(Grant { permits, ..grant });
        }
        let with_left = shortfall.of_all(permits, left);
        let wait_nanos = units::nanos(with_left.retry_after());
        // If the permits left will be lost by then, they are of no use.
        let is_of_use = closed.is_some_and(|closed| closed.lasts(later_nanos, wait_nanos));
        let denied = if is_of_use { with_left } else { shortfall.of_all(permits, 0) };
        if matches!(elsewhere, Elsewhere::Nothing) {
            // The cached denial counts its times from after the store's reading of the clock, but
            // ends as early as if it counted from before.
            let most = denied.limit();
            let last = CachedDenial::new(permits, most, changes, later_nanos, &denied);
            let place = self.at(caller.index);
            place.seat(caller.hash).found_nothing();
            place.denials(caller.hash).note(&last.for_less(later_nanos.saturating_sub(now_nanos)));
        }
        Err(Denied::Wait(denied))
    }

    /// Steals `permits` from the key's seat at another place, if one has as many.
    fn take_elsewhere<K: ?Sized>(
        &self,
        caller: &Caller<'_, K>,
        permits: u64,
        now_nanos: u64,
    ) -> Elsewhere {
        let mut outcome = Elsewhere::Nothing;
        for next in 1..self.places() {
            let seat = self.at(caller.index.wrapping_add(next)).seat(caller.hash);
            match seat.look(caller.hash) {
                SeatLook::Own(seen) => match seat.take(caller.hash, seen, permits, now_nanos) {
                    Some(grant) => return Elsewhere::Taken(grant),
                    // Not good yet, or another caller changed the seat first.
                    None if seen.left() >= permits
                        && (seat.is_ahead(now_nanos) || !seat.is_still(seen)) =>
                    {
                        outcome = Elsewhere::Unsure;
                    }
                    None => {}
                },
                SeatLook::Other(_) => {}
                SeatLook::Closed => outcome = Elsewhere::Unsure,
            }
        }
        outcome
    }
}

/// Returns the closed seat, if its permits are good at `now_nanos`.
fn good<'h, 'a>(
    closed: &'h mut Option<ClosedSeat<'a>>,
    now_nanos: u64,
) -> Option<&'h mut ClosedSeat<'a>> {
    closed.as_mut().filter(|closed| closed.is_good(now_nanos))
}

/// Closes the seat of the key with `hash`, which was `seen` open.
fn close(seat: &Seat, mut seen: SeatWord, hash: u64) -> Option<ClosedSeat<'_>> {
    for _ in 0..TRIES {
        if let Some(closed) = seat.close(seen) {
            return Some(closed);
        }
        match seat.look(hash) {
            SeatLook::Own(found) => seen = found,
            SeatLook::Other(_) | SeatLook::Closed => return None,
        }
    }
    None
}
