//! The steps by which reserved capacity (`room`) goes back to the root.

use super::*;

impl Leases {
    pub(super) fn give(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let at = state.threads[who].at;
        match at {
            At::CloseOwn(reading) => {
                let mut next = state.move_to(who, At::CloseOther(reading));
                next.take_spare(who, op.shard());
                self.add(found, who, "takes the room of the shard", next);
            }
            At::CloseOther(reading) => {
                let mut next = state.clone();
                next.take_spare(who, 1 - op.shard());
                let room = next.threads[who].hand.room;
                let what = "takes the room of the other shard";
                match reading {
                    Some(reading) if room > 0 => {
                        let giving = Giving { room, reading, then: Then::Put };
                        self.add(found, who, what, next.move_to(who, At::Give(giving)));
                    }
                    _ => self.finish(next, who, what, found),
                }
            }
            At::GiveClock => {
                let hand = state.threads[who].hand;
                let is_whole = self.is(Mutant::ReleasedLease);
                let room = if is_whole { hand.room } else { hand.empty() };
                self.read(state, found, who, |reading| {
                    At::Give(Giving { room, reading, then: Then::Put })
                });
            }
            At::Give(giving) if self.is(Mutant::SettleOutsideFirst) => {
                let next = state.move_to(who, At::OutsideFirst(giving, state.outside));
                self.add(found, who, "loads what is outside", next);
            }
            At::OutsideFirst(giving, outside) => {
                self.judge(state, who, (giving, state.root, outside), "loads the level", found);
            }
            At::Give(giving) => {
                let next = state.move_to(who, At::GiveOutside(giving, state.root));
                self.add(found, who, "loads the level", next);
            }
            At::GiveOutside(giving, root) => {
                let seen = (giving, root, state.outside);
                self.judge(state, who, seen, "loads what is outside", found);
            }
            At::Settle(giving, root, _)
                if root != state.root && !self.is(Mutant::SettleByStore) =>
            {
                self.add(found, who, "fails to settle", state.move_to(who, At::Give(giving)));
            }
            At::Settle(giving, _, root) => {
                let mut next = state.move_to(who, At::Release(giving.room, giving.then));
                next.root = root;
                self.add(found, who, "settles the root", next);
            }
            At::GiveAgain(giving, root) => {
                let is_behind = giving.reading.earned < root.level;
                let at = if root != state.root {
                    At::Give(giving)
                } else if is_behind {
                    giving.then.at()
                } else {
                    At::Release(giving.room, giving.then)
                };
                let next = state.move_to(who, at);
                self.add(found, who, "loads the level again", next);
            }
            At::Release(room, then) => {
                let mut next = state.move_to(who, then.at());
                next.outside -= room;
                next.threads[who].fresh = 0;
                if self.is(Mutant::ReleaseTwice) {
                    next.outside -= room;
                }
                if !self.is(Mutant::ReleasedLease) {
                    next.threads[who].hand.room -= room;
                }
                if then == Then::Put && next.threads[who].hand == Hold::default() {
                    next = next.return_from(who);
                }
                found.counts.given_back += 1;
                self.add(found, who, "releases room", next);
            }
            _ => unreachable!("a step of another call"),
        }
    }

    /// Decides by what was loaded whether something has to be cut off first.
    fn judge(
        &self,
        state: &State,
        who: usize,
        (giving, root, outside): (Giving, Root, i8),
        what: &'static str,
        found: &mut Found<State>,
    ) {
        let Reading { earned, .. } = giving.reading;
        let clamp = root.clamp(outside);
        let release = At::Release(giving.room, giving.then);
        let at = if earned - root.level <= clamp {
            let gives = self.is(Mutant::NoStill) && earned >= root.level;
            if gives { release } else { At::GiveAgain(giving, root) }
        } else if self.is(Mutant::Unsettled) {
            release
        } else if self.is(Mutant::OnlyUnclamped) {
            giving.then.at()
        } else {
            At::Settle(giving, root, Root { level: earned - clamp, ..root })
        };
        self.add(found, who, what, state.move_to(who, at));
    }

    /// Releases what is empty of the capacity in transit by a new reading, and puts the rest into
    /// the shard.
    pub(super) fn finish(
        &self,
        mut next: State,
        who: usize,
        what: &'static str,
        found: &mut Found<State>,
    ) {
        let hand = next.threads[who].hand;
        if hand == Hold::default() {
            next = next.return_from(who);
        } else {
            let gives = hand.empty() > 0 || self.is(Mutant::ReleasedLease);
            next.threads[who].at = if gives { At::GiveClock } else { At::Put };
        }
        self.add(found, who, what, next);
    }

    /// Releases capacity that was reserved for a draw and has had no token, without settling.
    pub(super) fn give_fresh(&self, state: &State, who: usize, room: i8, then: Then) -> State {
        if room == 0 {
            return state.move_to(who, then.at());
        }
        if self.is(Mutant::RegisterLate) {
            let mut next = state.move_to(who, then.at());
            next.threads[who].hand.room -= room;
            next.threads[who].fresh = 0;
            return next;
        }
        state.move_to(who, At::Release(room, then))
    }
}

impl Then {
    pub(super) fn at(self) -> At {
        match self {
            Then::Put => At::Put,
            Then::Draw(reading) => At::Level(reading),
            Then::Part => At::Part,
        }
    }
}

impl Root {
    /// The most tokens that it may hold.
    pub(super) fn clamp(self, outside: i8) -> i8 {
        (self.cap - outside).max(0)
    }
}

impl State {
    /// Takes the empty capacity of a shard, which is then in transit.
    fn take_spare(&mut self, who: usize, shard: usize) {
        let room = self.shards[shard].empty().max(0);
        self.shards[shard].room -= room;
        self.threads[who].hand.room += room;
    }
}
