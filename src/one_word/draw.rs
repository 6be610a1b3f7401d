//! What those do who spend elsewhere: look, lend room, draw tokens into it.

use crate::sync::Ordering::Acquire;
use crate::{Clock, Denied, Grant};

use super::OneWord;
use super::lent::RoomLent;
use super::spend::{Granted, all_of};
use super::terms::Terms;

/// The word as it was found at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Whole permits in it.
    pub(crate) permits: u64,
    /// The most that a request may ask for.
    pub(crate) limit: u64,
    /// Whether the word could have held more than it does: nothing that was earned up to
    /// this instant was cut off for want of room.
    pub(crate) is_uncut: bool,
}

impl<C: Clock> OneWord<C, RoomLent> {
    /// What there is at `now_nanos`. Writes nothing, and heals nothing.
    pub(crate) fn look_at(&self, now_nanos: u64) -> Reading {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `room_is_known_before_tokens_are_drawn_into_it`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let capacity = self.capacity(&terms);
            let balance = seen.balance(terms.accrued(now_nanos), capacity);
            match self.still(seen) {
                Ok(()) => {
                    return Reading {
                        permits: terms.permits_in(balance),
                        limit: terms.capacity / terms.token,
                        is_uncut: (0..capacity as i64).contains(&balance),
                    };
                }
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
