//! Settlement of a bucket of one word: what was estimated too high is given back, whatever others
//! have taken since.
//!
//! The word is the level of `give_back.rs`. Every unit of it has a birthday: unit x is born when
//! the clock has earned x, and dies when the clock has earned `cap` more. **A caller may keep a
//! unit only between the two; then the bound holds**, for the units kept in a span lie between the
//! start of the span less the cap and its end. So a unit is given back with its birthday, and
//! the next one that takes it must be within its life.
//!
//! The axis of birthdays is cut into bands of `width` units. Band b is kept in lot b mod `lots`: its
//! number, and how many of its units are free. The i-th of these is no older than the i-th unit
//! of the band, which is its *label*; it is taken as if it had been born then.
//!
//! * A take of the word is that of `give_back.rs`. If the word is short, and not in debt, the caller
//!   looks at the lots. If they have too little, it is denied, and has written nothing.
//!   Otherwise it claims what is lacking from them, the oldest first, a CAS for each; then it takes
//!   the rest from the word, or looks at the word once more if there is no rest. If any of these
//!   fails, it puts its claims back and starts again.
//! * A settlement cuts units off its receipt, the youngest first. If the word is where the receipt
//!   left it, it is lowered; otherwise the units go into the lots of their bands. A lot that has a
//!   younger band by now takes none: they are lost. An older band is dropped.
//! * A settlement for more than was taken raises the word, to at most `debt` ahead of the clock.
//! * A change of terms raises the word, and notes to where: all older units are void.
//!
//! Stated of every state: in any span, no more is kept than the cap, what is earned in the span,
//! and the debt. No call goes round for ever unless others get something done.
//!
//! | mutant            | what it drops                                             | what goes wrong |
//! |-------------------|-----------------------------------------------------------|-----------------|
//! | `NoExpiry`        | that units die                                            | too many are kept |
//! | `BandEnd`         | (a band dies as a whole, at its end)                      | its first units are kept too late |
//! | `Uncut`           | that a receipt is cut before its units are given back     | they are given back again |
//! | `IntoYounger`     | that a younger band takes none                            | they become younger |
//! | `TopBand`         | that units of two bands go into two lots                  | the older ones become younger |
//! | `ClaimByStore`    | the CAS of a claim                                        | a unit is claimed twice |
//! | `PutByStore`      | the CAS of what is put into a lot                         | what was claimed meanwhile is there again |
//! | `InDebt`          | that nothing is claimed while the word is ahead           | a unit is kept before it was born |
//! | `NoSecondLook`    | the second look at the word                               | the same |
//! | `KeepsClaims`     | that claims are put back                                  | they die meanwhile |
//! | `NoVoid`          | that a change voids units                                 | the terms after it are exceeded |
//! | `VoidLate`        | the order: note, then raise the word                      | the same, between the two |
//!
//! Two rules have no mutant, because the bound holds without them: an older band does not replace a
//! younger one, and only units that came from the word go back to it (`Rules::any_falls`). The
//! second look may also accept a word that has moved, as long as it is not ahead of the clock
//! (`Rules::may_move`), if there are no changes.

#[path = "settle/calls.rs"]
mod calls;
#[path = "settle/checks.rs"]
mod checks;
#[path = "settle/engine.rs"]
mod engine;
#[path = "settle/give.rs"]
mod give;
#[path = "settle/state.rs"]
mod state;

use self::state::Row;

const THREADS: usize = 3;
/// Most lots.
const LOTS: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoExpiry,
    BandEnd,
    Uncut,
    IntoYounger,
    TopBand,
    ClaimByStore,
    PutByStore,
    InDebt,
    NoSecondLook,
    KeepsClaims,
    NoVoid,
    VoidLate,
}

/// Variants for which the bound holds too.
#[derive(Clone, Copy, Debug, Default)]
struct Rules {
    /// Units from lots lower the word as well, where it is at their label.
    any_falls: bool,
    /// The second look at the word accepts one that has moved.
    may_move: bool,
}

