//! The line beside a ring of boundaries, that of `ring.rs`: H = (tick, total, phase), with the gate
//! in H too. All that others do to H leaves the gate as it is: the rotation, the help, and the
//! opening of H. The holder of the line closes the gate by a CAS that also vouches for the denial,
//! in whatever phase, and rotates and admits as others do, with the gate as it has to be.
//!
//! A caller that finds the gate closed does nothing to H, rotating or not: the holder does. (If it
//! helped, that would be no fault.)
//!
//! | mutant           | what it drops                                     | what goes wrong |
//! |------------------|---------------------------------------------------|-----------------|
//! | `RotationOpens`  | that a rotation leaves the gate as it is          | a try overtakes |
//! | `OpensByStore`   | the CAS that opens H                              | a helper that was held up brings an older H back: too many admitted |
//! | `AdmitsPastGate` | that an admission compares the gate               | a try overtakes |
//! | `GrantOpens`     | that the gate stays closed while others wait      | the same |
//! | `DeniesUngated`  | that a head which has to wait closes the gate     | the same |
//! | `ClosesByStore`  | the CAS that closes the gate                      | an admission is lost: too many admitted |

use super::stores::{Beside, Call, Next, Role, Store, Visit};
use super::*;

const SLOTS: usize = 2;
const TICKS: usize = 8;
/// Ticks start here, so that none is before the first.
const FIRST: i8 = SLOTS as i8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    RotationOpens,
    OpensByStore,
    AdmitsPastGate,
    GrantOpens,
    DeniesUngated,
    ClosesByStore,
}

/// A ring of two slots.
#[derive(Clone)]
struct Ring {
    limit: u8,
    /// Permits of the first tick that are gone.
    spent: u8,
    flaw: Option<Flaw>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Head {
    tick: i8,
    total: u8,
    is_open: bool,
    gate: bool,
}

/// The total at the end of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Mark {
    slot: i8,
    total: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Words {
    head: Head,
    marks: [Mark; SLOTS],
    /// The truth: permits admitted in each tick.
    admitted: [u8; TICKS],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Clock,
    Load { now: i8 },
    Boundary { now: i8, head: Head },
    Full { now: i8, head: Head },
    Rotate { now: i8, head: Head },
    Admit { now: i8, head: Head },
    Fill { now: i8, head: Head, slot: i8 },
    Check { now: i8, head: Head, slot: i8, seen: Mark },
    Write { now: i8, head: Head, slot: i8, seen: Mark },
    Open { now: i8, head: Head },
}

impl Ring {
    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// After H is loaded.
    fn decide(&self, call: Call, now: i8, head: Head) -> Next<At> {
        match call.role {
            Role::Caller if head.gate => return Next::AtGate,
            // Any phase will do.
            Role::Opener if head.gate => return Next::Goes(At::Open { now, head }),
            Role::Opener => return Next::Opened,
            _ => {}
        }
        if !head.is_open {
            return Next::Goes(At::Fill { now, head, slot: head.tick - SLOTS as i8 });
        }
        // The window begins no earlier than H's tick: all before is the total.
        if now.max(head.tick) - SLOTS as i8 >= head.tick {
            return Next::Goes(self.judge(call, now, head, head.total));
        }
        Next::Goes(At::Boundary { now, head })
    }

    fn judge(&self, call: Call, now: i8, head: Head, base: u8) -> At {
        if (head.total + call.permits).wrapping_sub(base) > self.limit {
            At::Full { now, head }
        } else if now > head.tick {
            At::Rotate { now, head }
        } else {
            At::Admit { now, head }
        }
    }

    fn in_window(shared: &Words, tick: i8) -> u8 {
        let first = (tick - SLOTS as i8 + 1).max(0) as usize;
        shared.admitted[first..=tick as usize].iter().sum()
    }
}

impl Store for Ring {
    type Shared = Words;
    type At = At;

    fn start(&self) -> Words {
        let mut marks = [Mark { slot: 0, total: 0 }; SLOTS];
        for slot in 0..FIRST {
            marks[slot as usize % SLOTS].slot = slot;
        }
        let head = Head { tick: FIRST, total: self.spent, is_open: true, gate: false };
        let mut admitted = [0; TICKS];
        admitted[FIRST as usize] = self.spent;
        Words { head, marks, admitted }
    }

    fn begin(&self) -> At {
        At::Clock
    }

