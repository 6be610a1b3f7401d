//! The log of a limiter that admits one permit at a time: a ring of R entries,
//! each with the date of an admission and the parity of its lap, and an index of
//! the next, which others may advance for a thread that was held up.
//!
//! An index is filled when its slot has the parity of its lap. What is below
//! `start` does not count, so a reset only moves that. A take is dated as the
//! clock says, or as the last entry, if that is later, or a tick after the entry
//! that it is written over: so no value of a slot comes back. After resets that can
//! be ahead of the clock, by a tick for each of them at most. The log is judged at
//! the clock, or at the last entry's date, if that is later.
//!
//! | mutant              | what it drops                                  | what goes wrong |
//! |---------------------|------------------------------------------------|-----------------|
//! | `NoParity`          | the sign that a slot is filled                 | an entry is overwritten before the head has moved: too many admitted |
//! | `DenyUnchecked`     | the second look at the slot before a denial    | the oldest that counts is of a later lap: a wrong denial |
//! | `HeadFirst`         | the order: entry, then head                    | the next sees no entry where there will be one: too many admitted |
//! | `PlainStore`        | the CAS on the slot                            | an admission is lost: too many admitted |
//! | `TimesGoBack`       | the last entry's date, where it is later       | the oldest that counts is not the earliest: wrong denials, and too many admitted once the limit is lowered |
//! | `DateOfOverIgnored` | the tick after the entry that is written over  | resets and two laps within one instant bring an entry back: too many admitted |
//! | `HeadNotRechecked`  | the second look at the head after the slot     | a thread held up for a lap takes the entry of the next for an empty slot, and overwrites it: too many admitted |
//! | `OwnTime`           | the last entry's date, when the window is judged | a caller from before an entry counts what has left its window: a wrong denial |
//! | `ResetStoresHead`   | that `start` only grows                        | of two resets, the earlier brings back what the later forgot: a wrong denial |
//! | `ResetDoesNotHelp`  | the help, in a reset, to a head that lags      | the last admission before it counts after it: a wrong denial |
//!
//! That the limit is loaded after the slot, and not before, has no mutant: it is
//! one that was in force during the call either way. What a grant says of the
//! permits that remain is not in the model: nothing is decided by it.

use std::fmt;
use std::time::Duration;

use sluicegate::window::SlidingLog;
use sluicegate::{ManualClock, Rate};

use crate::drift::{self, Answer};
use crate::explore::{CLOCK, Found, Model, explore};
use crate::ledger::{Grant, Judge, Ledger};

#[path = "unit_log/calls.rs"]
mod calls;

const MOST_SLOTS: usize = 3;
const THREADS: usize = 3;
/// The date of what was before the first lap.
const BEFORE: i8 = -1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoParity,
    DenyUnchecked,
    HeadFirst,
    PlainStore,
    TimesGoBack,
    DateOfOverIgnored,
    HeadNotRechecked,
    OwnTime,
    ResetStoresHead,
    ResetDoesNotHelp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Take,
    Reset,
    Limit(u8),
}

#[derive(Clone, Copy)]
struct UnitLog {
    slots: u8,
    limit: u8,
    window: i8,
    run: i8,
    judge: Judge,
    mutant: Option<Mutant>,
    programs: [&'static [Op]; THREADS],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    date: i8,
    lap: u8,
}

/// The clock, the head, and what was in the slot there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Seen {
    now: i8,
    head: u8,
    slot: Entry,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Head {
        now: i8,
    },
    Slot {
        now: i8,
        head: u8,
    },
    HeadAgain(Seen),
    Last(Seen),
    Start {
        seen: Seen,
        last: i8,
    },
    Limit {
        seen: Seen,
        last: i8,
        start: u8,
    },
    Oldest {
        seen: Seen,
        last: i8,
        index: u8,
    },
    DenySlot(Seen),
    /// The mutant that takes the index before it writes the entry.
    TakeIndex {
        seen: Seen,
        date: i8,
    },
    Write {
        seen: Seen,
        date: i8,
    },
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
    /// The largest limit that was in force during the call.
    limit: u8,
    /// True if the call could have been refused at some moment so far.
    was_full: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: i8,
    head: u8,
    start: u8,
    limit: u8,
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
    const IDLE: Thread = Thread { next: 0, at: At::Idle, begun: 0, limit: 0, was_full: false };
}

