//! One seat: a key, and what was drawn for it and not yet used.
//!
//! A caller takes from the stock by one CAS. Whatever else is to change, the key, or how much
//! there is and for how long it is good, is changed by one caller at a time, who has *closed*
//! the seat; nobody waits for that one, but does without the seat. Who takes back all that was
//! drawn empties the seat, closed or not, and then what is in the closer's hand goes nowhere.

use crate::Grant;
use crate::decision::{Known, Outlook};
use crate::sync::{
    AtomicWord,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use super::source::Drawn;
use super::stock::Stock;

/// So many calls for one key more than for all others that would sit here, and it is hot.
const HOT: u64 = 64;

#[derive(Debug)]
#[repr(C)]
pub(super) struct Seat {
    stock: AtomicWord<Stock>,
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
}

/// Whose seat it is.
pub(super) enum Look {
    /// The key's own.
    Own(Stock),
    /// Another's.
    Other(Stock),
    /// Nobody can tell yet.
    Closed,
}

impl Seat {
    pub(super) fn new() -> Seat {
        let word = || AtomicWord::new(0);
        Seat {
            stock: AtomicWord::new(Stock::default()),
            key: word(),
            since_nanos: word(),
            lasts_nanos: word(),
            limit: word(),
            fill_nanos: word(),
            candidate: word(),
            votes: word(),
            drawn: word(),
        }
    }

    /// Whose seat it is, if the key with `hash` asks.
    #[inline(always)]
    pub(super) fn look(&self, hash: u64) -> Look {
        // ORDERING: Acquire; pairs with the CAS in `Hand::drop`, so that the key is that of
        // whoever opened this stock, or a later one's.
        // MODEL: `a_key_takes_nothing_of_another`.
        let stock = self.stock.load(Acquire);
        // ORDERING: Relaxed. Not from before the stock, by the load above; and if it is from
        // after, the CAS that follows fails.
        // MODEL: `a_key_takes_nothing_of_another`.
        let key = self.key.load(Relaxed);
        match stock {
            stock if stock.is_closed() => Look::Closed,
            stock if key == hash => Look::Own(stock),
            stock => Look::Other(stock),
        }
    }

    /// Takes `permits` from the stock that was `seen` to be of the key with `hash`: how many
    /// are left.
    #[inline(always)]
    pub(super) fn take(
        &self,
        hash: u64,
        mut seen: Stock,
        permits: u64,
        now_nanos: u64,
    ) -> Option<u64> {
        loop {
            if seen.is_closed() || seen.left() < permits || !self.is_good(now_nanos) {
                return None;
            }
            let next = seen.less(permits);
            // ORDERING: AcqRel. Release, so that who closes the seat after this, and then
            // writes the words that were looked at here, does so after the looks. Acquire
            // on success and on failure, as in `look`.
            // MODEL: `a_key_takes_nothing_of_another`.
            match self.stock.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                Ok(_) => return Some(next.left()),
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

    /// A grant of `permits`, when so many are `left` here.
    #[inline(always)]
    pub(super) fn grant_of(&self, permits: u64, left: u64) -> Grant {
        // ORDERING: Relaxed, both. They are told; nothing is decided by them.
        // MODEL: none; no decision depends on them.
        let (limit, reset_nanos) = (self.limit.load(Relaxed), self.fill_nanos.load(Relaxed));
        let used = limit.saturating_sub(left);
        let outlook = Outlook::Known(Known { limit, used, reset_nanos, retry_nanos: 0 });
        Grant { permits, outlook }
    }

    /// Counts a call for a key that has no seat. Whether it should have this one.
    #[inline(always)]
    pub(super) fn vote(&self, hash: u64, seen: Stock) -> bool {
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
        votes >= HOT && self.used(seen) < HOT
    }

    /// What was used of the last draw.
    fn used(&self, seen: Stock) -> u64 {
        // ORDERING: Relaxed. An estimate.
        // MODEL: none; how much is drawn has no part in the bound.
        self.drawn.load(Relaxed).saturating_sub(seen.left())
    }

    /// Closes the seat that was `seen` open, so that it can be changed.
    pub(super) fn close(&self, seen: Stock) -> Option<Hand<'_>> {
        let closed = seen.closed();
        // ORDERING: Acquire. What is written to the seat comes after what others looked at
        // until now (pairs with the CAS in `take`) and wrote (with that in `Hand::drop`);
        // and what is drawn for it, after the change for which it was last emptied (with
        // the CAS in `empty`). On failure nothing is read.
        // MODEL: `a_key_takes_nothing_of_another`, `a_change_takes_back_what_was_drawn`.
        self.stock.compare_exchange(seen, closed, Acquire, Relaxed).ok()?;
        Some(Hand { seat: self, closed, left: closed.left() })
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
pub(super) struct Hand<'a> {
    seat: &'a Seat,
    closed: Stock,
    /// What will be in it then.
    left: u64,
}

impl Hand<'_> {
    /// Gives the seat to the key with `hash`, with nothing in it.
    pub(super) fn seat(&mut self, hash: u64) {
        self.left = 0;
        // ORDERING: Relaxed, all of them. Seen by whoever sees the seat open again.
        // MODEL: `a_key_takes_nothing_of_another`.
        self.seat.key.store(hash, Relaxed);
        self.seat.drawn.store(0, Relaxed);
        self.seat.limit.store(0, Relaxed);
    }

    /// What there is, if it is good at `now_nanos`, and what was last drawn.
    pub(super) fn left_and_drawn(&self, now_nanos: u64) -> (u64, u64) {
        // ORDERING: Relaxed. Only who has closed the seat writes it.
        // MODEL: none; how much is drawn has no part in the bound.
        let drawn = self.seat.drawn.load(Relaxed);
        (if self.seat.is_good(now_nanos) { self.left } else { 0 }, drawn)
    }

    /// The most that can be granted at once; 0 if nothing was ever drawn.
    pub(super) fn limit(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        // MODEL: none; the store refuses what is too large, too.
        self.seat.limit.load(Relaxed)
    }

    /// What was there, good or not.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Puts down what is left.
    pub(super) fn keep(&mut self, left: u64) {
        self.left = left;
    }

    /// Puts down what is `left` of what was just drawn.
    pub(super) fn keep_of(&mut self, drawn: &Drawn, left: u64) {
        self.left = left;
        let Seat { since_nanos, lasts_nanos, limit, fill_nanos, .. } = self.seat;
        let outlook = drawn.grant.outlook;
        // ORDERING: Relaxed, all of them. Seen by whoever sees the seat open again, and by
        // nobody who takes what was there before, whose CAS came before the seat was closed.
        // MODEL: `what_was_drawn_is_not_good_for_ever`.
        since_nanos.store(drawn.at_nanos, Relaxed);
        lasts_nanos.store(drawn.lasts_nanos(), Relaxed);
        self.seat.drawn.store(left, Relaxed);
        limit.store(outlook.limit(), Relaxed);
        fill_nanos.store(outlook.fill_nanos(), Relaxed);
    }

    /// A grant of `permits` that leaves what is put down here.
    pub(super) fn grant_of(&self, permits: u64) -> Grant {
        self.seat.grant_of(permits, self.left)
    }
}

impl Drop for Hand<'_> {
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