    fn step(&self, shared: &mut Words, clock: i8, call: Call, at: At) -> Next<At> {
        let is_holder = call.role != Role::Caller;
        let place = |slot: i8| slot as usize % SLOTS;
        Next::Goes(match at {
            At::Clock => At::Load { now: clock + FIRST },
            At::Load { now } => return self.decide(call, now, shared.head),
            At::Boundary { now, head } => {
                let slot = now.max(head.tick) - SLOTS as i8;
                self.judge(call, now, head, shared.marks[place(slot)].total)
            }
            At::Full { now, head } => {
                let closes = is_holder && !head.gate && !self.is(Flaw::DeniesUngated);
                if shared.head != head && !(closes && self.is(Flaw::ClosesByStore)) {
                    return Next::Goes(At::Load { now });
                }
                if closes {
                    shared.head = Head { gate: true, ..head };
                }
                return Next::Full;
            }
            At::Rotate { now, head } if shared.head == head => {
                let gate = head.gate && !self.is(Flaw::RotationOpens);
                let head = Head { tick: now, is_open: false, gate, ..head };
                shared.head = head;
                At::Fill { now, head, slot: now - SLOTS as i8 }
            }
            At::Admit { now, head } => {
                let mut seen = head;
                if self.is(Flaw::AdmitsPastGate) {
                    seen.gate = shared.head.gate;
                }
                if shared.head != seen {
                    return Next::Goes(At::Load { now });
                }
                let gate = match call.role {
                    Role::Holder { others_wait } => others_wait && !self.is(Flaw::GrantOpens),
                    _ => seen.gate,
                };
                shared.head = Head { total: head.total + call.permits, gate, ..seen };
                shared.admitted[head.tick as usize] += call.permits;
                return Next::Admitted;
            }
            At::Fill { now, head, slot } if slot == head.tick => At::Open { now, head },
            At::Fill { now, head, slot } => {
                let seen = shared.marks[place(slot)];
                if seen.slot == slot {
                    At::Fill { now, head, slot: slot + 1 }
                } else {
                    At::Check { now, head, slot, seen }
                }
            }
            At::Check { now, head, slot, seen } if shared.head == head => {
                At::Write { now, head, slot, seen }
            }
            At::Write { now, head, slot, seen } => {
                let mark = &mut shared.marks[place(slot)];
                if *mark == seen {
                    *mark = Mark { slot, total: head.total };
                }
                At::Fill { now, head, slot: slot + 1 }
            }
            At::Open { now, head } => {
                let is_opener = call.role == Role::Opener;
                if shared.head == head && is_opener {
                    shared.head.gate = false;
                    return Next::Opened;
                }
                if shared.head == head || self.is(Flaw::OpensByStore) && !is_opener {
                    shared.head = Head { is_open: true, ..head };
                }
                At::Load { now }
            }
            At::Rotate { now, .. } | At::Check { now, .. } => At::Load { now },
        })
    }

    fn gate(&self, shared: &Words) -> bool {
        shared.head.gate
    }

    fn admitted(shared: &Words) -> &[u8] {
        &shared.admitted
    }

    fn has_room(&self, shared: &Words, clock: i8, permits: u8) -> bool {
        Ring::in_window(shared, shared.head.tick.max(clock + FIRST)) + permits <= self.limit
    }

    fn fault(&self, shared: &Words) -> Option<String> {
        let is_over = (FIRST..TICKS as i8).any(|tick| Ring::in_window(shared, tick) > self.limit);
        is_over.then(|| format!("{BOUND}: {:?}", shared.admitted))
    }
}

use Visit::{Try, Wait};

fn beside(limit: u8, run: i8, visits: &[Visit]) -> Beside<Ring> {
    let store = Ring { limit, spent: 0, flaw: None };
    Beside { store, run, visits: visits.to_vec(), checks_gate: true }
}

/// Nothing is left of the first tick.
fn empty(limit: u8, run: i8, visits: &[Visit]) -> Beside<Ring> {
    let scene = beside(limit, run, visits);
    Beside { store: Ring { spent: limit, ..scene.store }, ..scene }
}

fn holds(scene: &Beside<Ring>, at_least: usize) {
    let explored = explore_with_goal(scene).unwrap();
    println!("line beside a ring {:?}: {explored:?}", scene.visits);
    assert!(explored.states > at_least && explored.counts.grants > 0);
}

#[test]
fn the_line_stands_beside_a_ring() {
    holds(&beside(2, 3, &[Wait(2), Try(1)]), 6_400);
    holds(&beside(2, 3, &[Wait(2), Wait(1)]), 6_700);
    holds(&empty(1, 2, &[Wait(1), Try(1)]), 3_000);
    holds(&beside(2, 2, &[Wait(2), Wait(1), Try(2)]), 140_000);
}

#[cfg(sluicegate_deep)]
#[test]
fn the_line_stands_beside_a_ring_in_full() {
    holds(&beside(2, 3, &[Wait(2), Wait(1), Try(1)]), 640_000);
    holds(&beside(2, 3, &[Wait(2), Try(2), Try(1)]), 600_000);
    holds(&empty(2, 2, &[Wait(1), Wait(1), Try(1)]), 210_000);
    holds(&beside(2, 3, &[Wait(2), Wait(1), Wait(2)]), 690_000);
    holds(&beside(2, 4, &[Wait(1), Wait(2), Try(1)]), 1_900_000);
}

#[test]
fn every_flaw_of_a_gate_in_a_ring_is_caught() {
    use Flaw::*;
    for (flaw, fault) in [
        (RotationOpens, OVERTAKES),
        (OpensByStore, BOUND),
        (AdmitsPastGate, OVERTAKES),
        (GrantOpens, OVERTAKES),
        (DeniesUngated, OVERTAKES),
        (ClosesByStore, BOUND),
    ] {
        let scene = match flaw {
            GrantOpens => empty(2, 2, &[Wait(1), Wait(1), Try(1)]),
            _ => beside(2, 3, &[Wait(2), Wait(1), Try(1)]),
        };
        let store = Ring { flaw: Some(flaw), ..scene.store };
        let trace = explore_with_goal(&Beside { store, checks_gate: false, ..scene }).unwrap_err();
        assert!(trace.fault.contains(fault), "{flaw:?}: {trace:?}");
    }
}
