//! Settlement of a ring: what was not used of an estimate is taken off the slot that was charged, by
//! raising the boundaries before it; what was used beyond it is counted in the present tick.
//!
//! * An estimate first notes the number of changes, or nothing if one is going on. It keeps this, and the
//!   tick in which it was counted.
//! * To give back `d`: reads the clock; looks whether a change has begun since; adds itself to the
//!   settlements, and looks at the changes in the same step; loads H; then, if a window still counts the
//!   slot by the reading, in each window and for each boundary before the slot, from the latest to the
//!   oldest at which the window of H's tick begins: loads it, and raises it by `d` by a CAS, if it is
//!   still that of its slot; and leaves the settlements. What it gives back is cut off the estimate first.
//! * To take beyond: as a grant, whatever the limit.
//! * A fill whose CAS fails, as a settlement has raised what was there, looks again.
//! * A reset adds itself to the changes that have begun, waits until no settlement is in progress,
//!   resets, and adds itself to those that are done. Without resets, the notes are left out.
//!
//! Stated of every state in which H is open: of each boundary that a window can begin at, H's total less
//! the boundary is at least the *charges* of the slots after it: what was taken in them, beyond
//! estimates too, and not given back; it is just that while no settlement is in progress. A grant is within the limit with all
//! charges of its windows. A denial is right at some moment of its call, where the permits of a
//! settlement in progress may be there or not. A reset begins all charges anew, and every run ends.
//!
//! Left out: that boundaries are in order at each moment; healing; numbers that wrap; the line.
//!
//! | mutant             | what it drops                                         | what goes wrong |
//! |--------------------|-------------------------------------------------------|-----------------|
//! | `RaisesCharged`    | that the boundary at the end of the slot stays        | a window that does not hold the permits is relieved of them: too many admitted |
//! | `LowersTotal`      | the same, as it takes the permits off H's total       | the same |
//! | `RaisesTooFew`     | the last of the boundaries                            | a wrong denial |
//! | `RaisesByReading`  | that it raises all at which a window of H's tick begins | a caller with an older reading finds one that was not raised: the same |
//! | `RaisesFirstOnly`  | the second window                                     | the same |
//! | `RaisesByTicks`    | that a window goes by its slots                       | boundaries of other slots are taken for these: the same |
//! | `RaisesByStore`    | the CAS that raises                                   | a later boundary is lost: the same |
//! | `RaisesAnySlot`    | the look at the slot of the boundary                  | a later boundary is raised: too many admitted |
//! | `GoesOnAfterRaise` | the second look of a fill whose CAS has failed        | the boundary is missing: a wrong denial |
//! | `Uncut`            | that what is given back is cut off the estimate       | it is given back twice: too many admitted |
//! | `BeyondByStore`    | the CAS that takes beyond                             | a grant is lost: the same |
//! | `BeyondInPlace`    | the rotation before it                                | counted in a tick that leaves the window early: the same |
//! | `NoNote`           | the look at the changes                               | given back after a reset: the same |
//! | `NotesLate`        | that the changes are noted before the grant           | the same |
//! | `LooksFirst`       | the look at the changes in the step that begins a settlement | a reset in between is not seen, nor waits: the same |
//! | `EndsFirst`        | the order: raises, then the end of the settlement     | a reset does not wait for the raises: the same |
//! | `ResetDoesNotWait` | that a reset waits for settlements                    | the same |

use super::*;

impl Ring {
    pub(super) fn settles(&self) -> bool {
        self.has(|op| matches!(op, Op::Settle(_) | Op::Beyond(_)))
    }

    /// Returns whether changes are to be told apart.
    pub(super) fn has_notes(&self) -> bool {
        self.settles() && self.has(|op| op == Op::Reset)
    }

    fn has(&self, is: impl Fn(Op) -> bool) -> bool {
        self.programs.iter().any(|program| program.iter().any(|&op| is(op)))
    }

    /// Returns the permits of settlements that are raising boundaries.
    pub(super) fn settling(&self, state: &State) -> u8 {
        let raises = |&who: &usize| {
            matches!(state.threads[who].at, At::RaiseLoad { .. } | At::RaiseCas { .. })
        };
        (0..THREADS).filter(raises).map(|who| self.given(state, who)).sum()
    }

    /// Returns what the present call gives back at most.
    fn given(&self, state: &State, who: usize) -> u8 {
        let thread = &state.threads[who];
        match self.programs[who].get(usize::from(thread.next)) {
            Some(&Op::Settle(permits)) => permits,
            _ => 0,
        }
    }

