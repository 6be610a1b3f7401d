//! Slots for entries, in groups of eight, with tags that are read instead of the entries.
//!
//! The tags of a group, a byte for each slot, are one word and are compared together. The
//! entries lie in an array of their own, so that tags and entries can be fetched at the same
//! time. So do the homes, which are needed only when an entry is inserted or removed.

#![allow(unsafe_code, reason = "what a place that is free holds is said by its tag, not twice")]

use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;

use crate::prefetch_instruction::prefetch;

/// Slots in a group.
pub(super) const GROUP: usize = 8;

/// The lowest bit of each byte.
const ONES: u64 = u64::MAX / 0xFF;

/// The highest bit of each byte: set in the tag of a slot in use.
const TAKEN: u64 = ONES << 7;

/// The home of a key: a part of its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupHome(u32);

impl GroupHome {
    pub(super) const fn new(hash: u32) -> GroupHome {
        GroupHome(hash)
    }

    /// Returns the first group that the key may be in, in a table of `groups` groups. Their
    /// number need not be a power of two, and entries that were in order are in order in a
    /// larger table too.
    #[inline(always)]
    pub(super) fn group(self, groups: usize) -> usize {
        ((u64::from(self.0) * groups as u64) >> u32::BITS) as usize
    }

    #[inline(always)]
    fn tag(self) -> u64 {
        // The low bits, which have little influence on the group.
        u64::from(self.0 & 0x7F | 0x80)
    }
}

/// Metadata of a group: all that is read before its entries.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// A byte for each slot, 0 if it is free.
    tags: u64,
    /// Entries with a home here or before that probed past this group because it was full.
    passed: u64,
}

/// Returns the slot of the lowest of `bits`.
#[inline(always)]
fn place(bits: u64) -> usize {
    bits.trailing_zeros() as usize / 8
}

/// A slot: the index of its group, and its own index in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupIndex {
    group: usize,
    place: usize,
}

impl GroupIndex {
    pub(super) fn group(self) -> usize {
        self.group
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.group * GROUP + self.place
    }
}

/// Slots for entries.
///
/// The arrays `homes` and `entries` are [`GROUP`] times as long as `groups`. The entry of a
/// slot is initialized if, and only if, the slot's tag is not 0.
pub(super) struct Slots<T> {
    groups: Box<[Group]>,
    homes: Box<[GroupHome]>,
    entries: Box<[MaybeUninit<T>]>,
}

impl<T> Slots<T> {
    /// Creates `groups` groups of free slots.
    pub(super) fn new(groups: usize) -> Slots<T> {
        Slots {
            groups: core::iter::repeat_n(Group::default(), groups).collect(),
            homes: core::iter::repeat_n(GroupHome::default(), groups * GROUP).collect(),
            entries: Box::new_uninit_slice(groups * GROUP),
        }
    }

