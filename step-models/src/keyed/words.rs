//! The words that are shared, and the state of a thread: all of it small, as there are many states.

use std::fmt;

use super::*;

/// A slot's word: empty, what a key has spent, the marker of a key that is about to
/// come in, or the tombstone of a marker.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Word(u16);

const MARK: u16 = 1 << 12;

impl Word {
    pub(super) const EMPTY: Word = Word(0);

    pub(super) const fn charged(print: u8, level: i8) -> Word {
        Word((print as u16) << 8 | level as u8 as u16)
    }

    pub(super) const fn marker(print: u8, level: i8) -> Word {
        Word(Word::charged(print, level).0 | MARK)
    }

    /// Keeps the level, so that no later marker is the same as an earlier one.
    pub(super) const fn tombstone(level: i8) -> Word {
        Word::marker(0, level)
    }

    /// Any bits, to be hashed with words.
    pub(super) fn of(bits: u16) -> Word {
        Word(bits)
    }

    pub(super) fn print(self) -> u8 {
        (self.0 >> 8) as u8 & 0xf
    }

    pub(super) fn level(self) -> i8 {
        self.0 as u8 as i8
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn is_marked(self) -> bool {
        self.0 & MARK != 0
    }

    pub(super) fn is_tombstone(self) -> bool {
        self.is_marked() && self.print() == 0
    }

    pub(super) fn is_charged(self, print: u8) -> bool {
        self.0 >> 8 == u16::from(print)
    }

    pub(super) fn is_marker(self, print: u8) -> bool {
        self.0 >> 8 == u16::from(print) | MARK >> 8
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.print(), self.level()) {
            _ if self.is_empty() => f.write_str("-"),
            (_, level) if self.is_tombstone() => write!(f, "tomb@{level}"),
            (print, level) if self.is_marked() => write!(f, "mark{print}@{level}"),
            (print, level) => write!(f, "key{print}@{level}"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    Idle,
    First,
    FirstHit,
    Scan,
    /// For a key that is taken to be nowhere, whatever is seen.
    ScanNew,
    Hit,
    Place,
    Rescan,
    Kill,
    Clean,
    Charge,
    Reset,
    Sweep,
    AlsoLoad,
    AlsoClock,
    AlsoClear,
    Batch,
    BatchHit,
}

impl At {
    const ALL: [At; 18] = [
        At::Idle,
        At::First,
        At::FirstHit,
        At::Scan,
        At::ScanNew,
        At::Hit,
        At::Place,
        At::Rescan,
        At::Kill,
        At::Clean,
        At::Charge,
        At::Reset,
        At::Sweep,
        At::AlsoLoad,
        At::AlsoClock,
        At::AlsoClear,
        At::Batch,
        At::BatchHit,
    ];
}

/// The value that stands for no reading of the clock.
pub(super) const UNREAD: i8 = i8::MIN;

#[derive(Clone, Copy)]
pub(super) struct Thread {
    /// The rest of the thread's calls: an index of `Scene::plans`.
    pub(super) todo: u8,
    pub(super) at: At,
    /// The part of a scan that is done.
    pub(super) loaded: u8,
    pub(super) slot: u8,
    /// The next place to be looked at again.
    pub(super) next: u8,
    pub(super) now: i8,
    pub(super) began: i8,
    /// The key of a batch that the step is about, or the reading by which a slot is cleared.
    pub(super) base: i8,
    /// When the first of the words that it knows is as old as the modulus.
    pub(super) ends: i8,
    pub(super) old: Word,
    pub(super) new: Word,
    /// The marker of another key that is to go.
    pub(super) theirs: Word,
    pub(super) seen: [Word; SEEN],
    pub(super) receipt: Receipt,
}

/// The receipt of a grant that can be given back.
#[derive(Clone, Copy)]
pub(super) struct Receipt {
    pub(super) slot: u8,
    pub(super) owner: u8,
    pub(super) date: i8,
    pub(super) permits: u8,
    pub(super) new: Word,
    pub(super) old: Word,
}

impl Receipt {
    pub(super) const NONE: Receipt =
        Receipt { slot: 0, owner: 0, date: 0, permits: 0, new: Word::EMPTY, old: Word::EMPTY };
}

/// A thread in four words, which are quick to compare.
pub(super) type Packed = [u64; 4];

impl Thread {
    pub(super) fn idle(todo: u8, receipt: Receipt) -> Thread {
        Thread {
            todo,
            at: At::Idle,
            loaded: 0,
            slot: 0,
            next: 0,
            now: UNREAD,
            began: 0,
            base: 0,
            ends: i8::MAX,
            old: Word::EMPTY,
            new: Word::EMPTY,
            theirs: Word::EMPTY,
            seen: [Word::EMPTY; SEEN],
            receipt,
        }
    }

    /// The same call, at another step and with nothing loaded.
    pub(super) fn at(&self, at: At) -> Thread {
        Thread { at, began: self.began, ends: self.ends, ..Thread::idle(self.todo, self.receipt) }
    }

    pub(super) fn pack(&self) -> Packed {
        let small = [
            self.todo,
            self.at as u8,
            self.loaded,
            self.slot,
            self.next,
            self.now as u8,
            self.began as u8,
            self.base as u8,
        ];
        let receipt = &self.receipt;
        let dates =
            u32::from_le_bytes([receipt.slot, receipt.owner, receipt.date as u8, receipt.permits]);
        [
            u64::from_le_bytes(small),
            quad(self.old, self.new, self.theirs, Word(u16::from(self.ends as u8))),
            quad(self.seen[0], self.seen[1], self.seen[2], self.seen[3]),
            quad(Word::EMPTY, Word::EMPTY, receipt.new, receipt.old) | u64::from(dates),
        ]
    }

    pub(super) fn unpack(packed: &Packed) -> Thread {
        let [todo, at, loaded, slot, next, now, began, base] = packed[0].to_le_bytes();
        let receipt = packed[3].to_le_bytes();
        Thread {
            todo,
            at: At::ALL[usize::from(at)],
            loaded,
            slot,
            next,
            now: now as i8,
            began: began as i8,
            base: base as i8,
            ends: nth(packed[1], 3).0 as i8,
            old: nth(packed[1], 0),
            new: nth(packed[1], 1),
            theirs: nth(packed[1], 2),
            seen: [nth(packed[2], 0), nth(packed[2], 1), nth(packed[2], 2), nth(packed[2], 3)],
            receipt: Receipt {
                slot: receipt[0],
                owner: receipt[1],
                date: receipt[2] as i8,
                permits: receipt[3],
                new: nth(packed[3], 2),
                old: nth(packed[3], 3),
            },
        }
    }
}

pub(super) fn quad(a: Word, b: Word, c: Word, d: Word) -> u64 {
    u64::from(a.0) | u64::from(b.0) << 16 | u64::from(c.0) << 32 | u64::from(d.0) << 48
}

fn nth(words: u64, place: u32) -> Word {
    Word((words >> (16 * place)) as u16)
}
