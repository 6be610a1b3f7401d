//! The search for space in a full store: an idle key that can be evicted.
//!
//! A store of many keys is searched in part, so that a refusal is cheap. One that `searches_all` refuses a key only
//! after it has found no idle key in any shard:
//!
//! **Theorem.** When a key is refused, as many other keys as there is space for were not idle, each by a reading of
//! the clock that was made in the call.
//!
//! *Proof.* If the call searches (for others see [`last_search`](super::last_search)): at last, under the lock of its
//! own shard, it finds the count at the maximum. A key is counted before it is inserted and no longer once it is
//! removed, both while the lock of its shard is held exclusively, and the count has one order; so the counted keys
//! are different ones, and the call's is not among them. Each shard was looked at, while its lock was held, and none
//! of its keys was idle by a reading of the call. A key that is counted was there then, or was granted something
//! since. (If it was removed before, the call has seen that, because of the lock.) ∎
//!
//! If another call takes the space that was found, the search goes on in the same shard. So each turn that finds
//! something is one in which some call has inserted its key.
//!
//! A search that follows a change looks at each shard and not at each key: a shard notes until when none of its keys
//! can be idle. A grant makes a known key idle later, and any other change of a state discards the note. (But not
//! the return of a reservation, nor a change in place by a caller of [`Each`](crate::keyed::Each): so only stores of
//! buckets search all, and only without reservations.) A shard is gone through again only when the first of its keys
//! that was to be idle could be.

use core::mem;
use core::ops::Range;
use core::time::Duration;

use crate::keyed::exact::per_key::Engine;
use crate::sync::Ordering::Relaxed;
use crate::time::units;

use super::evict::GRACE_NANOS;
use super::{KeyPlace, KeyShard, SHARDS, Store};

/// Number of groups that a call searches for an idle key, if there is no space: all of a
/// store of up to `FEW_KEYS` keys, or a few groups of a larger one, where refusing a key
/// should be cheap. (`FEW_KEYS` in 128 shards are some 400 groups, and a lock counts as one
/// group. Fewer under loom: every look at a shard adds a turn of a lock.)
const SEARCH_ALL: usize = if cfg!(sluicegate_loom) { 3 } else { 1_024 };
const SEARCH_SOME: usize = if cfg!(sluicegate_loom) { 3 } else { 32 };
const FEW_KEYS: u64 = 1_000;

/// A search for space, by one call.
pub(super) struct Search {
    /// Groups that were looked at.
    groups: usize,
    /// Shards in which no key was idle, of a store that is searched completely: from `first` on.
    shards: usize,
    first: usize,
    /// Readings of the clock by which none was.
    none_idle: Range<u64>,
    /// The changes before the search, and the reading by which it looks for notes.
    changes: u64,
    now_nanos: u64,
}

impl Search {
    /// Begins a search for space, for a key of that place.
    #[inline]
    pub(super) fn of(place: KeyPlace) -> Search {
        let none_idle = 0..u64::MAX;
        Search { groups: 0, shards: 0, first: place.shard, none_idle, changes: 0, now_nanos: 0 }
    }
}

