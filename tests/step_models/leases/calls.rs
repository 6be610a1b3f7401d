//! The calls, a step at a time; what draws from the root is in `draw.rs`.

use super::*;

impl Op {
    /// What a call must have.
    pub(super) fn permits(self) -> i8 {
        match self {
            Spend(_, permits, _) | OfRoot(permits) => permits,
            Lease(..) => 1,
            Close(_) | Change(_) => 0,
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
            OfRoot(_) | Change(_) => 0,
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
                } else if matches!(op, Lease(..)) && tokens >= op.permits() {
                    next.threads[who].at = At::Held;
                }
                self.add(found, who, "takes the shard", next);
            }
            At::Held => {
                if hand.tokens > 0 {
                    let mut next = state.clone();
                    next.threads[who].hand.tokens -= 1;
                    next.admitted[now] += 1;
                    self.add(found, who, "spends of its lease", next);
                }
                let at = if self.is(Mutant::ReleasedLease) { At::ReleaseClock } else { At::Put };
                let next = state.move_to(who, at);
                self.add(found, who, "drops its lease", next);
            }
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
            At::ReleaseClock
            | At::ReleaseTake(_)
            | At::ReleaseLevel(_)
            | At::ReleaseOutside(..)
            | At::ReleaseAgain(..)
            | At::Release(..) => self.release(state, who, op, found),
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
            Lease(shard, size) if word.tokens > 0 => {
                let tokens = word.tokens.min(size);
                let mut next = state.move_to(who, At::Held);
                let room = if self.is(Mutant::RoomStays) { 0 } else { tokens };
                next.shards[usize::from(shard)].tokens -= tokens;
                next.shards[usize::from(shard)].room -= room;
                next.threads[who].hand = Hold { room, tokens };
                found.counts.grants += 1;
                self.add(found, who, "takes a lease", next);
            }
            Spend(..) | Lease(..) => {
                let at = if word.room == 0 { At::Clock } else { At::Take };
                self.add(found, who, "loads the shard", state.move_to(who, at));
            }
            OfRoot(_) => self.read(state, found, who, At::Level),
            Close(_) if self.is(Mutant::ReleaseOldReading) => {
                self.read(state, found, who, At::ReleaseTake);
            }
            Close(_) | Change(_) => {
                let is_change = matches!(op, Change(_));
                let at = if is_change { At::ChangeTake } else { At::ReleaseClock };
                let mut next = state.move_to(who, at);
                let room = next.take(who, op.shard()).room;
                if is_change && self.is(Mutant::ChangeReleasesFirst) {
                    next.outside -= room;
                    next.threads[who].hand.room = 0;
                }
                self.add(found, who, "takes the shard", next);
            }
        }
    }

    fn release(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let Thread { at, hand, .. } = state.threads[who];
        match at {
            At::ReleaseClock => self.read(state, found, who, At::ReleaseLevel),
            At::ReleaseTake(reading) => {
                let mut next = state.move_to(who, At::ReleaseLevel(reading));
                next.take(who, op.shard());
                self.add(found, who, "takes the shard", next);
            }
            At::ReleaseLevel(reading) => {
                let next = state.move_to(who, At::ReleaseOutside(reading, state.root));
                self.add(found, who, "loads the level", next);
            }
            At::ReleaseOutside(reading, root) => {
                let may = self.may_release(reading, root, state.outside);
                let at = if may { At::ReleaseAgain(reading, root) } else { At::Put };
                self.add(found, who, "loads what is outside", state.move_to(who, at));
            }
            At::ReleaseAgain(reading, root) => {
                let is_whole = self.is(Mutant::ReleasedLease);
                let spare = if is_whole { hand.room } else { hand.empty() };
                let is_same = state.root == root || self.is(Mutant::LooksOnce);
                let at = if is_same { At::Release(spare, None) } else { At::ReleaseLevel(reading) };
                self.add(found, who, "loads the level again", state.move_to(who, at));
            }
            At::Release(room, reading) => {
                let at = reading.map_or(At::Put, At::Level);
                let mut next = state.move_to(who, at);
                next.outside -= room;
                next.threads[who].fresh = 0;
                if self.is(Mutant::ReleaseTwice) {
                    next.outside -= room;
                }
                if !self.is(Mutant::ReleasedLease) {
                    next.threads[who].hand.room -= room;
                }
                found.counts.given_back += 1;
                self.add(found, who, "releases room", next);
            }
            _ => unreachable!("a step of another call"),
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
                        balance = balance.min(root.cap - outside);
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

    /// Whether nothing was hidden above what the root may hold.
    pub(super) fn may_release(&self, reading: Reading, root: Root, outside: i8) -> bool {
        let balance = reading.earned - root.level;
        balance >= 0 && (balance <= root.cap - outside || self.is(Mutant::ReleaseUnchecked))
    }

    /// Puts the hand down, or releases what is empty of it by that reading, or by a
    /// new one.
    pub(super) fn settle(
        &self,
        mut next: State,
        who: usize,
        reading: Option<Reading>,
        what: &'static str,
        found: &mut Found<State>,
    ) {
        let Thread { hand, fresh, .. } = next.threads[who];
        if fresh > 0 && hand.empty() > 0 {
            let at = At::Release(fresh.min(hand.empty()), None);
            self.add(found, who, what, next.move_to(who, at));
        }
        if hand.empty() > 0 {
            let at = reading.map_or(At::ReleaseClock, At::ReleaseLevel);
            self.add(found, who, what, next.move_to(who, at));
        }
        if hand == Hold::default() {
            next = next.return_from(who);
        } else {
            next.threads[who].at = At::Put;
        }
        self.add(found, who, what, next);
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
            next.threads[who].at = At::ReleaseClock;
            return self.add(found, who, "puts its tokens", next);
        }
        next.shards[shard] += hand;
        self.add(found, who, "puts its hand", next.return_from(who));
    }
}

impl State {
    /// Takes all of a shard into the hand.
    pub(super) fn take(&mut self, who: usize, shard: usize) -> Hold {
        let taken = std::mem::take(&mut self.shards[shard]);
        self.threads[who].hand += taken;
        taken
    }
}
