//! A map from keys to states that can be walked a piece at a time. No atomics here.
//!
//! Open addressing in groups of eight places. A group's tags, a byte for each place, are
//! one word and are looked at together; the entries lie in an array of their own, so that
//! both can be on their way at the same time. An entry is in the first group from its
//! home on that had a place, and each full group that it passed by counts it: a search
//! ends at a group that nobody passed by, and a removal leaves nothing behind.

use alloc::boxed::Box;
use core::borrow::Borrow;
use core::mem;
use core::num::NonZeroU32;
use core::ops::Range;

use crate::prefetch::prefetch;

/// Places in a group.
pub(super) const GROUP: usize = 8;

/// The lowest bit of each byte.
const ONES: u64 = u64::MAX / 0xFF;

/// The highest bit of each byte: of a tag, that the place is taken.
const TAKEN: u64 = ONES << 7;

/// Where a key belongs: a part of its hash, the highest bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home(NonZeroU32);

impl Home {
    pub(super) const fn new(hash: u32) -> Home {
        Home(NonZeroU32::MIN.saturating_add((hash | 1 << 31) - 1))
    }

    fn group(self) -> usize {
        // The tag is made of other bits.
        self.0.get() as usize
    }

    fn tag(self) -> u64 {
        u64::from(self.0.get() >> 24)
    }
}

/// A key that is in the table.
#[derive(Debug)]
pub(super) struct Entry<K, V> {
    home: Home,
    pub(super) key: K,
    pub(super) state: V,
}

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// A byte for each place, 0 if it is free.
    tags: u64,
    /// Entries that found no place here, or before.
    passed: u64,
}

impl Group {
    /// A bit for each place that may hold an entry of this tag. (Above one that does,
    /// there may be one that does not.)
    #[inline]
    fn matches(self, tag: u64) -> u64 {
        let differences = self.tags ^ (ONES * tag);
        differences.wrapping_sub(ONES) & !differences & TAKEN
    }

    /// The first place that is free.
    fn free(self) -> Option<usize> {
        let free = !self.tags & TAKEN;
        (free != 0).then(|| place(free))
    }

    fn set(&mut self, place: usize, tag: u64) {
        self.tags = self.tags & !(0xFF << (8 * place)) | tag << (8 * place);
    }
}

/// The place of the lowest of `bits`.
#[inline]
fn place(bits: u64) -> usize {
    bits.trailing_zeros() as usize / 8
}

/// A map from keys to states.
#[derive(Debug)]
pub(super) struct Table<K, V> {
    groups: Box<[Group]>,
    entries: Box<[Option<Entry<K, V>>]>,
    len: usize,
    /// The group that is to be swept next.
    cursor: usize,
}

impl<K, V> Table<K, V> {
    pub(super) fn new() -> Table<K, V> {
        Table { groups: Box::default(), entries: Box::default(), len: 0, cursor: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The memory of all places.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.groups) + size_of_val(&*self.entries)
    }

    /// The most entries before the table is made larger.
    fn room(&self) -> usize {
        self.groups.len() * (GROUP - 1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<K, V>> {
        self.entries.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry<K, V>> {
        self.entries.iter_mut().flatten()
    }

    #[inline]
    pub(super) fn find<Q>(&self, home: Home, key: &Q) -> Option<&Entry<K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.entries[self.position(home, key)?].as_ref()
    }

    /// Has the tags on their way that a search begins with.
    #[inline(always)]
    pub(super) fn fetch_tags(&self, home: Home) {
        if let Some(group) = self.groups.get(home.group() & self.groups.len().wrapping_sub(1)) {
            prefetch(group);
        }
    }

    /// Once they are there: has the entry on its way that a search will look at first.
    #[inline(always)]
    pub(super) fn fetch_entry(&self, home: Home) {
        let at = home.group() & self.groups.len().wrapping_sub(1);
        let Some(group) = self.groups.get(at) else { return };
        let matches = group.matches(home.tag());
        if matches != 0
            && let Some(entry) = self.entries.get(at * GROUP + place(matches))
        {
            prefetch(entry);
        }
    }

    pub(super) fn find_mut<Q>(&mut self, home: Home, key: &Q) -> Option<&mut Entry<K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let position = self.position(home, key)?;
        self.entries[position].as_mut()
    }

    #[inline]
    fn position<Q>(&self, home: Home, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let groups = &*self.groups;
        if groups.is_empty() {
            return None;
        }
        let mut at = home.group() & (groups.len() - 1);
        if let Some(first) = self.entries.get(at * GROUP) {
            prefetch(first);
        }
        // Every group may have been passed by at some time, so no more of them than there are.
        for _ in 0..groups.len() {
            let group = groups[at];
            let mut matches = group.matches(home.tag());
            while matches != 0 {
                let position = at * GROUP + place(matches);
                if let Some(Some(entry)) = self.entries.get(position)
                    && entry.home == home
                    && entry.key.borrow() == key
                {
                    return Some(position);
                }
                matches &= matches - 1;
            }
            if group.passed == 0 {
                break;
            }
            at = (at + 1) & (groups.len() - 1);
        }
        None
    }

    /// Whether one more entry needs a larger table.
    pub(super) fn is_full(&self) -> bool {
        self.len >= self.room()
    }

    /// Makes the table larger if it is full, or so nearly that it is soon full again.
    pub(super) fn make_room(&mut self) {
        if self.len >= self.room() / 4 * 3 {
            self.resize((2 * self.groups.len()).max(1));
        }
    }

    /// Puts in a key that is not there.
    pub(super) fn insert(&mut self, home: Home, key: K, state: V) {
        if self.is_full() {
            self.make_room();
        }
        self.put(Entry { home, key, state });
        self.len += 1;
    }

    fn put(&mut self, entry: Entry<K, V>) {
        let mask = self.groups.len() - 1;
        let mut at = entry.home.group() & mask;
        let free = loop {
            match self.groups[at].free() {
                Some(free) => break free,
                None => self.groups[at].passed += 1,
            }
            at = (at + 1) & mask;
        };
        self.groups[at].set(free, entry.home.tag());
        self.entries[at * GROUP + free] = Some(entry);
    }

    /// Moves all to so many groups, which are enough, a power of two.
    fn resize(&mut self, groups: usize) {
        let entries = (0..groups * GROUP).map(|_| None).collect();
        let old = mem::replace(&mut self.entries, entries);
        self.groups = (0..groups).map(|_| Group::default()).collect();
        self.cursor = 0;
        for entry in old.into_iter().flatten() {
            self.put(entry);
        }
    }

    pub(super) fn remove<Q>(&mut self, home: Home, key: &Q) -> Option<Entry<K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let position = self.position(home, key)?;
        self.take(position)
    }