impl<K, L: Engine<K>> Store<K, L> {
    /// Reserves space for one more key; if there is none, evicts idle keys of the shard. `now_nanos` was read in
    /// this call, or is later.
    pub(super) fn has_room(
        &self,
        shard: &mut KeyShard<K, L>,
        search: &mut Search,
        now_nanos: u64,
    ) -> Option<Reserved<'_, K, L>> {
        let number = shard.number;
        if self.reserve(number) {
            return Some(Reserved { store: self, number });
        }
        if let Some(none_idle) = self.found_before(now_nanos) {
            *search = Search { shards: SHARDS, none_idle, ..*search };
            return None;
        }
        // The caller's reading will not do; it may be from before the lock.
        let now_nanos = self.limiter.now_nanos();
        if self.last_search.is_some() {
            while self.clear_due(shard, now_nanos) {
                if self.reserve(number) {
                    return Some(Reserved { store: self, number });
                }
            }
            return None;
        }
        for _ in 0..shard.table.groups() {
            search.groups += 1;
            if self.clear_group(shard, now_nanos) > 0 && self.reserve(number) {
                return Some(Reserved { store: self, number });
            }
            if self.is_over(search) {
                break;
            }
        }
        None
    }

    /// Returns whether a key for which there is still no space is refused.
    pub(super) fn is_over(&self, search: &Search) -> bool {
        if self.last_search.is_some() {
            return search.shards >= SHARDS;
        }
        search.groups >= if self.max_keys > FEW_KEYS { SEARCH_SOME } else { SEARCH_ALL }
    }

    /// Evicts idle keys in other shards, until there is space. The caller holds no lock.
    pub(super) fn search_elsewhere(&self, search: &mut Search) {
        let Some(last_search) = &self.last_search else {
            while !self.is_over(search) && self.len() >= self.max_keys {
                self.search_any(search);
            }
            return;
        };
        if search.shards == 0 {
            search.changes = last_search.changes();
            search.now_nanos = self.limiter.now_nanos();
        }
        while !self.is_over(search) && self.len() >= self.max_keys {
            self.search_next(search);
        }
        if self.is_over(search) {
            last_search.note(search.changes, &search.none_idle);
        }
    }

    /// Evicts idle keys of the next shard, which is the next one again if there were any.
    fn search_next(&self, search: &mut Search) {
        let locked = &self.shards[(search.first + search.shards) % SHARDS];
        // Callers for known keys of the shard do not wait for this lock.
        let noted = locked.shard.read().none_idle.clone();
        let noted = Some(noted).filter(|noted| noted.contains(&search.now_nanos));
        let none_idle = noted.or_else(|| {
            let shard = &mut *locked.shard.write();
            let now_nanos = self.limiter.now_nanos();
            self.renew_terms(shard, now_nanos);
            (!self.clear_due(shard, now_nanos)).then(|| shard.none_idle.clone())
        });
        if let Some(Range { start, end }) = none_idle {
            search.none_idle = search.none_idle.start.max(start)..search.none_idle.end.min(end);
            search.shards += 1;
        }
    }

    /// Evicts idle keys of any shard, some groups of it at most.
    fn search_any(&self, search: &mut Search) {
        // ORDERING: Relaxed. Any shard will do.
        // MODEL: none.
        let number = self.next_search.fetch_add(1, Relaxed) as usize % SHARDS;
        let shard = &mut *self.shards[number].shard.write();
        let now_nanos = self.limiter.now_nanos();
        self.renew_terms(shard, now_nanos);
        // The lock counts as one group.
        search.groups += 1;
        for _ in 0..shard.table.groups() {
            search.groups += 1;
            if self.clear_group(shard, now_nanos) > 0 || self.is_over(search) {
                break;
            }
        }
    }

    /// Evicts some keys of the shard that are idle at `now_nanos`, or whose state no call can have left. Returns whether
    /// there were any; otherwise notes until when there are none. The reading must have been made under the lock.
    fn clear_due(&self, shard: &mut KeyShard<K, L>, now_nanos: u64) -> bool {
        if shard.none_idle.contains(&now_nanos) {
            return false;
        }
        for _ in 0..shard.table.groups() {
            if self.clear_group(shard, now_nanos) > 0 {
                return true;
            }
        }
        let KeyShard { table, terms, .. } = shard;
        let waits = table.iter().map(|entry| self.idle_nanos(terms, &entry.state, now_nanos));
        shard.none_idle = now_nanos..waits.min().unwrap_or(u64::MAX);
        false
    }

    /// Returns the time before which the key is not idle.
    pub(super) fn idle_nanos(&self, terms: &L::Terms, state: &L::State, now_nanos: u64) -> u64 {
        now_nanos.saturating_add(units::nanos(self.limiter.idle_after(terms, state, now_nanos)))
    }

    /// Notes that a level of the shard may be lower from now on, or come back lower. The caller holds the
    /// exclusive lock.
    pub(in crate::keyed::exact) fn note_change(&self, shard: &mut KeyShard<K, L>) {
        shard.changes = shard.changes.wrapping_add(1);
        self.expect_idle_sooner(&mut shard.none_idle);
    }

    /// Discards the notes until when no key is idle, of a shard and of the store.
    pub(super) fn expect_idle_sooner(&self, none_idle: &mut Range<u64>) {
        *none_idle = 0..0;
        if let Some(last_search) = &self.last_search {
            last_search.note_change();
        }
    }

    /// Returns the time until there may be space, for a key that was refused.
    pub(super) fn soonest(
        &self,
        shard: &KeyShard<K, L>,
        search: &Search,
        now_nanos: u64,
    ) -> Duration {
        if self.last_search.is_some() {
            let wait_nanos = match search.none_idle.end {
                // All keys came behind the search, which knows nothing of them.
                u64::MAX => GRACE_NANOS,
                end_nanos => end_nanos.saturating_sub(now_nanos).max(1),
            };
            return Duration::from_nanos(wait_nanos);
        }
        // Among as many keys as are worth a look.
        let waits = shard.table.iter().take(SEARCH_SOME);
        let waits =
            waits.map(|entry| self.limiter.idle_after(&shard.terms, &entry.state, now_nanos));
        // Nothing is known of other shards, and keys that are idle already were not reached
        // by the search. So zero waits are left out, or a caller that obeys would spin.
        waits.filter(|wait| !wait.is_zero()).min().unwrap_or(Duration::from_nanos(GRACE_NANOS))
    }
}

impl<K, L: Engine<K>> KeyShard<K, L> {
    /// Corrects the note until when no key is idle, for a key that is inserted.
    #[inline]
    pub(super) fn expect_idle(&mut self, limiter: &L, state: &L::State, now_nanos: u64) {
        if !self.none_idle.is_empty() {
            let wait = units::nanos(limiter.idle_after(&self.terms, state, now_nanos));
            self.none_idle.end = self.none_idle.end.min(now_nanos.saturating_add(wait));
        }
    }
}

/// Space reserved for one more key. It is released if the key is not inserted after all,
/// because code of the caller's panics, such as the `Drop` of a key that is evicted.
#[must_use = "the place is given back at once"]
pub(super) struct Reserved<'a, K, L: Engine<K>> {
    store: &'a Store<K, L>,
    /// The shard, whose lock is held.
    number: usize,
}

impl<K, L: Engine<K>> Reserved<'_, K, L> {
    /// Keeps the reservation: the key has been inserted.
    pub(super) fn keep(self) {
        mem::forget(self);
    }
}

impl<K, L: Engine<K>> Drop for Reserved<'_, K, L> {
    fn drop(&mut self) {
        self.store.release(self.number);
    }
}
