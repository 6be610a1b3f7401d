//! The line beside a log of single permits, that of `unit_log.rs`: a ring of entries, and an index
//! of the next. A take is decided by the CAS of the next entry, so the gate has to be in that: the
//! entry is *marked* while somebody stands in line.
//!
//! Only the holder of the line fills a marked entry. To grant the head while others wait, it marks
//! the entry after the next first, then fills the next, and advances the head. Between the two,
//! both are marked; nobody else gets to the second before the first is filled. The mark of a head
//! that has to wait is the CAS that vouches for the denial as well.
//!
//! The ring needs two entries for that.
//!
//! An entry is filled if it has the parity of its lap. Filling takes the mark away; marking leaves
//! the date, which counts until the entry is filled.
//!
//! | mutant          | what it drops                                   | what goes wrong |
//! |-----------------|-------------------------------------------------|-----------------|
//! | `FillsFirst`    | the order: mark, then fill                      | a try fills the next before it is marked |
//! | `MarksNone`     | that the next is marked while others wait       | the same |
//! | `TakesMarked`   | that a CAS of an entry compares its mark        | a try overtakes |
//! | `NeverUnmarks`  | that the last to leave takes the mark away      | a try comes back for ever |
//! | `KeepsMark`     | that filling takes the mark away                | an entry is marked when its turn comes again, and nobody waits |
//! | `MarksByStore`  | the CAS of the mark                             | an admission is lost: the entry that it filled is there to be filled again |

use super::stores::{Beside, Call, Next, Role, Store, Visit};
use super::*;

const DATES: usize = 8;
const MOST: usize = 3;
/// The date of what was before the first lap.
const BEFORE: i8 = -9;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    FillsFirst,
    MarksNone,
    TakesMarked,
    NeverUnmarks,
    KeepsMark,
    MarksByStore,
}

