//! Waiting for two limiters at once, as `All` does: a waiter that stands in the lines of both, and
//! is granted by both or by neither. Each limiter has its own gate, line, and lock.
//!
//! * It locks both lines, in the order that all keep, and joins both at once. So any two that wait
//!   for both stand in the same order in both lines.
//! * Its turn has come when it is the head of both lines, and both buckets have its permits.
//! * Whoever settles a line and finds it at the head needs the other lock as well, and only tries to
//!   get it: if that fails, it leaves the gate closed. A waiter for both blocks on both locks.
//! * Then it closes both gates, loads both words, and charges one after the other, by a CAS each. The
//!   gates stay closed until both are done. If the second fails, as something was forced meanwhile,
//!   the first is taken back if nobody has moved the word, and is spent otherwise.
//!
//! | mutant             | what it drops                                      | what goes wrong |
//! |--------------------|----------------------------------------------------|-----------------|
//! | `JoinsOneByOne`    | that it joins both lines at once                   | two stand in opposite orders, and block each other for ever |
//! | `LocksAsItLikes`   | the order of the locks                             | each holds one and waits for the other |
//! | `WaitsForOther`    | that a settler only tries the other lock           | the same |
//! | `NobodyReaches`    | that others grant it                               | if nobody polls it, both lines stand still |
//! | `ChargesFirst`     | the look at the other word before it charges       | the first is charged and taken back, again and again |
//! | `OpensBetween`     | that the gates stay closed until both are done     | a try overtakes |
//! | `TakesBackBlindly` | the look at the word when the first is taken back  | tokens that had overflowed come back: more than the bound |

use super::*;

#[path = "all/calls.rs"]
mod calls;
#[path = "all/scenes.rs"]
mod scenes;
#[path = "all/settle.rs"]
mod settle;
#[path = "all/turns.rs"]
mod turns;

const LIMITERS: usize = 2;
const BOTH: u8 = 0b11;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    JoinsOneByOne,
    LocksAsItLikes,
    WaitsForOther,
    NobodyReaches,
    ChargesFirst,
    OpensBetween,
    TakesBackBlindly,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Visit {
    Both { permits: i8, is_polled: bool },
    One(usize, i8),
    Try(usize, i8),
    Force(usize, i8),
}

#[derive(Clone)]
struct Pair {
    cap: i8,
    run: i8,
    slack: i8,
    /// Waiters may be dropped.
    drops: bool,
    visits: Vec<Visit>,
    flaw: Option<Flaw>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Bucket {
    level: i8,
    gate: bool,
}

/// Sets of limiters: the locks that are held, and the lines that are still to be settled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Settling {
    why: Why,
    now: i8,
    held: u8,
    todo: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Load,
    Clock(Bucket),
    Cas {
        seen: Bucket,
        next: Bucket,
        instant: i8,
    },
    TryLock,
    /// Waits for the next lock that it needs.
    Lock {
        why: Why,
        held: u8,
    },
    Read {
        why: Why,
        held: u8,
    },
    Settle(Settling),
    /// Tries to get the other lock.
    Reach {
        settling: Settling,
        line: usize,
    },
    Gate {
        settling: Settling,
        line: usize,
        seen: Bucket,
        gate: bool,
        is_over: bool,
    },
    GrantOne {
        settling: Settling,
        line: usize,
        seen: Bucket,
    },
    LoadOther {
        settling: Settling,
        first: Bucket,
    },
    Charge {
        settling: Settling,
        seen: [Bucket; LIMITERS],
    },
    ChargeOther {
        settling: Settling,
        left: Bucket,
        second: Bucket,
        instant: i8,
    },
    TakeBack {
        settling: Settling,
        left: Bucket,
        instant: i8,
    },
    Unlock {
        held: u8,
        then: End,
    },
    Parked,
    ForceCas {
        seen: Bucket,
        next: Bucket,
        instant: i8,
    },
    Done(End),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: i8,
    words: [Bucket; LIMITERS],
    holders: [Option<u8>; LIMITERS],
    lines: [Row; LIMITERS],
    since: [i8; LIMITERS],
    nodes: [Standing; THREADS],
    has_stood: Row,
    at: [At; THREADS],
    replay: [i8; LIMITERS],
    /// The level of the first, as if a charge that may be taken back had not been.
    without: Option<i8>,
    admitted: [[i8; INSTANTS]; LIMITERS],
}

fn lines_of(set: u8) -> impl Iterator<Item = usize> {
    (0..LIMITERS).filter(move |line| set >> line & 1 == 1)
}

impl Pair {
    fn is_due(&self, state: &State, line: usize) -> bool {
        let Some(head) = state.lines[line].first() else { return false };
        lines_of(self.needs(head)).all(|line| {
            state.lines[line].first() == Some(head)
                && self.turn(state, line, state.words[line], head, state.clock).is_some()
        })
    }
}

impl Model for Pair {
    type State = State;

    fn start(&self) -> State {
        let mut admitted = [[0; INSTANTS]; LIMITERS];
        for admitted in &mut admitted {
            admitted[0] = self.cap;
        }
        State {
            clock: 0,
            words: [Bucket { level: 0, gate: false }; LIMITERS],
            holders: [None; LIMITERS],
            lines: [Row::default(); LIMITERS],
            since: [0; LIMITERS],
            nodes: [Standing::Outside; THREADS],
            has_stood: Row::default(),
            at: [At::Idle; THREADS],
            replay: [0; LIMITERS],
            without: None,
            admitted,
        }
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
        (0..self.visits.len()).all(|who| matches!(state.at[who], At::Done(_)))
    }
}

impl Goal for Pair {
    fn is_goal(&self, state: &State) -> bool {
        let rests = |who: usize| match state.at[who] {
            At::Idle | At::Done(_) => true,
            At::Parked => state.nodes[who] == Standing::Waiting || !self.is_polled(who),
            _ => false,
        };
        // A line in which nobody is polled waits for the next try.
        let stalls = |line: usize| {
            self.is_due(state, line) && state.lines[line].iter().any(|who| self.is_polled(who))
        };
        // Two heads that each wait for the other line wait for ever.
        let heads = state.lines.map(|line| line.first().filter(|&who| self.needs(who) == BOTH));
        let is_blocked = heads[0].is_some() && heads[1].is_some() && heads[0] != heads[1];
        (0..self.visits.len()).all(rests) && !(0..LIMITERS).any(stalls) && !is_blocked
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.level, if self.gate { " closed" } else { "" })
    }
}
