//! All levels at work.
//!
//! All levels are looked at first, so that a level that denies costs the others nothing. Then they are
//! charged one after the other, first the one that has least left: if another thread was
//! faster there, nothing has to be given back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
#[cfg(feature = "registry")]
use sluicegate::Clock;
use sluicegate::keyed::{Each, KeyEstimate};
use sluicegate::settle::AllOrNone;
use sluicegate::window::History;
use sluicegate::{Denied, Grant, Keyed, KeyedLimiter};

use super::level::{self, HierarchyError, LevelPolicy};
use super::patterns::Patterns;
use super::refused::Refused;
use super::settleable::{Before, BoxedSettle};
#[cfg(feature = "registry")]
use crate::past::{PastOfKeys, carry};
use crate::{Kind, SharedClock};

/// All levels. Admissions that outlive their requests share them.
pub(super) struct Levels {
    all: Box<[Level]>,
    /// The limiters of each level, in the same order.
    stores: Box<[Arc<Store>]>,
    /// The makers of these limiters, which other levels may take over.
    #[cfg_attr(
        not(feature = "registry"),
        expect(dead_code, reason = "only a registry changes levels live")
    )]
    makers: Box<[Arc<Maker>]>,
    /// The grants to keys that the limiters in force do not count, by level.
    #[cfg(feature = "registry")]
    past: Box<[PastOfKeys<String>]>,
}

/// The store of one level's limiters.
pub(super) type Store = Keyed<String, Each<Arc<BoxedSettle>, Make, SharedClock>>;

/// Makes the limiter of a key.
type Make = Box<dyn Fn(&String) -> Arc<BoxedSettle> + Send + Sync>;

/// The numbers that the limiters of a level are made with.
struct Maker {
    patterns: Patterns,
    clock: SharedClock,
    /// The limiter that the next one goes on with, and all that is to be carried over, while a level takes the place of
    /// another.
    before: ArcSwapOption<(Kind, Arc<BoxedSettle>, History)>,
}

impl Maker {
    /// Makes the limiter of a key.
    fn limiter(&self, key: &str) -> Arc<BoxedSettle> {
        let before = self.before.load();
        let before = before.as_deref();
        let before = before.map(|(kind, own, all)| Before::new(kind, &***own, all.clone()));
        // Each kind was built before, and neither the key nor the time decides whether it can be.
        let limiter =
            self.patterns.kind_of(key).settleable(Arc::clone(&self.clock), before.as_ref());
        Arc::new(limiter.ok().flatten().expect("a limiter with these numbers was built"))
    }
}

/// The parts of a request that a level looks at.
#[derive(Debug)]
struct Level {
    name: Arc<str>,
    /// Indexes of the fields that its key is made of.
    key: Vec<usize>,
    /// Indexes of the amounts that it counts the sum of; none if it counts requests.
    counts: Vec<usize>,
}

impl Level {
    /// Returns the key of a request: the values of its fields, between slashes.
    fn key_of(&self, fields: &[&str]) -> String {
        let mut key = String::new();
        for (index, field) in self.key.iter().enumerate() {
            if index > 0 {
                key.push('/');
            }
            for c in fields[*field].chars() {
                // So that no two requests with different fields have the same key.
                match c {
                    '/' => key.push_str("%2F"),
                    '%' => key.push_str("%25"),
                    c => key.push(c),
                }
            }
        }
        key
    }
}

impl Levels {
    pub(super) fn new(
        policies: &[LevelPolicy],
        fields: &[&str],
        amounts: &[&str],
        clock: &SharedClock,
    ) -> Result<Levels, HierarchyError> {
        level::check_names(policies)?;
        let mut levels = Vec::with_capacity(policies.len());
        let mut stores = Vec::with_capacity(policies.len());
        let mut makers = Vec::with_capacity(policies.len());
        for policy in policies {
            levels.push(Level {
                name: policy.name.as_str().into(),
                key: policy.indexes(&policy.key, fields)?,
                counts: policy.indexes(&policy.counts, amounts)?,
            });
            let (store, maker) = store(policy, clock)?;
            stores.push(Arc::new(store));
            makers.push(maker);
        }
        Ok(Levels {
            #[cfg(feature = "registry")]
            past: levels.iter().map(|_| PastOfKeys::new()).collect(),
            all: levels.into(),
            stores: stores.into(),
            makers: makers.into(),
        })
    }

