//! A map from keys to states that can be walked a piece at a time. No atomics here.
//!
//! Open addressing in groups of eight places. An entry is in the first group from its
//! home on that had a place, and each full group that it passed by counts it: a search
//! ends at a group that nobody passed by, and a removal leaves nothing behind.

use core::borrow::Borrow;
use core::mem;
use core::ops::Range;

use super::slots::{GROUP, GroupHome, GroupIndex, Slots};

/// A key that is in the table.
#[derive(Debug)]
pub(super) struct KeyEntry<K, V> {
    pub(super) key: K,
    pub(super) state: V,
}

/// A map from keys to states.
#[derive(Debug)]
pub(super) struct GroupMap<K, V> {
    slots: Slots<KeyEntry<K, V>>,
    len: usize,
    /// The group that is to be swept next.
    cursor: usize,
    /// New keys that came, and are to come, between two sweeps: one for each sweep in a row
    /// that found nobody, up to `MOST_SKIPPED`.
    skips: u32,
    skips_left: u32,
}

/// New keys that need not sweep between two that do, where sweeps find nobody. (None under
/// loom, where each new key is to do what a few do.)
const MOST_SKIPPED: u32 = if cfg!(sluicegate_loom) { 0 } else { 2 };

/// Groups up to which a table doubles: a larger one grows by half.
const SMALL: usize = 8;

