//! Reservations of windows to come: the word of a fixed window is ahead of the clock while permits of
//! later windows are taken.
//!
//! The word has the number of the last window of which any permits are taken, and the count of that.
//! Beside it are the numbers of changes that have begun and that are done, and the number of settlements
//! in progress; the first and the last are one word.
//!
//! * A grant brings the word forward to the window of its reading, and adds its permits if they are within
//!   the limit, by a CAS. If the word is ahead of its reading, it is denied.
//! * A reservation notes the number of changes, brings the word forward in the same way, and takes its
//!   permits of the word's window, or if that has too few left, of the next one, which then becomes the
//!   word's, by a CAS. It is for the instant at which that window begins, or for that of its reading.
//! * To cancel: in a settlement, puts back the word from before the reservation, if the word is still the
//!   one that it left. Otherwise in another settlement takes its permits off the count, if the word's
//!   window is still the reservation's, and is not over. A settlement gives up if a change has begun since
//!   what the reservation had noted.
//! * What is used beyond an estimate fills the windows from the word's on, to the limit of each, by
//!   a CAS; at most as far ahead as windows can be reserved.
//! * A receipt puts back the word from before its grant, if the word is the one that the grant left.
//! * A reset adds itself to the changes that have begun, waits until no settlement is in progress, makes
//!   the count of the present window 0 by a CAS, and adds itself to those that are done.
//!
//! Stated of every state: the *charge* of a window, which is what was granted in it by the readings of the
//! callers, reserved for an instant in it or filled in it, and not given back, is at most the limit; the
//! count of the word is the charge of its window; and no later window has a charge. A reset begins all
//! charges anew. Every run ends, though resets wait for settlements.
//!
//! Left out: sliding counters, which reserve nothing; changes of the limit; healing, which is the same
//! change as a reset here; the line; reservations that are cancelled after they were used.
//!
//! | mutant             | what it drops                                         | what goes wrong |
//! |--------------------|-------------------------------------------------------|-----------------|
//! | `ReservesByStore`  | the CAS that reserves                                 | a grant is lost: more than the limit |
//! | `ReservesUnfit`    | the look whether the window has enough                | more than the limit |
//! | `NextInPlace`      | that the next window is the word's from then on       | the same, in that window |
//! | `GrantsAhead`      | that nothing is granted while the word is ahead       | the permits are used in a window that is full: the same |
//! | `GoesBack`         | that the word does not go back to an earlier reading  | what is reserved is forgotten: the same |
//! | `StaysBehind`      | that the word is brought forward                      | counted in a window that is over: the same |
//! | `CancelsBlindly`   | the look at the word of one that cancels              | a later one is lost: the same |
//! | `CancelsOverCount` | that it compares the count as well                    | the same |
//! | `CancelsTwice`     | that one that has put the word back is done           | others' permits are given back: the same |
//! | `AnyNumber`        | the look at the window's number before the count is lowered | given back in a window that was not charged: the same |
//! | `LowersByStore`    | the CAS that lowers                                   | a grant is lost: the same |
//! | `NoNote`           | the look at the changes                               | cancelled after a reset: the same |
//! | `LooksFirst`       | the look at the changes in the step that begins a settlement | a reset in between is not seen, nor waits: the same |
//! | `ResetDoesNotWait` | that a reset waits for settlements                    | the same |
//! | `FillsOneMore`     | the limit of the windows that are filled              | more than the limit |
//! | `FillsByStore`     | the CAS that fills                                    | a grant is lost: the same |

use crate::explore::{CLOCK, Found, Model};

#[path = "reserve/calls.rs"]
mod calls;
#[path = "reserve/cancel.rs"]
mod cancel;
#[path = "reserve/checks.rs"]
mod checks;
#[path = "reserve/engine.rs"]
mod engine;

const THREADS: usize = 4;
/// Numbers of windows that can be reached.
const WINDOWS: usize = 8;
/// Windows after the present one that can be reserved.
const AHEAD: i8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    ReservesByStore,
    ReservesUnfit,
    NextInPlace,
    GrantsAhead,
    GoesBack,
    StaysBehind,
    CancelsBlindly,
    CancelsOverCount,
    CancelsTwice,
    AnyNumber,
    LowersByStore,
    NoNote,
    LooksFirst,
    ResetDoesNotWait,
    FillsOneMore,
    FillsByStore,
}

