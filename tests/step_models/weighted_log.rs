//! The log of a limiter that admits any number of permits at a time: like the unit
//! log, but an entry also has the permits of all entries up to it, so that a
//! window is the difference of two, the second found by halving.
//!
//! | mutant             | what it drops                                  | what goes wrong |
//! |--------------------|------------------------------------------------|-----------------|
//! | `TimesGoBack`      | the last entry's time, where it is later       | entries are out of order, and the search stops too soon: too many admitted |
//! | `DenyUnchecked`    | the second look at head and slot before a denial | the boundary is of a later lap, and what was admitted since is negative: a wrong denial |
//! | `HeadFirst`        | the order: entry, then head                    | the next builds on a total that is not there yet: too many admitted |
//! | `PlainStore`       | the CAS on the slot                            | an admission is lost: too many admitted |
//! | `StaleTotal`       | the order: head, then the last entry           | an admission is left out of the total: too many admitted |
//! | `SmallRing`        | two slots of the limit's two more              | the boundary has been overwritten: too many admitted |
//! | `OneSlotShort`     | one of them                                    | the same |
//! | `HeadNotRechecked` | the second look at the head after the slot     | a thread held up for a lap takes the entry of the next for an empty slot, and overwrites it: too many admitted |
//! | `OwnTime`          | the last entry's time, when the window is judged | a caller from before an entry counts what has left its window: a wrong denial |
//!
//! Two resets bring no entry back here, as the total grows with each.

use std::fmt;

use crate::explore::{CLOCK, Found, Model, explore};
use crate::ledger::{Grant, Ledger};

#[path = "weighted_log/calls.rs"]
mod calls;

const MOST_SLOTS: usize = 4;
const THREADS: usize = 3;
const NEVER: i8 = -100;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    TimesGoBack,
    DenyUnchecked,
    HeadFirst,
    PlainStore,
    StaleTotal,
    SmallRing,
    OneSlotShort,
    HeadNotRechecked,
    OwnTime,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Take(u8),
    Reset,
}

#[derive(Clone)]
struct WeightedLog {
    limit: u8,
    window: i8,
    run: i8,
    mutant: Option<Mutant>,
    programs: [&'static [Op]; THREADS],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    time: i8,
    total: u8,
    lap: u8,
}

/// What a take has read of the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Seen {
    now: i8,
    head: u8,
    slot: Entry,
    last: Entry,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Head {
        now: i8,
    },
    StaleLast {
        now: i8,
        head: u8,
    },
    HeadLate {
        now: i8,
        last: Entry,
    },
    Slot {
        now: i8,
        head: u8,
        last: Option<Entry>,
    },
    HeadAgain {
        now: i8,
        head: u8,
        slot: Entry,
        last: Option<Entry>,
    },
    Last {
        now: i8,
        head: u8,
        slot: Entry,
    },
    Start(Seen),
    /// The boundary is at `low` or above it, and below `high`.
    Search {
        seen: Seen,
        low: u8,
        high: u8,
    },
    Boundary {
        seen: Seen,
        index: u8,
    },
    DenyHead(Seen),
    DenySlot(Seen),
    TakeIndex(Seen),
    Write(Seen),
    Advance {
        head: u8,
    },
    Help {
        now: i8,
        head: u8,
    },
    ResetHead {
        before: u8,
    },
    ResetSlot {
        before: u8,
        head: u8,
    },
    ResetHelp {
        before: u8,
        head: u8,
    },
    ResetStart {
        before: u8,
        head: u8,
    },
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Thread {
    next: u8,
    at: At,
    /// The clock when the call began.
    begun: i8,
    /// Whether the call could have been refused at some moment so far.
    was_full: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: i8,
    head: u8,
    start: u8,
    ring: [Entry; MOST_SLOTS],
    threads: [Thread; THREADS],
    /// Index after the last entry that was written.
    written: u8,
    ledger: Ledger,
}

impl State {
    fn move_to(&self, who: usize, at: At) -> State {
        let mut next = self.clone();
        next.threads[who].at = at;
        next
    }

    fn return_from(mut self, who: usize) -> State {
        let next = self.threads[who].next + 1;
        self.threads[who] = Thread { next, ..Thread::IDLE };
        self
    }

