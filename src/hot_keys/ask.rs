//! What a call does that its seat has too little for, and who gets a seat.

use crate::memory::Remembered;
use crate::sync::Ordering::Acquire;
use crate::{Clock, Denied, Grant, time};

use super::HotKeys;
use super::seat::{Hand, Look, Seat};
use super::source::{Source, Want};
use super::stock::Stock;

/// Who asks.
pub(super) struct Caller<'a, K: ?Sized> {
    pub(super) key: &'a K,
    pub(super) hash: u64,
    /// Where, counted round.
    pub(super) index: usize,
}

/// Looks at a seat that others change too before a call does without it.
const TRIES: usize = 4;

/// What there was at other places.
enum Elsewhere {
    Taken(Grant),
    Nothing,
    /// A seat was just being changed: perhaps something.
    Unsure,
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
        if permits == 0 || seat.is_ahead(now_nanos) {
            // Nothing is to be taken from the seat, or not by this clock.
            return self.store.ask(caller.hash, caller.key, permits);
        }
        // ORDERING: Acquire, before anything else is looked at; pairs with `change`. What was
        // refused before a change is not refused by memory after it.
        // MODEL: `a_change_takes_back_what_was_drawn`.
        let changes = self.changes.load(Acquire);
        // Nor what was refused to another key that sat here: both only ever grow.
        let changes = changes.wrapping_add(seat.sittings());
        let memory = self.at(caller.index).memory(caller.hash);
        if let Some(last) = memory.recall(permits, changes) {
            match last.at(now_nanos) {
                Some(denied) if seat.is_still(seen) => return Err(denied),
                // The clock has gone back, and perhaps the store has started again.
                None if last.is_after(now_nanos) => memory.clear(),
                _ => {}
            }
        }
        let Some(mut hand) = close(seat, seen, caller.hash) else {
            return self.store.ask(caller.hash, caller.key, permits);
        };
        hand.give_first_to(caller.hash);
        let (left, drawn) = hand.left_and_drawn(now_nanos);
        if permits > hand.limit() && left > 0 {
            // Perhaps more than the key can ever have: the store knows.
            return self.store.ask(caller.hash, caller.key, permits);
        }
        if permits <= left {
            hand.keep(left - permits);
            return Ok(hand.grant_of(permits));
        }
        // What is left, and what comes to it from the store, are granted at one reading: by a later
        // one than this, what is left may not be good any more.
        let more = Want::after(drawn, hand.found());
        let want = Want { least: permits, more, places: self.places() as u64 };
        if let Some(drawn) = self.store.draw(caller.hash, caller.key, want) {
            let left = if hand.is_good(drawn.at_nanos) { left } else { 0 };
            // Of what was left nothing is kept: what is, is of one draw.
            hand.keep_drawn(&drawn, left + drawn.grant.permits - permits);
            return Ok(hand.grant_of(permits));
        }
        let shortfall = match self.store.ask(caller.hash, caller.key, permits - left) {
            Ok(_) if left > 0 && !hand.is_good(self.store.clock().now_nanos()) => {
                // So late that what was left is lost, and what was granted to go with it.
                hand.keep(0);
                return self.store.ask(caller.hash, caller.key, permits);
            }
            Ok(grant) => {
                hand.keep(0);
                return Ok(Grant { permits, ..grant });
            }
            Err(Denied::Wait(shortfall)) => shortfall,
            Err(other) => return Err(other),
        };
        let later_nanos = self.store.clock().now_nanos();
        let left = if hand.is_good(later_nanos) { left } else { 0 };
        let elsewhere = self.take_elsewhere(caller, permits - left, later_nanos);
        if let Elsewhere::Taken(grant) = elsewhere {
            if left > 0 {
                hand.keep(0);
            }
            return Ok(Grant { permits, ..grant });
        }
        let mut denied = shortfall.of_all(permits, left);
        if !hand.lasts(later_nanos, time::nanos(denied.retry_after())) {
            // By then it will be lost.
            denied = shortfall.of_all(permits, 0);
        }
        if matches!(elsewhere, Elsewhere::Nothing) {
            // What is told of it later counts from after the store's reading of the clock, and it
            // holds as if it counted from before.
            let last = Remembered::new(permits, changes, later_nanos, &denied);
            memory.note(&last.for_less(later_nanos.saturating_sub(now_nanos)));
        }
        Err(Denied::Wait(denied))
    }

    /// Takes `permits` from the key's seat at another place, if one has so many.
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
                Look::Own(seen) => match seat.take(caller.hash, seen, permits, now_nanos) {
                    Some(grant) => return Elsewhere::Taken(grant),
                    None if seen.left() >= permits && seat.is_ahead(now_nanos) => {
                        outcome = Elsewhere::Unsure;
                    }
                    None => {}
                },
                Look::Other(_) => {}
                Look::Closed => outcome = Elsewhere::Unsure,
            }
        }
        outcome
    }
}

/// Closes the seat of the key with `hash`, which was `seen` open.
fn close(seat: &Seat, mut seen: Stock, hash: u64) -> Option<Hand<'_>> {
    for _ in 0..TRIES {
        if let Some(hand) = seat.close(seen) {
            return Some(hand);
        }
        match seat.look(hash) {
            Look::Own(found) => seen = found,
            Look::Other(_) | Look::Closed => return None,
        }
    }
    None
}
