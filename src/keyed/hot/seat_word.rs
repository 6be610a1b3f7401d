//! The word of a seat: the number of prepaid permits left. No atomics here.
//!
//! ```text
//!  bit 63                              17     16     15                 0
//!     +----------------------------------+----------+--------------------+
//!     |          TURN (47 bits)          |  CLOSED  |   LEFT (16 bits)   |
//!     +----------------------------------+----------+--------------------+
//! ```
//!
//! | from | take | close | open | empty |
//! |---|---|---|---|---|
//! | open | left - permits | closed, next turn | | nothing left, next turn |
//! | closed | | | open, with the permits to keep | closed, next turn: the closer opens it with nothing |
//!
//! The turn is a generation count: closing or emptying a seat starts the next one. Within a turn
//! the permits left only get fewer, so no seat word is ever seen twice.

use core::fmt;

use crate::bits::Field;
use crate::keyed::prepay::MAX_DRAW;
use crate::sync::Word;

/// Number of permits left.
const LEFT: Field = Field::low(16);

/// Set while a caller gives the seat to another key, or prepays for it.
const CLOSED: Field = LEFT.then(1);

/// Number of times that the seat was closed or emptied. (At one a microsecond this takes four years
/// to wrap.)
const TURN: Field = CLOSED.then(47);

const _: () = assert!(TURN.end() == u64::BITS, "the fields fill the word");

/// The most permits that a seat can have.
const MAX_LEFT: u64 = LEFT.max();

const _: () = assert!(MAX_DRAW <= MAX_LEFT, "a seat has place for a draw");

/// The number of permits left in a seat, and whether it is closed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SeatWord(u64);

impl SeatWord {
    #[inline]
    pub(super) fn left(self) -> u64 {
        LEFT.get(self.0)
    }

    #[inline]
    pub(super) fn is_closed(self) -> bool {
        CLOSED.get(self.0) != 0
    }

    /// Returns the word with `permits` fewer left; there must be as many.
    #[inline]
    pub(super) fn less(self, permits: u64) -> SeatWord {
        debug_assert!(permits <= self.left());
        SeatWord(self.0 - permits)
    }

    /// Returns the word closed, in the next turn.
    pub(super) fn closed(self) -> SeatWord {
        SeatWord(self.next_turn() | CLOSED.put(1) | self.left())
    }

    /// Returns the word open, in the same turn, with `left` permits, or as many as fit.
    pub(super) fn open(self, left: u64) -> SeatWord {
        SeatWord(TURN.put(TURN.get(self.0)) | left.min(MAX_LEFT))
    }

    /// Returns the word with nothing left, in the next turn; closed if it was.
    pub(super) fn empty(self) -> SeatWord {
        SeatWord(self.next_turn() | CLOSED.put(CLOSED.get(self.0)))
    }

    fn next_turn(self) -> u64 {
        TURN.wrap(TURN.get(self.0).wrapping_add(1))
    }
}

impl Word for SeatWord {
    #[inline]
    fn from_bits(bits: u64) -> SeatWord {
        SeatWord(bits)
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for SeatWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeatWord")
            .field("left", &self.left())
            .field("is_closed", &self.is_closed())
            .field("turn", &TURN.get(self.0))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_that_was_closed_or_emptied_is_never_what_it_was() {
        for start in [SeatWord::default(), SeatWord(TURN.put(TURN.max())), SeatWord(u64::MAX)] {
            for stock in [start.open(0), start.open(7), start.open(u64::MAX)] {
                assert!(!stock.is_closed());
                let closed = stock.closed();
                assert!(closed.is_closed() && closed.left() == stock.left());
                assert_ne!(closed.open(stock.left()), stock);
                let emptied = stock.empty();
                assert!(!emptied.is_closed() && emptied.left() == 0 && emptied != stock);
                assert!(closed.empty().is_closed() && closed.empty() != closed);
            }
        }
        assert_eq!(SeatWord::default().open(7).less(3), SeatWord::default().open(4));
    }
}