/// The call of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Try(i8),
    /// May be given back.
    Receipt(i8),
    /// Reserves, and may cancel.
    Reserve(i8),
    /// Has used more than it estimated.
    Beyond(i8),
    Reset,
}

impl Op {
    fn permits(self) -> i8 {
        match self {
            Op::Try(permits)
            | Op::Receipt(permits)
            | Op::Reserve(permits)
            | Op::Beyond(permits) => permits,
            Op::Reset => 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Reserve {
    limit: i8,
    /// Windows for which the clock goes on.
    run: i8,
    ops: Vec<Op>,
    /// Checks the counts too, not only the bound.
    checks_counts: bool,
    mutant: Option<Mutant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Word {
    number: i8,
    count: i8,
}

/// The number of changes that a reservation was noted with; `None` if one was going on.
type Note = Option<i8>;

/// A grant or a reservation: the word before and after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Charged {
    note: Note,
    before: Word,
    after: Word,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Clock,
    /// Notes the changes, before each look at the word.
    Note {
        now: i8,
    },
    NoteBegun {
        now: i8,
        done: i8,
    },
    Load {
        now: i8,
        note: Note,
    },
    Cas {
        now: i8,
        charged: Charged,
    },
    /// May be given back, or cancelled.
    Holds(Charged),
    /// To put the word back: looks at the changes, and begins a settlement.
    BackLook(Charged),
    BackBegin(Charged),
    BackCas(Charged),
    BackEnd {
        charged: Charged,
        is_back: bool,
    },
    /// To lower the count.
    LowerClock(Charged),
    LowerLook {
        charged: Charged,
        now: i8,
    },
    LowerBegin {
        charged: Charged,
        now: i8,
    },
    LowerLoad {
        charged: Charged,
        now: i8,
    },
    LowerCas {
        charged: Charged,
        now: i8,
        seen: Word,
    },
    LowerEnd,
    ResetBegin {
        now: i8,
    },
    ResetLoad {
        now: i8,
    },
    ResetCas {
        now: i8,
        seen: Word,
    },
    ResetEnd,
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: i8,
    word: Word,
    /// Changes that have begun, settlements in progress: one word.
    begun: i8,
    settlements: i8,
    /// Changes that are done.
    done: i8,
    threads: [At; THREADS],
    /// The truth: the charge of each window since the last reset, and the part of it that is each
    /// thread's own.
    charge: [i8; WINDOWS],
    own: [(i8, i8); THREADS],
}

impl State {
    fn go(&self, who: usize, at: At) -> State {
        let mut next = self.clone();
        next.threads[who] = at;
        next
    }

    fn charge(&mut self, who: usize, number: i8, permits: i8) {
        self.charge[number as usize] += permits;
        self.own[who] = (number, permits);
    }

    /// Takes off what a thread's call has charged, if a reset has not.
    fn discharge(&mut self, who: usize) {
        let (number, permits) = std::mem::take(&mut self.own[who]);
        self.charge[number as usize] -= permits;
    }
}

impl Model for Reserve {
    type State = State;

    fn start(&self) -> State {
        State {
            clock: 0,
            word: Word { number: 0, count: 0 },
            begun: 0,
            settlements: 0,
            done: 0,
            threads: [At::Idle; THREADS],
            charge: [0; WINDOWS],
            own: [(0, 0); THREADS],
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.run {
            let mut next = state.clone();
            next.clock += 1;
            self.add(found, CLOCK, "a window begins", next);
        }
        for who in 0..self.ops.len() {
            self.step(state, who, found);
        }
    }

    fn is_done(&self, state: &State) -> bool {
        state.threads[..self.ops.len()].iter().all(|&at| at == At::Done)
    }
}

impl Reserve {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn has_resets(&self) -> bool {
        self.ops.contains(&Op::Reset)
    }

    /// Adds a step, and looks at the invariant.
    fn add(&self, found: &mut Found<State>, who: usize, what: &'static str, next: State) {
        let word = next.word;
        let over = (0..WINDOWS).find(|&number| next.charge[number] > self.limit);
        let later =
            (word.number + 1..WINDOWS as i8).find(|&number| next.charge[number as usize] > 0);
        let fault = if let Some(number) = over {
            Some(format!("window {number} has more than the limit"))
        } else if !self.checks_counts {
            None
        } else if next.charge[word.number as usize] != word.count {
            Some("the count is not the charge".to_owned())
        } else {
            later.map(|number| format!("window {number} is after the word's, and has a charge"))
        };
        found.add(who, what, next, fault);
    }
}
