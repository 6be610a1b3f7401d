//! The line outside of its limiter's word, with a gate of its own, as `Queued` has it; and the lines of
//! keys, as `QueuedKeys` has them.
//!
//! The limiter is a bucket that answers in one step: what it does inside is modelled elsewhere. It either
//! tells how long a caller has to wait, or it does not. It knows nothing of the line, and has
//! other callers as well.
//!
//! * A try loads the gate, and if it is open asks the limiter. If it is closed, and the hint says that
//!   the head may be due, it settles, if nobody holds the lock; then it asks the limiter if nobody is
//!   left in line, and is denied otherwise.
//! * A call that waits tries, unless it finds the gate closed. If it is denied, it locks the line, joins
//!   at the end, and settles.
//! * Whoever holds the lock settles: closes the gate, then asks the limiter for the head. If that is
//!   granted, the next is the head; the last to be granted, or to leave, opens the gate. If it is
//!   denied, the head is due after the wait that the limiter told, or is to look again soon; if its
//!   timer is later, it is woken.
//! * A waiter asks the limiter for its turn, which is that of all permits up to its own, and sets its
//!   timer to that. It wakes by that or because it is woken; then it locks the line, looks at its node,
//!   and settles.
//! * An update changes the limiter, and then locks the line and settles. A close refuses all that stand
//!   in line, and all that would, and opens the gate.
//!
//! With keys, each key that somebody uses has a line, in a map under the lock of its shard. Whoever is
//! about to use a line counts itself in its entry, under this lock; the last to leave removes it. The
//! number of lines is a word of its own.
//!
//! * A try loads the number of lines, and if it is 0 asks the store. Otherwise it looks for its key's
//!   line, and does as above; it leaves the line before it asks the store.
//! * A call that waits takes the terms for reading, looks whether all lines are closed, gets its line from
//!   the map or makes it, and lets go of the terms. It leaves the line when it has its answer.
//! * A close takes the terms for writing, and notes that all are closed; then it lists the keys that
//!   have lines, and closes the line of each. An update changes the store, lists the keys, and settles
//!   for each. A reset changes one key, and settles for its line if there is one.
//!
//! Stated of every state: nobody is granted permits before one that stood in line when its call began,
//! and still stands there; each line that is not locked has a closed gate if and only if somebody stands
//! in it; a waiter has one outcome, and is awake or being woken once it has it; as many permits are
//! granted as callers are told of, or have left behind; after a close nobody stands in line; and once
//! all calls are over no key has a line. From every state, while the clock stands still, there is a way
//! to one in which no waiter is due that is polled, unless it looks again within a tick, or
//! permits came back behind the line's back.
//!
//! Left out: deadlines, limits of the line, and panics; and that the reading by which a turn is told may be
//! later than the limiter's answer, so that the timer is late by as much. What an update sees by
//! the lock, and not by the gate, only the memory order tells apart: that is a model of loom.
//!
//! | mutant                 | what it drops                                             | what goes wrong |
//! |------------------------|-----------------------------------------------------------|-----------------|
//! | `TryIgnoresGate`       | that a try looks at the gate                              | it overtakes |
//! | `HelperAsks`           | that a try that has settled is denied if somebody is left | the same |
//! | `TryDoesNotHelp`       | that a try at the gate settles                            | a line that nobody polls denies all for ever |
//! | `NobodyClosesGate`     | that settling closes the gate                             | a try overtakes |
//! | `GrantOpensGate`       | that the gate stays closed while others wait              | the same |
//! | `LeaverOpensGate`      | that a caller that leaves looks whether it was the last   | the same |
//! | `GateStaysClosed`      | that the last to leave opens the gate                     | it does not tell any more |
//! | `PassesHead`           | that a settling asks for the head only                    | a waiter that wants less overtakes it |
//! | `PollAsksUnlocked`     | that a waiter that wakes looks at its node first          | it is granted its permits twice |
//! | `GrantDoesNotWake`     | the wake-up of a waiter that is granted                   | it sleeps on |
//! | `RegistersLate`        | that a waker is set before the lock is let go             | a wake-up is lost |
//! | `HeadNotTold`          | that a head whose timer is late is woken                  | it sleeps on |
//! | `HeadLooksOnce`        | that a head that was told no wait looks again             | the same |
//! | `OnlyHeadArms`         | the timers of those behind the head                       | a head that nobody polls stalls them |
//! | `LeaveDoesNotSettle`   | that a waiter that leaves settles                         | the next sleeps on |
//! | `UpdateDoesNotPoke`    | that an update settles                                    | a waiter that is due sleeps on |
//! | `UpdatePokesFirst`     | the order: change, then settle                            | the same |
//! | `CloseDoesNotWake`     | the wake-ups of a close                                   | they sleep on |
//! | `StandsThoughClosed`   | that a caller looks whether the line is closed            | it stands in a line that nobody closes again |
//! | `TryLooksForNoLine`    | that a try looks for the line of its key                  | it overtakes |
//! | `RemovesUnderOthers`   | that the last user removes a line, and no other           | two lines of a key: a try overtakes |
//! | `RemovesLater`         | that it removes it under the lock under which it was the last | the same |
//! | `EntersUncounted`      | that whoever finds a line counts as its user              | the same |
//! | `UncountsEachUser`     | that the number of lines falls by one for each line       | the same |
//! | `OneLineOfAShard`      | that a line is that of one key                            | a key that is due waits for another one |
//! | `KeepsLine`            | that a caller that has its answer leaves its line         | the line is there for ever |
//! | `ClosesWithoutTerms`   | that a close waits for those who have looked at the terms | one that has seen them open stands in a line that is not closed |
//! | `CloseListsFirst`      | the order: note that all are closed, then list the keys   | the same |
//! | `UpdateListsFirst`     | the order: change, then list the keys                     | a waiter that came in between is due, and sleeps on |

