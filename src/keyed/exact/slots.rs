//! Places for entries, in groups of eight, and what is known of them without a look at them.
//!
//! A group's tags, a byte for each place, are one word and are looked at together. The entries
//! lie in an array of their own, so that both can be on their way at the same time; so does the
//! home of each, which is needed only when an entry comes or goes.

#![allow(unsafe_code, reason = "what a place that is free holds is said by its tag, not twice")]

use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;

use crate::prefetch::prefetch;

/// Places in a group.
pub(super) const GROUP: usize = 8;

/// The lowest bit of each byte.
const ONES: u64 = u64::MAX / 0xFF;

/// The highest bit of each byte: of a tag, that the place is taken.
const TAKEN: u64 = ONES << 7;

/// Where a key belongs: a part of its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupHome(u32);

impl GroupHome {
    pub(super) const fn new(hash: u32) -> GroupHome {
        GroupHome(hash)
    }

    /// The first group that it may be in, of so many. They need not be a power of two; and
    /// entries that were in order are so in a larger table too.
    #[inline(always)]
    pub(super) fn group(self, groups: usize) -> usize {
        ((u64::from(self.0) * groups as u64) >> u32::BITS) as usize
    }

    #[inline(always)]
    fn tag(self) -> u64 {
        // Of the bits that say little of the group.
        u64::from(self.0 & 0x7F | 0x80)
    }
}

/// All that is known of a group without a look at its entries.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// A byte for each place, 0 if it is free.
    tags: u64,
    /// Entries that found no place here, or before.
    passed: u64,
}

/// The place of the lowest of `bits`.
#[inline(always)]
fn place(bits: u64) -> usize {
    bits.trailing_zeros() as usize / 8
}

/// A place: the number of its group, and its own in there.
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

/// Places for entries.
///
/// The arrays `homes` and `entries` are [`GROUP`] times as long as `groups`. The entry
/// of a place is there if, and only if, the place's tag is not 0.
pub(super) struct Slots<T> {
    groups: Box<[Group]>,
    homes: Box<[GroupHome]>,
    entries: Box<[MaybeUninit<T>]>,
}

impl<T> Slots<T> {
    /// So many groups of places that are free.
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

    /// The memory of all places.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.groups) + size_of_val(&*self.homes) + size_of_val(&*self.entries)
    }

    /// Asks for the tags that a search begins with.
    #[inline(always)]
    pub(super) fn fetch_tags(&self, group: usize) {
        if let Some(group) = self.groups.get(group) {
            prefetch(group);
        }
    }

    /// Asks for the first entries of a group.
    #[inline(always)]
    pub(super) fn fetch_first(&self, group: usize) {
        if let Some(entry) = self.entries.get(group * GROUP) {
            prefetch(entry);
        }
    }

    /// Asks for the entry that a search for `home` in the group looks at first.
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

    /// Asks for a whole group.
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

    /// The place of the entry with that home that `is` it, in one group; `Err` if it is not
    /// there, with whether entries of this home may be in the next one.
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
        // SAFETY: the place is taken, so its entry is there.
        Some(unsafe { self.entries[at.index()].assume_init_ref() })
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, at: GroupIndex) -> Option<&mut T> {
        if !self.groups[at.group].is_taken(at.place) {
            return None;
        }
        // SAFETY: the place is taken, so its entry is there.
        Some(unsafe { self.entries[at.index()].assume_init_mut() })
    }

    /// The home of what is at a place that is taken.
    #[inline(always)]
    pub(super) fn home(&self, at: GroupIndex) -> GroupHome {
        self.homes[at.index()]
    }

    /// Puts an entry into a group; hands it back if the group is full, which then remembers
    /// that it was passed by.
    #[inline(always)]
    pub(super) fn put(&mut self, group: usize, home: GroupHome, entry: T) -> Result<(), T> {
        let known = &mut self.groups[group];
        let free = !known.tags & TAKEN;
        if free == 0 {
            known.passed += 1;
            return Err(entry);
        }
        let at = GroupIndex { group, place: place(free) };
        // The entry first, and then that it is there. There is none to be dropped.
        self.entries[at.index()].write(entry);
        self.homes[at.index()] = home;
        known.tags |= home.tag() << (8 * at.place);
        Ok(())
    }

    /// Takes out what is at a place.
    #[inline(always)]
    pub(super) fn take(&mut self, at: GroupIndex) -> Option<T> {
        let known = &mut self.groups[at.group];
        if !known.is_taken(at.place) {
            return None;
        }
        let entry = &self.entries[at.index()];
        known.tags &= !(0xFF << (8 * at.place));
        // SAFETY: the place was taken, so its entry was there; it is free now, so the entry is
        // read once.
        Some(unsafe { entry.assume_init_read() })
    }

    /// An entry that passed a group by is no more.
    pub(super) fn unpass(&mut self, group: usize) {
        self.groups[group].passed -= 1;
    }

    /// The places of a group that are taken now.
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
    /// A bit for each place that may hold an entry of this tag, of those that are taken. (Above
    /// one that does, there may be one that does not.)
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
            // If one panics, what is left is dropped with `rest`.
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
    /// Drops one of them, which is free before it is dropped. Whether there was one.
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
