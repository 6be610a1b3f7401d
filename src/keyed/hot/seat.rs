//! One seat: a key, and what was drawn for it and not yet used.
//!
//! A caller takes from the stock by one CAS. Whatever else is to change, the key, or how much
//! there is and for how long it is good, is changed by one caller at a time, who has *closed*
//! the seat; nobody waits for that one, but does without the seat. Who takes back all that was
//! drawn empties the seat, closed or not, and then what is in the closer's hand goes nowhere.

use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::decision::known::Known;
use crate::keyed::prepay::Prepaid;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::time::units::SKEW_NANOS;

use super::seat_word::SeatWord;

/// After a refusal, so many calls take what they need, and do not ask whether there is more.
const DRY: u64 = 16;

/// So many calls for one key more than for all others that would sit here, and it is hot.
const HOT: u64 = if cfg!(sluicegate_loom) { 2 } else { 64 };

#[derive(Debug)]
#[repr(C)]
pub(super) struct Seat {
    stock: AtomicWord<SeatWord>,
    /// The hash of the key that sits here. (An empty seat is that of a key with hash 0.)
    key: AtomicWord<u64>,
    /// The reading of the clock by which the stock was drawn, and for how long it is good.
    since_nanos: AtomicWord<u64>,
    lasts_nanos: AtomicWord<u64>,
    /// What grants tell of the quota.
    limit: AtomicWord<u64>,
    fill_nanos: AtomicWord<u64>,
    /// Another key that may become hot, and by how much it is asked for more than others.
    candidate: AtomicWord<u64>,
    votes: AtomicWord<u64>,
    /// What was last drawn for the calls to come.
    drawn: AtomicWord<u64>,
    /// What was used of the draws before that one, since somebody last wanted the seat.
    used_before: AtomicWord<u64>,
    /// How many keys have had the seat.
    sittings: AtomicWord<u64>,
    /// How many calls more take from the store what they need, and do not draw.
    dry: AtomicWord<u64>,
}

