//! The ring of boundaries of a sliding window: one word H = (tick, total, phase)
//! that counts, and for each of the S ticks before it the total at its end.
//!
//! | mutant                  | what it drops                                     | what goes wrong |
//! |-------------------------|---------------------------------------------------|-----------------|
//! | `PlainStore`            | the CAS on a boundary                             | a helper that was held up overwrites a later boundary; too many admitted |
//! | `NoValidation`          | the second look at H before that CAS              | the same, as the CAS expects whatever is there |
//! | `NoTags`                | the tags, in helpers                              | older boundaries are overwritten with the total of now; too many admitted |
//! | `FillDownwards`         | the order of the fill                             | a helper takes the newest boundary as proof of those below, and opens early |
//! | `BoundaryFirst`         | the order of the loads: H, then the boundary      | the boundary is of another tick than H; a wrong denial |
//! | `StoreAdmission`        | the CAS on H                                      | an admission is lost; too many admitted |
//! | `OpenBeforeFilled`      | the phase in which a tick is closed               | boundaries that are not there yet are read; too many admitted |
//! | `DenyUnchecked`         | the second look at H before a denial              | the boundary is of a later tick; a wrong denial |
//! | `GiveBackAnyway`        | the rule that H is as the grant left it           | a later window is relieved of permits that it does not hold |
//! | `Reset::SameTotal`      | the step of the total at a reset                  | a grant from before it is given back to those after it |
//! | `Reset::ShiftsTicks`    | the standing of the ticks under a reset           | between its two steps the window is a tick short; too many admitted |
//! | one slot too few        | the slot for the part of a tick at either end     | a window that starts within a tick admits twice the limit |

use crate::explore::{CLOCK, Counts, Explored, Found, Model, Trace, explore};
use crate::ledger::{Grant, Ledger};

const MOST_SLOTS: usize = 3;
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
}

/// What a reset does to H.
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
}

#[derive(Clone)]
struct Ring {
    slots: u8,
    limit: u8,
    /// Instants to a tick.
    parts: u8,
    /// Instants for which the clock goes on.
    run: u8,
    /// Instants in which no more than `limit` may be granted.
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

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Head {
    tick: u8,
    total: u8,
    phase: Phase,
}

/// A boundary: the total at the end of a tick.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Mark {
    tick: u8,
    total: u8,
}