    /// Returns whether a boundary is right, of a slot after which there are the charges that `total` is
    /// without.
    pub(super) fn is_of_charges(&self, state: &State, mark: Mark, total: u8) -> bool {
        if self.settling(state) == 0 { mark.total == total } else { mark.total <= total }
    }

    pub(super) fn begin_change(&self, state: &State, who: usize, found: &mut Found<State>) {
        let mut next = state.move_to(who, At::ChangeWait);
        next.begun += 1;
        self.add(found, who, "begins to reset", next, None);
    }

    pub(super) fn begin_settling(&self, state: &State, who: usize, found: &mut Found<State>) {
        let is_there = state.threads[who].held.is_some_and(|held| held.permits > 0);
        if !is_there {
            let next = state.clone().return_from(who);
            return self.add(found, who, "has nothing to give back", next, None);
        }
        let now = state.clock / self.parts;
        let at = if self.has_notes() { At::GiveLook { now } } else { At::GiveHot { now } };
        let mut next = state.move_to(who, at);
        if let (true, Some(held)) = (self.is(Mutant::NotesLate), &mut next.threads[who].held) {
            held.note = Some(state.begun);
        }
        self.add(found, who, "begins to give back: reads the clock", next, None);
    }

    pub(super) fn step_of_settling(
        &self,
        state: &State,
        who: usize,
        at: At,
        found: &mut Found<State>,
    ) {
        match at {
            At::Note { done } => {
                let mut next = state.move_to(who, At::Clock { shift: state.shift });
                next.threads[who].note = (done == state.begun).then_some(done);
                self.add(found, who, "looks whether a change is going on", next, None);
            }
            At::GiveLook { now } => {
                let next = if self.is_noted(state, who) {
                    state.move_to(who, At::GiveBegin { now })
                } else {
                    found.counts.lost += 1;
                    self.settled(state.clone(), who)
                };
                self.add(found, who, "looks at the changes", next, None);
            }
            At::GiveBegin { now } => {
                let is_same = self.is_noted(state, who) || self.is(Mutant::LooksFirst);
                found.counts.lost += usize::from(!is_same);
                let at = if is_same { At::GiveHot { now } } else { At::GiveEnd };
                let mut next = state.move_to(who, at);
                // Mutant: one that does not go on is over at once.
                next.settlements += u8::from(is_same || !self.is(Mutant::EndsFirst));
                self.add(found, who, "begins its settlement", next, None);
            }
            At::GiveHot { now } => self.give(state, who, now, found),
            At::RaiseLoad { present, place } => {
                let seen = self.seen(state, place);
                let next = if seen.slot == place.slot || self.is(Mutant::RaisesAnySlot) {
                    state.move_to(who, At::RaiseCas { present, place, seen })
                } else {
                    self.raise_next(state.clone(), who, present, place)
                };
                self.add(found, who, "loads a boundary to raise", next, None);
            }
            At::RaiseCas { present, place, seen } => {
                let permits = self.given(state, who);
                let mut next = state.clone();
                let mark = self.mark(&mut next, place);
                if *mark == seen || self.is(Mutant::RaisesByStore) {
                    *mark = Mark { total: seen.total + permits, ..seen };
                    next = self.raise_next(next, who, present, place);
                } else {
                    next.threads[who].at = At::RaiseLoad { present, place };
                }
                self.add(found, who, "raises a boundary", next, None);
            }
            At::GiveEnd => {
                let mut next = self.settled(state.clone(), who);
                next.settlements -= u8::from(!self.is(Mutant::EndsFirst));
                self.add(found, who, "ends its settlement", next, None);
            }
            At::Charge { call, head } => self.charge(state, who, call, head, found),
            At::ChangeWait if state.settlements > 0 && !self.is(Mutant::ResetDoesNotWait) => {}
            At::ChangeWait => {
                let no_clock = Call { instant: 0, now: 0, entered: false };
                let at = self.decide(Op::Reset, no_clock, state.head, None);
                self.add(found, who, "loads H to reset", state.move_to(who, at), None);
            }
            At::ChangeEnd => {
                let mut next = state.clone().return_from(who);
                next.done += 1;
                self.add(found, who, "ends its reset", next, None);
            }
            at => unreachable!("not a step of a settlement: {at:?}"),
        }
    }

