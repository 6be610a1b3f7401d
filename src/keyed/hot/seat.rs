//! One seat: a key, and the permits that were prepaid for it and not yet used.
//!
//! A caller takes permits by one CAS of the seat word. Every other change, of the key, the number
//! of permits, or the time for which they are good, is made by one caller at a time, which has
//! *closed* the seat. Other callers do not wait for that one, but do without the seat. Taking back
//! all prepaid permits empties the seat, closed or not; the permits that the closer holds then are
//! lost.

use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::keyed::prepay::Prepaid;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::time::units::SKEW_NANOS;

use super::seat_word::SeatWord;

/// Number of calls after a denial that take what they need from the store, and do not prepay.
const DRY: u64 = 16;

#[derive(Debug)]
#[repr(C)]
pub(super) struct Seat {
    stock: AtomicWord<SeatWord>,
    /// The hash of the key that sits here. (An empty seat is that of a key with hash 0.)
    key: AtomicWord<u64>,
    /// The reading of the clock by which the permits were prepaid, and the time for which they are
    /// good.
    since_nanos: AtomicWord<u64>,
    lasts_nanos: AtomicWord<u64>,
    /// The quota as grants report it.
    limit: AtomicWord<u64>,
    fill_nanos: AtomicWord<u64>,
    /// Another key that may become hot, and the number of calls by which it is ahead of others.
    pub(super) candidate: AtomicWord<u64>,
    pub(super) votes: AtomicWord<u64>,
    /// Permits that the last prepayment left for later calls.
    pub(super) drawn: AtomicWord<u64>,
    /// Permits used of the prepayments before that one, since another key last wanted the seat.
    pub(super) used_before: AtomicWord<u64>,
    /// Number of keys that have had the seat.
    generation: AtomicWord<u64>,
    /// Number of further calls that take what they need from the store, and do not prepay.
    dry: AtomicWord<u64>,
}

/// The owner of a seat, as seen by a call for a key.
pub(super) enum SeatLook {
    /// The key that the call is for.
    Own(SeatWord),
    /// Another key.
    Other(SeatWord),
    /// Unknown: the seat is being changed.
    Closed,
}

impl Seat {
    pub(super) fn new() -> Seat {
        let word = || AtomicWord::new(0);
        Seat {
            stock: AtomicWord::new(SeatWord::default()),
            key: word(),
            since_nanos: word(),
            lasts_nanos: word(),
            limit: word(),
            fill_nanos: word(),
            candidate: word(),
            votes: word(),
            drawn: word(),
            used_before: word(),
            generation: word(),
            dry: word(),
        }
    }

    /// Returns whether the seat is that of the key with `hash`.
    #[inline(always)]
    pub(super) fn look(&self, hash: u64) -> SeatLook {
        // ORDERING: Acquire; pairs with the CAS in `ClosedSeat::drop`, so that the key loaded below
        // is that of the caller that opened the seat with this word, or a later one.
        // MODEL: `a_key_takes_nothing_of_another`.
        let stock = self.stock.load(Acquire);
        // ORDERING: Relaxed. By the load above, the key is not older than the seat word; and if it
        // is newer, the CAS that follows fails.
        // MODEL: `a_key_takes_nothing_of_another`.
        let key = self.key.load(Relaxed);
        match stock {
            stock if stock.is_closed() => SeatLook::Closed,
            stock if key == hash => SeatLook::Own(stock),
            stock => SeatLook::Other(stock),
        }
    }