    #[inline(always)]
    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the memory of all slots, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.groups) + size_of_val(&*self.homes) + size_of_val(&*self.entries)
    }

    /// Prefetches the tags with which a search begins.
    #[inline(always)]
    pub(super) fn fetch_tags(&self, group: usize) {
        if let Some(group) = self.groups.get(group) {
            prefetch(group);
        }
    }

    /// Prefetches the first entries of a group.
    #[inline(always)]
    pub(super) fn fetch_first(&self, group: usize) {
        if let Some(entry) = self.entries.get(group * GROUP) {
            prefetch(entry);
        }
    }

    /// Prefetches the entry that a search for `home` in the group looks at first.
    #[inline(always)]
    pub(super) fn fetch_match(&self, group: usize, home: GroupHome) {
        let Some(known) = self.groups.get(group) else { return };
        let matches = known.matches(home.tag());
        if matches != 0
            && let Some(entry) = self.entries.get(group * GROUP + place(matches))
        {
            prefetch(entry);
        }
    }

    /// Prefetches what is written when an entry is put into the group.
    #[inline(always)]
    pub(super) fn fetch_free(&self, group: usize) {
        let Some(known) = self.groups.get(group) else { return };
        let free = !known.tags & TAKEN;
        if free != 0 {
            let index = group * GROUP + place(free);
            if let (Some(entry), Some(home)) = (self.entries.get(index), self.homes.get(index)) {
                prefetch(entry);
                prefetch(home);
            }
        }
    }

    /// Prefetches a whole group.
    #[inline(always)]
    pub(super) fn fetch_group(&self, group: usize) {
        self.fetch_tags(group);
        let first = group * GROUP;
        if let Some(entries) = self.entries.get(first..first + GROUP) {
            for entry in entries.iter().step_by((64 / size_of::<T>().max(1)).max(1)) {
                prefetch(entry);
            }
        }
    }

    /// Returns the slot of the entry with that home for which `is` returns true, in one
    /// group. If it is not there, returns `Err` with whether entries of this home may be in
    /// the next group.
    #[inline(always)]
    pub(super) fn find(
        &self,
        group: usize,
        home: GroupHome,
        is: impl Fn(&T) -> bool,
    ) -> Result<GroupIndex, bool> {
        let known = self.groups[group];
        let mut matches = known.matches(home.tag());
        while matches != 0 {
            let at = GroupIndex { group, place: place(matches) };
            if self.get(at).is_some_and(&is) {
                return Ok(at);
            }
            matches &= matches - 1;
        }
        Err(known.passed != 0)
    }

    #[inline(always)]
    pub(super) fn get(&self, at: GroupIndex) -> Option<&T> {
        if !self.groups[at.group].is_taken(at.place) {
            return None;
        }
        // SAFETY: the slot is in use, so its entry is initialized.
        Some(unsafe { self.entries[at.index()].assume_init_ref() })
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, at: GroupIndex) -> Option<&mut T> {
        if !self.groups[at.group].is_taken(at.place) {
            return None;
        }
        // SAFETY: the slot is in use, so its entry is initialized.
        Some(unsafe { self.entries[at.index()].assume_init_mut() })
    }

    /// Returns the home of the entry in a slot in use.
    #[inline(always)]
    pub(super) fn home(&self, at: GroupIndex) -> GroupHome {
        self.homes[at.index()]
    }

    /// Puts an entry into a group, and returns its slot. Hands it back if the group is full, and
    /// counts it there as one that probed past.
    #[inline(always)]
    pub(super) fn put(&mut self, group: usize, home: GroupHome, entry: T) -> Result<GroupIndex, T> {
        let known = &mut self.groups[group];
        let free = !known.tags & TAKEN;
        if free == 0 {
            known.passed += 1;
            return Err(entry);
        }
        let at = GroupIndex { group, place: place(free) };
        // The entry is written before its tag. The slot was free, so there is nothing to
        // drop.
        self.entries[at.index()].write(entry);
        self.homes[at.index()] = home;
        known.tags |= home.tag() << (8 * at.place);
        Ok(at)
    }

    /// Takes the entry out of a slot.
    #[inline(always)]
    pub(super) fn take(&mut self, at: GroupIndex) -> Option<T> {
        let known = &mut self.groups[at.group];
        if !known.is_taken(at.place) {
            return None;
        }
        let entry = &self.entries[at.index()];
        known.tags &= !(0xFF << (8 * at.place));
        // SAFETY: the slot was in use, so its entry was initialized; it is free now, so the
        // entry is read once.
        Some(unsafe { entry.assume_init_read() })
    }

    /// Notes that an entry that had probed past the group is gone.
    pub(super) fn unpass(&mut self, group: usize) {
        self.groups[group].passed -= 1;
    }

    /// Returns the slots of a group that are in use now.
    #[inline(always)]
    pub(super) fn taken(&self, group: usize) -> impl Iterator<Item = GroupIndex> + use<T> {
        let mut taken = self.groups[group].tags & TAKEN;
        core::iter::from_fn(move || {
            let at = (taken != 0).then(|| GroupIndex { group, place: place(taken) })?;
            taken &= taken - 1;
            Some(at)
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.groups()).flat_map(|group| self.taken(group)).filter_map(|at| self.get(at))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let groups = &self.groups;
        let is_taken = |index: usize| groups[index / GROUP].is_taken(index % GROUP);
        let entries = self.entries.iter_mut().enumerate();
        // SAFETY: as in `get_mut`.
        entries
            .filter(move |(index, _)| is_taken(*index))
            .map(|(_, entry)| unsafe { entry.assume_init_mut() })
    }

    #[cfg(test)]
    pub(super) fn is_as_new(&self) -> bool {
        self.groups.iter().all(|group| group.tags == 0 && group.passed == 0)
    }
}

impl Group {
    /// Returns a bit for each slot in use that may hold an entry of this tag. (Above a slot
    /// that does, there may be one that does not.)
    #[inline(always)]
    fn matches(self, tag: u64) -> u64 {
        let differences = self.tags ^ (ONES * tag);
        differences.wrapping_sub(ONES) & !differences & TAKEN
    }

    #[inline(always)]
    fn is_taken(self, place: usize) -> bool {
        self.tags >> (8 * place) & 0x80 != 0
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            let mut rest = Rest { slots: self, group: 0 };
            // If a drop panics, the remaining entries are dropped with `rest`.
            while rest.drop_next() {}
        }
    }
}

/// The entries from a group on, to be dropped.
struct Rest<'a, T> {
    slots: &'a mut Slots<T>,
    group: usize,
}

impl<T> Rest<'_, T> {
    /// Drops one entry, after its slot was freed. Returns whether there was one.
    fn drop_next(&mut self) -> bool {
        while self.group < self.slots.groups() {
            let first = self.slots.taken(self.group).next();
            if let Some(entry) = first.and_then(|at| self.slots.take(at)) {
                drop(entry);
                return true;
            }
            self.group += 1;
        }
        false
    }
}

impl<T> Drop for Rest<'_, T> {
    fn drop(&mut self) {
        while self.drop_next() {}
    }
}

impl<T> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("groups", &self.groups.len()).finish_non_exhaustive()
    }
}