impl<K, V> GroupMap<K, V> {
    pub(super) fn new() -> GroupMap<K, V> {
        GroupMap { slots: Slots::new(0), len: 0, cursor: 0, skips: 0, skips_left: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn groups(&self) -> usize {
        self.slots.groups()
    }

    /// The memory of all places.
    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// The most entries before the table is made larger.
    fn room(&self) -> usize {
        self.groups() * (GROUP - 1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &KeyEntry<K, V>> {
        self.slots.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut KeyEntry<K, V>> {
        self.slots.iter_mut()
    }

    #[inline]
    pub(super) fn find<Q>(&self, home: GroupHome, key: &Q) -> Option<&KeyEntry<K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.slots.get(self.position(home, key)?)
    }

    /// Asks for the tags that a search begins with.
    #[inline(always)]
    pub(super) fn fetch_tags(&self, home: GroupHome) {
        self.slots.fetch_tags(home.group(self.groups()));
    }

    /// Asks for the entry that a search will look at first, once the tags are there.
    #[inline(always)]
    pub(super) fn fetch_entry(&self, home: GroupHome) {
        self.slots.fetch_match(home.group(self.groups()), home);
    }

    /// Asks for the group that is to be swept, if it is for the next new key.
    #[inline(always)]
    pub(super) fn fetch_next_group(&self) {
        if self.skips_left == 0 {
            self.slots.fetch_group(self.cursor);
        }
    }

    pub(super) fn find_mut<Q>(&mut self, home: GroupHome, key: &Q) -> Option<&mut KeyEntry<K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let position = self.position(home, key)?;
        self.slots.get_mut(position)
    }

    #[inline]
    fn position<Q>(&self, home: GroupHome, key: &Q) -> Option<GroupIndex>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let groups = self.groups();
        if groups == 0 {
            return None;
        }
        let mut group = home.group(groups);
        self.slots.fetch_first(group);
        // Every group may have been passed by at some time, so no more of them than there are.
        for _ in 0..groups {
            match self.slots.find(group, home, |entry| entry.key.borrow() == key) {
                Ok(at) => return Some(at),
                Err(false) => break,
                Err(true) => group = self.after(group),
            }
        }
        None
    }

    /// The group after another: after the last, the first.
    #[inline(always)]
    fn after(&self, group: usize) -> usize {
        if group + 1 == self.groups() { 0 } else { group + 1 }
    }

    /// Whether one more entry needs a larger table.
    pub(super) fn is_full(&self) -> bool {
        self.len >= self.room()
    }

    /// Makes the table larger if it is full, or so nearly that it is soon full again.
    pub(super) fn make_room(&mut self) {
        if self.len >= self.room() / 4 * 3 {
            let groups = self.groups();
            self.resize(if groups < SMALL { (2 * groups).max(2) } else { groups + groups / 2 });
        }
    }

    /// Puts in a key that is not there.
    pub(super) fn insert(&mut self, home: GroupHome, key: K, state: V) {
        if self.is_full() {
            self.make_room();
        }
        self.put(home, KeyEntry { key, state });
        self.len += 1;
    }

    #[inline(always)]
    fn put(&mut self, home: GroupHome, mut entry: KeyEntry<K, V>) {
        let mut group = home.group(self.groups());
        while let Err(passed_by) = self.slots.put(group, home, entry) {
            entry = passed_by;
            group = self.after(group);
        }
    }

    /// Moves all to so many groups, which are enough.
    fn resize(&mut self, groups: usize) {
        let mut old = mem::replace(&mut self.slots, Slots::new(groups));
        self.cursor = 0;
        for group in 0..old.groups() {
            for at in old.taken(group) {
                let home = old.home(at);
                if let Some(entry) = old.take(at) {
                    self.put(home, entry);
                }
            }
        }
    }

    pub(super) fn remove<Q>(&mut self, home: GroupHome, key: &Q) -> Option<KeyEntry<K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let position = self.position(home, key)?;
        self.take(position)
    }

    fn take(&mut self, at: GroupIndex) -> Option<KeyEntry<K, V>> {
        let entry = self.slots.take(at)?;
        let mut group = self.slots.home(at).group(self.groups());
        while group != at.group() {
            self.slots.unpass(group);
            group = self.after(group);
        }
        self.len -= 1;
        Some(entry)
    }

    /// All places, by the numbers of their groups.
    pub(super) fn places(&self) -> Range<usize> {
        0..self.groups()
    }

    /// The places of the next group, in turn, by its number.
    pub(super) fn next_group(&mut self) -> Range<usize> {
        if self.groups() == 0 {
            return 0..0;
        }
        let group = self.cursor;
        self.cursor = self.after(group);
        group..group + 1
    }

    /// Says whether the next group is to be swept for the key that is put in now.
    #[inline(always)]
    pub(super) fn is_turn_to_sweep(&mut self) -> bool {
        let is_turn = self.skips_left == 0;
        self.skips_left = self.skips_left.saturating_sub(1);
        is_turn
    }

    /// After a sweep for a new key that found so many: when the next one is.
    #[inline(always)]
    pub(super) fn swept(&mut self, found: usize) {
        self.skips = if found > 0 { 0 } else { (self.skips + 1).min(MOST_SKIPPED) };
        self.skips_left = self.skips;
    }

    /// Takes those out of the places of `groups` that are gone, and hands them to `removed`.
    pub(super) fn take_out(
        &mut self,
        groups: Range<usize>,
        mut is_gone: impl FnMut(&KeyEntry<K, V>) -> bool,
        mut removed: impl FnMut(KeyEntry<K, V>),
    ) {
        for group in groups {
            for at in self.slots.taken(group) {
                if self.slots.get(at).is_some_and(&mut is_gone)
                    && let Some(entry) = self.take(at)
                {
                    removed(entry);
                }
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
        let mut groups = self.groups();
        while groups > 1 && self.len <= groups / 2 * GROUP / 2 {
            groups /= 2;
        }
        if groups <= self.groups() / 4 {
            self.resize(groups);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Fewer under Miri, which takes a thousand times as long.
    const STEPS: usize = if cfg!(miri) { 30 } else { 400 };
    const KEYS: u64 = if cfg!(miri) { 1_000 } else { 30_000 };

    /// Few homes, so that groups are full and passed by.
    fn home(key: u16) -> GroupHome {
        GroupHome::new(u32::from(key % 5) << 28 | u32::from(key % 3))
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 2 } else { 256 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_table_holds_what_a_map_would(
            steps in proptest::collection::vec((0..4_u8, 0..90_u16), 0..STEPS),
        ) {
            let mut table = GroupMap::new();
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
        let mut table = GroupMap::new();
        for key in 0..500_u16 {
            table.insert(home(key), key, ());
        }
        for key in 0..500_u16 {
            assert!(table.remove(home(key), &key).is_some());
        }
        assert!(table.slots.is_as_new());
        table.shrink();
        assert_eq!(table.groups(), 1);
    }

    #[test]
    fn a_place_for_a_number_takes_22_bytes_and_is_used_by_seven_in_twelve_at_least() {
        let mut table = GroupMap::<u64, u64>::new();
        for key in 0..KEYS {
            table.insert(GroupHome::new((key as u32).wrapping_mul(0x9E37_79B9)), key, key);
            let places = table.groups() * GROUP;
            assert_eq!(table.bytes(), 22 * places);
            assert!(places <= 24 || 12 * table.len() >= 7 * (places - 2 * GROUP));
        }
    }

    #[test]
    fn each_entry_is_dropped_once_whatever_becomes_of_it() {
        let key = std::rc::Rc::new(());
        let mut table = GroupMap::new();
        for number in 0..300_u16 {
            table.insert(home(number), (number, std::rc::Rc::clone(&key)), ());
        }
        table.take_out(table.places(), |entry| entry.key.0 % 3 == 0, drop);
        assert_eq!(std::rc::Rc::strong_count(&key), 201);
        drop(table);
        assert_eq!(std::rc::Rc::strong_count(&key), 1);
    }
}