    /// Takes `permits` from the seat that was `seen` to be that of the key with `hash`, if it has
    /// as many.
    #[inline(always)]
    pub(super) fn take(
        &self,
        hash: u64,
        mut seen: SeatWord,
        permits: u64,
        now_nanos: u64,
    ) -> Option<Grant> {
        loop {
            if seen.is_closed() || seen.left() < permits || !self.is_good(now_nanos) {
                return None;
            }
            let next = seen.less(permits);
            let grant = self.grant_of(permits, next.left());
            // ORDERING: AcqRel. Release, so that a caller that closes the seat after this, and then
            // writes the words that were loaded here, writes them after these loads. Acquire on
            // success and on failure, as in `look`.
            // MODEL: `a_key_takes_nothing_of_another`.
            match self.stock.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                Ok(_) => return Some(grant),
                Err(found) => seen = found,
            }
            // ORDERING: Relaxed, as in `look`.
            // MODEL: `a_key_takes_nothing_of_another`.
            if self.key.load(Relaxed) != hash {
                return None;
            }
        }
    }

    /// Returns the grant that [`take`](Seat::take) would return, of the seat as it was `seen`.
    pub(super) fn peek(&self, seen: SeatWord, permits: u64, now_nanos: u64) -> Option<Grant> {
        let is_there = !seen.is_closed() && seen.left() >= permits && self.is_good(now_nanos);
        let grant = is_there.then(|| self.grant_of(permits, seen.left() - permits));
        grant.filter(|_| self.is_still(seen))
    }

    /// Returns whether the permits are good at `now_nanos`: not before they were prepaid, nor once
    /// the bucket would have been full again without the prepayment.
    #[inline(always)]
    fn is_good(&self, now_nanos: u64) -> bool {
        // ORDERING: Relaxed, both, as the key in `look`.
        // MODEL: `what_was_drawn_is_not_good_for_ever`.
        now_nanos.wrapping_sub(self.since_nanos.load(Relaxed)) < self.lasts_nanos.load(Relaxed)
    }

    /// Returns whether the permits will be good soon, by a clock that is at `now_nanos` and is
    /// behind by no more than clocks may be.
    pub(super) fn is_ahead(&self, now_nanos: u64) -> bool {
        // ORDERING: Relaxed, as in `is_good`.
        // MODEL: none; a call that does without the seat has no part in the bound.
        let ahead_nanos = self.since_nanos.load(Relaxed).saturating_sub(now_nanos);
        (1..=SKEW_NANOS).contains(&ahead_nanos)
    }

    /// Returns whether to skip prepaying, as a denial was recent; counts down the calls that do.
    pub(super) fn is_dry(&self) -> bool {
        // ORDERING: Relaxed. An estimate; a lost update does not matter.
        // MODEL: none; the time of a prepayment has no part in the bound.
        let dry = self.dry.load(Relaxed);
        if dry > 0 {
            // ORDERING: Relaxed, as above.
            // MODEL: none, as above.
            self.dry.store(dry - 1, Relaxed);
        }
        dry > 0
    }

    /// Notes that a call was denied.
    pub(super) fn found_nothing(&self) {
        // ORDERING: Relaxed, as above.
        // MODEL: none, as above.
        self.dry.store(DRY, Relaxed);
    }

    /// Returns whether the seat has not changed since it was `seen`.
    pub(super) fn is_still(&self, seen: SeatWord) -> bool {
        // ORDERING: Relaxed. A caller that has seen the key of a caller that closed the seat since
        // finds the word changed: by the store of the key in `give_to`, and the fence in
        // `DenialCache::cached_denial`.
        // MODEL: `a_key_is_not_refused_what_another_was`.
        self.stock.load(Relaxed) == seen
    }

    /// Returns the number of keys that have had the seat.
    pub(super) fn generation(&self) -> u64 {
        // ORDERING: Relaxed, as the key in `look`.
        // MODEL: none; cached denials have no part in the bound.
        self.generation.load(Relaxed)
    }

    /// Returns a grant of `permits`, when `left` permits are left here.
    #[inline(always)]
    fn grant_of(&self, permits: u64, left: u64) -> Grant {
        // ORDERING: Relaxed, both, as the key in `look`. They are only reported.
        // MODEL: none; no decision depends on them.
        let (limit, reset_nanos) = (self.limit.load(Relaxed), self.fill_nanos.load(Relaxed));
        let used = limit.saturating_sub(left);
        let forecast = Forecast::Known(KnownForecast { limit, used, reset_nanos, retry_nanos: 0 });
        Grant { permits, forecast }
    }

    /// Closes the seat that was `seen` open, so that it can be changed.
    pub(super) fn close(&self, seen: SeatWord) -> Option<ClosedSeat<'_>> {
        let closed = seen.closed();
        // ORDERING: Acquire. Writes to the seat come after the loads of other callers
        // until now (pairs with the CAS in `take`) and after their writes (pairs with the CAS in
        // `ClosedSeat::drop`); and what is prepaid for it comes after the change for which it was
        // last emptied (pairs with the CAS in `empty`). The load in `look` has seen to all of that
        // already, if no seat word is ever seen twice; this does not rest on it. On failure nothing
        // is read.
        // MODEL: `a_key_takes_nothing_of_another`, `a_change_takes_back_what_was_drawn`.
        self.stock.compare_exchange(seen, closed, Acquire, Relaxed).ok()?;
        let found = closed.left();
        Some(ClosedSeat { seat: self, closed, found, left: found })
    }

    /// Takes back the prepaid permits, whether the seat is open or closed.
    pub(super) fn empty(&self) {
        // ORDERING: Relaxed. A guess, which the CAS checks.
        // MODEL: `a_change_takes_back_what_was_drawn`.
        let mut seen = self.stock.load(Relaxed);
        loop {
            // ORDERING: Release, so that a caller that closes the seat next prepays after the
            // change that came before this; pairs with the CAS in `close`. Relaxed on failure, as
            // the load.
            // MODEL: `a_change_takes_back_what_was_drawn`.
            match self.stock.compare_exchange_weak(seen, seen.empty(), Release, Relaxed) {
                Ok(_) => return,
                Err(found) => seen = found,
            }
        }
    }
}

/// A closed seat, held by the only caller that may change it. It is opened again when this is
/// dropped.
#[derive(Debug)]
pub(super) struct ClosedSeat<'a> {
    seat: &'a Seat,
    closed: SeatWord,
    /// Permits found in it.
    found: u64,
    /// Permits left in it when it is opened.
    left: u64,
}

