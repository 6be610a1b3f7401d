//! The way to the root: a lease or the permits themselves, and a steal if it has
//! not got them.

use super::*;

impl Leases {
    pub(super) fn draw(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let Thread { at, hand, fresh, .. } = state.threads[who];
        let is_lease = op.size() >= op.permits();
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at));
        match at {
            At::Clock => self.read(state, found, who, |reading| {
                // Capacity in transit beyond what will be needed.
                let spare = (hand.room - op.size()).min(hand.empty());
                if matches!(op, Spend(..)) && is_lease && spare > 0 {
                    At::Give(Giving { room: spare, reading, then: Then::Draw(reading) })
                } else if is_lease && op.size() > hand.room {
                    At::Register(reading)
                } else {
                    At::Level(reading)
                }
            }),
            At::Register(reading) => {
                let mut next = state.move_to(who, At::Level(reading));
                let fresh = op.size() - hand.room;
                next.threads[who].hand.room += fresh;
                next.threads[who].fresh = fresh;
                if !self.is(Mutant::RegisterLate) {
                    next.outside += fresh;
                }
                self.add(found, who, "registers room", next);
            }
            At::Level(reading) if self.is(Mutant::OutsideFirst) => {
                go("loads what is outside", At::LevelLast(reading, state.outside));
            }
            At::LevelLast(reading, outside) => {
                self.weigh(
                    state,
                    who,
                    op,
                    (reading, state.root, outside),
                    "loads the level",
                    found,
                );
            }
            At::Level(reading) => go("loads the level", At::Outside(reading, state.root)),
            At::Outside(reading, root) => {
                let seen = (reading, root, state.outside);
                self.weigh(state, who, op, seen, "loads what is outside", found);
            }
            At::Draw(reading, root, ..) if root != state.root => {
                go("fails to draw", At::Level(reading));
            }
            At::Draw(reading, root, base, gain) => {
                let mut next = state.clone();
                next.root = Root { level: base + gain, ..root };
                if self.is(Mutant::RootTakesBack) && matches!(op, OfRoot(_)) {
                    let mut next = next.move_to(who, At::TakeBack(root, next.root, reading));
                    next.admitted[reading.time as usize] += gain;
                    return self.add(found, who, "draws its permits", next);
                }
                self.drawn(next, who, op, (reading, gain), found);
            }
            At::RegisterLate => {
                let mut next = state.clone();
                next.outside += fresh;
                next.threads[who].fresh = 0;
                next.threads[who].at = if matches!(op, Lease(..)) { At::Part } else { At::Put };
                self.add(found, who, "registers room", next);
            }
            At::Steal(reading) if self.is(Mutant::StealByStore) => {
                let seen = state.shards[1 - op.shard()];
                go("loads the other shard", At::StealStore(reading, seen));
            }
            At::Steal(reading) => {
                let mut next = state.clone();
                next.take(who, 1 - op.shard());
                self.stolen(next, who, op, reading, found);
            }
            At::StealStore(reading, seen) => {
                let mut next = state.clone();
                next.shards[1 - op.shard()] = Hold::default();
                next.threads[who].hand += seen;
                self.stolen(next, who, op, reading, found);
            }
            _ => unreachable!("a step of another call"),
        }
    }

    /// Decides what a draw does next, by what it has loaded.
    fn weigh(
        &self,
        state: &State,
        who: usize,
        op: Op,
        (reading, root, outside): (Reading, Root, i8),
        what: &'static str,
        found: &mut Found<State>,
    ) {
        let Thread { hand, fresh, is_direct, has_stolen, .. } = state.threads[who];
        let is_lease = op.size() >= op.permits() && !is_direct && !has_stolen;
        let own = match self.mutant {
            Some(Mutant::NoCarveOut) => outside,
            Some(Mutant::RegisterLate) => 0,
            Some(Mutant::OldRoomIsFresh) => hand.room,
            _ => fresh,
        };
        let base = root.level.max(reading.earned - root.clamp(outside - own));
        let there = (reading.earned - base).max(0);
        let wanted = if is_lease { op.size() - hand.tokens } else { op.permits() - hand.tokens };
        let gain = wanted.min(there);
        if gain > 0 && hand.tokens + gain >= op.permits() {
            let at = At::Draw(reading, root, base, gain);
            return self.add(found, who, what, state.move_to(who, at));
        }
        if matches!(op, Lease(..)) && hand.tokens > 0 {
            found.counts.grants += 1;
            return self.add(found, who, what, self.give_fresh(state, who, fresh, Then::Part));
        }
        if matches!(op, Spend(..)) && !has_stolen {
            if fresh > 0 {
                let mut next = self.give_fresh(state, who, fresh, Then::Draw(reading));
                next.threads[who].is_direct = true;
                return self.add(found, who, what, next);
            }
            return self.add(found, who, what, state.move_to(who, At::Steal(reading)));
        }
        found.counts.denials += 1;
        let mut next = self.give_fresh(state, who, fresh, Then::Put);
        if next.threads[who].hand == Hold::default() {
            next = next.return_from(who);
        }
        self.add(found, who, what, next);
    }

    fn drawn(
        &self,
        mut next: State,
        who: usize,
        op: Op,
        (reading, gain): (Reading, i8),
        found: &mut Found<State>,
    ) {
        let Thread { fresh, is_direct, has_stolen, .. } = next.threads[who];
        let now = next.clock as usize;
        let then = reading.time as usize;
        found.counts.grants += 1;
        if has_stolen || is_direct || op.size() < op.permits() {
            let instant = if self.counts_late { now } else { then };
            next.admitted[instant] += op.permits();
            next.threads[who].hand.tokens = 0;
            return self.finish(next, who, "draws its permits", found);
        }
        next.threads[who].hand.tokens += gain;
        if matches!(op, Spend(..)) {
            next.threads[who].hand.tokens -= op.permits();
            next.admitted[now] += op.permits();
        }
        let left = next.threads[who].hand;
        let what = "draws a lease";
        let then = if matches!(op, Lease(..)) { Then::Part } else { Then::Put };
        let next = match self.mutant {
            Some(Mutant::RegisterLate) if fresh > 0 => next.move_to(who, At::RegisterLate),
            Some(Mutant::UndoesUsed) => self.give_fresh(&next, who, fresh.min(left.empty()), then),
            Some(Mutant::ReleaseSpent) if left.empty() > 0 && then == Then::Put => {
                let giving = Giving { room: left.empty(), reading, then };
                next.move_to(who, At::Give(giving))
            }
            _ => self.give_fresh(&next, who, (fresh - gain).max(0), then),
        };
        self.add(found, who, what, next);
    }

    /// Goes on with the other shard in transit.
    fn stolen(
        &self,
        mut next: State,
        who: usize,
        op: Op,
        reading: Reading,
        found: &mut Found<State>,
    ) {
        let what = "takes the other shard";
        let now = next.clock as usize;
        next.threads[who].has_stolen = true;
        if next.threads[who].hand.tokens >= op.permits() {
            next.threads[who].hand.tokens -= op.permits();
            next.admitted[now] += op.permits();
            found.counts.grants += 1;
            return self.finish(next, who, what, found);
        }
        self.add(found, who, what, next.move_to(who, At::Level(reading)));
    }
}
