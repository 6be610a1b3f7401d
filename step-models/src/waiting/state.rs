//! The shared state, and where each thread is in its call.

use super::*;

/// The word that callers compare and swap.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Word {
    /// A bucket's level, or the number of the window.
    pub(super) level: i8,
    /// The permits of the window; a bucket has none.
    pub(super) count: i8,
    /// True while somebody stands in line.
    pub(super) gate: bool,
    /// Changes with the quota.
    pub(super) terms: u8,
}

impl Word {
    /// Returns whether nothing has been taken since this word was left, nor given back.
    pub(super) fn is_as_left(self, left: Word) -> bool {
        (self.level, self.count) == (left.level, left.count)
    }
}

/// Threads in an order: the line, or those to wake.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Row(u32);

impl Row {
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        let place = move |place: u32| (self.0 >> (4 * place) & 15) as usize;
        (0..8).map(place).take_while(|&who| who > 0).map(|who| who - 1)
    }

    pub(super) fn first(self) -> Option<usize> {
        self.iter().next()
    }

    pub(super) fn len(self) -> usize {
        self.iter().count()
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn has(self, who: usize) -> bool {
        self.iter().any(|other| other == who)
    }

    pub(super) fn with(self, who: usize) -> Row {
        Row(self.0 | (who as u32 + 1) << (4 * self.len()))
    }

    pub(super) fn behind_first(self) -> Row {
        Row(self.0 >> 4)
    }

    pub(super) fn only(self, keep: impl Fn(usize) -> bool) -> Row {
        self.iter().filter(|&who| keep(who)).fold(Row::default(), Row::with)
    }

    pub(super) fn without(self, who: usize) -> Row {
        self.only(|other| other != who)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Standing {
    /// Not in line yet, or never.
    Outside,
    Waiting,
    Granted,
    /// Closed, evicted, turned away, or larger than the burst.
    Refused,
    /// Dropped, or out of time.
    Gone,
}

/// The node of a thread in the line. Only its holder reads and writes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) standing: Standing,
    /// The instant for which its timer is set.
    pub(super) armed: i8,
    pub(super) is_woken: bool,
    /// True once the call that put it into the line has let go of the lock.
    pub(super) has_stood: bool,
    /// The grant, if it may be given back: the word that it left, and its instant.
    pub(super) grant: Option<(Word, i8)>,
    /// The level and the count from before a grant or a reservation that may be given back.
    pub(super) before: (i8, i8),
}

/// The reason for which the holder of the line settles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Why {
    Push,
    Book,
    Poll,
    Help,
    Cancel,
    Close,
    Poke,
    /// Somebody has left, and the caller is done.
    Leave,
}

/// The result of a call, or how it goes on after it has let go of the line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum End {
    Admitted,
    Denied,
    Refused,
    /// The grant was never seen, and stays charged.
    Spent,
    /// Nothing was admitted.
    Gone,
    Again,
    Parked,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum At {
    Idle,
    Load,
    Clock {
        seen: Word,
    },
    Cas {
        seen: Word,
        next: Word,
        instant: i8,
    },
    TryLock,
    Lock,
    /// Holds the line, and reads the clock next.
    Read(Why),
    Settle {
        why: Why,
        now: i8,
        wake: Row,
    },
    SettleCas {
        why: Why,
        now: i8,
        wake: Row,
        seen: Word,
    },
    Unlock {
        wake: Row,
        then: End,
    },
    Wake {
        wake: Row,
        then: End,
    },
    Parked,
    /// Mutant: is to set its waker only now.
    Registers,
    Polls,
    Drops,
    GiveBack,
    /// Mutant: takes itself out of the line without a look at its node.
    TimesOut,
    /// Gives back what it took, by the word that it left.
    Refund {
        left: Word,
        instant: i8,
    },
    ChangeLoad,
    ChangeClock {
        seen: Word,
    },
    ChangeCas {
        seen: Word,
        next: Word,
        cap: i8,
        instant: i8,
    },
    ChangeLock,
    Done(End),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    pub(super) clock: i8,
    pub(super) word: Word,
    /// The burst that is in force.
    pub(super) cap: i8,
    pub(super) holder: Option<u8>,
    pub(super) line: Row,
    /// The reading from which the head has stood at the front.
    pub(super) since: i8,
    /// The units of reservations that were charged while this head was there: it counts as of its own turn.
    pub(super) passed: i8,
    pub(super) is_closed: bool,
    pub(super) nodes: [Node; THREADS],
    pub(super) threads: [At; THREADS],
    /// The level that the admissions alone make.
    pub(super) replay: i8,
    /// Units admitted at each instant.
    pub(super) admitted: [i8; INSTANTS],
}

impl State {
    pub(super) fn move_to(&self, who: usize, at: At) -> State {
        let mut next = self.clone();
        next.threads[who] = at;
        next
    }

    pub(super) fn is_free(&self) -> bool {
        self.holder.is_none()
    }

    pub(super) fn lock(&self, who: usize, at: At) -> State {
        let mut next = self.move_to(who, at);
        next.holder = Some(who as u8);
        next
    }

    pub(super) fn is_waiting(&self, who: usize) -> bool {
        self.nodes[who].standing == Standing::Waiting
    }

    pub(super) fn unlink(&mut self, who: usize, standing: Standing) {
        if self.line.first() == Some(who) {
            self.passed = 0;
        }
        self.line = self.line.without(who);
        self.nodes[who].standing = standing;
    }

    /// The fault of an admission while somebody stands in line whose enqueue has returned.
    pub(super) fn overtaking(&self, who: usize) -> Option<String> {
        let passed = self.line.iter().find(|&other| self.nodes[other].has_stood)?;
        Some(format!("thread {who} {OVERTAKES} thread {passed}"))
    }

    /// The most by which the admissions in a span exceed what a bucket of this burst allows.
    pub(super) fn excess(&self, cap: i8) -> i8 {
        let mut worst = i8::MIN;
        for first in 0..INSTANTS {
            let mut sum = 0;
            for (span, &units) in self.admitted[first..].iter().enumerate() {
                sum += units;
                worst = worst.max(sum - cap - span as i8);
            }
        }
        worst
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gate = if self.gate { "closed" } else { "open" };
        write!(f, "{}:{}.{} {gate}", self.level, self.count, self.terms)
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} until {}", self.standing, self.armed)?;
        if self.is_woken { f.write_str(", woken") } else { Ok(()) }
    }
}