    fn advance(mut self, head: u8) -> State {
        if self.head == head {
            self.head += 1;
        }
        self
    }
}

impl Thread {
    const IDLE: Thread = Thread { next: 0, at: At::Idle, begun: 0, was_full: false };
}

impl Model for WeightedLog {
    type State = State;

    fn start(&self) -> State {
        State {
            clock: 0,
            head: self.slots(),
            start: self.slots(),
            ring: [Entry { time: NEVER, total: 0, lap: 0 }; MOST_SLOTS],
            threads: [Thread::IDLE; THREADS],
            written: self.slots(),
            ledger: Ledger::default(),
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.run {
            let mut next = state.clone();
            next.clock += 1;
            self.add(found, CLOCK, "goes on", next, None);
        }
        for who in 0..THREADS {
            match self.programs[who].get(usize::from(state.threads[who].next)) {
                Some(&Op::Take(permits)) => self.take(state, who, permits, found),
                Some(&Op::Reset) => self.reset(state, who, found),
                None => {}
            }
        }
    }

    fn is_done(&self, state: &State) -> bool {
        (0..THREADS).all(|who| usize::from(state.threads[who].next) == self.programs[who].len())
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.total, self.time, self.lap)
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.at)
    }
}

use Op::{Reset, Take};

fn log(limit: u8, window: i8, run: i8, programs: [&'static [Op]; THREADS]) -> WeightedLog {
    WeightedLog { limit, window, run, mutant: None, programs }
}

fn takes() -> WeightedLog {
    log(2, 2, 3, [&[Take(1), Take(2)], &[Take(2), Take(1)], &[]])
}

fn small_takes() -> WeightedLog {
    log(2, 1, 2, [&[Take(1), Take(1), Take(1)], &[Take(1), Take(1)], &[]])
}

/// One thread can be held up while another goes round the ring.
fn a_lap(run: i8) -> WeightedLog {
    const FIVE: &[Op] = &[Take(1); 5];
    log(2, 1, run, [&[Take(1)], if run > 2 { &FIVE[1..] } else { FIVE }, &[]])
}

fn holds(log: &WeightedLog, at_least: usize) {
    let explored = explore(log).unwrap();
    println!("weighted log {:?}: {explored:?}", log.programs);
    assert!(explored.states > at_least && explored.counts.grants > 0);
    assert!(explored.counts.denials > 0);
}

#[test]
fn no_window_holds_more_than_the_limit_and_denials_are_right() {
    holds(&takes(), 30_000);
    holds(&small_takes(), 40_000);
    holds(&a_lap(2), 50_000);
    holds(&a_lap(3), 90_000);
    holds(&log(2, 2, 3, [&[Take(1)], &[Take(2)], &[Take(1)]]), 180_000);
    holds(&log(1, 1, 2, [&[Take(1), Take(1)], &[Take(1)], &[Take(1)]]), 200_000);
}

#[test]
fn what_was_admitted_before_a_reset_does_not_count() {
    holds(&log(2, 2, 2, [&[Take(1), Reset, Take(1)], &[Take(2), Reset], &[]]), 10_000);
    holds(&log(1, 2, 0, [&[Take(1), Reset, Take(1), Reset, Take(1)], &[Take(1)], &[]]), 500);
}

#[test]
fn every_mutant_of_the_weighted_log_is_caught() {
    use Mutant::*;

    for (mutant, log, fault) in [
        (TimesGoBack, takes(), "3 of 2 admitted"),
        (DenyUnchecked, a_lap(3), "room throughout"),
        (HeadFirst, takes(), "3 of 2 admitted"),
        (PlainStore, takes(), "3 of 2 admitted"),
        (StaleTotal, takes(), "3 of 2 admitted"),
        (SmallRing, takes(), "3 of 2 admitted"),
        (OneSlotShort, small_takes(), "3 of 2 admitted"),
        (HeadNotRechecked, a_lap(2), "3 of 2 admitted"),
        (OwnTime, small_takes(), "room throughout"),
    ] {
        let trace = explore(&WeightedLog { mutant: Some(mutant), ..log }).unwrap_err();
        assert!(trace.fault.contains(fault), "{mutant:?}: {trace:?}");
    }
}
