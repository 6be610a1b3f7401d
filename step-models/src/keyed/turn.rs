//! A thread's turn: the state that a step may look at, and the states that it leads to.

use super::*;

/// One thread's, in one state.
pub(super) struct Turn<'a> {
    pub(super) scene: &'a Scene,
    pub(super) state: &'a State,
    pub(super) who: usize,
    pub(super) thread: Thread,
    pub(super) op: Op,
    /// The time that the table keeps after the step.
    pub(super) latest: i8,
    pub(super) found: &'a mut Found<State>,
}

impl Turn<'_> {
    pub(super) fn word(&self, slot: u8) -> Word {
        self.state.slots[usize::from(slot)]
    }

    /// The table's time at a reading. To read the clock, to look what is kept of the time, and
    /// to keep what is new of it are one step here: what others do in between makes the time
    /// later, and what is written by it is written after that.
    pub(super) fn time(&mut self, now: i8) -> i8 {
        let (scene, latest) = (self.scene, self.state.latest);
        self.latest = match scene.keeps {
            Some(step) if now > latest + step && !scene.is(Mutant::ForgetsTime) => now,
            _ => latest,
        };
        let is_later = scene.goes_by_time && !scene.is(Mutant::GoesByClock);
        if is_later { now.max(latest) } else { now }
    }

    /// Returns the key of a take, and its permits.
    pub(super) fn take(&self) -> (Key, i8) {
        match self.op {
            Op::Take(key, permits) | Op::TakeAndSweep(key, permits, _) => (key, permits),
            op => unreachable!("{op:?} takes nothing"),
        }
    }

    /// Until when a thread may know what is in the slot now.
    pub(super) fn ends(&self, slot: u8) -> i8 {
        let slot = usize::from(slot);
        match self.scene.ages {
            Ages::UpTo(oldest) if !self.state.slots[slot].is_empty() => {
                self.state.levels[slot] + oldest
            }
            _ => i8::MAX,
        }
    }

    /// A step after which the thread is this.
    pub(super) fn go(&mut self, what: &'static str, thread: Thread) {
        self.go_to(what, *self.state, thread, None);
    }

    /// The same, and the slot has changed.
    pub(super) fn write(&mut self, what: &'static str, slot: u8, word: Word, thread: Thread) {
        let mut next = *self.state;
        next.slots[usize::from(slot)] = word;
        self.go_to(what, next, thread, None);
    }

    pub(super) fn go_to(
        &mut self,
        what: &'static str,
        mut next: State,
        thread: Thread,
        fault: Option<String>,
    ) {
        if let Ages::UpTo(_) = self.scene.ages {
            for slot in 0..SLOTS {
                let word = next.slots[slot];
                if word != self.state.slots[slot] {
                    let age = self.scene.age(next.clock, word.level());
                    next.levels[slot] = if word.is_empty() { 0 } else { next.clock - age };
                }
            }
        }
        next.latest = self.latest;
        next.threads[self.who] = thread.pack();
        next.threads.sort_unstable();
        self.found.add(self.who, what, next, fault);
    }
}
