//! The log of requests: a ring of entries, each with the date of an admission and the parity of its lap, and an
//! index of the next, which others may advance for a thread that was held up.
//!
//! An index is filled when its slot has the parity of its lap. What is below
//! `start` does not count, so a reset only moves that. A take is dated as the
//! clock says, or as the last entry, if that is later, or a tick after the entry
//! that it is written over: so no value of a slot comes back. After resets that can
//! be ahead of the clock, by a tick for each of them at most. The log is judged at
//! the clock, or at the last entry's date, if that is later.
//!
//! An entry also has the permits of all entries up to it, so that a
//! window is the difference of two. The second is the newest that has left the
//! window, found by halving, which may begin at a hint: any number, so the model
//! tries all. In a log of single permits (`single.rs`) the total is the index, and entries have none.
//!
//! Totals in entries wrap, as in a field with a bit more than the limit. An entry is written
//! only if the one after the oldest that can be looked at has left the window, so
//! that a total is never missing: the log holds as many entries as its capacity,
//! which is two less than its slots, and may be less than the limit. Where a tick
//! is several instants, dates are rounded up, and nothing else.
//!
//! That the limit is loaded last has no mutant: it is one that was in force during the call either way. What a grant says
//! of the permits that remain is not in the model: nothing is decided by it.
//!
//! | mutant              | what it drops                                  | what goes wrong |
//! |---------------------|------------------------------------------------|-----------------|
//! | `NoParity`          | the sign that a slot is filled                 | an entry is overwritten before the head has moved: too many admitted |
//! | `TimesGoBack`       | the last entry's date, where it is later       | entries are out of order, and the search stops too soon: too many admitted |
//! | `DateOfOverIgnored` | the tick after the entry that is written over  | resets and two laps within one instant, and the total has wrapped: an entry comes back, too many admitted |
//! | `DateTakenAsTime`   | that dates are rounded up, when the window is judged by that of the last entry | what was admitted in the tick before leaves it early: too many admitted |
//! | `DenyUnchecked`     | the second look at the slot before a denial    | the boundary is of a later lap, and what was admitted since is negative: a wrong denial |
//! | `HeadFirst`         | the order: entry, then head                    | the next builds on a total that is not there yet: too many admitted |
//! | `PlainStore`        | the CAS on the slot                            | an admission is lost: too many admitted |
//! | `StaleTotal`        | the order: head, then the last entry           | an admission is left out of the total: too many admitted |
//! | `FullIgnored`       | the look at the entry after the oldest         | the boundary has been overwritten: too many admitted |
//! | `HintTrusted`       | the look at the entry that the hint is         | what counts is taken to have left the window: too many admitted |
//! | `HeadNotRechecked`  | the second look at the head after the slot     | a thread held up for a lap takes the entry of the next for an empty slot, and overwrites it: too many admitted |
//! | `OwnTime`           | the last entry's date, when the window is judged | a caller from before an entry counts what has left its window: a wrong denial |
//! | `ResetStoresHead`   | that `start` only grows                        | of two resets, the earlier brings back what the later forgot: a wrong denial |
//! | `ResetDoesNotHelp`  | the help, in a reset, to a head that lags      | the last admission before it counts after it: a wrong denial |

use std::fmt;

use crate::explore::{CLOCK, Found, Model, explore};
use crate::ledger::{Grant, Judge, Ledger};

#[path = "log/beside.rs"]
mod beside;
#[path = "log/calls.rs"]
mod calls;
#[path = "log/single.rs"]
mod single;

const MOST_SLOTS: usize = 4;
const THREADS: usize = 3;
/// The date of what was before the first lap.
const BEFORE: i8 = -1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoParity,
    TimesGoBack,
    DateOfOverIgnored,
    DateTakenAsTime,
    DenyUnchecked,
    HeadFirst,
    PlainStore,
    StaleTotal,
    FullIgnored,
    HintTrusted,
    HeadNotRechecked,
    OwnTime,
    ResetStoresHead,
    ResetDoesNotHelp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Take(u8),
    Reset,
    Limit(u8),
}

#[derive(Clone, Copy)]
struct Log {
    /// True if entries have no totals: each is one permit.
    is_single: bool,
    limit: u8,
    /// The most entries that a window can hold.
    capacity: u8,
    /// Instants to a tick.
    parts: i8,
    /// In instants.
    window: i8,
    /// Instants for which the clock goes on.
    run: i8,
    judge: Judge,
    mutant: Option<Mutant>,
    programs: [&'static [Op]; THREADS],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    date: i8,
    total: u8,
    lap: u8,
}

/// The words of the log that a take has read, and its reading of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Seen {
    now: i8,
    head: u8,
    slot: Entry,
    last: Entry,
}

/// The newest that has left the window is at `low` or above it, and below `high`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Look {
    seen: Seen,
    low: u8,
    high: u8,
    /// The value of `low` at which there is no space for another entry, if there is one.
    full: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Head { now: i8 },
    StaleLast { now: i8, head: u8 },
    HeadLate { now: i8, last: Entry },
    Slot { now: i8, head: u8, last: Option<Entry> },
    HeadAgain { now: i8, head: u8, slot: Entry, last: Option<Entry> },
    Last { now: i8, head: u8, slot: Entry },
    Start(Seen),
    Hint(Look),
    Search { look: Look, middle: u8 },
    Boundary(Look),
    DenySlot(Seen),
    TakeIndex(Seen),
    Write(Seen),
    Advance { head: u8 },
    Help { now: i8, head: u8 },
    ResetHead { before: u8 },
    ResetSlot { before: u8, head: u8 },
    ResetHelp { before: u8, head: u8 },
    ResetStart { before: u8, head: u8 },
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

