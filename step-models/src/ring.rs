//! The ring of boundaries of a sliding window: one word H = (tick, total, phase)
//! that counts, and for each of the S ticks before it the total at its end.
//!
//! While nothing is admitted, because H says that it is being rotated to a later
//! tick or reset, any thread that comes fills in the boundaries. While H is open,
//! they are those of the S ticks before H's: that is checked in every state.
//!
//! A reset goes from (k, C, open) to (k, C + 1, resetting), makes C + 1 all
//! boundaries, and opens H. Of several windows over one H, each has boundaries of
//! its own, at the ends of slots of so many ticks; H is opened when all are there.
//! For the settlement of estimates see `ring/settle.rs`, which has mutants of its own.
//!
//! | mutant               | what it drops                                | what goes wrong |
//! |----------------------|----------------------------------------------|-----------------|
//! | `PlainStore`         | the CAS on a boundary                        | a thread that was held up overwrites a later boundary: wrong denials, too many admitted |
//! | `NoValidation`       | the second look at H before that CAS         | the same, as the CAS expects what it has just seen |
//! | `NoTags`             | the ticks in the boundaries, for filling     | older boundaries become the total of now: too many admitted |
//! | `FillDownwards`      | the order of the fill                        | the newest boundary is no proof of those below it, and H is opened early: wrong denials, too many admitted |
//! | `BoundaryFirst`      | the order of the loads                       | the boundary is of another tick than H: a wrong denial |
//! | `StoreAdmission`     | the CAS on H                                 | an admission is lost: too many admitted |
//! | `OpenBeforeFilled`   | the phase of a rotation                      | boundaries are read that are not there yet: wrong denials, too many admitted |
//! | `DenyUnchecked`      | the second look at H before a denial         | the boundary is of a later tick, and what was admitted since is negative: a wrong denial |
//! | `GiveBackAnyway`     | the rule that H is as the grant left it      | a later window is relieved of permits that it does not hold: too many admitted |
//! | `FirstWindowOnly`    | the fill of a second window                  | its boundaries are missing: wrong denials, too many admitted |
//! | `ResetAtOnce`        | the phase of a reset                         | boundaries from before it are read: wrong denials, too many admitted |
//! | `Reset::SameTotal`   | the step of the total at a reset             | a grant from before it is given back to those after it: too many admitted |
//! | `Reset::ShiftsTicks` | the ticks' being the clock's                 | ticks are shifted before the reset is entered, and a window is cut short: too many admitted |
//! | a slot too few       | the slot for parts of a tick at both ends    | a window that begins within a tick holds twice the limit |

use std::fmt;

use crate::explore::{CLOCK, Found, Model};
use crate::ledger::{Grant, Ledger};

#[path = "ring/calls.rs"]
mod calls;
#[path = "ring/checks.rs"]
mod checks;
#[path = "ring/settle.rs"]
mod settle;
#[path = "ring/settle_checks.rs"]
mod settle_checks;
#[path = "ring/windows.rs"]
mod windows;

const MOST_SLOTS: usize = 3;
const MOST_WINDOWS: usize = 2;
const THREADS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    PlainStore,
    NoValidation,
    NoTags,
    FillDownwards,
    BoundaryFirst,
    StoreAdmission,
    OpenBeforeFilled,
    DenyUnchecked,
    GiveBackAnyway,
    FirstWindowOnly,
    ResetAtOnce,
    RaisesCharged,
    RaisesTooFew,
    RaisesByReading,
    RaisesByStore,
    RaisesAnySlot,
    RaisesByTicks,
    RaisesFirstOnly,
    LowersTotal,
    GoesOnAfterRaise,
    Uncut,
    BeyondByStore,
    BeyondInPlace,
    NoNote,
    NotesLate,
    LooksFirst,
    EndsFirst,
    ResetDoesNotWait,
}

/// The change that a reset makes to H.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reset {
    /// Adds one to the total and makes that every boundary. No word that a grant
    /// from before has left comes back, and the tick stays what the clock says.
    StepsTotal,
    /// Makes every boundary the total as it is.
    SameTotal,
    /// Adds one to all clock readings, and goes to a tick that is later than H's.
    ShiftsTicks,
}

/// By what time a grant is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Judge {
    /// The tick in which it was counted.
    Ticks,
    /// An instant between call and return that lies in that tick.
    Instants,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Take(u8),
    GiveBack,
    Reset,
    /// Takes permits of which some are given back by the calls that follow.
    Estimate(u8),
    Settle(u8),
    /// Takes what was used beyond an estimate.
    Beyond(u8),
}

/// A window.
#[derive(Clone, Copy)]
struct Span {
    /// A slot is two to the power of this ticks.
    exponent: u8,
    slots: u8,
    limit: u8,
}

