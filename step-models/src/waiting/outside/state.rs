//! The lines, the map of keys, and where each thread is in its call.

use super::*;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Line {
    pub(super) gate: bool,
    pub(super) holder: Option<u8>,
    pub(super) row: Row,
    pub(super) is_closed: bool,
    /// The turn of the head, as of the last settling; for callers that try.
    pub(super) due: i8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Node {
    pub(super) standing: Standing,
    pub(super) armed: i8,
    pub(super) is_woken: bool,
    /// True once the call that put it into the line has let go of the lock.
    pub(super) has_stood: bool,
    /// The truth: it was granted permits that it asked for itself.
    pub(super) is_admitted: bool,
}

/// A try is done with the line when it asks the limiter; a waiter keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    Tries,
    Waits,
}

/// The step after a line has been left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Then {
    Asks,
    Enters,
    /// Goes on with the next key.
    NextKey,
    Ends(End),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum At {
    Idle,
    Count,
    EnterKnown,
    /// A waiter looks at the gate before it tries.
    LoadFirst,
    LoadGate(Part),
    Hint(Part),
    TryLock(Part),
    Ask(Part),
    Terms,
    Enter,
    EnterCount,
    Leave(Then),
    /// Mutant: removes the line that it was the last to use, under another lock.
    Remove {
        line: u8,
        then: Then,
    },
    LeaveCount(Then),
    Lock,
    Settle {
        why: Why,
        part: Part,
        wake: Row,
    },
    AskHead {
        why: Why,
        part: Part,
        wake: Row,
    },
    OpenGate {
        why: Why,
        part: Part,
        wake: Row,
    },
    Answer(Row),
    Unlock {
        part: Part,
        wake: Row,
        then: End,
    },
    Wake {
        part: Part,
        wake: Row,
        then: End,
    },
    Parked,
    /// Mutant: is to set its waker only now.
    Registers,
    /// Mutant: asks the limiter before it looks at its node.
    AsksAlone,
    Polls,
    Drops,
    /// Gives back what it took, by the level that it left.
    Returns {
        left: i8,
    },
    Change,
    CountLine,
    PokeLock,
    CloseTerms,
    CloseLock,
    /// Lists the keys of a shard that have lines.
    List(u8),
    Done(End),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    pub(super) clock: i8,
    pub(super) cap: i8,
    pub(super) levels: [i8; KEYS],
    pub(super) lines: [Line; LINES],
    /// The line of each key, and the number of its users.
    pub(super) map: [Option<(u8, i8)>; KEYS],
    pub(super) shards: [Option<u8>; KEYS],
    /// Number of lines, as callers read it.
    pub(super) count: i8,
    /// Callers that have taken the terms for reading.
    pub(super) readers: u8,
    pub(super) are_closed: bool,
    pub(super) nodes: [Node; THREADS],
    pub(super) threads: [At; THREADS],
    /// The line that each thread uses.
    pub(super) uses: [Option<u8>; THREADS],
    /// Keys that a thread has still to visit.
    pub(super) todo: [u8; THREADS],
    /// The truth: who stood in line when a thread's call began.
    pub(super) ahead: [Row; THREADS],
    /// Keys whose line was not told of permits that came back.
    pub(super) untold: [bool; KEYS],
    /// Permits that the limiter has granted.
    pub(super) charged: i8,
}

impl State {
    pub(super) fn new(cap: i8, spent: i8) -> State {
        let node = Node {
            standing: Standing::Outside,
            armed: 0,
            is_woken: false,
            has_stood: false,
            is_admitted: false,
        };
        State {
            clock: 0,
            cap,
            levels: [spent - cap; KEYS],
            lines: [Line::default(); LINES],
            map: [None; KEYS],
            shards: [None; KEYS],
            count: 0,
            readers: 0,
            are_closed: false,
            nodes: [node; THREADS],
            threads: [At::Idle; THREADS],
            uses: [None; THREADS],
            todo: [0; THREADS],
            ahead: [Row::default(); THREADS],
            untold: [false; KEYS],
            charged: 0,
        }
    }

    pub(super) fn go(&self, who: usize, at: At) -> State {
        let mut next = self.clone();
        next.threads[who] = at;
        next
    }

    /// The line that a thread uses; the only one, without keys.
    pub(super) fn line(&self, who: usize) -> &Line {
        &self.lines[usize::from(self.uses[who].unwrap_or(0))]
    }

    pub(super) fn line_mut(&mut self, who: usize) -> &mut Line {
        &mut self.lines[usize::from(self.uses[who].unwrap_or(0))]
    }

    pub(super) fn is_waiting(&self, who: usize) -> bool {
        self.nodes[who].standing == Standing::Waiting
    }

    /// Takes a waiter out of the line that `who` holds.
    pub(super) fn unlink(&mut self, who: usize, waiter: usize, standing: Standing) {
        let line = self.line_mut(who);
        line.row = line.row.without(waiter);
        self.nodes[waiter].standing = standing;
    }

    /// Returns the instant at which a key has so many permits, if nobody else takes any.
    pub(super) fn turn(&self, key: usize, permits: i8) -> i8 {
        self.levels[key].max(self.clock - self.cap) + permits
    }

    /// The fault of a grant to `who` while somebody stands in line that stood there when its
    /// call began.
    pub(super) fn overtaking(&self, who: usize) -> Option<String> {
        let passed = self.ahead[who].iter().find(|&other| self.is_waiting(other))?;
        Some(format!("thread {who} {OVERTAKES} thread {passed}"))
    }

    /// Goes on to ask the limiter.
    pub(super) fn asks(&self, who: usize, part: Part) -> State {
        let leaves = part == Part::Tries && self.uses[who].is_some();
        self.go(who, if leaves { At::Leave(Then::Asks) } else { At::Ask(part) })
    }

    pub(super) fn lock(&self, who: usize, at: At) -> State {
        let mut next = self.go(who, at);
        next.line_mut(who).holder = Some(who as u8);
        next
    }

    /// Goes on with the next key of those that were listed.
    pub(super) fn next_key(&self, who: usize) -> State {
        self.go(who, if self.todo[who] > 0 { At::EnterKnown } else { At::Done(End::Gone) })
    }
}
