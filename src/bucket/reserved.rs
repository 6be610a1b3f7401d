//! Capacity of a word that is reserved for use elsewhere.
//!
//! A token that is spent outside the word (by a shard, under a lease) needs capacity there, and
//! **that capacity is not the word's as long as it is reserved**: the word holds at most its
//! capacity less what is reserved. So the tokens that can be spent at once, in the word and
//! outside, never exceed the capacity.

use crate::decision::pieces::Piece;

use super::level::Level;
use super::terms::Terms;

/// A count of the capacity that is reserved.
pub(crate) trait ReservedCapacity: Sync {
    /// Returns the count of a new limiter on `terms`.
    fn of(terms: &Terms) -> Self;

    /// Returns the capacity that `terms` leave to the word. The caller's `own` permits of the
    /// reserved capacity are not counted: it has only just reserved them, and they hold no tokens.
    fn left_of(&self, terms: &Terms, own: u64) -> u64;

    /// Prepares for a change, which `successor` will put in force. Called by one thread at a time;
    /// the change may yet fail, and be prepared again with a higher successor.
    #[inline(always)]
    fn before_change(&self, _successor: Level) {}

    /// Keeps units that have come back too late for the word. Returns how many of them are lost: all, where
    /// there are no lots.
    fn put(&self, piece: Piece) -> u64 {
        piece.units
    }
}

/// Reserves nothing: all of the capacity is the word's.
#[derive(Debug)]
pub(crate) struct NothingReserved;

impl ReservedCapacity for NothingReserved {
    fn of(_terms: &Terms) -> NothingReserved {
        NothingReserved
    }

    #[inline(always)]
    fn left_of(&self, terms: &Terms, _own: u64) -> u64 {
        terms.capacity
    }
}