#[derive(Clone)]
struct Ring {
    /// The first is of single ticks.
    windows: Vec<Span>,
    /// Instants to a tick.
    parts: u8,
    /// Instants for which the clock goes on.
    run: u8,
    /// Instants in which no more than the limit may be granted.
    span: u8,
    judge: Judge,
    reset: Reset,
    mutant: Option<Mutant>,
    programs: [&'static [Op]; THREADS],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Open,
    Rotating,
    Resetting,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Head {
    tick: u8,
    total: u8,
    phase: Phase,
}

/// A boundary: the total at the end of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Mark {
    slot: u8,
    total: u8,
}

/// The state of a call: its readings of the clock, and what it has to finish.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Call {
    instant: u8,
    now: u8,
    /// A reset that has been entered into H, and needs only to be finished.
    entered: bool,
}

/// The end of a slot of a window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    which: usize,
    slot: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Clock {
        shift: u8,
    },
    Load(Call),
    LoadAgain {
        call: Call,
        mark: Mark,
    },
    Boundary {
        call: Call,
        head: Head,
        which: usize,
    },
    Recheck {
        call: Call,
        head: Head,
    },
    Rotate {
        call: Call,
        head: Head,
    },
    Admit {
        call: Call,
        head: Head,
    },
    Enter {
        call: Call,
        head: Head,
    },
    Scan {
        call: Call,
        head: Head,
        place: Place,
    },
    Fill {
        call: Call,
        head: Head,
        place: Place,
    },
    Validate {
        call: Call,
        head: Head,
        place: Place,
        seen: Mark,
    },
    Write {
        call: Call,
        head: Head,
        place: Place,
        seen: Mark,
    },
    Open {
        call: Call,
        head: Head,
    },
    /// The numbers of changes, before an estimate.
    Note {
        done: u8,
    },
    GiveLook {
        now: u8,
    },
    GiveBegin {
        now: u8,
    },
    GiveHot {
        now: u8,
    },
    RaiseLoad {
        present: u8,
        place: Place,
    },
    RaiseCas {
        present: u8,
        place: Place,
        seen: Mark,
    },
    GiveEnd,
    Charge {
        call: Call,
        head: Head,
    },
    ChangeWait,
    ChangeEnd,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Held {
    left: Head,
    permits: u8,
    time: u8,
    /// Tells an estimate from other grants in the ledger.
    index: u8,
    /// The number of changes before it; `None` if one was going on.
    note: Option<u8>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Thread {
    next: u8,
    at: At,
    held: Option<Held>,
    note: Option<u8>,
    /// True if the call could have been refused at some moment so far.
    was_full: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: u8,
    shift: u8,
    head: Head,
    /// The clock reading that made H's tick what it is.
    origin: u8,
    marks: [[Mark; MOST_SLOTS]; MOST_WINDOWS],
    /// Changes that have begun, settlements in progress: one word.
    begun: u8,
    settlements: u8,
    /// Changes that are done.
    done: u8,
    threads: [Thread; THREADS],
    ledger: Ledger,
}

impl State {
    fn move_to(&self, who: usize, at: At) -> State {
        let mut next = self.clone();
        next.threads[who].at = at;
        next
    }

    /// After the last step of a call.
    fn return_from(mut self, who: usize) -> State {
        let thread = &mut self.threads[who];
        thread.next += 1;
        thread.at = At::Idle;
        thread.was_full = false;
        self
    }
}

impl Model for Ring {
    type State = State;

    fn start(&self) -> State {
        let mut marks = [[Mark { slot: 0, total: 0 }; MOST_SLOTS]; MOST_WINDOWS];
        let tick = self.first_tick();
        for (window, marks) in self.windows.iter().zip(&mut marks) {
            let present = tick >> window.exponent;
            for slot in present - window.slots..present {
                marks[usize::from(slot % window.slots)].slot = slot;
            }
        }
        let idle = Thread { next: 0, at: At::Idle, held: None, note: Some(0), was_full: false };
        State {
            clock: tick * self.parts,
            shift: 0,
            head: Head { tick, total: 0, phase: Phase::Open },
            origin: tick * self.parts,
            marks,
            begun: 0,
            settlements: 0,
            done: 0,
            threads: [idle.clone(), idle.clone(), idle],
            ledger: Ledger::default(),
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.first_tick() * self.parts + self.run {
            let mut next = state.clone();
            next.clock += 1;
            self.add(found, CLOCK, "goes on", next, None);
        }
        for who in 0..THREADS {
            if let Some(&op) = self.programs[who].get(usize::from(state.threads[who].next)) {
                self.step(state, who, op, found);
            }
        }
    }

    fn is_done(&self, state: &State) -> bool {
        (0..THREADS).all(|who| usize::from(state.threads[who].next) == self.programs[who].len())
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {:?}", self.tick, self.total, self.phase)
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.slot, self.total)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "now {}", self.now)
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.at)?;
        self.held.map_or(Ok(()), |held| write!(f, " holds {} of {:?}", held.permits, held.left))
    }
}
