//! The steps of calls and of changes.

use crate::explore::Found;

use super::{At, Bucket, Mutant, Numbers, Op, PLACES, Quota, Shares, State};

impl Shares {
    pub(super) fn step(&self, state: &State, who: usize, found: &mut Found<State>) {
        let Some(&op) = self.ops[who].get(usize::from(state.calls[who])) else { return };
        match op {
            Op::Change(numbers) => self.change(state, who, numbers, found),
            Op::Ask { place, tenant, permits } => {
                self.ask(state, who, (place, tenant, permits), found);
            }
        }
    }

    fn ask(
        &self,
        state: &State,
        who: usize,
        (place, tenant, permits): (usize, i8, i8),
        found: &mut Found<State>,
    ) {
        let go = |found: &mut Found<State>, what, at| {
            self.add(found, who, what, state.go(who, at));
        };
        let clock = state.clock;
        match state.threads[who] {
            At::Idle => {
                // Loaded and read in one step: nothing can make the sum newer.
                let floor = self.is(Mutant::FloorFirst).then_some(self.floor_of(self.numbers));
                go(found, "reads the clock", At::Own { at: clock, floor });
            }
            At::Again => go(found, "reads the clock again", At::Force { at: clock }),
            At::Own { at, floor } => {
                let mut next = state.clone();
                if state.holders[place] != tenant {
                    let is_full = state.own[place].balance(clock) == state.own[place].burst;
                    if !is_full && !self.is(Mutant::EvictsEarly) {
                        // No place: it only borrows.
                        next.threads[who] = At::Load { at, floor };
                        return self.add(found, who, "has no place", next);
                    }
                    let bucket = &mut next.own[place];
                    // Its predecessor was full by now, and it is by its reading.
                    bucket.level = bucket.accrued(at) - bucket.burst;
                    next.anew += state.own[place].rate * (clock - at);
                    next.holders[place] = tenant;
                }
                next.step_by(at);
                if next.own[place].balance(at) >= permits {
                    next.own[place].take(permits, at);
                    let is_later = self.is(Mutant::CommonLater);
                    next.threads[who] = if is_later { At::Again } else { At::Force { at } };
                    self.add(found, who, "takes of its own", next);
                } else {
                    next.threads[who] = At::Load { at, floor };
                    self.add(found, who, "has too few", next);
                }
            }
            At::Force { at } => {
                let mut next = state.clone();
                next.done(who);
                next.step_by(at);
                if self.is(Mutant::AsksForAssured) && state.common.balance(at) < permits {
                    found.add(who, "asks", next, Some("a share is refused".to_owned()));
                    return;
                }
                next.common.take(permits, at);
                next.granted += permits;
                found.counts.grants += 1;
                self.add(found, who, "takes of the common bucket", next);
            }
            At::Load { at, floor } => {
                let seen = state.word();
                let then =
                    floor.map_or(At::Floor { at, seen }, |floor| At::Cas { at, seen, floor });
                go(found, "loads the word", then);
            }
            At::Floor { at, seen } => {
                go(found, "loads the sum", At::Cas { at, seen, floor: state.floor });
            }
            At::Cas { at, seen, floor } => {
                let mut next = state.clone();
                let is_same = state.word() == seen || self.is(Mutant::BorrowsByStore);
                let known = Bucket { level: seen.0, ..state.common };
                if !is_same {
                    // Before a denial too, the word is looked at again.
                    next.threads[who] = At::Load { at, floor: None };
                    return self.add(found, who, "fails to borrow", next);
                }
                next.done(who);
                next.step_by(at);
                if known.balance(at) < permits + floor {
                    found.counts.denials += 1;
                    return self.add(found, who, "is refused", next);
                }
                next.common.level = seen.0;
                next.common.take(permits, at);
                next.granted += permits;
                if self.is(Mutant::PaysBack) {
                    next.own[place].take(permits, at);
                }
                found.counts.grants += 1;
                self.add(found, who, "borrows", next);
            }
            At::Change { .. } => unreachable!("a call does not change anything"),
        }
    }

    /// Permits that are assured, and not yet taken of the common bucket.
    fn in_flight(&self, state: &State) -> i8 {
        let of = |who: usize| match (
            state.threads[who],
            self.ops[who].get(usize::from(state.calls[who])),
        ) {
            (At::Force { .. }, Some(&Op::Ask { permits, .. })) => permits,
            _ => 0,
        };
        (0..self.ops.len()).map(of).sum()
    }

    /// Lowers the own buckets, stores the sum, changes the common bucket, raises the own buckets.
    fn change(&self, state: &State, who: usize, new: Numbers, found: &mut Found<State>) {
        const LOWERED: usize = PLACES;
        const STORED: usize = LOWERED + 1;
        const MOVED: usize = STORED + 1;
        const RAISED: usize = MOVED + PLACES;

        let step = match state.threads[who] {
            At::Change { step } => step,
            _ => 0,
        };
        let mut next = state.go(who, At::Change { step: step + 1 });
        let clock = state.clock;
        let lower = |place: usize| {
            lower_of((state.own[place].rate, state.own[place].burst), new.own[place])
        };
        match step {
            0..LOWERED => {
                let quota = match self.mutant {
                    Some(Mutant::RaisesFirst) => new.own[step],
                    Some(Mutant::LowersLast) => (state.own[step].rate, state.own[step].burst),
                    _ => lower(step),
                };
                next.own[step].change(quota, clock);
            }
            LOWERED => {
                if new.sum() < self.numbers.sum() {
                    // Assured by the old numbers, and no longer kept.
                    next.anew += self.in_flight(state);
                }
                next.floor = self.floor_of(new);
            }
            STORED => {
                next.common.change(new.common, clock);
                next.changes += 1;
            }
            _ => {
                let own = &mut next.own[step - MOVED];
                own.change(new.own[step - MOVED], clock);
                if self.is(Mutant::RaiseFills) {
                    own.level = own.accrued(clock) - own.burst;
                }
            }
        }
        next.step_by(clock);
        if step + 1 == RAISED {
            next.done(who);
        }
        self.add(found, who, "goes on with a change", next);
    }
}

fn lower_of(one: Quota, other: Quota) -> Quota {
    (one.0.min(other.0), one.1.min(other.1))
}
