//! The word, what lies beside it, and where each thread is in its call.

use super::{THREADS, WINDOWS};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Word {
    pub(super) number: i8,
    pub(super) current: i8,
    /// Count of the window before; 0 in a fixed window.
    pub(super) previous: i8,
}

/// The number of changes that an estimate was noted with; `None` if one was going on.
pub(super) type Note = Option<i8>;

/// An estimate that was granted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Hold {
    pub(super) changes: Note,
    pub(super) number: i8,
    pub(super) permits: i8,
    /// Parts that may still be given back.
    pub(super) parts: u8,
}

/// The call with which a thread goes on that has healed the word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Then {
    Takes(Note),
    Beyond(i8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum At {
    Idle,
    /// Loads the number of changes that are done, and then of those that have begun.
    Note,
    NoteBegun {
        done: i8,
    },
    Clock(Note),
    Load {
        note: Note,
        now: i8,
    },
    Cas {
        note: Note,
        now: i8,
        seen: Word,
        next: Word,
    },
    /// Mutant: notes the changes only now.
    NoteLate {
        number: i8,
    },
    Holds(Hold),
    GiveClock {
        hold: Hold,
        back: i8,
    },
    /// Looks whether a change has begun.
    Looks {
        hold: Hold,
        back: i8,
        now: i8,
    },
    Settles {
        hold: Hold,
        back: i8,
        now: i8,
    },
    LowerLoad {
        hold: Hold,
        back: i8,
        now: i8,
    },
    LowerCas {
        hold: Hold,
        back: i8,
        now: i8,
        seen: Word,
        next: Word,
        given: i8,
    },
    Ends(Hold),
    BeyondClock(i8),
    BeyondLoad {
        permits: i8,
        now: i8,
    },
    BeyondCas {
        permits: i8,
        now: i8,
        seen: Word,
        next: Word,
    },
    HealLoad(Then),
    HealClock {
        then: Then,
        seen: Word,
    },
    HealBegin {
        then: Then,
        seen: Word,
        now: i8,
    },
    HealCas {
        then: Then,
        seen: Word,
        now: i8,
    },
    HealEnd {
        then: Then,
        /// The reading, if the word was moved by it.
        now: Option<i8>,
    },
    ResetClock,
    ResetBegin {
        now: i8,
    },
    ResetLoad {
        now: i8,
    },
    ResetCas {
        now: i8,
        seen: Word,
    },
    ResetEnd,
    /// May put back what was there before its grant.
    Reverts {
        before: Word,
        written: Word,
    },
    /// A grant in line whose caller does not know of it.
    Unseen {
        note: i8,
        before: Word,
        written: Word,
    },
    UndoLook {
        note: i8,
        before: Word,
        written: Word,
    },
    UndoCas {
        before: Word,
        written: Word,
    },
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Counter {
    pub(super) clock: i8,
    pub(super) word: Word,
    /// Changes that have begun, settlements in progress: one word.
    pub(super) begun: i8,
    pub(super) settlements: i8,
    /// Changes that are done.
    pub(super) done: i8,
    pub(super) threads: [At; THREADS],
    /// The truth: the charge of each window since the last change, and what was taken beyond estimates
    /// in it.
    pub(super) charge: [i8; WINDOWS],
    pub(super) beyond: [i8; WINDOWS],
    /// Window and permits of each thread's grant, if they are part of a charge.
    pub(super) granted: [(i8, i8); THREADS],
}

impl Counter {
    pub(super) fn new() -> Counter {
        Counter {
            clock: 0,
            word: Word { number: 0, current: 0, previous: 0 },
            begun: 0,
            settlements: 0,
            done: 0,
            threads: [At::Idle; THREADS],
            charge: [0; WINDOWS],
            beyond: [0; WINDOWS],
            granted: [(0, 0); THREADS],
        }
    }

    pub(super) fn go(&self, who: usize, at: At) -> Counter {
        let mut next = self.clone();
        next.threads[who] = at;
        next
    }

    /// Records that `permits` more are kept of the thread's grant, or fewer.
    pub(super) fn keep(&mut self, who: usize, permits: i8) {
        let (number, kept) = &mut self.granted[who];
        let permits = permits.max(-*kept);
        self.charge[*number as usize] += permits;
        *kept += permits;
        if *kept == 0 {
            *number = 0;
        }
    }

    /// Begins the charges anew, by the word that a change has left.
    pub(super) fn renew(&mut self, word: Word, limit: i8) {
        self.word = word;
        self.charge = [0; WINDOWS];
        self.beyond = [0; WINDOWS];
        self.granted = [(0, 0); THREADS];
        let number = word.number as usize;
        self.charge[number] = word.current;
        if number > 0 {
            self.charge[number - 1] = word.previous;
        }
        self.beyond[number] = (word.current + word.previous - limit).max(0);
    }
}