    /// Lets a level go on with the keys of a level of other terms: with the store itself if the policies are the same, or
    /// else with what the keys have used. What a limiter has no place for is kept, for the levels that follow.
    #[cfg(feature = "registry")]
    pub(super) fn take_over(&mut self, which: usize, old: &Levels, of: usize, is_same: bool) {
        self.past[which].clone_from(&old.past[of]);
        if is_same {
            self.stores[which] = Arc::clone(&old.stores[of]);
            self.makers[which] = Arc::clone(&old.makers[of]);
            return;
        }
        let (maker, store) = (&self.makers[which], &self.stores[which]);
        let old_limiter = |key: &str| old.stores[of].with_limiter(key, Arc::clone);
        let counted = old.stores[of].iter().map(|(key, state)| {
            let counted = old_limiter(&key).map(|own| own.counted());
            (key, (counted.unwrap_or_default(), state.reset_after()))
        });
        carry(counted.collect(), &mut self.past[which], maker.clock.now_nanos(), |key, all| {
            let Ok(own) = old_limiter(key) else { return 0 };
            let kind = old.makers[of].patterns.kind_of(key).clone();
            maker.before.store(Some(Arc::new((kind, own, all.clone()))));
            // Makes the limiter of the key, if there is space for it.
            store.with_limiter(key.as_str(), |own| own.counted().permits()).unwrap_or(0)
        });
        maker.before.store(None);
    }

    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.all.iter().map(|level| &*level.name)
    }

    pub(super) fn name(&self, which: usize) -> &Arc<str> {
        &self.all[which].name
    }

    pub(super) fn stores(&self) -> &[Arc<Store>] {
        &self.stores
    }

    /// Returns the key of a request at each level.
    pub(super) fn keys(&self, fields: &[&str]) -> Box<[String]> {
        self.all.iter().map(|level| level.key_of(fields)).collect()
    }

    /// Returns the permits that a request takes from a level.
    pub(super) fn permits(&self, which: usize, amounts: &[u64]) -> u64 {
        match self.all[which].counts.as_slice() {
            [] => 1,
            counts => counts.iter().fold(0, |sum: u64, which| sum.saturating_add(amounts[*which])),
        }
    }

    /// Returns what each level would grant.
    pub(super) fn peek(&self, keys: &[String], amounts: &[u64]) -> Result<Vec<Grant>, Refused> {
        let mut grants = Vec::with_capacity(keys.len());
        let mut refused = None;
        for which in 0..keys.len() {
            match self.look(which, keys, amounts) {
                Ok(grant) => grants.push(grant),
                Err(denied) => self.refuse(&mut refused, which, denied),
            }
        }
        refused.map_or(Ok(grants), Err)
    }

    /// Takes the amounts from all levels, or nothing from any.
    pub(super) fn try_acquire<'k>(
        &'k self,
        keys: &'k [String],
        amounts: &[u64],
    ) -> Result<Vec<KeyEstimate<'k, str, BoxedSettle>>, Refused> {
        let grants = self.peek(keys, amounts)?;
        let mut order: Vec<usize> = (0..grants.len()).collect();
        order.sort_by_key(|which| grants[*which].remaining());
        let mut taken = AllOrNone::with_capacity(order.len());
        for which in order {
            let permits = self.permits(which, amounts);
            let store = &self.stores[which];
            let estimate = store.try_acquire_settleable(keys[which].as_str(), permits);
            if let Err(denied) = taken.add(estimate.map(|estimate| (which, estimate))) {
                return Err(self.refused(which, denied, keys, amounts));
            }
        }
        let mut taken = taken.keep();
        taken.sort_unstable_by_key(|(which, _)| *which);
        Ok(taken.into_iter().map(|(_, estimate)| estimate).collect())
    }

    pub(super) fn look(
        &self,
        which: usize,
        keys: &[String],
        amounts: &[u64],
    ) -> Result<Grant, Denied> {
        self.stores[which].peek(keys[which].as_str(), self.permits(which, amounts))
    }

    /// Returns the refusal of a level that another thread has emptied, or of one that takes longer.
    fn refused(&self, which: usize, denied: Denied, keys: &[String], amounts: &[u64]) -> Refused {
        let mut refused = Refused { level: Arc::clone(self.name(which)), which, denied };
        for other in (0..keys.len()).filter(|other| *other != which) {
            if let Err(denied) = self.look(other, keys, amounts)
                && is_longer(&denied, &refused.denied)
            {
                refused = Refused { level: Arc::clone(self.name(other)), which: other, denied };
            }
        }
        refused
    }

    /// Keeps the refusal that has to be waited for longest.
    fn refuse(&self, refused: &mut Option<Refused>, which: usize, denied: Denied) {
        if refused.as_ref().is_none_or(|other| is_longer(&denied, &other.denied)) {
            *refused = Some(Refused { level: Arc::clone(self.name(which)), which, denied });
        }
    }
}

/// Shows what the levels look at.
impl fmt::Debug for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.all).finish()
    }
}

/// Returns true if a denial has to be waited for longer than the other.
fn is_longer(denied: &Denied, other: &Denied) -> bool {
    let wait = |denied: &Denied| denied.retry_after().unwrap_or(Duration::MAX);
    wait(denied) > wait(other)
}

/// Creates the store of a level.
fn store(policy: &LevelPolicy, clock: &SharedClock) -> Result<(Store, Arc<Maker>), HierarchyError> {
    let unbuildable = |error| HierarchyError::Unbuildable { level: policy.name.clone(), error };
    for kind in policy.kinds() {
        policy.check_kind(kind)?;
        kind.settleable(Arc::clone(clock), None).map_err(unbuildable)?;
    }
    let maker = Arc::new(Maker {
        patterns: Patterns::new(policy)?,
        clock: Arc::clone(clock),
        before: ArcSwapOption::empty(),
    });
    let own = Arc::clone(&maker);
    let make: Make = Box::new(move |key| own.limiter(key));
    let mut store = Keyed::builder(Each::with_clock(make, Arc::clone(clock)));
    if let Some(max_keys) = policy.max_keys {
        store = store.max_keys(max_keys);
    }
    let store = store.build().map_err(|error| unbuildable(error.into()))?;
    Ok((store, maker))
}
