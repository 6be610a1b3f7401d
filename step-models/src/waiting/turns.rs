//! Pure rules: what the limiter decides by a word and a reading, and when a waiter's turn is.

use super::*;

impl Scene {
    /// The word after a call that does not wait, and the instant at which it counts.
    pub(super) fn charge(&self, word: Word, cap: i8, now: i8, permits: i8) -> Option<(Word, i8)> {
        match self.kind {
            Kind::Bucket => {
                let level = word.level.max(now - cap) + permits;
                (level <= now).then_some((Word { level, ..word }, now))
            }
            Kind::Window(length) => {
                let level = word.level.max(now / length);
                if self.has_reservations() && level > now / length {
                    return None;
                }
                let count = if level == word.level { word.count } else { 0 } + permits;
                let instant = now.max(level * length);
                (count <= cap).then_some((Word { level, count, ..word }, instant))
            }
        }
    }

    /// The word after the head is granted, if its turn has come, and the instant of the turn.
    pub(super) fn turn(
        &self,
        state: &State,
        word: Word,
        head: usize,
        now: i8,
    ) -> Option<(Word, i8)> {
        let permits = self.ops[head].permits();
        if self.kind != Kind::Bucket {
            return self.charge(word, state.cap, now, permits);
        }
        let since = if self.is(Mutant::ClampsByReading) { now } else { state.since };
        let clamp = if self.is(Mutant::NoClamp) { word.level } else { since - state.cap };
        let level = word.level.max(clamp) + permits;
        let is_due = level <= now || self.is(Mutant::GrantsEarly);
        is_due.then_some((Word { level, ..word }, (level - state.passed).max(since)))
    }

    /// Returns whether a head's deadline has passed, and its turn is after that.
    pub(super) fn is_out_of_time(&self, state: &State, head: usize, word: Word, now: i8) -> bool {
        let turn = self.estimate(state, head, word).max(state.since);
        let deadline = self.acquire(head).deadline;
        deadline.is_some_and(|deadline| {
            deadline <= now && deadline < turn && !self.is(Mutant::GrantsLate)
        })
    }

    /// The instant of a waiter's turn if nobody ahead of it leaves.
    pub(super) fn estimate(&self, state: &State, who: usize, word: Word) -> i8 {
        let (mut level, mut count) = (word.level, word.count);
        if self.kind == Kind::Bucket {
            level = level.max(state.since - state.cap);
        }
        for other in state.line.iter() {
            let permits = self.ops[other].permits();
            match self.kind {
                _ if self.reserves(other) && other != who => {
                    (level, count) = self.behind(state, other, (level, count));
                }
                Kind::Bucket => level += permits,
                Kind::Window(_) if count + permits > state.cap => {
                    level += 1;
                    count = permits;
                }
                Kind::Window(_) => count += permits,
            }
            if other == who {
                break;
            }
        }
        match self.kind {
            Kind::Bucket => level,
            Kind::Window(length) => level * length,
        }
    }

    /// Notes an admission; `granted` is the reading by which it was made.
    pub(super) fn admit(
        &self,
        state: &mut State,
        instant: i8,
        granted: i8,
        permits: i8,
    ) -> Option<String> {
        self.charge_replay(state, instant, permits);
        self.count(state, if self.judge == Judge::Turn { instant } else { granted }, permits)
    }

    pub(super) fn charge_replay(&self, state: &mut State, instant: i8, permits: i8) {
        if self.kind == Kind::Bucket {
            state.replay = state.replay.max(instant - state.cap) + permits;
        }
    }

    /// Counts permits as of an instant, and holds them against the bound.
    pub(super) fn count(&self, state: &mut State, instant: i8, permits: i8) -> Option<String> {
        state.admitted[instant as usize] += permits;
        let is_exceeded = match self.kind {
            Kind::Bucket => state.excess(state.cap) > self.slack,
            Kind::Window(length) => {
                let mut windows = state.admitted.chunks(length as usize);
                windows.any(|window| window.iter().sum::<i8>() > state.cap)
            }
        };
        is_exceeded.then(|| format!("{BOUND}: {:?}", state.admitted))
    }
}