    fn take(&mut self, position: usize) -> Option<Entry<K, V>> {
        let entry = self.entries[position].take()?;
        let mask = self.groups.len() - 1;
        let mut at = entry.home.group() & mask;
        while at != position / GROUP {
            self.groups[at].passed -= 1;
            at = (at + 1) & mask;
        }
        self.groups[at].set(position % GROUP, 0);
        self.len -= 1;
        Some(entry)
    }

    /// The places of all groups.
    pub(super) fn places(&self) -> Range<usize> {
        0..self.entries.len()
    }

    /// The places of the next group, in turn.
    pub(super) fn next_group(&mut self) -> Range<usize> {
        if self.groups.is_empty() {
            return 0..0;
        }
        let at = self.cursor;
        self.cursor = (at + 1) & (self.groups.len() - 1);
        at * GROUP..(at + 1) * GROUP
    }

    /// Takes those out of `places` that are gone, and hands them to `removed`.
    pub(super) fn take_out(
        &mut self,
        places: Range<usize>,
        mut is_gone: impl FnMut(&Entry<K, V>) -> bool,
        mut removed: impl FnMut(Entry<K, V>),
    ) {
        for position in places {
            if self.entries[position].as_ref().is_some_and(&mut is_gone)
                && let Some(entry) = self.take(position)
            {
                removed(entry);
            }
        }
    }

    /// Makes a table smaller that was almost empty all around.
    pub(super) fn shrink_in_turn(&mut self) {
        if self.cursor == 0 {
            self.shrink();
        }
    }

    /// Gives memory back, if an eighth of it would do.
    pub(super) fn shrink(&mut self) {
        let mut groups = self.groups.len();
        while groups > 1 && self.len <= groups / 2 * GROUP / 2 {
            groups /= 2;
        }
        if groups <= self.groups.len() / 4 {
            self.resize(groups);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Few homes, so that groups are full and passed by.
    fn home(key: u16) -> Home {
        Home::new(u32::from(key % 5) | u32::from(key % 3) << 24)
    }

    proptest! {
        #[test]
        fn a_table_holds_what_a_map_would(
            steps in proptest::collection::vec((0..4_u8, 0..90_u16), 0..400),
        ) {
            let mut table = Table::new();
            let mut map = HashMap::new();
            for (step, (what, key)) in steps.into_iter().enumerate() {
                match what {
                    0 | 1 if table.find(home(key), &key).is_none() => {
                        table.insert(home(key), key, step);
                        map.insert(key, step);
                    }
                    2 => {
                        let removed = table.remove(home(key), &key).map(|entry| entry.state);
                        prop_assert_eq!(removed, map.remove(&key));
                    }
                    3 => {
                        table.shrink_in_turn();
                        let places = table.next_group();
                        table.take_out(
                            places,
                            |entry| entry.key % 7 == key % 7,
                            |entry| assert_eq!(map.remove(&entry.key), Some(entry.state)),
                        );
                    }
                    _ => {}
                }
                prop_assert_eq!(table.len(), map.len());
                for key in 0..90 {
                    let found = table.find(home(key), &key).map(|entry| entry.state);
                    prop_assert_eq!(found, map.get(&key).copied());
                }
            }
            prop_assert_eq!(table.iter().count(), map.len());
        }
    }

    #[test]
    fn a_removal_leaves_nothing_behind() {
        let mut table = Table::new();
        for key in 0..500_u16 {
            table.insert(home(key), key, ());
        }
        for key in 0..500_u16 {
            assert!(table.remove(home(key), &key).is_some());
        }
        assert!(table.groups.iter().all(|group| group.tags == 0 && group.passed == 0));
        table.shrink();
        assert_eq!(table.groups(), 1);
    }

    #[test]
    fn an_entry_of_a_number_takes_24_bytes_and_a_place_no_more() {
        assert_eq!(size_of::<Option<Entry<u64, u64>>>(), 24);
        assert_eq!(size_of::<Option<Entry<String, u64>>>(), 40);
    }
}
