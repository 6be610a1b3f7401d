//! A map from keys to states that can be walked a group at a time. No atomics here.
//!
//! Open addressing in groups of eight slots. An entry is in the first group, from its home
//! on, that had a free slot, and each full group that it probed past counts it. So a search
//! ends at a group that no entry probed past, and a removal needs no tombstone.

use core::mem;
use core::ops::Range;

use super::as_key::AsKey;
use super::slots::{GROUP, GroupHome, GroupIndex, Slots};

/// A key in the table, and its state.
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
    /// The group that is swept next.
    cursor: u32,
    /// New keys that skip the sweep before one sweeps again, and those of them still to come:
    /// one for each sweep in a row that found nothing, up to `MOST_SKIPPED`.
    skips: u16,
    skips_left: u16,
}

/// Most new keys in a row that skip the sweep, while sweeps find nothing. (None under loom,
/// where each new key has to do what a few do.)
const MOST_SKIPPED: u16 = if cfg!(sluicegate_loom) { 0 } else { 2 };

/// Number of groups up to which a table doubles, so that keys are not moved often: a larger one grows by
/// half, to waste less memory.
const SMALL: usize = 128;

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

    /// Returns the memory of all slots, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// Returns the most entries that fit before the table grows.
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
        Q: AsKey<K> + ?Sized,
    {
        self.slots.get(self.position(home, |other| key.is_key(other))?)
    }

    /// Prefetches the tags with which a search begins.
    #[inline(always)]
    pub(super) fn fetch_tags(&self, home: GroupHome) {
        self.slots.fetch_tags(home.group(self.groups()));
    }

    /// Prefetches the entry that a search will look at first; the tags must have arrived.
    #[inline(always)]
    pub(super) fn fetch_entry(&self, home: GroupHome) {
        self.slots.fetch_match(home.group(self.groups()), home);
    }

    /// Prefetches the slot that a new key is put into, unless its first group is full.
    #[inline(always)]
    pub(super) fn fetch_free(&self, home: GroupHome) {
        self.slots.fetch_free(home.group(self.groups()));
    }

    /// Prefetches the group that is swept next, if the next new key is to sweep it.
    #[inline(always)]
    pub(super) fn fetch_next_group(&self) {
        if self.skips_left == 0 {
            self.slots.fetch_group(self.cursor as usize);
        }
    }

    pub(super) fn find_mut<Q>(&mut self, home: GroupHome, key: &Q) -> Option<&mut KeyEntry<K, V>>
    where
        Q: AsKey<K> + ?Sized,
    {
        let position = self.position(home, |other| key.is_key(other))?;
        self.slots.get_mut(position)
    }

    /// Does the same for a key in no other form than its own.
    pub(super) fn find_equal_mut(&mut self, home: GroupHome, key: &K) -> Option<&mut KeyEntry<K, V>>
    where
        K: Eq,
    {
        let position = self.position(home, |other| other == key)?;
        self.slots.get_mut(position)
    }

    #[inline]
    fn position(&self, home: GroupHome, is_key: impl Fn(&K) -> bool) -> Option<GroupIndex> {
        let groups = self.groups();
        if groups == 0 {
            return None;
        }
        let mut group = home.group(groups);
        self.slots.fetch_first(group);
        // Entries may have probed past every group at some time, so visit each group once at
        // most.
        for _ in 0..groups {
            match self.slots.find(group, home, |entry| is_key(&entry.key)) {
                Ok(at) => return Some(at),
                Err(false) => break,
                Err(true) => group = self.after(group),
            }
        }
        None
    }

    /// Returns the group after another; after the last, the first.
    #[inline(always)]
    fn after(&self, group: usize) -> usize {
        if group + 1 == self.groups() { 0 } else { group + 1 }
    }

    /// Returns whether one more entry needs a larger table.
    pub(super) fn is_full(&self) -> bool {
        self.len >= self.room()
    }

    /// Grows the table if it is full, or so nearly that it would soon be full again.
    pub(super) fn make_room(&mut self) {
        if self.len >= self.room() / 4 * 3 {
            let groups = self.groups();
            self.resize(if groups < SMALL { (2 * groups).max(2) } else { groups + groups / 2 });
        }
    }

    /// Inserts a key that is not there, and returns its slot.
    pub(super) fn insert(&mut self, home: GroupHome, key: K, state: V) -> GroupIndex {
        if self.is_full() {
            self.make_room();
        }
        self.len += 1;
        self.put(home, KeyEntry { key, state })
    }

    #[inline(always)]
    fn put(&mut self, home: GroupHome, mut entry: KeyEntry<K, V>) -> GroupIndex {
        let mut group = home.group(self.groups());
        loop {
            match self.slots.put(group, home, entry) {
                Ok(at) => return at,
                Err(passed_by) => entry = passed_by,
            }
            group = self.after(group);
        }
    }

    /// Moves all entries to a new array of `groups` groups, which must be enough.
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
        Q: AsKey<K> + ?Sized,
    {
        let position = self.position(home, |other| key.is_key(other))?;
        self.take(position)
    }

    /// Returns the entry in a slot, if it is in use.
    pub(super) fn get(&self, at: GroupIndex) -> Option<&KeyEntry<K, V>> {
        self.slots.get(at)
    }

    /// Takes the entry out of a slot.
    pub(super) fn take(&mut self, at: GroupIndex) -> Option<KeyEntry<K, V>> {
        let entry = self.slots.take(at)?;
        let mut group = self.slots.home(at).group(self.groups());
        while group != at.group() {
            self.slots.unpass(group);
            group = self.after(group);
        }
        self.len -= 1;
        Some(entry)
    }

    /// Returns the range of all groups.
    pub(super) fn places(&self) -> Range<usize> {
        0..self.groups()
    }

    /// Returns the next group to sweep, in rotation, as a range.
    pub(super) fn next_group(&mut self) -> Range<usize> {
        if self.groups() == 0 {
            return 0..0;
        }
        let group = self.cursor as usize;
        // Homes have 32 bits, and tables no more groups than homes tell apart.
        self.cursor = self.after(group) as u32;
        group..group + 1
    }

    /// Returns whether the next group is to be swept for the key that is being inserted.
    #[inline(always)]
    pub(super) fn is_turn_to_sweep(&mut self) -> bool {
        let is_turn = self.skips_left == 0;
        self.skips_left = self.skips_left.saturating_sub(1);
        is_turn
    }

    /// Decides when the next sweep is, after a sweep for a new key that found `found` keys.
    #[inline(always)]
    pub(super) fn swept(&mut self, found: usize) {
        self.skips = if found > 0 { 0 } else { (self.skips + 1).min(MOST_SKIPPED) };
        self.skips_left = self.skips;
    }

    /// Takes the entries for which `is_gone` returns true out of `groups`, and hands them to
    /// `removed`.
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

    /// Shrinks a table that is almost empty, once per rotation of the sweep.
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

    /// Number of steps; fewer under Miri, which takes a thousand times as long.
    const STEPS: usize = if cfg!(miri) { 30 } else { 400 };
    const KEYS: u64 = if cfg!(miri) { 1_000 } else { 30_000 };

    /// Gives keys few homes, so that groups are full and probed past.
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
    fn a_place_for_a_number_takes_22_bytes_and_seven_in_sixteen_are_used_or_in_twelve_of_many() {
        let mut table = GroupMap::<u64, u64>::new();
        for key in 0..KEYS {
            table.insert(GroupHome::new((key as u32).wrapping_mul(0x9E37_79B9)), key, key);
            let places = table.groups() * GROUP;
            assert_eq!(table.bytes(), 22 * places);
            let (least, of) = if places <= SMALL * GROUP { (7, 16) } else { (7, 12) };
            assert!(of * table.len() >= least * (places - 2 * GROUP));
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
