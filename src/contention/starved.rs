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
//! When nobody is heeded any more, STEPS is 0 again. Announced callers are all alike: one
//! that was written off and comes back may count as the one that is heeded. What is left
//! is then written off though it runs, and has to win without help; never the other
//! way round, so no announcement is worth more than PATIENCE steps back.

use core::fmt;

use crate::bits::Field;
use crate::sync::Word;

use super::PATIENCE;

/// Announced callers that others step back for.
const HEEDED: Field = Field::low(24);

/// Announced callers that others have stepped back for in vain.
const WRITTEN_OFF: Field = HEEDED.then(24);

/// Steps back since somebody was heeded first.
const STEPS: Field = WRITTEN_OFF.then(16);

const _: () = assert!(STEPS.end() == u64::BITS, "the fields fill the word");
const _: () = assert!(PATIENCE <= STEPS.max(), "steps back are counted");

/// The announced callers of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Starved(u64);

impl Starved {
    pub(super) const NONE: Starved = Starved(0);

    #[inline(always)]
    pub(super) fn is_heeded(self) -> bool {
        HEEDED.get(self.0) != 0
    }

    /// With one announced caller more; `None` if there is no room to count it.
    pub(super) fn announced(self) -> Option<Starved> {
        let all = HEEDED.get(self.0) + WRITTEN_OFF.get(self.0);
        (all < HEEDED.max()).then(|| Starved(self.0 + HEEDED.put(1)))
    }

    /// With one step back more; `None` if there is nobody to step back for.
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

    /// With one announced caller less; `None` if there is none.
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
