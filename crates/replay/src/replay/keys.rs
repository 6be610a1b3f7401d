//! The keys of one limiter, in the store that the policy chose.

use std::fmt;
use std::sync::Arc;

use bstr::{BStr, BString};
use hashbrown::HashMap;
use sluicegate::keyed::{Buckets, Each, PerKey};
use sluicegate::{Denied, Grant, KeyedLimiter, Limiter, ManualClock};
use sluicegate_policy::{CommonLimiter, PermitSource};

use crate::policy::{BoxedLimiter, Exact, Kind, Room, Rule, Table, exact, table};

const CHECKED: &str = "the policy built one with these numbers";

/// A store that has a limiter for every key.
pub(crate) trait Keys {
    /// Asks the limiter of `key` for `permits`.
    fn try_acquire(&mut self, key: &[u8], permits: u64) -> Answer;

    /// Returns the number of keys that have a limiter.
    fn known(&self) -> usize;

    /// Returns the table, if the store is one.
    fn table(&self) -> Option<&Table> {
        None
    }
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) decision: Result<Grant, Denied>,
    /// True if there was no space for the key, so that `when_full` made the decision.
    pub(super) is_full: bool,
    /// True if the permits were lent to the key.
    pub(super) is_borrowed: bool,
}

impl Answer {
    fn new(decision: Result<Grant, Denied>, is_full: bool) -> Answer {
        Answer { decision, is_full, is_borrowed: false }
    }
}

/// Creates a store without keys. Its time begins with the clock's reading.
pub(crate) fn keys(rule: &Rule, clock: &Arc<ManualClock>) -> Box<dyn Keys> {
    let (kind, when_full, clock) = (&rule.kind, rule.store.when_full, Arc::clone(clock));
    if let Some(common) = CommonLimiter::new(kind, clock.clone()).expect(CHECKED) {
        return Box::new(common);
    }
    let max_keys = match (kind, rule.store.room) {
        (Kind::TokenBucket { quota, .. }, Room::Table(size)) => {
            return Box::new(table(size, *quota, when_full, clock).expect(CHECKED));
        }
        (_, Room::Exact { max_keys }) => max_keys,
        (_, Room::Table(_)) => unreachable!("a policy has tables of token buckets only"),
    };
    let make = limiters(rule.clone(), Arc::clone(&clock));
    let are_kept =
        !kind.is_new_when_full() || rule.overrides.values().any(|kind| !kind.is_new_when_full());
    match kind {
        _ if are_kept => Box::new(Kept { limiters: HashMap::new(), make }),
        Kind::TokenBucket { quota, .. } if is_of_store(rule) => {
            let buckets = Buckets::with_clock(*quota, clock);
            Box::new(exact(buckets, max_keys, when_full).expect(CHECKED))
        }
        _ if max_keys.is_none() => {
            Box::new(Swept { limiters: HashMap::new(), make, sweep_at: FIRST_SWEEP })
        }
        _ => {
            let each = Each::with_clock(move |key: &Vec<u8>| make(key), clock);
            Box::new(exact(each, max_keys, when_full).expect(CHECKED))
        }
    }
}

/// Returns true if keys earn tokens from the beginning of their store on, and not from their own: so they are
/// rounded at the same times for all of them.
pub(crate) fn is_of_store(rule: &Rule) -> bool {
    matches!(rule.kind, Kind::TokenBucket { .. })
        && rule.kind.is_new_when_full()
        && rule.overrides.is_empty()
}

/// Returns a function that creates the limiter of a key.
fn limiters(rule: Rule, clock: Arc<ManualClock>) -> impl Fn(&[u8]) -> BoxedLimiter + Send + Sync {
    move |key| rule.kind_of(key).limiter(clock.clone()).expect(CHECKED)
}

impl<L: PerKey<Vec<u8>>> Keys for Exact<L> {
    fn try_acquire(&mut self, key: &[u8], permits: u64) -> Answer {
        let decision = Exact::try_acquire(self, key, permits);
        // A new key that is granted something becomes known, unless there is no space. A
        // refusal may come from the bucket that keys without space share.
        let is_full = self.len() >= self.max_keys()
            && permits > 0
            && !self.contains(key)
            && self.peek(key, permits).is_ok();
        Answer::new(decision, is_full)
    }

    fn known(&self) -> usize {
        self.len()
    }
}

impl Keys for CommonLimiter {
    fn try_acquire(&mut self, key: &[u8], permits: u64) -> Answer {
        let decision = self.decide(key, permits);
        let is_borrowed = matches!(decision, Ok((_, Some(PermitSource::Borrowed))));
        Answer { is_borrowed, ..Answer::new(decision.map(|(grant, _)| grant), false) }
    }

    fn known(&self) -> usize {
        self.len()
    }
}

impl Keys for Table {
    fn try_acquire(&mut self, key: &[u8], permits: u64) -> Answer {
        let before = self.full_events();
        let decision = Table::try_acquire(self, key, permits);
        Answer::new(decision, self.full_events() > before)
    }

    fn known(&self) -> usize {
        self.occupancy().live
    }

    fn table(&self) -> Option<&Table> {
        Some(self)
    }
}

/// Limiters that are never forgotten, for kinds in which an idle key differs from a new one.
struct Kept<F> {
    limiters: HashMap<BString, BoxedLimiter>,
    make: F,
}

impl<F: Fn(&[u8]) -> BoxedLimiter> Keys for Kept<F> {
    fn try_acquire(&mut self, key: &[u8], permits: u64) -> Answer {
        let limiter = self.limiters.entry_ref(BStr::new(key)).or_insert_with(|| (self.make)(key));
        Answer::new(limiter.try_acquire(permits), false)
    }

    fn known(&self) -> usize {
        self.limiters.len()
    }
}

/// Limiters that are forgotten when they are idle, without a bound on their number.
///
/// All are looked at whenever there are twice as many as were left the last time, so a new key costs
/// two looks. A `Keyed` looks at some for each new key, without end, and each is in memory of its
/// own that is not in the cache. (To give idle limiters to new keys is slower than to make new
/// ones: a window writes each of its slots again after a pause.)
struct Swept<F> {
    limiters: HashMap<BString, BoxedLimiter>,
    make: F,
    sweep_at: usize,
}

/// The number of keys at which idle ones are looked for at first.
const FIRST_SWEEP: usize = 1 << 12;

impl<F: Fn(&[u8]) -> BoxedLimiter> Keys for Swept<F> {
    fn try_acquire(&mut self, key: &[u8], permits: u64) -> Answer {
        if self.limiters.len() >= self.sweep_at && !self.limiters.contains_key(BStr::new(key)) {
            self.limiters.retain(|_, limiter| !limiter.is_idle());
            self.sweep_at = FIRST_SWEEP.max(2 * self.limiters.len());
        }
        let limiter = self.limiters.entry_ref(BStr::new(key)).or_insert_with(|| (self.make)(key));
        Answer::new(limiter.try_acquire(permits), false)
    }

    fn known(&self) -> usize {
        self.limiters.len()
    }
}

impl fmt::Debug for dyn Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("known", &self.known()).finish_non_exhaustive()
    }
}
