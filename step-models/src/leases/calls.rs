//! The calls, a step at a time. Steps that draw from the root are in `draw.rs`, and those that
//! release capacity in `give.rs`.

use super::*;

impl Op {
    /// The permits that a call must have.
    pub(super) fn permits(self) -> i8 {
        match self {
            Spend(_, permits, _) | OfRoot(permits) => permits,
            Lease(..) => 1,
            Close(_) | Change(_) | Wait(_) => 0,
        }
    }

    pub(super) fn size(self) -> i8 {
        match self {
            Spend(_, _, size) | Lease(_, size) => size,
            _ => 0,
        }
    }

    pub(super) fn shard(self) -> usize {
        match self {
            Spend(shard, ..) | Lease(shard, _) | Close(shard) => usize::from(shard),
            OfRoot(_) | Change(_) | Wait(_) => 0,
        }
    }
}

impl Leases {
    pub(super) fn step(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let Thread { at, hand, .. } = state.threads[who];
        let now = state.clock as usize;
        match at {
            At::Idle => self.begin(state, who, op, found),
            At::Take => {
                let mut next = state.move_to(who, At::Clock);
                let tokens = next.take(who, op.shard()).tokens;
                if matches!(op, Spend(..)) && tokens >= op.permits() {
                    next.threads[who].at = At::Put;
                    next.threads[who].hand.tokens -= op.permits();
                    next.admitted[now] += op.permits();
                    found.counts.grants += 1;
                } else if matches!(op, Lease(..)) && tokens >= op.size() {
                    next.threads[who].at = At::Part;
                    found.counts.grants += 1;
                }
                self.add(found, who, "takes the shard", next);
            }
            At::Part | At::Held | At::HeldSince(_) => self.hold(state, who, op, found),
            At::Put => self.put(state, who, op, found),
            At::PutStore(seen) => {
                let mut next = state.clone();
                next.shards[op.shard()] = seen;
                next.shards[op.shard()] += hand;
                self.add(found, who, "stores the shard", next.return_from(who));
            }
            At::TakeBack(before, after, reading) => {
                let mut next = state.clone();
                if state.root == after {
                    next.root = before;
                    next.admitted[reading.time as usize] -= op.permits();
                }
                self.add(found, who, "is given back what it granted", next.return_from(who));
            }
            At::CloseOwn(_)
            | At::CloseOther(_)
            | At::GiveClock
            | At::Give(_)
            | At::GiveOutside(..)
            | At::OutsideFirst(..)
            | At::Settle(..)
            | At::GiveAgain(..)
            | At::Release(..) => self.give(state, who, op, found),
            At::ChangeTake
            | At::ChangeLevel
            | At::ChangeOutside(_)
            | At::ChangeClock(..)
            | At::ChangeStore(..)
            | At::ChangeRelease => self.change(state, who, op, found),
            _ => self.draw(state, who, op, found),
        }
    }

    fn begin(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let word = state.shards[op.shard()];
        let now = state.clock as usize;
        match op {
            Spend(shard, permits, _) if word.tokens >= permits => {
                let mut next = state.clone();
                next.shards[usize::from(shard)].tokens -= permits;
                next.admitted[now] += permits;
                found.counts.grants += 1;
                self.add(found, who, "spends", next.return_from(who));
            }
            Spend(..) | Lease(..) => {
                let at = if word.room == 0 { At::Clock } else { At::Take };
                self.add(found, who, "loads the shard", state.move_to(who, at));
            }
            OfRoot(_) => self.read(state, found, who, At::Level),
            Close(_) if self.is(Mutant::OldReading) => {
                self.read(state, found, who, |reading| At::CloseOwn(Some(reading)));
            }
            Close(_) => {
                self.give(&state.move_to(who, At::CloseOwn(None)), who, op, found);
            }
            Change(_) => {
                let mut next = state.move_to(who, At::ChangeTake);
                let room = next.take(who, op.shard()).room;
                if self.is(Mutant::ChangeReleasesFirst) {
                    next.outside -= room;
                    next.threads[who].hand.room = 0;
                }
                self.add(found, who, "takes the shard", next);
            }
            Wait(instants) => {
                let mut next = state.clone();
                next.clock += instants;
                self.add(found, who, "waits", next.return_from(who));
            }
        }
    }

