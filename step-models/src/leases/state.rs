//! The states, and what is stated of each.

use std::fmt;

use crate::explore::{CLOCK, Model, explore};

use super::scenes::bucket;
use super::*;

impl Hold {
    pub(super) fn empty(self) -> i8 {
        self.room - self.tokens
    }
}

impl std::ops::AddAssign for Hold {
    fn add_assign(&mut self, other: Hold) {
        self.room += other.room;
        self.tokens += other.tokens;
    }
}

impl State {
    pub(super) fn move_to(&self, who: usize, at: At) -> State {
        let mut next = self.clone();
        next.threads[who].at = at;
        next
    }

    pub(super) fn return_from(mut self, who: usize) -> State {
        let next = self.threads[who].next + 1;
        self.threads[who] = Thread { next, ..Thread::IDLE };
        self
    }

    fn holds(&self) -> impl Iterator<Item = Hold> {
        self.shards.iter().copied().chain(self.threads.iter().map(|thread| thread.hand))
    }
}

impl Thread {
    const IDLE: Thread = Thread {
        next: 0,
        at: At::Idle,
        hand: Hold { room: 0, tokens: 0 },
        fresh: 0,
        is_direct: false,
        has_stolen: false,
    };
}

impl Leases {
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn most_cap(&self) -> i8 {
        let ops = self.programs.iter().flat_map(|ops| ops.iter());
        let caps = ops.filter_map(|op| if let Op::Change(cap) = op { Some(*cap) } else { None });
        caps.max().unwrap_or(0).max(self.cap)
    }

    /// The permits that the root would admit now.
    pub(super) fn visible(&self, state: &State) -> i8 {
        let Root { level, cap, .. } = state.root;
        (state.clock * self.earns - level).min(cap - state.outside).max(0)
    }

    fn fault(&self, state: &State) -> Option<String> {
        if self.mutant.is_none() {
            if state.outside < state.holds().map(|hold| hold.room).sum() {
                return Some("more room outside than is registered".to_owned());
            }
            if state.holds().any(|hold| hold.tokens < 0 || hold.empty() < 0) {
                return Some("tokens without room".to_owned());
            }
        }
        // As if a caller came now for all that there is.
        let mut admitted = state.admitted;
        let tokens: i8 = state.holds().map(|hold| hold.tokens).sum();
        admitted[state.clock as usize] += self.visible(state) + tokens;
        let mut worst = 0;
        for first in 0..INSTANTS {
            let mut room = self.most_cap();
            for permits in &admitted[first..] {
                room -= permits;
                worst = worst.max(-room);
                room += self.earns;
            }
        }
        (worst > self.excess).then(|| format!("{worst} more than the bound"))
    }

    /// Describes what is missing when all is done and the clock has stood still.
    fn loss(&self, state: &State) -> Option<String> {
        if self.run > 0 || self.mutant.is_some() || !self.asks {
            return None;
        }
        let there = |state: &State| {
            let outside: i8 = state.holds().map(|hold| hold.tokens).sum();
            self.visible(state) + outside + state.admitted[0]
        };
        let lost = there(&self.start()) - there(state);
        (lost < 0 || lost > self.lost).then(|| format!("{lost} lost"))
    }

    /// Returns whether, when all is done, some capacity is lost: a caller that asks for all that
    /// there can be, and if refused closes and waits, is refused again.
    fn is_refused_for_ever(&self, state: &State) -> bool {
        static ASKS: [[Op; 4]; INSTANTS] = asks();
        let Root { level, cap, .. } = state.root;
        let Some(asks) = ASKS.get(cap as usize) else { return false };
        let Leases { mutant, earns, .. } = *self;
        let alone = Leases {
            root: state.clock * earns - level,
            shards: state.shards,
            outside: state.outside - state.shards.iter().map(|shard| shard.room).sum::<i8>(),
            earns,
            mutant,
            asks: false,
            excess: i8::MAX,
            ..bucket(cap, 0, [(0, 0); SHARDS], 0, [asks, &[], &[]])
        };
        !explore(&alone).is_ok_and(|explored| explored.counts.grants > 0)
    }

    /// Returns the fault of a state in which all is done, if it has one.
    fn end(&self, state: &State) -> Option<String> {
        if !self.is_done(state) {
            return None;
        }
        if self.is_tight && state.outside > state.root.cap {
            return Some("more is outside than there can be".to_owned());
        }
        if self.asks && self.is_refused_for_ever(state) {
            return Some("refused for ever".to_owned());
        }
        self.loss(state)
    }

    pub(super) fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        next: State,
    ) {
        let fault = self.fault(&next).or_else(|| self.end(&next));
        found.add(who, what, next, fault);
    }
}

/// For each cap: to ask for all, to be refused, to wait until it is earned, to ask again.
const fn asks() -> [[Op; 4]; INSTANTS] {
    let mut asks = [[Wait(0); 4]; INSTANTS];
    let mut cap = 1;
    while cap < INSTANTS {
        let all = cap as i8;
        asks[cap] = [Spend(0, all, 0), Close(0), Wait(all), Spend(0, all, 0)];
        cap += 1;
    }
    asks
}

impl Model for Leases {
    type State = State;

    fn start(&self) -> State {
        let mut threads = [Thread::IDLE; THREADS];
        if self.held > 0 {
            let hand = Hold { room: self.held, tokens: self.held };
            threads[0] = Thread { at: At::Held, hand, ..Thread::IDLE };
        }
        State {
            clock: 0,
            root: Root { level: -self.root, cap: self.cap, terms: 0 },
            outside: self.outside
                + self.held
                + self.shards.iter().map(|shard| shard.room).sum::<i8>(),
            shards: self.shards,
            threads,
            admitted: [0; INSTANTS],
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.run {
            let mut next = state.clone();
            next.clock += 1;
            self.add(found, CLOCK, "goes on", next);
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

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tokens, self.room)
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}.{}", self.level, self.cap, self.terms)
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.earned, self.time)
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {:?}", self.at, self.hand)
    }
}
