//! The lines of the keys that somebody waits for.
//!
//! Maps of keys to lines, in shards. A key has a line as long as somebody uses it: a caller that
//! stands in it or is about to, or a call that has found it. Each is counted under the lock of the
//! shard, and the last to leave removes the line.
//!
//! **Theorem.** All who use a line of a key at one time use the same one.
//!
//! *Proof.* A line is got from the map, under its lock, and counted there. It is removed under the
//! lock, when nobody is counted. So the map has the line that anybody uses, and a map has one line for
//! a key. ∎

use alloc::borrow::ToOwned;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use std::collections::HashMap;
use std::hash::RandomState;

use crossbeam_utils::CachePadded;

use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Lock, SharedLock};
use crate::wait::error::AcquireError;
use crate::wait::limits::LineLimits;
use crate::wait::outside::OutsideLine;

/// Number of shards, a power of two.
const SHARDS: usize = if cfg!(any(sluicegate_loom, sluicegate_shuttle)) { 1 } else { 16 };

/// Keys for which an empty map keeps memory.
const KEPT: usize = 64;

pub(super) struct KeyLines<O> {
    shards: [CachePadded<Lock<HashMap<O, KeyLine>>>; SHARDS],
    /// Locked before any shard, and throughout a change of it, so that all lines get the same.
    terms: SharedLock<LineTerms>,
    hasher: RandomState,
    /// Number of lines. Calls read it when nobody waits for any key, so it is apart.
    count: CachePadded<AtomicWord<u64>>,
}

/// The terms of the lines of all keys.
struct LineTerms {
    limits: LineLimits,
    is_closed: bool,
}

struct KeyLine {
    line: Arc<OutsideLine>,
    users: usize,
}

impl<O: Hash + Eq> KeyLines<O> {
    pub(super) fn new() -> KeyLines<O> {
        KeyLines {
            shards: core::array::from_fn(|_| CachePadded::new(Lock::new(HashMap::new()))),
            terms: SharedLock::new(LineTerms { limits: LineLimits::new(), is_closed: false }),
            hasher: RandomState::new(),
            count: CachePadded::new(AtomicWord::new(0)),
        }
    }

    /// Number of keys that have a line.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        // ORDERING: Relaxed. A call that starts after another one stands in line finds its line
        // counted, by coherence; the line is then found under the shard's lock.
        // MODEL: `nobody_overtakes_a_caller_in_line_for_a_key`.
        self.count.load(Relaxed)
    }

    /// Returns the line of `key` for one more user, made if there is none.
    ///
    /// # Errors
    ///
    /// [`AcquireError::Closed`] if all lines were closed.
    pub(super) fn enter<K>(&self, key: &K) -> Result<Arc<OutsideLine>, AcquireError>
    where
        O: Borrow<K>,
        K: Hash + Eq + ToOwned<Owned = O> + ?Sized,
    {
        let terms = self.terms.read();
        if terms.is_closed {
            return Err(AcquireError::Closed);
        }
        let mut shard = self.shard(key).lock();
        if let Some(line) = shard.get_mut(key).map(KeyLine::enter) {
            return Ok(line);
        }
        let line = Arc::new(OutsideLine::new());
        if terms.limits != LineLimits::new() {
            line.line_lock().set_limits(terms.limits);
        }
        shard.insert(key.to_owned(), KeyLine { line: Arc::clone(&line), users: 1 });
        // ORDERING: Relaxed, as in `count`.
        // MODEL: `nobody_overtakes_a_caller_in_line_for_a_key`.
        self.count.fetch_add(1, Relaxed);
        Ok(line)
    }

    /// Returns the line of `key` for one more user, if there is one.
    pub(super) fn enter_known<K>(&self, key: &K) -> Option<Arc<OutsideLine>>
    where
        O: Borrow<K>,
        K: Hash + Eq + ?Sized,
    {
        self.shard(key).lock().get_mut(key).map(KeyLine::enter)
    }

    /// Ends a use of `line`, which is that of `key`, and removes it if that was the last one.
    pub(super) fn leave<K>(&self, key: &K, line: &Arc<OutsideLine>)
    where
        O: Borrow<K>,
        K: Hash + Eq + ?Sized,
    {
        let mut shard = self.shard(key).lock();
        let Some(known) = shard.get_mut(key) else { return };
        // A key whose hash panics may have lost its line, and have another one.
        if !Arc::ptr_eq(&known.line, line) {
            return;
        }
        known.users -= 1;
        if known.users > 0 {
            return;
        }
        let removed = shard.remove_entry(key);
        // ORDERING: Relaxed, as in `count`.
        // MODEL: `nobody_overtakes_a_caller_in_line_for_a_key`.
        self.count.fetch_sub(1, Relaxed);
        if shard.is_empty() && shard.capacity() > KEPT {
            *shard = HashMap::new();
        }
        // The key is a user's, so it is dropped without the lock.
        drop(shard);
        drop(removed);
    }

    /// Returns the keys that have a line.
    pub(super) fn keys<K>(&self) -> Vec<O>
    where
        O: Borrow<K>,
        K: ToOwned<Owned = O> + ?Sized,
    {
        let mut keys = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            keys.reserve(shard.len());
            keys.extend(shard.keys().map(|key| key.borrow().to_owned()));
        }
        keys
    }

    /// Bounds the lines of all keys, of those that are there and of those to come.
    pub(super) fn set_limits(&self, limits: LineLimits) {
        let mut terms = self.terms.write();
        terms.limits = limits;
        for shard in &self.shards {
            // A line may be locked for longer than a shard should be.
            let lines: Vec<_> =
                shard.lock().values().map(|known| Arc::clone(&known.line)).collect();
            for line in lines {
                line.line_lock().set_limits(limits);
            }
        }
    }

    /// Lets nobody enter any more. Does not close the lines that are there.
    pub(super) fn close(&self) {
        self.terms.write().is_closed = true;
    }

    fn shard<K: Hash + ?Sized>(&self, key: &K) -> &Lock<HashMap<O, KeyLine>> {
        let hash = self.hasher.hash_one(key);
        &self.shards[hash as usize % SHARDS]
    }
}

impl KeyLine {
    fn enter(&mut self) -> Arc<OutsideLine> {
        self.users += 1;
        Arc::clone(&self.line)
    }
}
