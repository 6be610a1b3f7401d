//! Settlement of a window counter of one word: what was not used of an estimate is taken off the
//! count of the window that was charged, and what was used beyond it is added to the present one.
//!
//! The word has the number of its window, the count of that, and in a sliding counter the count of the
//! window before, which counts in full here. (A fixed window forgets it.) Beside it there are the numbers
//! of changes that have begun and that are done, and the number of settlements in progress; the
//! first and the last are one word.
//!
//! * A grant brings the word forward to the window of its reading, and adds its permits if they are
//!   within the limit, by a CAS. A word that is too far ahead of the reading is healed first: its
//!   counts are moved to the present window.
//! * An estimate first notes the number of changes, or nothing if one is going on. It keeps this, and
//!   the number of the window that its grant left.
//! * To give back: reads the clock; looks whether a change has begun since; adds itself to the
//!   settlements, and looks at the changes in the same step; then takes the permits off the count of
//!   its window by a CAS, if that still counts; and leaves the settlements. What it gives back is cut
//!   off the estimate first.
//! * To take beyond: adds the permits to the count of the window of now, whatever the limit, by a CAS.
//! * A reset, and a healing, adds itself to the changes that have begun, waits until no settlement is
//!   in progress, replaces the word by a CAS, and then adds itself to those that are done.
//! * A receipt puts back the word from before its grant, if the word is the one that the grant left.
//! * A caller in line that leaves before it was told of its grant gives it back in the same way, but in a
//!   settlement, if no change has begun since. (The gate of the line stays as it is, so it has no part in
//!   this.)
//!
//! Stated of every state: the count of a window is its *charge*, which is what was granted in it and not
//! given back; no window later than the word's has a charge; and the charge is at most the limit and
//! what was taken beyond estimates. A reset or a healing begins all charges anew. And every run
//! ends, though changes wait for settlements.
//!
//! Left out: a receipt beside a reset, which may put back a count from before it; the line, but for the
//! one caller that leaves it; numbers that wrap.
//!
//! | mutant               | what it drops                                          | what goes wrong |
//! |----------------------|--------------------------------------------------------|-----------------|
//! | `NoNote`             | the look at the changes                                | given back after a reset: more than the limit |
//! | `NotesLate`          | that the changes are noted before the grant            | a reset in between is taken for an earlier one: the same |
//! | `NotesBegun`         | that a change that is going on is noted as none        | the same |
//! | `LooksFirst`         | the look at the changes in the step that begins a settlement | a reset in between neither is seen nor waits: the same |
//! | `ResetDoesNotWait`   | that a reset waits for settlements                     | the count that a settlement has loaded comes back: the same |
//! | `HealDoesNotWait`    | the same of a healing                                  | the same |
//! | `HealUncounted`      | that a healing is a change                             | what was charged before it is given back: the same |
//! | `EndsFirst`          | the order: CAS, then the end of the settlement         | a reset does not wait for the CAS: the same |
//! | `AnyNumber`          | the look at the number of the window                   | given back in a window that was not charged: the same |
//! | `IntoPresent`        | that the count is that of the window that was charged  | the same, in the window after it |
//! | `Uncut`              | that what is given back is cut off the estimate        | it is given back twice: the same |
//! | `LowersByStore`      | the CAS that gives back                                | a grant is lost: the same |
//! | `BeyondByStore`      | the CAS that takes beyond                              | the same |
//! | `RevertsBlindly`     | the look of a receipt at the word                      | a grant after it is lost: the same |
//! | `RevertsOverCount`   | that a receipt compares the count as well              | the same |
//! | `UndoOverAChange`    | the look at the changes when a caller leaves the line  | a later grant has left the same word: it is lost |
//! | `UndoLooksFirst`     | that it looks at the changes in the step that begins a settlement | the same, if it all comes in between |

use crate::explore::{CLOCK, Found, Model};

#[path = "settle_windows/calls.rs"]
mod calls;
#[path = "settle_windows/changes.rs"]
mod changes;
#[path = "settle_windows/checks.rs"]
mod checks;
#[path = "settle_windows/engine.rs"]
mod engine;
#[path = "settle_windows/give.rs"]
mod give;
#[path = "settle_windows/state.rs"]
mod state;

