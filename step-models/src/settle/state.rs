//! The bucket, the receipts of its callers, and what they keep.

use crate::ledger::{Grant, Ledger};

use super::{At, LOTS, THREADS};

/// A few pairs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Row {
    len: u8,
    pairs: [(i8, i8); 6],
}

impl Row {
    pub(super) fn items(&self) -> &[(i8, i8)] {
        &self.pairs[..usize::from(self.len)]
    }

    pub(super) fn push(&mut self, pair: (i8, i8)) {
        self.pairs[usize::from(self.len)] = pair;
        self.len += 1;
    }

    pub(super) fn with(mut self, pair: (i8, i8)) -> Row {
        self.push(pair);
        self
    }

    pub(super) fn pop(&mut self) -> Option<(i8, i8)> {
        let last = *self.items().last()?;
        self.len -= 1;
        self.pairs[usize::from(self.len)] = (0, 0);
        Some(last)
    }

    pub(super) fn rest(&self) -> Row {
        self.items().iter().skip(1).fold(Row::default(), |rest, &pair| rest.with(pair))
    }

    /// The same with nothing at `place`, because it does not matter any more.
    pub(super) fn without(mut self, place: usize) -> Row {
        self.pairs[place] = (0, 0);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The sum of the second of each pair.
    pub(super) fn units(&self) -> i8 {
        self.items().iter().map(|pair| pair.1).sum()
    }
}

/// An open receipt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Receipt {
    /// The instant at which its units are kept.
    pub(super) time: i8,
    /// Top and units of each.
    pub(super) pieces: Row,
    /// True if the last piece was taken from the word.
    pub(super) is_of_word: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Bucket {
    /// False until it is chosen how much has been spent.
    pub(super) is_made: bool,
    pub(super) clock: i8,
    /// Units that changes have added to those that the clock has earned.
    pub(super) shift: i8,
    pub(super) word: i8,
    /// The highest that the word has been, while changes are to come.
    pub(super) highest: i8,
    pub(super) void: i8,
    /// The band of each, and how many of its units are free.
    pub(super) lots: [(i8, i8); LOTS],
    pub(super) threads: [At; THREADS],
    pub(super) receipts: Vec<Receipt>,
    pub(super) ledger: Ledger,
    pub(super) takes: u8,
    pub(super) settles: u8,
    pub(super) forces: u8,
    pub(super) changes: u8,
    /// True while a thread changes the terms.
    pub(super) is_changing: bool,
}

impl Bucket {
    /// Threads and receipts in order: which is which does not matter.
    pub(super) fn sort(&mut self) {
        self.threads.sort_unstable();
        self.receipts.sort_unstable();
    }

    /// Records that `units` more were kept at `time`, or fewer.
    pub(super) fn keep(&mut self, time: i8, units: i8) {
        if time == BEFORE {
            return;
        }
        let kept = self.ledger.between(time - 1, time);
        self.ledger.remove(Grant { time, permits: kept, index: 0 });
        let permits = kept.checked_add_signed(units).expect("no more than was kept");
        if permits > 0 {
            self.ledger.add(Grant { time, permits, index: 0 });
        }
    }

    /// Starts the ledger anew, with the terms: what is held is all that counts.
    pub(super) fn begin(&mut self, cap: i8, balance: i8) {
        self.ledger.clear();
        self.keep(self.clock, cap - balance);
        self.receipts.iter_mut().for_each(|receipt| receipt.time = BEFORE);
        for thread in &mut self.threads {
            match thread {
                At::Fall { time, .. } | At::Give { time, .. } | At::GivePut { time, .. } => {
                    *time = BEFORE;
                }
                _ => {}
            }
        }
    }
}

/// The time of what was kept under terms that are no longer in force.
const BEFORE: i8 = i8::MIN;