use super::*;

#[path = "outside/calls.rs"]
mod calls;
#[path = "outside/keys.rs"]
mod keys;
#[path = "outside/mutants.rs"]
mod mutants;
#[path = "outside/rules.rs"]
mod rules;
#[path = "outside/scenes.rs"]
mod scenes;
#[path = "outside/settle.rs"]
mod settle;
#[path = "outside/state.rs"]
mod state;

use state::{At, Line, Part, State, Then};

/// Time after which a head looks again that was told no wait.
const LOOK: i8 = 1;
const KEYS: usize = 2;
/// One for each thread, as one that was removed by mistake is still in use.
const LINES: usize = THREADS;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    TryIgnoresGate,
    HelperAsks,
    TryDoesNotHelp,
    NobodyClosesGate,
    GrantOpensGate,
    LeaverOpensGate,
    GateStaysClosed,
    PassesHead,
    PollAsksUnlocked,
    GrantDoesNotWake,
    RegistersLate,
    HeadNotTold,
    HeadLooksOnce,
    OnlyHeadArms,
    LeaveDoesNotSettle,
    UpdateDoesNotPoke,
    UpdatePokesFirst,
    CloseDoesNotWake,
    StandsThoughClosed,
    TryLooksForNoLine,
    RemovesUnderOthers,
    RemovesLater,
    EntersUncounted,
    UncountsEachUser,
    OneLineOfAShard,
    KeepsLine,
    ClosesWithoutTerms,
    CloseListsFirst,
    UpdateListsFirst,
}

/// When a waiter looks at its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Polled {
    /// By its timer, or when it is woken.
    Woken,
    /// The same, and it may be dropped.
    UntilDropped,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Visit {
    Wait(i8, Polled),
    Try(i8),
    /// Gives back what it took, in an update.
    TryAndReturn(i8),
    /// A caller of the limiter itself.
    Other(i8),
    /// The same, which gives back what it took, and tells nobody.
    OtherReturns(i8),
    /// Makes the limiter full, or one key.
    Reset,
    /// Makes all keys full.
    ResetAll,
    /// Lowers the burst.
    Lower(i8),
    Close,
}

impl Visit {
    fn permits(self) -> i8 {
        match self {
            Visit::Wait(permits, _)
            | Visit::Try(permits)
            | Visit::TryAndReturn(permits)
            | Visit::Other(permits)
            | Visit::OtherReturns(permits) => permits,
            _ => 0,
        }
    }
}

#[derive(Clone)]
struct Outside {
    cap: i8,
    /// Permits by which each key, or the limiter, is short of full when the calls begin.
    spent: i8,
    run: i8,
    /// False if the limiter denies without a wait.
    tells: bool,
    /// Number of shards of the map; 0 for a limiter without keys.
    shards: usize,
    /// The calls, each with its key.
    visits: Vec<(Visit, usize)>,
    checks_gate: bool,
    /// Holds against the line that it was not told of permits that another caller gave back.
    tells_of_returns: bool,
    flaw: Option<Flaw>,
}

impl Outside {
    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn is_keyed(&self) -> bool {
        self.shards > 0
    }

    fn visit(&self, who: usize) -> Visit {
        self.visits[who].0
    }

    fn permits(&self, who: usize) -> i8 {
        self.visit(who).permits()
    }

    fn key(&self, who: usize) -> usize {
        self.visits[who].1
    }

    fn waits(&self, who: usize) -> bool {
        matches!(self.visit(who), Visit::Wait(..))
    }

    fn is_polled(&self, who: usize) -> bool {
        !matches!(self.visit(who), Visit::Wait(_, Polled::Never))
    }
}

impl Model for Outside {
    type State = State;

    fn start(&self) -> State {
        State::new(self.cap, self.spent)
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.run {
            let next = State { clock: state.clock + 1, ..state.clone() };
            self.add(found, CLOCK, "goes on", next, None);
        }
        for who in 0..self.visits.len() {
            self.step(state, who, found);
        }
    }

    fn is_done(&self, state: &State) -> bool {
        (0..self.visits.len()).all(|who| matches!(state.threads[who], At::Done(_)))
    }
}