#[derive(Clone)]
struct Log {
    slots: u8,
    limit: u8,
    window: i8,
    flaw: Option<Flaw>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Entry {
    date: i8,
    lap: u8,
    gate: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Words {
    head: u8,
    ring: [Entry; MOST],
    /// The truth: entries at each date.
    admitted: [u8; DATES],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Seen {
    now: i8,
    head: u8,
    entry: Entry,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Clock,
    Head { now: i8 },
    Entry { now: i8, head: u8 },
    HeadAgain(Seen),
    Help { now: i8, head: u8 },
    Last(Seen),
    Oldest { seen: Seen, last: i8 },
    Full(Seen),
    LoadNext { seen: Seen, date: i8 },
    MarkNext { seen: Seen, date: i8, next: Entry },
    Fill { seen: Seen, date: i8 },
    Advance { head: u8 },
    AdvanceAndMark { head: u8 },
    Unmark { now: i8, head: u8, entry: Entry },
}

impl Log {
    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn slot(&self, index: u8) -> usize {
        usize::from(index % self.slots)
    }

    fn lap(&self, index: u8) -> u8 {
        (index / self.slots + 1) % 2
    }

    /// After an entry was loaded, and the head again.
    fn decide(&self, call: Call, seen: Seen) -> Next<At> {
        let Seen { now, head, entry } = seen;
        if entry.lap == self.lap(head) {
            return Next::Goes(At::Help { now, head });
        }
        match call.role {
            Role::Caller if entry.gate && !self.is(Flaw::TakesMarked) => Next::AtGate,
            Role::Opener if entry.gate && !self.is(Flaw::NeverUnmarks) => {
                Next::Goes(At::Unmark { now, head, entry })
            }
            Role::Opener => Next::Opened,
            _ => Next::Goes(At::Last(seen)),
        }
    }

    fn fill(&self, call: Call, seen: Seen, last: i8) -> At {
        let date = seen.now.max(last).max(seen.entry.date + 1);
        let marks = matches!(call.role, Role::Holder { others_wait: true })
            && !self.is(Flaw::MarksNone)
            && !self.is(Flaw::FillsFirst);
        if marks { At::LoadNext { seen, date } } else { At::Fill { seen, date } }
    }

    fn in_window(&self, shared: &Words, date: i8) -> u8 {
        let first = (date - self.window + 1).max(0) as usize;
        shared.admitted[first..=date as usize].iter().sum()
    }
}

impl Store for Log {
    type Shared = Words;
    type At = At;

    /// Begins with as many entries of the first instant as the limit allows.
    fn start(&self) -> Words {
        let mut ring = [Entry { date: BEFORE, lap: 0, gate: false }; MOST];
        for index in 0..self.limit {
            ring[self.slot(index)] = Entry { date: 0, lap: self.lap(index), gate: false };
        }
        let mut admitted = [0; DATES];
        admitted[0] = self.limit;
        Words { head: self.limit, ring, admitted }
    }

    fn begin(&self) -> At {
        At::Clock
    }

    fn step(&self, shared: &mut Words, clock: i8, call: Call, at: At) -> Next<At> {
        let is_holder = call.role != Role::Caller;
        Next::Goes(match at {
            At::Clock => At::Head { now: clock },
            At::Head { now } => At::Entry { now, head: shared.head },
            At::Entry { now, head } => {
                At::HeadAgain(Seen { now, head, entry: shared.ring[self.slot(head)] })
            }
            At::HeadAgain(seen) if shared.head == seen.head => return self.decide(call, seen),
            At::HeadAgain(Seen { now, .. }) => At::Head { now },
            At::Help { now, head } => {
                if shared.head == head {
                    shared.head += 1;
                }
                At::Head { now }
            }
            At::Last(seen) => At::Oldest { seen, last: shared.ring[self.slot(seen.head - 1)].date },
            At::Oldest { seen, last } => {
                let oldest = shared.ring[self.slot(seen.head - self.limit)].date;
                if oldest > seen.now.max(last) - self.window {
                    At::Full(seen)
                } else {
                    self.fill(call, seen, last)
                }
            }
            At::Full(seen) => {
                let entry = &mut shared.ring[self.slot(seen.head)];
                let closes = is_holder && !seen.entry.gate;
                if *entry != seen.entry && !(closes && self.is(Flaw::MarksByStore)) {
                    return Next::Goes(At::Head { now: seen.now });
                }
                if closes {
                    *entry = Entry { gate: true, ..seen.entry };
                }
                return Next::Full;
            }
            At::LoadNext { seen, date } => {
                let next = shared.ring[self.slot(seen.head + 1)];
                At::MarkNext { seen, date, next }
            }
            At::MarkNext { seen, date, next } => {
                let entry = &mut shared.ring[self.slot(seen.head + 1)];
                if *entry != next {
                    return Next::Goes(At::Head { now: seen.now });
                }
                entry.gate = true;
                At::Fill { seen, date }
            }
            At::Fill { seen, date } => {
                let Seen { now, head, mut entry } = seen;
                let slot = &mut shared.ring[self.slot(head)];
                if self.is(Flaw::TakesMarked) {
                    entry.gate = slot.gate;
                }
                if *slot != entry {
                    return Next::Goes(At::Head { now });
                }
                let gate = entry.gate && self.is(Flaw::KeepsMark);
                *slot = Entry { date, lap: self.lap(head), gate };
                shared.admitted[date as usize] += 1;
                let others_wait = matches!(call.role, Role::Holder { others_wait: true });
                if others_wait && self.is(Flaw::FillsFirst) {
                    At::AdvanceAndMark { head }
                } else {
                    At::Advance { head }
                }
            }
            At::Advance { head } => {
                if shared.head == head {
                    shared.head += 1;
                }
                return Next::Admitted;
            }
            At::AdvanceAndMark { head } => {
                let next = &mut shared.ring[self.slot(head + 1)];
                next.gate |= next.lap != self.lap(head + 1);
                At::Advance { head }
            }
            At::Unmark { now, head, entry } => {
                let slot = &mut shared.ring[self.slot(head)];
                if *slot == entry {
                    slot.gate = false;
                    return Next::Opened;
                }
                At::Head { now }
            }
        })
    }

    /// The mark of the first entry that is not filled.
    fn gate(&self, shared: &Words) -> bool {
        let is_filled = |index: &u8| shared.ring[self.slot(*index)].lap == self.lap(*index);
        let next = shared.head + u8::from(is_filled(&shared.head));
        shared.ring[self.slot(next)].gate
    }

    fn admitted(shared: &Words) -> &[u8] {
        &shared.admitted
    }

    fn has_room(&self, shared: &Words, clock: i8, _: u8) -> bool {
        let latest = shared.admitted.iter().rposition(|&entries| entries > 0).unwrap_or(0);
        self.in_window(shared, clock.max(latest as i8)) < self.limit
    }

    fn fault(&self, shared: &Words) -> Option<String> {
        let is_over = (0..DATES as i8).any(|date| self.in_window(shared, date) > self.limit);
        is_over.then(|| format!("{BOUND}: {:?}", shared.admitted))
    }
}

use Visit::{Try, Wait};

fn beside(slots: u8, limit: u8, window: i8, run: i8, visits: &[Visit]) -> Beside<Log> {
    let store = Log { slots, limit, window, flaw: None };
    Beside { store, run, visits: visits.to_vec(), checks_gate: true }
}

fn holds(scene: &Beside<Log>, at_least: usize) {
    let explored = explore_with_goal(scene).unwrap();
    println!("line beside a log {:?}: {explored:?}", scene.visits);
    assert!(explored.states > at_least && explored.counts.grants > 0);
}

#[test]
fn the_line_stands_beside_a_log_of_single_permits() {
    holds(&beside(2, 1, 2, 3, &[Wait(1), Try(1)]), 8_700);
    holds(&beside(2, 1, 1, 1, &[Wait(1), Wait(1), Try(1)]), 98_000);
    holds(&beside(2, 2, 1, 1, &[Wait(1), Wait(1), Try(1)]), 110_000);
    holds(&beside(3, 2, 1, 1, &[Wait(1), Wait(1), Try(1)]), 100_000);
}

#[cfg(sluicegate_deep)]
#[test]
fn the_line_stands_beside_a_log_of_single_permits_in_full() {
    holds(&beside(2, 1, 1, 2, &[Wait(1), Wait(1), Try(1)]), 440_000);
    holds(&beside(3, 2, 1, 2, &[Wait(1), Wait(1), Try(1)]), 480_000);
    holds(&beside(2, 2, 2, 3, &[Wait(1), Wait(1), Try(1)]), 860_000);
    holds(&beside(2, 2, 1, 2, &[Wait(1), Wait(1), Wait(1)]), 890_000);
    holds(&beside(2, 2, 1, 2, &[Wait(1), Try(1), Try(1)]), 230_000);
}

/// In a ring of one entry the next is the one that is filled, and loses its mark.
#[test]
fn a_log_beside_which_callers_wait_needs_two_entries() {
    let scene = beside(1, 1, 1, 2, &[Wait(1), Wait(1), Try(1)]);
    let trace = explore_with_goal(&scene).unwrap_err();
    assert!(trace.fault.contains(OVERTAKES), "{trace:?}");
}

#[test]
fn every_flaw_of_a_gate_in_a_log_is_caught() {
    use Flaw::*;
    for (flaw, fault) in [
        (FillsFirst, OVERTAKES),
        (MarksNone, OVERTAKES),
        (TakesMarked, OVERTAKES),
        (NeverUnmarks, STALL),
        // Whoever comes takes the mark away, so that callers see no harm.
        (KeepsMark, "the gate does not tell"),
        (MarksByStore, OVERTAKES),
    ] {
        let scene = beside(2, 2, 1, 2, &[Wait(1), Wait(1), Try(1)]);
        let store = Log { flaw: Some(flaw), ..scene.store };
        let checks_gate = flaw == KeepsMark;
        let trace = explore_with_goal(&Beside { store, checks_gate, ..scene }).unwrap_err();
        assert!(trace.fault.contains(fault), "{flaw:?}: {trace:?}");
    }
}