/// Whose seat it is.
pub(super) enum SeatLook {
    /// The key's own.
    Own(SeatWord),
    /// Another's.
    Other(SeatWord),
    /// Nobody can tell yet.
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
            sittings: word(),
            dry: word(),
        }
    }

    /// Whose seat it is, if the key with `hash` asks.
    #[inline(always)]
    pub(super) fn look(&self, hash: u64) -> SeatLook {
        // ORDERING: Acquire; pairs with the CAS in `ClosedSeat::drop`, so that the key is that of
        // whoever opened this stock, or a later one's.
        // MODEL: `a_key_takes_nothing_of_another`.
        let stock = self.stock.load(Acquire);
        // ORDERING: Relaxed. Not from before the stock, by the load above; and if it is from
        // after, the CAS that follows fails.
        // MODEL: `a_key_takes_nothing_of_another`.
        let key = self.key.load(Relaxed);
        match stock {
            stock if stock.is_closed() => SeatLook::Closed,
            stock if key == hash => SeatLook::Own(stock),
            stock => SeatLook::Other(stock),
        }
    }

    /// Takes `permits` from the stock that was `seen` to be of the key with `hash`, if it has as
    /// many.
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
            // ORDERING: AcqRel. Release, so that who closes the seat after this, and then
            // writes the words that were looked at here, does so after the looks. Acquire
            // on success and on failure, as in `look`.
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

    /// Whether what was drawn is good at `now_nanos`: neither before it was drawn, nor when
    /// the bucket would have been full again without it.
    #[inline(always)]
    fn is_good(&self, now_nanos: u64) -> bool {
        // ORDERING: Relaxed, both, as the key in `look`.
        // MODEL: `what_was_drawn_is_not_good_for_ever`.
        now_nanos.wrapping_sub(self.since_nanos.load(Relaxed)) < self.lasts_nanos.load(Relaxed)
    }

    /// Whether what was drawn will be good soon, by a clock that is at `now_nanos` and no further
    /// behind than clocks are.
    pub(super) fn is_ahead(&self, now_nanos: u64) -> bool {
        // ORDERING: Relaxed, as in `is_good`.
        // MODEL: none; who does without the seat has no part in the bound.
        let ahead_nanos = self.since_nanos.load(Relaxed).saturating_sub(now_nanos);
        (1..=SKEW_NANOS).contains(&ahead_nanos)
    }

    /// Whether it is not worth a try to draw, so soon after a refusal.
    pub(super) fn is_dry(&self) -> bool {
        // ORDERING: Relaxed. An estimate; one that is overwritten is not missed.
        // MODEL: none; when something is drawn has no part in the bound.
        let dry = self.dry.load(Relaxed);
        if dry > 0 {
            // ORDERING: Relaxed, as above.
            // MODEL: none, as above.
            self.dry.store(dry - 1, Relaxed);
        }
        dry > 0
    }

    /// Notes that a call was refused.
    pub(super) fn found_nothing(&self) {
        // ORDERING: Relaxed, as above.
        // MODEL: none, as above.
        self.dry.store(DRY, Relaxed);
    }

    /// Whether nothing was done to the seat, since it was `seen`.
    pub(super) fn is_still(&self, seen: SeatWord) -> bool {
        // ORDERING: Relaxed. Who has seen the key of one that closed the seat since finds it
        // changed: by the store of the key in `give_to`, and the fence in `DenialCache::recall`.
        // MODEL: `a_key_is_not_refused_what_another_was`.
        self.stock.load(Relaxed) == seen
    }

    /// How many keys have had the seat.
    pub(super) fn sittings(&self) -> u64 {
        // ORDERING: Relaxed, as the key in `look`.
        // MODEL: none; what is remembered has no part in the bound.
        self.sittings.load(Relaxed)
    }

    /// A grant of `permits`, when so many are `left` here.
    #[inline(always)]
    fn grant_of(&self, permits: u64, left: u64) -> Grant {
        // ORDERING: Relaxed, both, as the key in `look`. They are told; nothing is decided by them.
        // MODEL: none; no decision depends on them.
        let (limit, reset_nanos) = (self.limit.load(Relaxed), self.fill_nanos.load(Relaxed));
        let used = limit.saturating_sub(left);
        let forecast = Forecast::Known(Known { limit, used, reset_nanos, retry_nanos: 0 });
        Grant { permits, forecast }
    }

    /// Counts a call for a key that has no seat. Whether it should have this one.
    #[inline(always)]
    pub(super) fn vote(&self, hash: u64, seen: SeatWord) -> bool {
        // ORDERING: Relaxed, all of them. An estimate of who is asked for most; what one
        // thread counts over another's is of no consequence.
        // MODEL: none; who sits where has no part in the bound.
        let (candidate, votes) = (self.candidate.load(Relaxed), self.votes.load(Relaxed));
        let votes = match votes {
            0 => {
                // ORDERING: Relaxed, as above.
                // MODEL: none, as above.
                self.candidate.store(hash, Relaxed);
                1
            }
            votes if candidate == hash => votes + 1,
            votes => votes - 1,
        };
        // ORDERING: Relaxed, as above.
        // MODEL: none, as above.
        self.votes.store(if votes < HOT { votes } else { 0 }, Relaxed);
        votes >= HOT && self.is_little_used(seen)
    }

    /// Whether the key that sits here was asked for less than one that wants the seat, since
    /// somebody last wanted it.
    #[cold]
    fn is_little_used(&self, seen: SeatWord) -> bool {
        let of_last = estimate(&self.drawn).wrapping_sub(seen.left());
        let used = estimate(&self.used_before).wrapping_add(of_last);
        put(&self.used_before, of_last.wrapping_neg());
        used < HOT
    }

    /// Closes the seat that was `seen` open, so that it can be changed.
    pub(super) fn close(&self, seen: SeatWord) -> Option<ClosedSeat<'_>> {
        let closed = seen.closed();
        // ORDERING: Acquire. What is written to the seat comes after what others looked at
        // until now (pairs with the CAS in `take`) and wrote (with that in `ClosedSeat::drop`);
        // and what is drawn for it, after the change for which it was last emptied (with
        // the CAS in `empty`). The load in `look` has seen to all of that, if no stock is ever
        // seen twice; this does not rest on it. On failure nothing is read.
        // MODEL: `a_key_takes_nothing_of_another`, `a_change_takes_back_what_was_drawn`.
        self.stock.compare_exchange(seen, closed, Acquire, Relaxed).ok()?;
        let found = closed.left();
        Some(ClosedSeat { seat: self, closed, found, left: found })
    }

    /// Takes back what was drawn, whatever is there.
    pub(super) fn empty(&self) {
        // ORDERING: Relaxed. A guess, which the CAS checks.
        // MODEL: `a_change_takes_back_what_was_drawn`.
        let mut seen = self.stock.load(Relaxed);
        loop {
            // ORDERING: Release, so that who closes the seat next draws after the change that
            // came before this; pairs with the CAS in `close`. Relaxed on failure, as the load.
            // MODEL: `a_change_takes_back_what_was_drawn`.
            match self.stock.compare_exchange_weak(seen, seen.empty(), Release, Relaxed) {
                Ok(_) => return,
                Err(found) => seen = found,
            }
        }
    }
}