impl ClosedSeat<'_> {
    /// Gives the seat to the key with `hash`, with nothing in it.
    pub(super) fn give_to(&mut self, hash: u64) {
        self.left = 0;
        let Seat { drawn, used_before, limit, dry, generation, .. } = self.seat;
        for word in [drawn, used_before, limit, dry] {
            put(word, 0);
        }
        put(generation, self.seat.generation().wrapping_add(1));
        // ORDERING: Release, so that a caller that sees the key, and recalls a denial, sees that
        // the seat was closed; pairs with the fence in `DenialCache::cached_denial`.
        // MODEL: `a_key_is_not_refused_what_another_was`.
        self.seat.key.store(hash, Release);
    }

    /// Returns the number of permits left, 0 if they are not good at `now_nanos`; and the number
    /// that was last prepaid.
    pub(super) fn left_and_drawn(&self, now_nanos: u64) -> (u64, u64) {
        let drawn = estimate(&self.seat.drawn);
        (if self.is_good(now_nanos) { self.found } else { 0 }, drawn)
    }

    /// Returns whether the permits will be good for `nanos` after `now_nanos`.
    pub(super) fn lasts(&self, now_nanos: u64, nanos: u64) -> bool {
        now_nanos.checked_add(nanos).is_some_and(|then_nanos| self.is_good(then_nanos))
    }

    /// Gives the seat to the key with `hash`, if no key ever had it.
    pub(super) fn give_first_to(&mut self, hash: u64) {
        if self.seat.generation() == 0 {
            self.give_to(hash);
        }
    }

    /// Returns the most that can be granted at once; 0 if nothing was ever prepaid.
    pub(super) fn limit(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        // MODEL: none; the store denies what is too large, too.
        self.seat.limit.load(Relaxed)
    }

    /// Returns whether the permits found are good at `now_nanos`.
    pub(super) fn is_good(&self, now_nanos: u64) -> bool {
        self.seat.is_good(now_nanos)
    }

    /// Returns the number of permits found, good or not.
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// Sets the number of permits that the seat is opened with.
    pub(super) fn keep(&mut self, left: u64) {
        self.left = left;
    }

    /// Sets the permits that the seat is opened with to those `left` of a prepayment.
    pub(super) fn keep_drawn(&mut self, drawn: &Prepaid, left: u64) {
        self.left = left;
        let Seat { since_nanos, lasts_nanos, limit, fill_nanos, .. } = self.seat;
        let forecast = drawn.grant.forecast;
        put(since_nanos, drawn.at_nanos);
        put(lasts_nanos, drawn.lasts_nanos());
        put(limit, forecast.limit());
        put(fill_nanos, forecast.fill_nanos());
        self.count(left);
    }

    /// Returns a grant of `permits`, with as many left as the seat will be opened with.
    pub(super) fn grant_of(&self, permits: u64) -> Grant {
        self.seat.grant_of(permits, self.left)
    }

    /// Counts the permits used of the last prepayment, and notes the new one.
    fn count(&self, drawn: u64) {
        let Seat { drawn: last, used_before, .. } = self.seat;
        let used = estimate(last).wrapping_sub(self.found);
        put(used_before, estimate(used_before).wrapping_add(used));
        put(last, drawn);
    }
}

impl Drop for ClosedSeat<'_> {
    fn drop(&mut self) {
        let (mut seen, mut next) = (self.closed, self.closed.open(self.left));
        loop {
            // ORDERING: Release; pairs with the loads in `look`, so that a caller that finds the
            // seat open finds in it what was written here. On failure it was emptied: nothing is
            // read.
            // MODEL: `a_key_takes_nothing_of_another`, `what_was_drawn_is_not_good_for_ever`.
            match self.seat.stock.compare_exchange_weak(seen, next, Release, Relaxed) {
                Ok(_) => return,
                // Emptied in between, or the CAS failed spuriously.
                Err(found) if found != seen => (seen, next) = (found, found.open(0)),
                Err(_) => {}
            }
        }
    }
}

/// Writes a word of a seat that is closed, or an estimate.
pub(super) fn put(word: &AtomicWord<u64>, value: u64) {
    // ORDERING: Relaxed. Seen by all callers that see the seat open again, and by none that took
    // permits that were there before: their CAS came before the seat was closed.
    // MODEL: `what_was_drawn_is_not_good_for_ever`, `a_key_takes_nothing_of_another`.
    word.store(value, Relaxed);
}

/// Reads an estimate, which decides only which key has a seat and how much is prepaid.
pub(super) fn estimate(word: &AtomicWord<u64>) -> u64 {
    // ORDERING: Relaxed. It does not matter whose write comes last.
    // MODEL: none; which key has a seat, and how much is prepaid, have no part in the bound.
    word.load(Relaxed)
}
