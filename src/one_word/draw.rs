//! What those do who spend elsewhere: look, lend room, draw tokens into it.

use crate::decision::Shortfall;
use crate::sync::Ordering::Acquire;
use crate::{Clock, Denied, Grant};

use super::OneWord;
use super::lent::RoomLent;
use super::spend::{Granted, all_of};
use super::terms::Terms;

/// The word as it was found at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) now_nanos: u64,
    terms: Terms,
    balance: i64,
    /// What the word had room for.
    capacity: u64,
}

impl Reading {
    /// The whole permits in the word.
    pub(crate) fn permits(&self) -> u64 {
        self.terms.permits_in(self.balance)
    }

    /// The most that a request may ask for.
    pub(crate) fn limit(&self) -> u64 {
        self.terms.capacity / self.terms.token
    }

    /// Whether the word could have held more than it did: nothing that was earned up to
    /// that instant was cut off for want of room.
    pub(crate) fn is_uncut(&self) -> bool {
        (0..self.capacity as i64).contains(&self.balance)
    }

    /// The denial of `permits`, if so many more are elsewhere, and all of them too few.
    pub(crate) fn denial(&self, permits: u64, elsewhere: u64) -> Denied {
        let outlook = self.terms.outlook(self.balance, self.now_nanos);
        if permits > self.limit() {
            return Denied::TooLarge { limit: self.limit(), which: 0 };
        }
        let wanted = outlook.wanted_for(permits);
        let outlook = outlook.with_more(elsewhere as i64);
        Denied::Wait(Shortfall { wanted, outlook, which: 0 })
    }
}

impl<C: Clock> OneWord<C, RoomLent> {
    /// What there is at `now_nanos`. Writes nothing, but for a level that is impossible:
    /// that is healed, and looked at again, by the clock as it is then.
    pub(crate) fn look_at(&self, mut now_nanos: u64) -> Reading {
        let mut may_heal = true;
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let simply = terms.accrued_simply(now_nanos);
            let capacity = self.capacity(&terms);
            let accrued = simply.unwrap_or_else(|| terms.accrued(now_nanos));
            let balance = seen.balance(accrued, capacity);
            let is_odd = simply.is_none() || balance < 0;
            match self.still(seen) {
                Ok(()) if is_odd && may_heal && terms.is_impossible(balance, now_nanos) => {
                    may_heal = false;
                    self.heal();
                    now_nanos = self.clock.now_nanos();
                    // ORDERING: Acquire, as in `spend`.
                    // MODEL: `an_impossible_level_is_healed_once`.
                    seen = self.line.word.load(Acquire);
                }
                Ok(()) => return Reading { now_nanos, terms, balance, capacity },
                Err(found) => seen = found,
            }
        }
    }

    /// Takes all of `permits` or none, by a clock that was read at `now_nanos`. `own`
    /// permits of the room that is lent are the caller's, and it borrowed them just now.
    pub(crate) fn draw(&self, now_nanos: u64, own: u64, permits: u64) -> Result<Grant, Denied> {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        let seen = self.line.word.load(Acquire);
        let drawn = self.spend_from::<true>(seen, now_nanos, own, |terms: &Terms, balance| {
            all_of(permits, terms, balance)
        });
        drawn.map(Granted::grant).map_err(Denied::from)
    }

    /// Lends room for `permits`: it is no longer the word's.
    pub(crate) fn lend(&self, permits: u64) {
        self.line.lent.lend(permits);
    }

    /// Takes back room for `permits` that was lent and has nothing in it.
    ///
    /// The word counts what it earns only when it is looked at, and cuts off what it has
    /// no room for. So it could now find room for what it earned long ago, when that room
    /// was still in use; those tokens would be spent twice. That does not happen if, at an
    /// instant when the room was already empty and held by nobody but the caller, the
    /// word was [uncut](Reading::is_uncut); or if the room was lent just now, and never
    /// used.
    pub(crate) fn take_back(&self, permits: u64) {
        self.line.lent.take_back(permits);
    }

    /// Calls `publish` with the terms in force, while none can be put in their place.
    pub(crate) fn publish(&self, publish: impl FnOnce(&Terms)) {
        let _changing = self.wait_for_turn();
        publish(&self.terms());
    }
}
