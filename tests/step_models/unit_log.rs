//! The log of a limiter that admits one permit at a time: a ring of R entries,
//! each with the time of an admission and the parity of its lap, and an index of
//! the next, which others may advance for a thread that was held up.
//!
//! TABLE

use crate::explore::{CLOCK, Counts, Explored, Found, Model, Trace, explore};
use crate::ledger::{Grant, Ledger};

const MOST_SLOTS: usize = 3;
const THREADS: usize = 4;
const NEVER: i8 = -100;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoParity,
    DenyUnchecked,
    HeadFirst,
    PlainStore,
    TimesGoBack,
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

#[derive(Clone)]
struct UnitLog {
    slots: u8,
    limit: u8,
    window: i8,
    run: i8,
    /// Bits of the lap that an entry keeps: 1 is the parity.
    lap_bits: u8,
    mutant: Option<Mutant>,
    programs: [&'static [Op]; THREADS],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    time: i8,
    lap: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Head { now: i8 },
    Slot { now: i8, head: u8 },
    HeadAgain { now: i8, head: u8, seen: Entry },
    Limit { now: i8, head: u8, seen: Entry },
    Oldest { now: i8, head: u8, seen: Entry, limit: u8 },
    Last { now: i8, head: u8, seen: Entry, limit: u8, oldest: i8 },
    Start { now: i8, head: u8, seen: Entry, limit: u8, oldest: i8, last: i8 },
    DenyHead { now: i8, head: u8, seen: Entry },
    DenySlot { now: i8, head: u8, seen: Entry },
    Write { now: i8, head: u8, seen: Entry, time: i8 },
    /// The mutant that takes the index before it writes the entry.
    TakeIndex { now: i8, head: u8, seen: Entry, time: i8 },
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
    /// Whether the call could have been refused at some moment so far.
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
            ring: [Entry { time: NEVER, lap: 0 }; MOST_SLOTS],
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

impl UnitLog {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn slot(&self, index: u8) -> usize {
        usize::from(index % self.slots)
    }

    fn lap(&self, index: u8) -> u8 {
        (index / self.slots) & ((1 << self.lap_bits) - 1)
    }

    fn changes_limit(&self) -> bool {
        self.programs.iter().any(|ops| ops.iter().any(|op| matches!(op, Op::Limit(_))))
    }

    /// Notes which calls could be refused now.
    fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        mut next: State,
        fault: Option<String>,
    ) {
        let State { clock, limit, ledger, threads, .. } = &mut next;
        for (thread, ops) in threads.iter_mut().zip(self.programs) {
            let op = ops.get(usize::from(thread.next));
            if op == Some(&Op::Take) && thread.at != At::Idle {
                thread.limit = thread.limit.max(*limit);
                thread.was_full = thread.was_full
                    || ledger.was_full(thread.begun, *clock, self.window, 1, *limit);
            }
        }
        found.add(who, what, next, fault);
    }

    fn step(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match state.threads[who].at {
            At::Idle => match op {
                Op::Take => {
                    let mut next = state.move_to(who, At::Head { now: state.clock });
                    next.threads[who].begun = state.clock;
                    self.add(found, who, "reads the clock", next, None);
                }
                Op::Reset => {
                    go("begins a reset", At::ResetHead { before: state.written });
                }
                Op::Limit(limit) => {
                    let mut next = state.clone();
                    next.limit = limit;
                    self.add(found, who, "changes the limit", next.return_from(who), None);
                }
            },
            At::Head { now } => go("loads the head", At::Slot { now, head: state.head }),
            At::Slot { now, head } => {
                let seen = state.ring[self.slot(head)];
                let at = if self.is(Mutant::HeadNotRechecked) {
                    self.after_head(now, head, seen)
                } else {
                    At::HeadAgain { now, head, seen }
                };
                go("loads the slot", at);
            }
            At::HeadAgain { now, head, seen } => {
                let at = if state.head == head {
                    self.after_head(now, head, seen)
                } else {
                    At::Head { now }
                };
                go("loads the head again", at);
            }
            At::Limit { now, head, seen } => {
                let limit = state.limit;
                let at = if limit == self.slots {
                    At::Last { now, head, seen, limit, oldest: seen.time }
                } else {
                    At::Oldest { now, head, seen, limit }
                };
                go("loads the limit", at);
            }
            At::Oldest { now, head, seen, limit } => {
                let oldest = state.ring[self.slot(head - limit)].time;
                go("loads the oldest that counts", At::Last { now, head, seen, limit, oldest });
            }
            At::Last { now, head, seen, limit, oldest } => {
                let last = state.ring[self.slot(head - 1)].time;
                go("loads the last", At::Start { now, head, seen, limit, oldest, last });
            }
            At::Start { now, head, seen, limit, oldest, last } => {
                let counts = |index: u8| index >= state.start;
                let time = if counts(head - 1) && !self.is(Mutant::TimesGoBack) {
                    now.max(last)
                } else {
                    now
                };
                let until = if self.is(Mutant::OwnTime) { now } else { time };
                let is_full = counts(head - limit) && oldest > until - self.window;
                if is_full && self.is(Mutant::DenyUnchecked) {
                    return self.deny(state, who, found);
                }
                let at = if is_full {
                    At::DenyHead { now, head, seen }
                } else if self.is(Mutant::HeadFirst) {
                    At::TakeIndex { now, head, seen, time }
                } else {
                    At::Write { now, head, seen, time }
                };
                go("loads the start", at);
            }
            At::DenyHead { now, head, seen } => {
                let is_same = state.head == head;
                let at = if is_same { At::DenySlot { now, head, seen } } else { At::Head { now } };
                go("looks at the head again", at);
            }
            At::DenySlot { now, head, seen } => {
                if state.ring[self.slot(head)] == seen {
                    return self.deny(state, who, found);
                }
                go("finds the slot changed", At::Head { now });
            }
            At::TakeIndex { now, head, seen, time } => {
                if state.head != head {
                    return go("fails to take the index", At::Head { now });
                }
                let next = state.move_to(who, At::Write { now, head, seen, time }).advance(head);
                self.add(found, who, "takes the index", next, None);
            }
            At::Write { now, head, seen, time } => {
                let found_it = state.ring[self.slot(head)] == seen;
                if found_it || self.is(Mutant::PlainStore) || self.is(Mutant::HeadFirst) {
                    self.write(state, who, head, seen, time, found);
                } else {
                    go("fails to write", At::Head { now });
                }
            }
            At::Advance { head } => {
                let next = state.clone().advance(head).return_from(who);
                self.add(found, who, "advances the head", next, None);
            }
            At::Help { now, head } => {
                let next = state.move_to(who, At::Head { now }).advance(head);
                self.add(found, who, "helps to advance the head", next, None);
            }
            At::ResetHead { before } if self.is(Mutant::ResetDoesNotHelp) => {
                go("loads the head", At::ResetStart { before, head: state.head });
            }
            At::ResetHead { before } => {
                go("loads the head", At::ResetSlot { before, head: state.head });
            }
            At::ResetSlot { before, head } => {
                let is_filled = state.ring[self.slot(head)].lap == self.lap(head);
                let at = if is_filled {
                    At::ResetHelp { before, head }
                } else {
                    At::ResetStart { before, head }
                };
                go("loads the slot", at);
            }
            At::ResetHelp { before, head } => {
                let next = state.move_to(who, At::ResetHead { before }).advance(head);
                self.add(found, who, "helps to advance the head", next, None);
            }
            At::ResetStart { before, head } => {
                let mut next = state.clone();
                next.start = if self.is(Mutant::ResetStoresHead) {
                    head
                } else {
                    head.max(state.start)
                };
                next.ledger.keep_from_index(next.start.max(before));
                self.add(found, who, "moves the start", next.return_from(who), None);
            }
        }
    }

    fn after_head(&self, now: i8, head: u8, seen: Entry) -> At {
        let is_filled = seen.lap == self.lap(head);
        if is_filled && !self.is(Mutant::NoParity) && !self.is(Mutant::HeadFirst) {
            At::Help { now, head }
        } else {
            At::Limit { now, head, seen }
        }
    }

    fn deny(&self, state: &State, who: usize, found: &mut Found<State>) {
        found.counts.denials += 1;
        let is_wrong = !state.threads[who].was_full;
        let fault = is_wrong.then(|| format!("thread {who} is denied, and there was room throughout"));
        self.add(found, who, "is denied", state.clone().return_from(who), fault);
    }

    fn write(
        &self,
        state: &State,
        who: usize,
        head: u8,
        _seen: Entry,
        time: i8,
        found: &mut Found<State>,
    ) {
        found.counts.grants += 1;
        let mut next = state.move_to(who, At::Advance { head });
        next.ring[self.slot(head)] = Entry { time, lap: self.lap(head) };
        next.written = next.written.max(head + 1);
        next.ledger.add(Grant { time, permits: 1, index: head });
        if self.is(Mutant::HeadFirst) {
            next = next.return_from(who);
        }
        let (most, limit) = if self.changes_limit() {
            (next.ledger.between(time - self.window, time), state.threads[who].limit)
        } else {
            (next.ledger.most_in(self.window), self.limit)
        };
        let mut fault = None;
        if most > limit {
            fault = Some(format!("{most} of {limit} admitted in one window"));
        } else if time < state.threads[who].begun || time > state.clock {
            fault = Some(format!("counted at {time}, which is not within the call"));
        }
        self.add(found, who, "is admitted", next, fault);
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.time, self.lap)
    }
}