/// What a call has read of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Call {
    instant: u8,
    now: u8,
    /// A reset that has been entered into H, and needs only to be finished.
    entered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Clock { shift: u8 },
    Load(Call),
    LoadAgain { call: Call, mark: Mark },
    Boundary { call: Call, head: Head },
    Recheck { call: Call, head: Head },
    Rotate { call: Call, head: Head },
    Admit { call: Call, head: Head },
    Enter { call: Call, head: Head },
    Scan { call: Call, head: Head, tick: u8 },
    Fill { call: Call, head: Head, tick: u8 },
    Validate { call: Call, head: Head, tick: u8, seen: Mark },
    Write { call: Call, head: Head, tick: u8, seen: Mark },
    Open { call: Call, head: Head },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Held {
    left: Head,
    permits: u8,
    time: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thread {
    next: u8,
    at: At,
    held: Option<Held>,
    /// Whether the call could have been refused at some moment so far.
    was_full: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: u8,
    shift: u8,
    head: Head,
    /// The clock reading that made H's tick what it is.
    origin: u8,
    marks: [Mark; MOST_SLOTS],
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
        let mut marks = [Mark { tick: 0, total: 0 }; MOST_SLOTS];
        (0..self.slots).for_each(|tick| marks[usize::from(tick)].tick = tick);
        let idle = Thread { next: 0, at: At::Idle, held: None, was_full: false };
        State {
            clock: self.slots * self.parts,
            shift: 0,
            head: Head { tick: self.slots, total: 0, phase: Phase::Open },
            origin: self.slots * self.parts,
            marks,
            threads: [idle.clone(), idle.clone(), idle],
            ledger: Ledger::default(),
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.slots * self.parts + self.run {
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

impl Ring {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn has_reset(&self) -> bool {
        self.programs.iter().any(|ops| ops.contains(&Op::Reset))
    }

    fn slot(&self, tick: u8) -> usize {
        usize::from(tick % self.slots)
    }

    /// Notes which calls could be refused now, and looks at the boundaries.
    fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        mut next: State,
        mut fault: Option<String>,
    ) {
        if self.judge == Judge::Ticks {
            let to = (next.clock / self.parts + next.shift) as i8;
            for who in 0..THREADS {
                let thread = &next.threads[who];
                let op = self.programs[who].get(usize::from(thread.next));
                let (Some(&Op::Take(permits)), Some(call)) = (op, thread.at.call()) else {
                    continue;
                };
                next.threads[who].was_full = thread.was_full
                    || next.ledger.was_full(
                        call.now as i8,
                        to,
                        self.slots as i8,
                        permits,
                        self.limit,
                    );
            }
            if self.mutant.is_none() && next.head.phase == Phase::Open {
                fault = fault.or_else(|| self.wrong_boundary(&next));
            }
        }
        found.add(who, what, next, fault);
    }

    /// The invariant: while H is open, every boundary that a window can begin at
    /// is the total at the end of its tick.
    fn wrong_boundary(&self, state: &State) -> Option<String> {
        let head = state.head;
        let is_wrong = |&tick: &u8| {
            let since = state.ledger.between(tick as i8, head.tick as i8);
            state.marks[self.slot(tick)] != Mark { tick, total: head.total - since }
        };
        let wrong = (head.tick - self.slots..head.tick).find(is_wrong)?;
        Some(format!("H is open, and the boundary of tick {wrong} is wrong"))
    }

    fn step(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match state.threads[who].at {
            At::Idle => self.begin(state, who, op, found),
            At::Clock { shift } => {
                let now = state.clock / self.parts + shift;
                // Which instant it was is told apart only if it matters.
                let instant = if self.judge == Judge::Instants { state.clock } else { 0 };
                let call = Call { instant, now, entered: false };
                if self.is(Mutant::BoundaryFirst) && op != Op::Reset {
                    let mark = state.marks[self.slot(state.head.tick)];
                    return go("reads the clock and a boundary", At::LoadAgain { call, mark });
                }
                go("reads the clock", At::Load(call));
            }
            At::Load(call) => {
                let at = self.decide(op, call, state.head, None);
                go("loads H", at);
            }
            At::LoadAgain { call, mark } => {
                let at = self.decide(op, call, state.head, Some(mark));
                go("loads H", at);
            }
            At::Boundary { call, head } => {
                let tick = head.tick.max(call.now) - self.slots;
                let base = state.marks[self.slot(tick)].total;
                let at = self.judge_take(op, call, head, base);
                if self.is(Mutant::DenyUnchecked) && matches!(at, At::Recheck { .. }) {
                    return self.deny(state, who, found);
                }
                go("loads the boundary", at);
            }
            At::Recheck { head, .. } if state.head == head => self.deny(state, who, found),
            At::Recheck { call, .. } => go("finds H changed", At::Load(call)),
            At::Rotate { call, head } => {
                if state.head != head {
                    return go("fails to rotate", At::Load(call));
                }
                let mut phase = Phase::Rotating;
                if self.is(Mutant::OpenBeforeFilled) {
                    phase = Phase::Open;
                }
                let head = Head { tick: call.now, phase, ..head };
                let mut next = state.move_to(who, self.finish(call, Head { ..head }, true));
                next.head = head;
                next.origin = call.instant;
                self.add(found, who, "rotates", next, None);
            }
            At::Admit { call, head } => {
                if state.head == head || self.is(Mutant::StoreAdmission) {
                    return self.admit(state, who, op, call, head, found);
                }
                go("fails to admit", At::Load(call));
            }
            At::Enter { call, head } => {
                if state.head != head {
                    return go("fails to enter the reset", At::Load(call));
                }
                let mut entered = Head { phase: Phase::Resetting, ..head };
                match self.reset {
                    Reset::StepsTotal => entered.total += 1,
                    Reset::SameTotal => {}
                    Reset::ShiftsTicks => entered.tick = (head.tick + 1).max(call.now),
                }
                let call = Call { entered: true, ..call };
                let mut next = state.move_to(who, self.finish(call, entered, false));
                next.head = entered;
                if self.reset == Reset::ShiftsTicks {
                    next.origin = call.instant;
                }
                next.ledger.clear();
                self.add(found, who, "enters the reset", next, None);
            }
            At::Scan { call, head, tick } => {
                let at = if state.marks[self.slot(tick)].tick == tick {
                    self.fill_from(call, head, tick + 1)
                } else if tick == head.tick - self.slots {
                    At::Fill { call, head, tick }
                } else {
                    At::Scan { call, head, tick: tick - 1 }
                };
                go("looks for a boundary that is there", at);
            }
            At::Fill { call, head, tick } => {
                let seen = state.marks[self.slot(tick)];
                let is_there = match head.phase {
                    Phase::Resetting => seen == Mark { tick, total: head.total },
                    _ => seen.tick == tick && !self.is(Mutant::NoTags),
                };
                let at = if !is_there && self.is(Mutant::NoValidation) {
                    At::Write { call, head, tick, seen }
                } else if !is_there {
                    At::Validate { call, head, tick, seen }
                } else if self.is(Mutant::FillDownwards) {
                    At::Open { call, head }
                } else {
                    self.fill_from(call, head, tick + 1)
                };
                go("loads a boundary to fill", at);
            }
            At::Validate { call, head, tick, seen } => {
                let at = if state.head == head || self.is(Mutant::OpenBeforeFilled) {
                    At::Write { call, head, tick, seen }
                } else {
                    after_finish(call)
                };
                let at = self.return_or(at);
                match at {
                    Some(at) => go("looks at H again", at),
                    None => self.finished(state, who, "looks at H again", found),
                }
            }
            At::Write { call, head, tick, seen } => {
                let place = self.slot(tick);
                let mut at = self.fill_from(call, head, tick + 1);
                if self.is(Mutant::FillDownwards) {
                    at = if tick == head.tick - self.slots {
                        At::Open { call, head }
                    } else {
                        At::Fill { call, head, tick: tick - 1 }
                    };
                }
                let mut next = state.move_to(who, at);
                if state.marks[place] == seen || self.is(Mutant::PlainStore) {
                    next.marks[place] = Mark { tick, total: head.total };
                }
                self.add(found, who, "fills a boundary", next, None);
            }
            At::Open { call, head } => {
                let mut next = state.clone();
                if state.head == head {
                    next.head.phase = Phase::Open;
                }
                match self.return_or(after_finish(call)) {
                    Some(at) => {
                        next.threads[who].at = at;
                        self.add(found, who, "opens H", next, None);
                    }
                    None => self.finished(&next, who, "opens H", found),
                }
            }
        }
    }

    fn begin(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let no_clock = Call { instant: 0, now: 0, entered: false };
        match op {
            Op::Reset if self.reset == Reset::ShiftsTicks => {
                let mut next = state.move_to(who, At::Clock { shift: state.shift + 1 });
                next.shift += 1;
                self.add(found, who, "shifts the ticks", next, None);
            }
            Op::Reset => {
                let next = state.move_to(who, self.decide(op, no_clock, state.head, None));
                self.add(found, who, "begins a reset: loads H", next, None);
            }
            Op::Take(_) => {
                let next = state.move_to(who, At::Clock { shift: state.shift });
                self.add(found, who, "begins a take: loads the shift", next, None);
            }
            Op::GiveBack => {
                let mut next = state.clone();
                if let Some(held) = next.threads[who].held.take() {
                    let as_left = state.head == held.left;
                    if as_left || self.is(Mutant::GiveBackAnyway) {
                        found.counts.given_back += 1;
                        next.head.total -= held.permits;
                        next.ledger.remove(held.grant());
                    }
                }
                self.add(found, who, "gives back", next.return_from(who), None);
            }
        }
    }

    /// After H is loaded: finishes what it is in, or goes on with the call.
    fn decide(&self, op: Op, call: Call, head: Head, mark: Option<Mark>) -> At {
        if head.phase != Phase::Open {
            return self.finish(call, head, false);
        }
        if op == Op::Reset {
            return At::Enter { call, head };
        }
        if let Some(mark) = mark {
            return self.judge_take(op, call, head, mark.total);
        }
        // The window begins no earlier than H's tick: all before is the total.
        if head.tick.max(call.now) - self.slots >= head.tick {
            return self.judge_take(op, call, head, head.total);
        }
        At::Boundary { call, head }
    }

    fn judge_take(&self, op: Op, call: Call, head: Head, base: u8) -> At {
        let Op::Take(permits) = op else { unreachable!("only a take looks at the boundary") };
        // It wraps, as the word's total does.
        if (head.total + permits).wrapping_sub(base) > self.limit {
            At::Recheck { call, head }
        } else if call.now > head.tick {
            At::Rotate { call, head }
        } else {
            At::Admit { call, head }
        }
    }

    fn finish(&self, call: Call, head: Head, is_rotator: bool) -> At {
        let newest = head.tick - 1;
        match head.phase {
            Phase::Open if !is_rotator => At::Load(call),
            Phase::Resetting => At::Fill { call, head, tick: head.tick - self.slots },
            _ if self.is(Mutant::NoTags) => At::Fill { call, head, tick: head.tick - self.slots },
            _ if self.is(Mutant::FillDownwards) => At::Fill { call, head, tick: newest },
            _ => At::Scan { call, head, tick: newest },
        }
    }

    fn fill_from(&self, call: Call, head: Head, tick: u8) -> At {
        if tick == head.tick { At::Open { call, head } } else { At::Fill { call, head, tick } }
    }

    /// None if the call has nothing left to do.
    fn return_or(&self, at: At) -> Option<At> {
        if at == At::Idle { None } else { Some(at) }
    }

    fn finished(&self, state: &State, who: usize, what: &'static str, found: &mut Found<State>) {
        self.add(found, who, what, state.clone().return_from(who), None);
    }

    fn deny(&self, state: &State, who: usize, found: &mut Found<State>) {
        found.counts.denials += 1;
        let is_wrong = self.judge == Judge::Ticks && !state.threads[who].was_full;
        let fault =
            is_wrong.then(|| format!("thread {who} is denied, and there was room throughout"));
        self.add(found, who, "is denied", state.clone().return_from(who), fault);
    }

    fn admit(
        &self,
        state: &State,
        who: usize,
        op: Op,
        call: Call,
        head: Head,
        found: &mut Found<State>,
    ) {
        let Op::Take(permits) = op else { unreachable!("only a take is admitted") };
        found.counts.grants += 1;
        let mut next = state.clone();
        next.head = Head { total: head.total + permits, ..head };
        let time = match self.judge {
            Judge::Ticks => head.tick,
            Judge::Instants => call.instant.max(state.origin),
        };
        let held = Held { left: next.head, permits, time };
        let gives_back = self.programs[who].get(usize::from(state.threads[who].next) + 1);
        next.threads[who].held = (gives_back == Some(&Op::GiveBack)).then_some(held);
        next.ledger.add(held.grant());
        let most = next.ledger.most_in(self.span as i8);
        let mut fault = None;
        if most > self.limit {
            fault = Some(format!("{most} of {} admitted in one window", self.limit));
        } else if head.tick < call.now || head.tick > state.clock / self.parts + state.shift {
            fault = Some(format!("counted in tick {}, which is not within the call", head.tick));
        }
        self.add(found, who, "is admitted", next.return_from(who), fault);
    }
}

fn after_finish(call: Call) -> At {
    if call.entered { At::Idle } else { At::Load(call) }
}

impl Held {
    fn grant(self) -> Grant {
        Grant { time: self.time as i8, permits: self.permits, index: 0 }
    }
}

impl At {
    fn call(self) -> Option<Call> {
        match self {
            At::Idle | At::Clock { .. } => None,
            At::Load(call)
            | At::LoadAgain { call, .. }
            | At::Boundary { call, .. }
            | At::Recheck { call, .. }
            | At::Rotate { call, .. }
            | At::Admit { call, .. }
            | At::Enter { call, .. }
            | At::Scan { call, .. }
            | At::Fill { call, .. }
            | At::Validate { call, .. }
            | At::Write { call, .. }
            | At::Open { call, .. } => Some(call),
        }
    }
}

use Op::{GiveBack, Reset as Clear, Take};

fn ring(slots: u8, limit: u8, run: u8, programs: [&'static [Op]; THREADS]) -> Ring {
    Ring {
        slots,
        limit,
        parts: 1,
        run,
        span: slots,
        judge: Judge::Ticks,
        reset: Reset::StepsTotal,
        mutant: None,
        programs,
    }
}

fn holds(ring: &Ring) -> Explored {
    let explored = explore(ring).unwrap();
    let Explored { states, counts: Counts { grants, denials, given_back, .. } } = explored;
    println!("ring: {states} states, {grants} grants, {denials} denials, {given_back} given back");
    assert!(grants > 0 && denials > 0);
    explored
}

fn fails(ring: &Ring) -> Trace {
    let trace = explore(ring).unwrap_err();
    println!("{trace:?}");
    trace
}

#[test]
fn x1() {
    holds(&ring(2, 2, 4, [&[Take(1), Take(1)], &[Take(1), Take(2)], &[]]));
}
#[test]
fn x2() {
    holds(&ring(3, 2, 5, [&[Take(1), Take(1)], &[Take(2), Take(1)], &[]]));
}
#[test]
fn x3() {
    holds(&ring(2, 1, 3, [&[Take(1)], &[Take(1)], &[Take(1)]]));
}
#[test]
fn x4() {
    holds(&ring(2, 2, 3, [&[Take(1), GiveBack], &[Take(2), GiveBack], &[Clear]]));
}
#[test]
fn x5() {
    holds(&ring(2, 1, 3, [&[Take(1), Take(1)], &[Clear, Take(1)], &[]]));
}
#[test]
fn x6() {
    let mut r = ring(2, 1, 3, [&[Take(1), GiveBack], &[Clear, Take(1)], &[Take(1)]]);
    r.reset = Reset::ShiftsTicks;
    holds(&r);
}
#[test]
fn x7() {
    let mut r = ring(2, 1, 3, [&[Take(1), Take(1)], &[Clear], &[]]);
    r.reset = Reset::ShiftsTicks;
    r.judge = Judge::Instants;
    fails(&r);
}
#[test]
fn x8() {
    let mut r = ring(2, 1, 3, [&[Take(1)], &[Clear], &[Clear]]);
    r.reset = Reset::ShiftsTicks;
    holds(&r);
}
