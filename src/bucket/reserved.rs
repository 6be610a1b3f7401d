//! What is lent of a word's capacity.
//!
//! A token that is spent elsewhere than from the word (by a shard, under a lease) must
//! have room there, and **that room is not the word's as long as it is lent**: the word
//! holds at most its capacity less what is lent. So all that can be spent at once, in the
//! word and outside, is never more than the capacity.

use super::terms::Terms;

/// How much room is lent.
pub(crate) trait Lent {
    fn none() -> Self;

    /// What `terms` leave to the word, if `own` permits of the room that is lent need not
    /// be counted: their owner has only just borrowed them, and there is nothing in them.
    fn left_of(&self, terms: &Terms, own: u64) -> u64;
}

/// Nothing is ever lent: all of the capacity is the word's.
#[derive(Debug)]
pub(crate) struct NothingReserved;

impl Lent for NothingReserved {
    fn none() -> NothingReserved {
        NothingReserved
    }

    #[inline(always)]
    fn left_of(&self, terms: &Terms, _own: u64) -> u64 {
        terms.capacity
    }
}
