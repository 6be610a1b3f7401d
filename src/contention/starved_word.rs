//! The word that counts announced callers. No atomics here.
//!
//! ```text
//!  bit 63             48 47                 24 23                  0
//!     +-----------------+---------------------+---------------------+
//!     | STEPS (16 bits) | WRITTEN_OFF (24)    |    HEEDED (24)      |
//!     +-----------------+---------------------+---------------------+
//! ```
//!
//! | from                         | `announced`   | `stepped_back`                    | `withdrawn`          |
//! |------------------------------|---------------|-----------------------------------|----------------------|
//! | nobody heeded: (0, w, 0)     | (0, w, 1)     | none                              | (0, w - 1, 0)        |
//! | (s, w, h), s + 1 < PATIENCE  | (s, w, h + 1) | (s + 1, w, h)                     | (s, w, h - 1)        |
//! | (s, w, h), s + 1 = PATIENCE  | (s, w, h + 1) | (0, w + h, 0)                     | (s, w, h - 1)        |
//!
//! When nobody is heeded any more, STEPS is 0 again. Announced callers cannot be told apart: if one
//! that was written off withdraws, a heeded one may be discounted in its place. That one is then
//! written off although it runs, and has to win without help. The opposite cannot happen, so no
//! announcement costs more than PATIENCE steps back.

use core::fmt;

use crate::bits::Field;
use crate::sync::Word;

use super::PATIENCE;

/// Announced callers that others step back for.
const HEEDED: Field = Field::low(24);

/// Announced callers for which others have stepped back in vain.
const WRITTEN_OFF: Field = HEEDED.then(24);

/// Steps back since HEEDED was last 0.
const STEPS: Field = WRITTEN_OFF.then(16);

const _: () = assert!(STEPS.end() == u64::BITS, "the fields fill the word");
const _: () = assert!(PATIENCE <= STEPS.max(), "steps back are counted");

/// The counts of the announced callers of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Starved(u64);

impl Starved {
    pub(super) const NONE: Starved = Starved(0);

    #[inline(always)]
    pub(super) fn is_heeded(self) -> bool {
        HEEDED.get(self.0) != 0
    }

    /// Returns the counts with one announced caller more, or `None` if the fields cannot count it.
    pub(super) fn announced(self) -> Option<Starved> {
        let all = HEEDED.get(self.0) + WRITTEN_OFF.get(self.0);
        (all < HEEDED.max()).then(|| Starved(self.0 + HEEDED.put(1)))
    }

    /// Returns the counts with one step back more, or `None` if nobody is heeded.
    pub(super) fn stepped_back(self) -> Option<Starved> {
        if !self.is_heeded() {
            return None;
        }
        let steps = STEPS.get(self.0) + 1;
        if steps < PATIENCE {
            return Some(Starved(self.0 + STEPS.put(1)));
        }
        let all = HEEDED.get(self.0) + WRITTEN_OFF.get(self.0);
        Some(Starved(WRITTEN_OFF.put(all)))
    }

    /// Returns the counts with one announced caller less, or `None` if there is none.
    pub(super) fn withdrawn(self) -> Option<Starved> {
        match (HEEDED.get(self.0), WRITTEN_OFF.get(self.0)) {
            (0, 0) => None,
            (0, _) => Some(Starved(self.0 - WRITTEN_OFF.put(1))),
            (1, written_off) => Some(Starved(WRITTEN_OFF.put(written_off))),
            _ => Some(Starved(self.0 - HEEDED.put(1))),
        }
    }
}

impl Word for Starved {
    #[inline(always)]
    fn from_bits(bits: u64) -> Starved {
        Starved(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Starved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Starved")
            .field("heeded", &HEEDED.get(self.0))
            .field("written_off", &WRITTEN_OFF.get(self.0))
            .field("steps", &STEPS.get(self.0))
            .finish()
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use super::*;

    type Step = fn(Starved) -> Option<Starved>;

    /// Tries every history of a few announcements, each with any steps back after it.
    #[test]
    fn an_announcement_is_worth_so_many_steps_back_and_no_more() {
        for history in 0..3_u32.pow(7) {
            let (mut starved, mut announcements, mut steps) = (Starved::NONE, 0, 0);
            for turn in 0..7 {
                match history / 3_u32.pow(turn) % 3 {
                    0 => {
                        starved = starved.announced().unwrap();
                        announcements += 1;
                    }
                    1 => starved = starved.withdrawn().unwrap_or(starved),
                    _ => {
                        for _ in 0..PATIENCE * 2 / 3 {
                            let Some(next) = starved.stepped_back() else { break };
                            starved = next;
                            steps += 1;
                        }
                    }
                }
                assert!(steps <= PATIENCE * announcements, "{history}: {starved:?}");
            }
        }
    }

    #[test]
    fn a_caller_that_runs_is_heeded_beside_one_that_is_written_off() {
        let announced: Step = Starved::announced;
        let mut starved = announced(Starved::NONE).unwrap();
        while let Some(next) = starved.stepped_back() {
            starved = next;
        }
        assert!(!starved.is_heeded());
        let both = starved.announced().unwrap();
        assert!(both.is_heeded());
        let one = both.withdrawn().unwrap();
        assert_eq!(one, starved);
        assert_eq!(one.withdrawn(), Some(Starved::NONE));
        assert_eq!(Starved::NONE.withdrawn(), None);
    }

    #[test]
    fn announcements_beyond_what_is_counted_are_refused() {
        for full in [HEEDED.put(HEEDED.max()), WRITTEN_OFF.put(HEEDED.max() - 1) | HEEDED.put(1)] {
            assert_eq!(Starved(full).announced(), None);
            let one_less = Starved(full).withdrawn().unwrap();
            assert!(one_less.announced().is_some());
        }
    }

    #[test]
    fn steps_are_forgotten_with_the_last_who_is_heeded() {
        let stepped = Starved::NONE.announced().and_then(Starved::stepped_back).unwrap();
        assert_eq!(STEPS.get(stepped.0), 1);
        assert_eq!(stepped.withdrawn(), Some(Starved::NONE));
    }

    #[test]
    fn whoever_was_written_off_before_is_counted_with_who_is_now() {
        let write_off = |mut starved: Starved| {
            while let Some(next) = starved.stepped_back() {
                starved = next;
            }
            starved
        };
        let two = (0..2).fold(Starved::NONE, |starved, _| write_off(starved.announced().unwrap()));
        assert_eq!(two, Starved(WRITTEN_OFF.put(2)));
        // The two that were written off withdraw; the third announcement stays, as written off.
        let heeded = two.announced().unwrap();
        let back = heeded.withdrawn().and_then(Starved::withdrawn).unwrap();
        assert_eq!(back, Starved(WRITTEN_OFF.put(1)));
    }
}
