//! The units that a grant of a bucket took, by their birthdays: see `bucket/settle.rs`. No atomics
//! here.

/// Number of lots that a bucket keeps what was given back in. The more there are, the fewer units are
/// lost because several of different ages share one.
pub(crate) const LOTS: usize = 4;

/// The `units` up to `top`, in quarter-units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) top: u64,
    pub(crate) units: u64,
}

impl Piece {
    /// Cuts the youngest off, up to as many as are `wanted`.
    fn cut(&mut self, wanted: &mut u64) -> Piece {
        let units = self.units.min(*wanted);
        let cut = Piece { top: self.top, units };
        *self = Piece { top: self.top.wrapping_sub(units), units: self.units - units };
        *wanted -= units;
        cut
    }
}

/// The units of a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// Those that were taken from the word; the top is the level that the grant left.
    pub(crate) of_word: Piece,
    /// Those that were taken from lots, the oldest first.
    pub(crate) of_lots: [Piece; LOTS],
}

impl Pieces {
    /// Returns the `units` up to the level `top`.
    pub(crate) fn of_word(top: u64, units: u64) -> Pieces {
        Pieces { of_word: Piece { top, units }, of_lots: [Piece::default(); LOTS] }
    }

    /// Returns the number of units.
    pub(crate) fn units(&self) -> u64 {
        self.of_lots.iter().fold(self.of_word.units, |sum, piece| sum.saturating_add(piece.units))
    }

    /// Cuts off the youngest `units`, or all if there are fewer.
    pub(crate) fn cut(&mut self, mut units: u64) -> Pieces {
        let mut cut = Pieces { of_word: self.of_word.cut(&mut units), ..Pieces::default() };
        for (piece, cut) in self.of_lots.iter_mut().zip(&mut cut.of_lots).rev() {
            *cut = piece.cut(&mut units);
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(top: u64, units: u64) -> Piece {
        Piece { top, units }
    }

    #[test]
    fn the_youngest_units_are_cut_off_first_and_only_once() {
        let mut all = Pieces::of_word(100, 10);
        all.of_lots[0] = piece(40, 5);
        all.of_lots[1] = piece(60, 3);

        let cut = all.cut(4);
        assert_eq!(cut.of_word, piece(100, 4));
        assert!(cut.of_lots.iter().all(|piece| piece.units == 0));
        assert_eq!(all.of_word, piece(96, 6));

        let cut = all.cut(10);
        assert_eq!(cut.of_word, piece(96, 6));
        assert_eq!(cut.of_lots[..2], [piece(40, 1), piece(60, 3)]);
        assert_eq!((all.of_word.units, all.of_lots[0]), (0, piece(39, 4)));

        assert_eq!(all.cut(u64::MAX).of_lots[0], piece(39, 4));
        let nothing = all.cut(u64::MAX);
        assert!(nothing.of_lots.iter().all(|piece| piece.units == 0));
    }
}
