//! What a call does that its seat has too little for, and who gets a seat.

use crate::memory::Remembered;
use crate::sync::Ordering::Acquire;
use crate::{Denied, Grant};

use super::HotKeys;
use super::seat::{Look, Seat};
use super::source::{Source, Want};
use super::stock::Stock;

/// Who asks.
pub(super) struct Caller<'a, K: ?Sized> {
    pub(super) key: &'a K,
    pub(super) hash: u64,
    /// Where, counted round.
    pub(super) index: usize,
}

impl<S> HotKeys<S> {
    /// Takes `permits` for a key that has the seat, in which there was too little, or for too
    /// short a time.
    #[cold]
    #[inline(never)]
    pub(super) fn ask<K: ?Sized>(
        &self,
        caller: &Caller<'_, K>,
        (seat, seen): (&Seat, Stock),
        permits: u64,
        now_nanos: u64,
    ) -> Result<Grant, Denied>
    where
        S: Source<K>,
    {
        if permits == 0 {
            return self.store.ask(caller.hash, caller.key, 0);
        }
        // ORDERING: Acquire, before anything else is looked at; pairs with `change`. What was
        // refused before a change is not refused by memory after it.
        // MODEL: `a_change_takes_back_what_was_drawn`.
        let changes = self.changes.load(Acquire) ^ caller.hash;
        let memory = self.at(caller.index).memory(caller.hash);
        if let Some(denied) = memory.recall(permits, changes).and_then(|last| last.at(now_nanos)) {
            return Err(denied);
        }
        let Some(mut hand) = seat.close(seen) else {
            return self.store.ask(caller.hash, caller.key, permits);
        };
        let (left, drawn) = hand.left_and_drawn(now_nanos);
        if permits > hand.limit() && left > 0 {
            // Perhaps more than the key can ever have: the store knows.
            return self.store.ask(caller.hash, caller.key, permits);
        }
        let missing = permits.saturating_sub(left);
        if missing == 0 {
            hand.keep(left - permits);
            return Ok(hand.grant_of(permits));
        }
        let more = Want::after(drawn, hand.left());
        let want = Want { least: missing, more, places: self.places() as u64 };
        // All that was left is used up by this call: what is kept is of one draw.
        if let Some(drawn) = self.store.draw(caller.hash, caller.key, want) {
            hand.keep_of(&drawn, left + drawn.grant.permits - permits);
            return Ok(hand.grant_of(permits));
        }
        match self.store.ask(caller.hash, caller.key, missing) {
            Ok(grant) => {
                hand.keep(left - (permits - missing));
                Ok(Grant { permits, ..grant })
            }
            Err(Denied::Wait(_)) if self.take_elsewhere(caller, missing, now_nanos) => {
                hand.keep(left - (permits - missing));
                Ok(hand.grant_of(permits))
            }
            Err(Denied::Wait(shortfall)) => {
                let shortfall = shortfall.of_all(permits, left);
                memory.note(&Remembered::new(permits, changes, now_nanos, &shortfall));
                Err(Denied::Wait(shortfall))
            }
            Err(other) => Err(other),
        }
    }

    /// Takes `permits` from the key's seat at another place, if one has so many.
    fn take_elsewhere<K: ?Sized>(
        &self,
        caller: &Caller<'_, K>,
        permits: u64,
        now_nanos: u64,
    ) -> bool {
        (1..self.places()).any(|next| {
            let seat = self.at(caller.index.wrapping_add(next)).seat(caller.hash);
            match seat.look(caller.hash) {
                Look::Own(seen) => seat.take(caller.hash, seen, permits, now_nanos).is_some(),
                Look::Other(_) | Look::Closed => false,
            }
        })
    }
}