    fn is_noted(&self, state: &State, who: usize) -> bool {
        let note = state.threads[who].held.and_then(|held| held.note);
        note == Some(state.begun) || self.is(Mutant::NoNote)
    }

    /// Loads H, and cuts what is given back off the estimate and its charge.
    fn give(&self, state: &State, who: usize, now: u8, found: &mut Found<State>) {
        let permits = self.given(state, who);
        let Some(held) = state.threads[who].held else { unreachable!("nothing to give back") };
        let by_reading = state.head.tick.max(now);
        let counts = self.first_raise(held.left.tick, by_reading, 0).is_some();
        // A caller that is held up may still look at the windows of H's tick.
        let present = if self.is(Mutant::RaisesByReading) { by_reading } else { state.head.tick };
        let mut next = state.clone();
        next.settlements -= u8::from(self.is(Mutant::EndsFirst) && self.has_notes());
        let place = self.first_raise(held.left.tick, present, 0);
        let Some(place) = place.filter(|_| counts) else {
            found.counts.lost += 1;
            let next = self.end(next, who);
            return self.add(found, who, "loads H, and is late", next, None);
        };
        found.counts.given_back += 1;
        let left = Held { permits: held.permits - permits, ..held };
        if next.ledger.remove(held.grant()) && left.permits > 0 {
            next.ledger.add(left.grant());
        }
        next.threads[who].held = Some(if self.is(Mutant::Uncut) { held } else { left });
        next.threads[who].at = At::RaiseLoad { present, place };
        if self.is(Mutant::LowersTotal) {
            next.head.total -= permits;
            next = self.end(next, who);
        }
        self.add(found, who, "loads H", next, None);
    }

    /// Returns the slot of `tick`.
    fn slot_of(&self, which: usize, tick: u8) -> u8 {
        let exponent = self.windows[which].exponent;
        if self.is(Mutant::RaisesByTicks) { tick } else { tick >> exponent }
    }

    /// Returns the first boundary to raise, of the first window from `which` on that counts `tick`.
    fn first_raise(&self, tick: u8, present: u8, which: usize) -> Option<Place> {
        let windows = if self.is(Mutant::RaisesFirstOnly) { 1 } else { self.windows.len() };
        let counts = |&which: &usize| {
            self.slot_of(which, tick) + self.windows[which].slots > self.slot_of(which, present)
        };
        let which = (which..windows).find(counts)?;
        let slot = self.slot_of(which, tick) - u8::from(!self.is(Mutant::RaisesCharged));
        Some(Place { which, slot })
    }

    /// Goes on to the boundary before `place`, the next window, or the end.
    fn raise_next(&self, mut state: State, who: usize, present: u8, place: Place) -> State {
        let Place { which, slot } = place;
        let oldest = self.slot_of(which, present) - self.windows[which].slots;
        let oldest = oldest + u8::from(self.is(Mutant::RaisesTooFew));
        let tick = state.threads[who].held.map_or(0, |held| held.left.tick);
        let next = if slot > oldest {
            Some(Place { which, slot: slot - 1 })
        } else {
            self.first_raise(tick, present, which + 1)
        };
        match next {
            Some(place) => {
                state.threads[who].at = At::RaiseLoad { present, place };
                state
            }
            None => self.end(state, who),
        }
    }

    fn end(&self, state: State, who: usize) -> State {
        if self.has_notes() { state.move_to(who, At::GiveEnd) } else { self.settled(state, who) }
    }

    /// After a settlement: forgets the estimate, unless more is to be given back.
    fn settled(&self, state: State, who: usize) -> State {
        let mut next = state.return_from(who);
        let op = self.programs[who].get(usize::from(next.threads[who].next));
        if !matches!(op, Some(Op::Settle(_))) {
            next.threads[who].held = None;
        }
        next
    }

    fn charge(&self, state: &State, who: usize, call: Call, head: Head, found: &mut Found<State>) {
        if state.head != head && !self.is(Mutant::BeyondByStore) {
            let next = state.move_to(who, At::Load(call));
            return self.add(found, who, "fails to take beyond", next, None);
        }
        let op = self.programs[who][usize::from(state.threads[who].next)];
        let Op::Beyond(permits) = op else { unreachable!("only these are beyond an estimate") };
        let mut next = state.clone().return_from(who);
        next.head = Head { total: head.total + permits, ..head };
        let time = head.tick.max(call.now) as i8;
        next.ledger.add(Grant { time, permits, index: 0 });
        self.add(found, who, "takes beyond its estimate", next, None);
    }
}
