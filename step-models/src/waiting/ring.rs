//! A ring of boundaries, that of `ring.rs`, beside which callers wait in line: H = (tick, total, phase), with the gate
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

use super::*;

const SLOTS: usize = 2;
const TICKS: usize = 8;
/// Ticks start here, so that none is before the first.
const FIRST: i8 = SLOTS as i8;

/// A call of the limiter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Call {
    pub(super) permits: u8,
    pub(super) role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Role {
    /// Anybody: is not admitted through a closed gate.
    Caller,
    /// The holder of the line, for the head. The gate is closed afterwards if the head is not
    /// admitted, or if others wait.
    Holder { others_wait: bool },
    /// The holder of the line, when nobody waits: opens the gate.
    Opener,
}

/// The result of one step of a call.
pub(super) enum Next {
    Goes(At),
    Admitted,
    /// Denied; by the holder, with the gate closed.
    Full,
    AtGate,
    Opened,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    RotationOpens,
    OpensByStore,
    AdmitsPastGate,
    GrantOpens,
    DeniesUngated,
    ClosesByStore,
}

/// A ring of two slots.
#[derive(Clone)]
pub(super) struct Ring {
    pub(super) limit: u8,
    /// Permits of the first tick that are gone.
    pub(super) spent: u8,
    pub(super) flaw: Option<Flaw>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Head {
    tick: i8,
    total: u8,
    is_open: bool,
    gate: bool,
}

/// The total at the end of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Mark {
    slot: i8,
    total: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Words {
    head: Head,
    marks: [Mark; SLOTS],
    /// The truth: permits admitted in each tick.
    admitted: [u8; TICKS],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum At {
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
    fn decide(&self, call: Call, now: i8, head: Head) -> Next {
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

impl Ring {
    pub(super) fn start(&self) -> Words {
        let mut marks = [Mark { slot: 0, total: 0 }; SLOTS];
        for slot in 0..FIRST {
            marks[slot as usize % SLOTS].slot = slot;
        }
        let head = Head { tick: FIRST, total: self.spent, is_open: true, gate: false };
        let mut admitted = [0; TICKS];
        admitted[FIRST as usize] = self.spent;
        Words { head, marks, admitted }
    }

    /// One access to shared memory, or one reading of the clock.
    pub(super) fn step(&self, shared: &mut Words, clock: i8, call: Call, at: At) -> Next {
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

    /// Returns whether the gate is closed.
    pub(super) fn gate(shared: &Words) -> bool {
        shared.head.gate
    }

    /// The truth: the permits admitted at each instant.
    pub(super) fn admitted(shared: &Words) -> &[u8] {
        &shared.admitted
    }

    /// Returns whether so many permits could be admitted now.
    pub(super) fn has_room(&self, shared: &Words, clock: i8, permits: u8) -> bool {
        Ring::in_window(shared, shared.head.tick.max(clock + FIRST)) + permits <= self.limit
    }

    pub(super) fn fault(&self, shared: &Words) -> Option<String> {
        let is_over = (FIRST..TICKS as i8).any(|tick| Ring::in_window(shared, tick) > self.limit);
        is_over.then(|| format!("{BOUND}: {:?}", shared.admitted))
    }
}