/// A seat that is closed, in the hand of the only one that may change it. It is opened
/// again when this is dropped.
#[derive(Debug)]
pub(super) struct ClosedSeat<'a> {
    seat: &'a Seat,
    closed: SeatWord,
    /// What was in it.
    found: u64,
    /// What will be in it then.
    left: u64,
}

impl ClosedSeat<'_> {
    /// Gives the seat to the key with `hash`, with nothing in it.
    pub(super) fn give_to(&mut self, hash: u64) {
        self.left = 0;
        let Seat { drawn, used_before, limit, dry, sittings, .. } = self.seat;
        for word in [drawn, used_before, limit, dry] {
            put(word, 0);
        }
        put(sittings, self.seat.sittings().wrapping_add(1));
        // ORDERING: Release, so that who sees the key, and recalls what was refused, sees that the
        // seat was closed; pairs with the fence in `DenialCache::recall`.
        // MODEL: `a_key_is_not_refused_what_another_was`.
        self.seat.key.store(hash, Release);
    }

    /// What there is, if it is good at `now_nanos`, and what was last drawn.
    pub(super) fn left_and_drawn(&self, now_nanos: u64) -> (u64, u64) {
        let drawn = estimate(&self.seat.drawn);
        (if self.is_good(now_nanos) { self.found } else { 0 }, drawn)
    }

    /// Whether what there is will be good for so long after `now_nanos`.
    pub(super) fn lasts(&self, now_nanos: u64, nanos: u64) -> bool {
        now_nanos.checked_add(nanos).is_some_and(|then_nanos| self.is_good(then_nanos))
    }

    /// The same, if nobody ever had it.
    pub(super) fn give_first_to(&mut self, hash: u64) {
        if self.seat.sittings() == 0 {
            self.give_to(hash);
        }
    }

    /// The most that can be granted at once; 0 if nothing was ever drawn.
    pub(super) fn limit(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        // MODEL: none; the store refuses what is too large, too.
        self.seat.limit.load(Relaxed)
    }

    /// Whether what was there is good at `now_nanos`.
    pub(super) fn is_good(&self, now_nanos: u64) -> bool {
        self.seat.is_good(now_nanos)
    }

    /// What was there, good or not.
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// Puts down what is left.
    pub(super) fn keep(&mut self, left: u64) {
        self.left = left;
    }

    /// Puts down what is `left` of what was just drawn.
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

    /// A grant of `permits` that leaves what is put down.
    pub(super) fn grant_of(&self, permits: u64) -> Grant {
        self.seat.grant_of(permits, self.left)
    }

    /// Counts what was used of the last draw, and that there is a new one.
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
            // ORDERING: Release; pairs with the loads in `look`, so that who finds the seat open
            // finds in it what was written here. On failure it was emptied: nothing is read.
            // MODEL: `a_key_takes_nothing_of_another`, `what_was_drawn_is_not_good_for_ever`.
            match self.seat.stock.compare_exchange_weak(seen, next, Release, Relaxed) {
                Ok(_) => return,
                // Emptied in between, or failed for no reason.
                Err(found) if found != seen => (seen, next) = (found, found.open(0)),
                Err(_) => {}
            }
        }
    }
}

/// Writes a word of a seat that is closed, or an estimate.
fn put(word: &AtomicWord<u64>, value: u64) {
    // ORDERING: Relaxed. Seen by whoever sees the seat open again, and by nobody who takes
    // what was there before, whose CAS came before the seat was closed.
    // MODEL: `what_was_drawn_is_not_good_for_ever`, `a_key_takes_nothing_of_another`.
    word.store(value, Relaxed);
}

/// Reads what nothing depends on but who has a seat, and how much is drawn.
fn estimate(word: &AtomicWord<u64>) -> u64 {
    // ORDERING: Relaxed. Whose comes last does not matter.
    // MODEL: none; who sits where, and how much is drawn, have no part in the bound.
    word.load(Relaxed)
}