impl Model for Log {
    type State = State;

    fn start(&self) -> State {
        State {
            clock: 0,
            head: self.slots(),
            start: self.slots(),
            limit: self.limit,
            ring: [Entry { date: BEFORE, total: 0, lap: 0 }; MOST_SLOTS],
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
                Some(&Op::Limit(limit)) => {
                    let next = State { limit, ..state.clone() }.return_from(who);
                    self.add(found, who, "changes the limit", next, None);
                }
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
        write!(f, "{}@{}/{}", self.total, self.date, self.lap)
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.at)
    }
}

use Op::{Limit, Reset, Take};

fn log(limit: u8, window: i8, run: i8, programs: [&'static [Op]; THREADS]) -> Log {
    Log {
        is_single: false,
        limit,
        capacity: limit,
        parts: 1,
        window,
        run,
        judge: Judge::Dates,
        mutant: None,
        programs,
    }
}

fn takes() -> Log {
    log(2, 2, 3, [&[Take(1), Take(2)], &[Take(2), Take(1)], &[]])
}

fn small_takes() -> Log {
    log(2, 1, 2, [&[Take(1), Take(1), Take(1)], &[Take(1), Take(1)], &[]])
}

/// One thread can be held up while another goes round the ring.
fn a_lap(run: i8) -> Log {
    const FIVE: &[Op] = &[Take(1); 5];
    log(2, 1, run, [&[Take(1)], if run > 2 { &FIVE[1..] } else { FIVE }, &[]])
}

/// Denials are not judged then.
fn by_instants(log: Log) -> Log {
    Log { judge: Judge::Instants, ..log }
}

/// Two laps with a reset after each admission, and the total comes back with them.
fn two_laps() -> Log {
    #[rustfmt::skip]
    const NINE: &[Op] = &[
        Take(1), Reset, Take(1), Reset, Take(1), Reset, Take(1), Reset,
        Take(1), Reset, Take(1), Reset, Take(1), Reset, Take(1), Reset, Take(1),
    ];
    Log { capacity: 2, ..log(1, 2, 0, [NINE, &[Take(1)], &[]]) }
}

/// Ticks of two instants, and a window that may end within one.
fn long_ticks(window: i8) -> Log {
    let takes = log(2, window, 4, [&[Take(2), Take(1)], &[Take(1), Take(1)], &[]]);
    Log { parts: 2, ..by_instants(takes) }
}

/// Space for fewer entries than the limit.
fn one_entry() -> Log {
    Log { capacity: 1, ..small_takes() }
}

fn resets() -> Log {
    let resets: [&[Op]; THREADS] = [&[Take(1), Reset, Take(1)], &[Take(1), Reset], &[]];
    Log { programs: resets, ..one_entry() }
}

fn holds(log: &Log, at_least: usize) {
    let explored = explore(log).unwrap();
    println!("log {:?}: {explored:?}", log.programs);
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
fn a_log_with_room_for_fewer_entries_than_the_limit_refuses_more_and_admits_no_more() {
    holds(&one_entry(), 30_000);
    let takes = log(3, 2, 3, [&[Take(1), Take(2)], &[Take(2), Take(1)], &[]]);
    holds(&Log { capacity: 2, ..takes }, 80_000);
    holds(&resets(), 10_000);
}

#[test]
fn dates_in_ticks_of_several_instants_leave_the_window_late_and_not_early() {
    for window in [2, 3] {
        holds(&long_ticks(window), 30_000);
    }
    let resets: &[Op] = &[Take(1), Reset, Take(1), Reset, Take(1)];
    let with_resets = Log { run: 3, programs: [resets, &[Take(2)], &[]], ..long_ticks(2) };
    holds(&with_resets, 50_000);
}

#[test]
fn what_was_admitted_before_a_reset_does_not_count() {
    holds(&log(2, 2, 2, [&[Take(1), Reset, Take(1)], &[Take(2), Reset], &[]]), 10_000);
    holds(&log(1, 2, 0, [&[Take(1), Reset, Take(1), Reset, Take(1)], &[Take(1)], &[]]), 500);
    holds(&two_laps(), 10_000);
}

#[test]
fn every_mutant_of_the_log_is_caught() {
    use Mutant::*;

    for (mutant, log, fault) in [
        (NoParity, takes(), "3 of 2 admitted"),
        (TimesGoBack, takes(), "3 of 2 admitted"),
        (DateOfOverIgnored, two_laps(), "2 of 1 admitted"),
        (DateTakenAsTime, long_ticks(2), "3 of 2 admitted"),
        (DenyUnchecked, a_lap(3), "room throughout"),
        (HeadFirst, takes(), "3 of 2 admitted"),
        (PlainStore, takes(), "3 of 2 admitted"),
        (StaleTotal, takes(), "3 of 2 admitted"),
        (FullIgnored, one_entry(), "3 of 2 admitted"),
        (HintTrusted, small_takes(), "3 of 2 admitted"),
        (HeadNotRechecked, by_instants(a_lap(2)), "3 of 2 admitted"),
        (OwnTime, small_takes(), "room throughout"),
        (ResetStoresHead, resets(), "room throughout"),
        (ResetDoesNotHelp, resets(), "room throughout"),
    ] {
        let trace = explore(&Log { mutant: Some(mutant), ..log });
        let trace = trace.expect_err(&format!("{mutant:?}"));
        assert!(trace.fault.contains(fault), "{mutant:?}: {trace:?}");
    }
}