impl Model for UnitLog {
    type State = State;

    fn start(&self) -> State {
        State {
            clock: 0,
            head: self.slots,
            start: self.slots,
            limit: self.limit,
            ring: [Entry { date: BEFORE, lap: 0 }; MOST_SLOTS],
            threads: [Thread::IDLE; THREADS],
            written: self.slots,
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
            if let Some(&op) = self.programs[who].get(usize::from(state.threads[who].next)) {
                self.step(state, who, op, found);
            }
        }
    }

    fn is_done(&self, state: &State) -> bool {
        (0..THREADS).all(|who| usize::from(state.threads[who].next) == self.programs[who].len())
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.date, self.lap)
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.at)
    }
}

use Op::{Limit, Reset, Take};

fn log(slots: u8, limit: u8, window: i8, run: i8, programs: [&'static [Op]; THREADS]) -> UnitLog {
    UnitLog { slots, limit, window, run, judge: Judge::Dates, mutant: None, programs }
}

fn full_ring() -> UnitLog {
    log(2, 2, 2, 4, [&[Take, Take], &[Take, Take], &[]])
}

fn resets() -> UnitLog {
    log(2, 1, 2, 2, [&[Take, Reset, Take], &[Take, Reset], &[]])
}

/// One thread can be held up while another goes round the ring.
fn a_lap() -> UnitLog {
    log(3, 2, 1, 2, [&[Take], &[Take, Take, Take, Take], &[]])
}

/// Denials are not judged then.
fn by_instants(log: UnitLog) -> UnitLog {
    UnitLog { judge: Judge::Instants, ..log }
}

fn holds(log: &UnitLog, at_least: usize) {
    let explored = explore(log).unwrap();
    println!("unit log {:?}: {explored:?}", log.programs);
    assert!(explored.states > at_least && explored.counts.grants > 0);
    assert!(explored.counts.denials > 0);
}

#[test]
fn no_window_holds_more_than_the_limit_and_denials_are_right() {
    holds(&full_ring(), 100_000);
    holds(&a_lap(), 30_000);
    holds(&log(1, 1, 2, 4, [&[Take], &[Take], &[Take]]), 500_000);
    holds(&log(2, 1, 2, 4, [&[Take, Take], &[Take, Take], &[]]), 70_000);
    holds(&log(2, 1, 1, 2, [&[Take, Take], &[Take], &[Take]]), 300_000);
}

#[test]
fn what_was_admitted_before_a_reset_does_not_count() {
    holds(&resets(), 10_000);
    holds(&log(1, 1, 2, 2, [&[Take, Reset, Take], &[Take, Reset], &[]]), 10_000);
    holds(&log(1, 1, 2, 1, [&[Take, Reset, Take], &[Reset], &[Take]]), 40_000);
}

#[test]
fn a_take_is_held_to_a_limit_that_was_in_force_during_it() {
    holds(&log(2, 1, 2, 3, [&[Take, Take], &[Take, Take], &[Limit(2)]]), 100_000);
    holds(&log(2, 2, 2, 3, [&[Take, Take], &[Take, Take], &[Limit(1)]]), 200_000);
}

#[test]
fn every_mutant_of_the_unit_log_is_caught() {
    use Mutant::*;

    for (mutant, log, fault) in [
        (NoParity, full_ring(), "3 of 2 admitted"),
        (DenyUnchecked, a_lap(), "room throughout"),
        (HeadFirst, by_instants(full_ring()), "3 of 2 admitted"),
        (PlainStore, full_ring(), "3 of 2 admitted"),
        (TimesGoBack, full_ring(), "room throughout"),
        (HeadNotRechecked, by_instants(a_lap()), "3 of 2 admitted"),
        (OwnTime, full_ring(), "room throughout"),
        (ResetStoresHead, resets(), "room throughout"),
        (ResetDoesNotHelp, resets(), "room throughout"),
    ] {
        let trace = explore(&UnitLog { mutant: Some(mutant), ..log });
        let trace = trace.expect_err(&format!("{mutant:?}"));
        assert!(trace.fault.contains(fault), "{mutant:?}: {trace:?}");
    }
}

#[test]
fn without_the_last_look_at_the_head_even_a_full_ring_admits_too_many() {
    let log = by_instants(log(1, 1, 1, 3, [&[Take], &[Take, Take, Take], &[]]));
    holds(&log, 30_000);
    let trace = explore(&UnitLog { mutant: Some(Mutant::HeadNotRechecked), ..log }).unwrap_err();
    assert!(trace.fault.contains("2 of 1 admitted"), "{trace:?}");
}

/// A slot that is written over and over within one instant never holds the same value again.
#[test]
fn a_lap_of_one_bit_suffices_even_if_resets_come_at_one_instant() {
    let one: &[Op] = &[Take, Reset, Take, Reset, Take];
    let two: &[Op] = &[Take, Take, Reset, Take, Take, Reset, Take, Take];
    for log in [log(1, 1, 2, 0, [one, &[Take], &[]]), log(2, 2, 2, 0, [two, &[Take], &[]])] {
        holds(&log, 500);
        let trace = explore(&UnitLog { mutant: Some(Mutant::DateOfOverIgnored), ..log });
        let trace = trace.unwrap_err();
        assert!(trace.fault.contains("admitted"), "{trace:?}");
    }
    holds(&log(1, 1, 2, 1, [one, &[Take, Take], &[]]), 500);
    holds(&log(2, 2, 2, 1, [two, &[Take, Reset, Take], &[]]), 500);
}

/// Dates that are ahead of the clock let nothing leave a window early but one that is
/// as short as they can be apart.
#[test]
fn dates_ahead_of_the_clock_cut_only_a_window_of_one_tick_short() {
    let takes: &[Op] = &[Take, Take, Take, Take, Take];
    let ahead = |window| by_instants(log(2, 2, window, 1, [takes, &[Reset, Reset], &[]]));
    holds(&ahead(2), 10_000);
    let trace = explore(&ahead(1)).unwrap_err();
    assert!(trace.fault.contains("3 of 2 admitted"), "{trace:?}");
}

/// A tick is a second. In the model a date may be a tick ahead after a reset, in the engine a nanosecond: so the
/// clock goes on.
#[test]
fn the_log_of_the_engine_answers_as_the_model_does() {
    drift::rows(false, |random| {
        let ops = random.program(14, |random| match random.below(9) {
            0 => Reset,
            1 => Limit(1 + random.below(3) as u8),
            _ => Take,
        });
        let model = log(3, 2, 2, 60, [ops, &[], &[]]);
        let after_reset = |call: usize| u64::from(call > 0 && ops[call - 1] == Reset);
        let moves: Vec<u64> = ops.iter().map(|_| random.below(3)).collect();
        let ticks = |call: usize| moves[call].max(after_reset(call));
        let clock = ManualClock::new();
        let rate = Rate::new(2, Duration::from_secs(2)).unwrap();
        let log =
            SlidingLog::with_clock(rate, &clock).and_then(|log| log.with_max_limit(3)).unwrap();
        let has_returned = |state: &State, call: usize| usize::from(state.threads[0].next) > call;
        drift::beside(&model, ops.len(), ticks, has_returned, |call, ticks| {
            clock.advance(Duration::from_secs(ticks));
            match ops[call] {
                Take => return Answer::of(&log.try_acquire(1)),
                Reset => log.reset(),
                Limit(limit) => log.reconfigure(limit.into()).unwrap(),
            }
            Answer::default()
        })
    });
}
