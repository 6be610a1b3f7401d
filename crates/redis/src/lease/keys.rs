//! The keys with a lease, of which there are never more than the options say.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use sluicegate::{Denied, KeyTable, Quota, Rate};

use super::key::LeasedKey;
use super::options::{LeaseError, LeaseOptions};

/// The keys that have a lease, and the search for those that are to have one.
#[derive(Debug)]
pub(super) struct LeasedKeys {
    map: papaya::HashMap<Box<str>, Arc<LeasedKey>>,
    /// Keys in the map, and those that are about to be.
    count: AtomicUsize,
    most: usize,
    /// Counts calls: what it denies is hot. None if all keys are.
    heat: Option<KeyTable<str>>,
    expiry_nanos: u64,
    /// True while a task, or a thread, ends the leases of idle keys.
    is_swept: AtomicBool,
    is_closed: AtomicBool,
}

// ORDERING: Relaxed throughout, but where it says more: a count and a flag, which no permit depends on.
// MODEL: none; the keys are in the map.
impl LeasedKeys {
    pub(super) fn new(options: &LeaseOptions) -> Result<LeasedKeys, LeaseError> {
        let heat = match u64::from(options.hot_after()) {
            0 => None,
            calls => {
                let rate = Rate::new(calls, options.expiry())?;
                // Keys that are not hot yet come and go beside those that are.
                Some(KeyTable::with_keys(Quota::new(rate), options.max_keys().saturating_mul(4))?)
            }
        };
        Ok(LeasedKeys {
            map: papaya::HashMap::new(),
            count: AtomicUsize::new(0),
            most: options.max_keys(),
            heat,
            // At most a day.
            expiry_nanos: options.expiry().as_nanos() as u64,
            is_swept: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Does something with the key, if it has a lease.
    pub(super) fn with<T>(&self, key: &str, f: impl FnOnce(&Arc<LeasedKey>) -> T) -> Option<T> {
        self.map.pin().get(key).map(f)
    }

    /// Returns the number of keys with a lease.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns the permits that are left in all leases.
    pub(super) fn held(&self) -> u64 {
        self.map.pin().values().map(|leased| leased.left()).fold(0, u64::saturating_add)
    }

    /// Returns the key, to which it gives a lease if it is hot and there is space for it.
    pub(super) fn of_hot(&self, key: &str, name: String, now: u64) -> Option<Arc<LeasedKey>> {
        let is_hot = || match &self.heat {
            // Only a wait: a table without space for the key knows nothing of it.
            Some(heat) => matches!(heat.try_acquire(key, 1), Err(Denied::Wait(_))),
            None => true,
        };
        if self.is_closed() || !is_hot() || !self.reserve() {
            return None;
        }
        let made = Arc::new(LeasedKey::new(name, now));
        let map = self.map.pin();
        match map.try_insert(key.into(), Arc::clone(&made)) {
            Ok(_) => Some(made),
            Err(known) => {
                self.count.fetch_sub(1, Relaxed);
                Some(Arc::clone(known.current))
            }
        }
    }

    /// Counts a key, if there is space for it.
    fn reserve(&self) -> bool {
        let add = |count: usize| (count < self.most).then_some(count + 1);
        self.count.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// Removes a key whose lease has ended.
    pub(super) fn remove(&self, key: &str, ended: &Arc<LeasedKey>) {
        if let Ok(Some(_)) = self.map.pin().remove_if(key, |_, found| Arc::ptr_eq(found, ended)) {
            self.count.fetch_sub(1, Relaxed);
        }
    }

    /// Returns true if the caller is to look for idle keys from now on, since nobody does.
    pub(super) fn begins_to_sweep(&self) -> bool {
        // ORDERING: AcqRel. Pairs with that of `ends_to_sweep`: whoever finds the flag set has its key looked for, because
        // the one that clears it later sees the key.
        // MODEL: none; a lease that is not given back is no permit too many.
        !self.is_swept.swap(true, AcqRel)
    }

    /// Returns true if the caller need not look for idle keys any more, since no key has a lease.
    pub(super) fn ends_to_sweep(&self) -> bool {
        if !self.map.is_empty() {
            return false;
        }
        self.leave_sweep();
        self.map.is_empty() || !self.begins_to_sweep()
    }

    /// Lets another caller look for idle keys.
    pub(super) fn leave_sweep(&self) {
        // ORDERING: AcqRel, as in `begins_to_sweep`.
        // MODEL: none.
        self.is_swept.swap(false, AcqRel);
    }

    /// Returns the time between two looks for idle keys: half of the expiry.
    pub(super) fn sweep_pause(&self) -> Duration {
        Duration::from_nanos(self.expiry_nanos / 2)
    }

    /// Returns the keys that no call has come for within the expiry.
    pub(super) fn idle(&self, now: u64) -> Vec<(Box<str>, Arc<LeasedKey>)> {
        self.those(|key| key.is_idle(now, self.expiry_nanos))
    }

    /// Gives no key a lease any more, and returns those that have one.
    pub(super) fn close(&self) -> Vec<(Box<str>, Arc<LeasedKey>)> {
        self.is_closed.store(true, Relaxed);
        self.those(|_| true)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    fn those(&self, choose: impl Fn(&LeasedKey) -> bool) -> Vec<(Box<str>, Arc<LeasedKey>)> {
        let map = self.map.pin();
        let chosen = map.iter().filter(|(_, leased)| choose(leased));
        chosen.map(|(key, leased)| (key.clone(), Arc::clone(leased))).collect()
    }
}
