//! Counts of the most frequent keys of a stream. No atomics here.
//!
//! The entries stay where they are. Two lists of their indices find them: chains of entries
//! whose hashes agree in the low bits, and a heap with the least count on top.

use core::borrow::Borrow;

use super::TopKey;

/// The index of no entry.
const NONE: u32 = u32::MAX;

pub(super) struct Summary<O> {
    entries: Vec<Entry<O>>,
    chains: Box<[u32]>,
    heap: Vec<u32>,
    most: usize,
}

struct Entry<O> {
    key: O,
    hash: u64,
    count: u64,
    error: u64,
    /// The next entry of its chain.
    next: u32,
    /// Index of the entry in the heap.
    place: u32,
}

impl<O> Summary<O> {
    /// Creates a summary of at most `most` keys.
    pub(super) fn new(most: usize) -> Summary<O> {
        Summary {
            entries: Vec::with_capacity(most),
            chains: vec![NONE; most.next_power_of_two()].into(),
            heap: Vec::with_capacity(most),
            most,
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.chains.fill(NONE);
        self.heap.clear();
    }

    fn is_full(&self) -> bool {
        self.entries.len() == self.most
    }

    /// Returns the most that can have been counted of a key that is not here.
    fn least(&self) -> u64 {
        match self.heap.first() {
            Some(&top) if self.is_full() => self.entries[top as usize].count,
            _ => 0,
        }
    }

    /// Counts `more` for `key`.
    pub(super) fn add<K>(&mut self, hash: u64, key: &K, more: u64)
    where
        K: ?Sized + Eq + ToOwned<Owned = O>,
        O: Borrow<K>,
    {
        if more == 0 {
            return;
        }
        if let Some(index) = self.find(hash, key) {
            let entry = &mut self.entries[index as usize];
            entry.count = entry.count.saturating_add(more);
            let place = entry.place;
            self.sink(place as usize);
        } else if self.is_full() {
            self.replace_least(hash, key, more);
        } else {
            let index = self.push(hash, key.to_owned(), more, 0);
            self.entries[index as usize].place = index;
            self.heap.push(index);
            self.rise(index as usize);
        }
    }

    fn replace_least<K>(&mut self, hash: u64, key: &K, more: u64)
    where
        K: ?Sized + ToOwned<Owned = O>,
    {
        let index = self.heap[0];
        // User code runs first, because it may panic.
        key.clone_into(&mut self.entries[index as usize].key);
        self.unlink(index);
        let entry = &mut self.entries[index as usize];
        entry.hash = hash;
        entry.error = entry.count;
        entry.count = entry.count.saturating_add(more);
        self.link(index);
        self.sink(0);
    }

    fn push(&mut self, hash: u64, key: O, count: u64, error: u64) -> u32 {
        let index = self.entries.len() as u32;
        self.entries.push(Entry { key, hash, count, error, next: NONE, place: NONE });
        self.link(index);
        index
    }

    fn find<K: ?Sized + Eq>(&self, hash: u64, key: &K) -> Option<u32>
    where
        O: Borrow<K>,
    {
        let mut index = self.chains[self.chain_of(hash)];
        while index != NONE {
            let entry = &self.entries[index as usize];
            if entry.hash == hash && entry.key.borrow() == key {
                return Some(index);
            }
            index = entry.next;
        }
        None
    }

    fn chain_of(&self, hash: u64) -> usize {
        hash as usize & (self.chains.len() - 1)
    }

    fn link(&mut self, index: u32) {
        let chain = self.chain_of(self.entries[index as usize].hash);
        self.entries[index as usize].next = self.chains[chain];
        self.chains[chain] = index;
    }

    fn unlink(&mut self, index: u32) {
        let Entry { hash, next, .. } = self.entries[index as usize];
        let chain = self.chain_of(hash);
        let mut before = self.chains[chain];
        if before == index {
            self.chains[chain] = next;
            return;
        }
        while before != NONE {
            let entry = &mut self.entries[before as usize];
            if entry.next == index {
                entry.next = next;
                return;
            }
            before = entry.next;
        }
    }

    fn count_at(&self, place: usize) -> u64 {
        self.entries[self.heap[place] as usize].count
    }

    fn swap(&mut self, place: usize, other: usize) {
        self.heap.swap(place, other);
        for place in [place, other] {
            self.entries[self.heap[place] as usize].place = place as u32;
        }
    }

    /// Restores the heap after the count at `place` has grown.
    fn sink(&mut self, mut place: usize) {
        loop {
            let below = [2 * place + 1, 2 * place + 2];
            let below = below.into_iter().filter(|place| *place < self.heap.len());
            match below.min_by_key(|place| self.count_at(*place)) {
                Some(least) if self.count_at(least) < self.count_at(place) => {
                    self.swap(place, least);
                    place = least;
                }
                _ => return,
            }
        }
    }

    /// Restores the heap after a new count was put at `place`.
    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.count_at(place) < self.count_at((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }
}

/// Several summaries in one. The `count` of a key is kept less the least count of each
/// summary that has it; its `error` is the amount by which that least count exceeds the key's
/// own error there.
pub(super) struct Merged<O> {
    keys: Summary<O>,
    /// The sum of the least counts of all summaries.
    least: u64,
}

impl<O> Merged<O> {
    /// Creates a merged summary of at most `most` keys.
    pub(super) fn new(most: usize) -> Merged<O> {
        Merged { keys: Summary::new(most), least: 0 }
    }

    pub(super) fn add<K>(&mut self, summary: &Summary<O>)
    where
        K: ?Sized + Eq + ToOwned<Owned = O>,
        O: Borrow<K>,
    {
        let least = summary.least();
        self.least = self.least.saturating_add(least);
        for entry in &summary.entries {
            let (above, surely) = (entry.count - least, least.saturating_sub(entry.error));
            let key = entry.key.borrow();
            if let Some(index) = self.keys.find(entry.hash, key) {
                let own = &mut self.keys.entries[index as usize];
                own.count = own.count.saturating_add(above);
                own.error = own.error.saturating_add(surely);
            } else {
                self.keys.push(entry.hash, key.to_owned(), above, surely);
            }
        }
    }

    /// Returns the first `most` keys, the one with the highest count first.
    pub(super) fn top(self, most: usize) -> Vec<TopKey<O>> {
        let least = self.least;
        let mut top: Vec<_> = (self.keys.entries.into_iter())
            .map(|Entry { key, count, error, .. }| TopKey {
                key,
                count: count.saturating_add(least),
                error: least.saturating_sub(error),
            })
            .collect();
        top.sort_by_key(|top| core::cmp::Reverse((top.count, top.count - top.error)));
        top.truncate(most);
        top
    }
}