impl std::fmt::Debug for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.at)
    }
}

use Op::{Limit, Reset, Take};

fn log(slots: u8, limit: u8, window: i8, run: i8, programs: [&'static [Op]; THREADS]) -> UnitLog {
    UnitLog { slots, limit, window, run, lap_bits: 1, mutant: None, programs }
}

fn holds(log: &UnitLog) -> Explored {
    let explored = explore(log).unwrap();
    let Explored { states, counts: Counts { grants, denials, .. } } = explored;
    println!("unit log: {states} states, {grants} grants, {denials} denials");
    explored
}

#[test]
fn y1() {
    holds(&log(1, 1, 2, 4, [&[Take], &[Take], &[Take], &[]]));
}
#[test]
fn y2() {
    holds(&log(2, 2, 2, 4, [&[Take, Take], &[Take, Take], &[], &[]]));
}
#[test]
fn y3() {
    holds(&log(2, 1, 2, 4, [&[Take, Take], &[Take, Take], &[], &[]]));
}
#[test]
fn y4_stale_head() {
    let mut l = log(2, 1, 1, 2, [&[Take, Take], &[Take], &[Take], &[]]);
    holds(&l);
    l.mutant = Some(Mutant::HeadNotRechecked);
    println!("{:?}", explore(&l).map(|e| e.states));
}
#[test]
fn y5_own_time() {
    let mut l = log(2, 2, 2, 2, [&[Take, Take], &[Take], &[], &[]]);
    holds(&l);
    l.mutant = Some(Mutant::OwnTime);
    println!("{:?}", explore(&l).map(|e| e.states));
}
#[test]
fn y6_reset() {
    let mut l = log(1, 1, 2, 2, [&[Take, Reset, Take], &[Take, Reset], &[], &[]]);
    holds(&l);
    l = log(2, 1, 2, 2, [&[Take, Reset, Take], &[Take, Reset], &[], &[]]);
    holds(&l);
}
#[test]
fn y7_reset_aba() {
    let l = log(1, 1, 2, 0, [&[Reset, Take, Reset, Take], &[Take], &[], &[]]);
    println!("{:?}", explore(&l).map(|e| e.states));
    let l = log(1, 1, 2, 0, [&[Take, Reset, Take, Reset, Take], &[Take], &[], &[]]);
    println!("{:?}", explore(&l).map(|e| e.states));
}
#[test]
fn y8_limit() {
    holds(&log(2, 1, 2, 3, [&[Take, Take], &[Take, Take], &[Limit(2)], &[]]));
    holds(&log(2, 2, 2, 3, [&[Take, Take], &[Take, Take], &[Limit(1)], &[]]));
}