/// The calls that threads may make, in any number at a time and any order.
#[derive(Clone, Copy, Debug)]
struct Settle {
    cap: i8,
    lots: usize,
    width: i8,
    /// The clock goes on to this.
    run: i8,
    threads: usize,
    takes: u8,
    permits: &'static [i8],
    settles: u8,
    /// Settlements for more than was taken.
    forces: u8,
    changes: u8,
    /// Most by which a reading of the clock is late.
    lag: i8,
    debt: i8,
    /// Most by which the bound is exceeded.
    excess: i8,
    rules: Rules,
    mutant: Option<Mutant>,
}

/// The next step of a thread. `n` are the units that it takes in all, `got` those claimed so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum At {
    Absent,
    Idle,
    /// Loads the word.
    Word {
        n: i8,
    },
    /// Reads the clock.
    Clock {
        n: i8,
        word: i8,
    },
    /// Loads the next lot.
    Look {
        n: i8,
        word: i8,
        now: i8,
        seen: Row,
    },
    /// Claims the first of `plan`: lot, and units.
    Claim {
        n: i8,
        word: i8,
        now: i8,
        seen: Row,
        plan: Row,
        got: Row,
    },
    /// Takes the rest from the word.
    Take {
        n: i8,
        word: i8,
        now: i8,
        rest: i8,
        got: Row,
    },
    /// Looks at the word again.
    Second {
        n: i8,
        word: i8,
        now: i8,
        got: Row,
    },
    /// Loads the word again, and reads the clock again, in the mutant that keeps its claims.
    Keep {
        n: i8,
        rest: i8,
        got: Row,
    },
    KeepClock {
        n: i8,
        word: i8,
        rest: i8,
        got: Row,
    },
    /// Loads the lot of the first of `back`: band, and units.
    Back {
        n: i8,
        back: Row,
    },
    BackPut {
        n: i8,
        back: Row,
        found: (i8, i8),
    },
    /// Lowers the word by the first of `pieces`, if it can.
    Fall {
        time: i8,
        pieces: Row,
    },
    /// Loads the lot of the first of `bands`.
    Give {
        time: i8,
        bands: Row,
        pieces: Row,
    },
    GivePut {
        time: i8,
        bands: Row,
        pieces: Row,
        found: (i8, i8),
    },
    /// Raises the word on credit.
    Force {
        n: i8,
    },
    ForceTake {
        n: i8,
        word: i8,
        now: i8,
    },
    /// Notes from where on units are of the new terms.
    Void {
        word: i8,
    },
    /// Puts the new terms in force.
    Change {
        word: i8,
    },
    /// The same in the wrong order.
    LateVoid {
        word: i8,
    },
}

impl Settle {
    fn alive(&self, lot: (i8, i8), now: i8, void: i8) -> i8 {
        let (band, free) = lot;
        let start = band * self.width;
        match self.mutant {
            Some(Mutant::NoExpiry) => free,
            Some(Mutant::BandEnd) if start + self.width > now - self.cap => free,
            Some(Mutant::BandEnd) => 0,
            _ => (start + free - start.max(now - self.cap).max(void)).max(0),
        }
    }

    /// The bands of the units of `pieces`, the youngest first.
    fn bands(&self, pieces: &Row) -> Row {
        let mut bands = Row::default();
        for &(mut top, mut units) in pieces.items() {
            while units > 0 {
                let band = (top - 1).div_euclid(self.width);
                let here = match self.mutant {
                    Some(Mutant::TopBand) => units,
                    _ => units.min(top - band * self.width),
                };
                bands.push((band, here));
                (top, units) = (top - here, units - here);
            }
        }
        bands
    }

    /// The lot after `units` of `band` are put into it, and how many of them it takes.
    fn with(&self, found: (i8, i8), band: i8, units: i8) -> ((i8, i8), i8) {
        let added = |free: i8| (free + units).min(self.width);
        if found.0 == band {
            ((band, added(found.1)), added(found.1) - found.1)
        } else if found.0 < band {
            ((band, units), units)
        } else if self.mutant == Some(Mutant::IntoYounger) {
            ((found.0, added(found.1)), added(found.1) - found.1)
        } else {
            (found, 0)
        }
    }
}