use state::{At, Counter, Hold, Note, Word};

const THREADS: usize = 4;
/// Numbers of windows; readings that are ahead reach the last ones.
const WINDOWS: usize = 8;
/// A word may be this much ahead of a reading before it is healed: readings may be late by as much.
const SKEW: i8 = 1;
/// By as much a faulty clock is ahead.
const JUMP: i8 = 3;
/// An estimate is given back in no more parts.
const PARTS: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoNote,
    NotesLate,
    NotesBegun,
    LooksFirst,
    ResetDoesNotWait,
    HealDoesNotWait,
    HealUncounted,
    EndsFirst,
    AnyNumber,
    IntoPresent,
    Uncut,
    LowersByStore,
    BeyondByStore,
    RevertsBlindly,
    RevertsOverCount,
    UndoOverAChange,
    UndoLooksFirst,
}

/// The call of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    /// Takes an estimate, and settles it.
    Estimate(i8),
    Try(i8),
    /// The same by a clock that is far ahead.
    Ahead(i8),
    /// May be given back.
    Receipt(i8),
    /// Is granted permits in line, and may leave before it knows.
    Unseen(i8),
    Reset,
}

impl Op {
    fn permits(self) -> i8 {
        match self {
            Op::Estimate(permits)
            | Op::Try(permits)
            | Op::Ahead(permits)
            | Op::Receipt(permits)
            | Op::Unseen(permits) => permits,
            Op::Reset => 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Settle {
    limit: i8,
    /// True if the window before counts as well.
    is_sliding: bool,
    /// Permits that may be used beyond an estimate.
    most_beyond: i8,
    run: i8,
    ops: Vec<Op>,
    /// Holds the counts against the charges; a mutant is to be caught by the limit.
    checks_counts: bool,
    mutant: Option<Mutant>,
}

impl Settle {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Returns `word` in the window of `now`, or `None` if it is too far ahead of that.
    fn at(&self, word: Word, now: i8) -> Option<Word> {
        let passed = now - word.number;
        if passed <= 0 {
            return (-passed <= SKEW).then_some(word);
        }
        let previous = if self.is_sliding && passed == 1 { word.current } else { 0 };
        Some(Word { number: now, current: 0, previous })
    }

    /// Adds a step, with the fault of the state that it leads to.
    fn add(&self, found: &mut Found<Counter>, who: usize, what: &'static str, next: Counter) {
        let fault = self.fault(&next);
        found.add(who, what, next, fault);
    }

    fn fault(&self, state: &Counter) -> Option<String> {
        let word = state.word;
        let charge = |number: i8| usize::try_from(number).map_or(0, |place| state.charge[place]);
        let is_counted = word.current == charge(word.number)
            && (!self.is_sliding || word.previous == charge(word.number - 1))
            && (word.number as usize + 1..WINDOWS).all(|later| state.charge[later] == 0);
        if self.checks_counts && !is_counted {
            return Some("the counts are not the charges".to_owned());
        }
        let before =
            |number: usize| if self.is_sliding { number.saturating_sub(1) } else { number };
        let sum = |row: &[i8], number: usize| row[before(number)..=number].iter().sum::<i8>();
        (0..WINDOWS)
            .any(|number| sum(&state.charge, number) > self.limit + sum(&state.beyond, number))
            .then(|| "more than the limit".to_owned())
    }
}

impl Model for Settle {
    type State = Counter;

    fn start(&self) -> Counter {
        Counter::new()
    }

    fn steps(&self, state: &Counter, found: &mut Found<Counter>) {
        if state.clock < self.run {
            let next = Counter { clock: state.clock + 1, ..state.clone() };
            self.add(found, CLOCK, "goes on", next);
        }
        for who in 0..self.ops.len() {
            self.step(state, who, found);
        }
    }

    fn is_done(&self, state: &Counter) -> bool {
        (0..self.ops.len()).all(|who| state.threads[who] == At::Done)
    }
}