    /// Parts the tokens of a lease from the rest that the call has in transit; the lease is spent,
    /// and dropped.
    fn hold(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let Thread { at, hand, .. } = state.threads[who];
        if at == At::Part {
            let mut next = state.move_to(who, At::Held);
            let tokens = hand.tokens.min(op.size());
            let room = if self.is(Mutant::RoomStays) { 0 } else { tokens };
            let lease = Hold { room, tokens };
            next.shards[op.shard()] +=
                Hold { room: hand.room - room, tokens: hand.tokens - tokens };
            next.threads[who].hand = lease;
            return self.add(found, who, "takes a lease", next);
        }
        if hand.tokens > 0 {
            let mut next = state.clone();
            next.threads[who].hand.tokens -= 1;
            next.admitted[state.clock as usize] += 1;
            self.add(found, who, "spends of its lease", next);
        }
        let since = match at {
            At::HeldSince(reading) => Some(reading),
            _ if self.is(Mutant::LeaseOldReading) => {
                return self.read(state, found, who, At::HeldSince);
            }
            _ => None,
        };
        let mut next = state.clone();
        if !self.is(Mutant::NotBurnt) {
            // The level and what is outside, at once: the level is loaded again, and does
            // not come back.
            let overlent = (state.outside - state.root.cap).max(0);
            next.threads[who].hand.tokens = (hand.tokens - overlent).max(0);
        }
        if self.is(Mutant::RoomForgotten) {
            next.threads[who].hand.room = next.threads[who].hand.tokens;
        }
        let what = "drops its lease";
        match since {
            Some(reading) => {
                let room = next.threads[who].hand.empty();
                let next = next.move_to(who, At::Give(Giving { room, reading, then: Then::Put }));
                self.add(found, who, what, next);
            }
            None => self.finish(next, who, what, found),
        }
    }

    fn change(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let Thread { at, hand, .. } = state.threads[who];
        match at {
            At::ChangeTake => {
                let mut next = state.move_to(who, At::ChangeLevel);
                let room = next.take(who, 1).room;
                if self.is(Mutant::ChangeReleasesFirst) {
                    next.outside -= room;
                    next.threads[who].hand.room = 0;
                }
                self.add(found, who, "takes the other shard", next);
            }
            At::ChangeLevel => {
                let next = state.move_to(who, At::ChangeOutside(state.root));
                self.add(found, who, "loads the level", next);
            }
            At::ChangeOutside(root) => {
                let next = state.move_to(who, At::ChangeClock(root, state.outside));
                self.add(found, who, "loads what is outside", next);
            }
            At::ChangeClock(root, outside) => {
                let Change(cap) = op else { unreachable!() };
                self.read(state, found, who, |reading| {
                    let mut balance = reading.earned - root.level;
                    if !self.is(Mutant::ChangeUnclamped) {
                        balance = balance.min(root.clamp(outside));
                    }
                    let level = reading.earned - (balance + hand.tokens).min(cap);
                    let terms = root.terms + u8::from(!self.is(Mutant::ChangeUnnoticed));
                    At::ChangeStore(root, Root { level, cap, terms })
                });
            }
            At::ChangeStore(root, _) if root != state.root => {
                self.add(found, who, "fails to change", state.move_to(who, At::ChangeLevel));
            }
            At::ChangeStore(_, root) => {
                let mut next = state.move_to(who, At::ChangeRelease);
                next.root = root;
                next.threads[who].hand.tokens = 0;
                self.add(found, who, "changes", next);
            }
            At::ChangeRelease => {
                let mut next = state.clone();
                next.outside -= hand.room;
                self.add(found, who, "releases the room", next.return_from(who));
            }
            _ => unreachable!("a step of another call"),
        }
    }

    /// Reads the clock, however late.
    pub(super) fn read(
        &self,
        state: &State,
        found: &mut Found<State>,
        who: usize,
        then: impl Fn(Reading) -> At,
    ) {
        for late in 0..=self.lag {
            let earned = (state.clock - late) * self.earns;
            let mut next = state.move_to(who, then(Reading { earned, time: state.clock }));
            next.threads[who].fresh = 0;
            self.add(found, who, "reads the clock", next);
        }
    }

    fn put(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let shard = op.shard();
        if self.is(Mutant::PutByStore) {
            let next = state.move_to(who, At::PutStore(state.shards[shard]));
            return self.add(found, who, "loads the shard", next);
        }
        let mut next = state.clone();
        let hand = state.threads[who].hand;
        if self.is(Mutant::RoomNotPut) && hand.tokens > 0 {
            next.shards[shard].tokens += hand.tokens;
            next.threads[who].hand.tokens = 0;
            next.threads[who].at = At::GiveClock;
            return self.add(found, who, "puts its tokens", next);
        }
        next.shards[shard] += hand;
        self.add(found, who, "puts its hand", next.return_from(who));
    }
}

impl State {
    /// Takes all of a shard, which is then in transit.
    pub(super) fn take(&mut self, who: usize, shard: usize) -> Hold {
        let taken = std::mem::take(&mut self.shards[shard]);
        self.threads[who].hand += taken;
        taken
    }
}
