//! The limiter that all keys of a policy have in common: shares of tenants, or classes with reserves.

#[cfg(feature = "registry")]
mod carry;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use sluicegate::compose::Counts;
use sluicegate::share::{Priorities, ShareGrant, Shares};
use sluicegate::{Denied, Grant, KeyedLimiter, TokenBucket};

use crate::kind::common::{ClassPolicy, ShareGroup, priorities};
use crate::{Kind, SharedClock, Unbuildable};

/// The limiter that all keys of a `shares` or a `priorities` have in common. A key is a tenant, or tells the class.
///
/// Memory: for shares, at most that of the places that the policy has, and of a ceiling for each tenant that was granted
/// something lately; for classes, none but the bucket. Keys that were never granted anything take none.
pub struct CommonLimiter {
    limiter: Parts,
    places: HashMap<Vec<u8>, usize>,
    /// The place of keys that have none of their own.
    others: usize,
    granted: ShareCounters,
}

enum Parts {
    Shares(Box<Shares<Vec<u8>, SharedClock>>),
    Classes(Box<Priorities<TokenBucket<SharedClock>>>),
}

/// The source of a tenant's permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitSource {
    /// The tenant's own share.
    Assured,
    /// Permits that others leave idle, and that are lent.
    Borrowed,
}

/// The permits that the tenants of a limiter were granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareCounts {
    /// Permits of their own shares.
    pub assured: u64,
    /// Permits that were lent to them.
    pub borrowed: u64,
}

/// The answers to one class of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassCounts {
    /// The name of the class.
    pub name: String,
    /// The answers, also denials that `shadow` overrules.
    pub counts: Counts,
}

/// Counts the permits that tenants are granted.
#[derive(Debug, Default)]
pub(crate) struct ShareCounters {
    assured: AtomicU64,
    borrowed: AtomicU64,
}

impl ShareCounters {
    pub(crate) fn count(&self, source: PermitSource, permits: u64) {
        let counter = match source {
            PermitSource::Assured => &self.assured,
            PermitSource::Borrowed => &self.borrowed,
        };
        // ORDERING: Relaxed. Statistics; nothing is decided by them.
        // MODEL: none; no decision depends on them.
        counter.fetch_add(permits, Relaxed);
    }

    /// Goes on from the counts of a limiter whose place this one takes.
    #[cfg(feature = "registry")]
    fn go_on_from(&self, counts: ShareCounts) {
        for (counter, count) in [(&self.assured, counts.assured), (&self.borrowed, counts.borrowed)]
        {
            // ORDERING: Relaxed, as in `count`.
            // MODEL: none, as there.
            counter.store(count, Relaxed);
        }
    }

    pub(crate) fn counts(&self) -> ShareCounts {
        // ORDERING: Relaxed, here and below, as in `count`.
        // MODEL: none, as there.
        let assured = self.assured.load(Relaxed);
        // ORDERING: Relaxed, as above.
        // MODEL: none, as above.
        ShareCounts { assured, borrowed: self.borrowed.load(Relaxed) }
    }
}

/// A grant, and the source of its permits if they are a tenant's.
pub type CommonGrant = (Grant, Option<PermitSource>);

impl CommonLimiter {
    /// Creates the limiter of a kind, or returns `None` if each key of the kind has a limiter of its own.
    ///
    /// # Errors
    ///
    /// [`Unbuildable`] is the engine's verdict. The kinds of a [`LimiterPolicy`](crate::LimiterPolicy) have passed it.
    pub fn new(kind: &Kind, clock: SharedClock) -> Result<Option<CommonLimiter>, Unbuildable> {
        let (limiter, places, others) = match kind {
            Kind::Shares { quota, groups } => {
                let shares = groups.iter().map(|group| group.share);
                let shares = Box::new(Shares::with_clock(*quota, shares, clock)?);
                let is_of_others = |group: &ShareGroup| group.tenants.is_empty();
                // A group that there is not has no share, and its tenants borrow.
                let others = groups.iter().position(is_of_others).unwrap_or(usize::MAX);
                let keys = groups.iter().map(|group| &group.tenants[..]);
                (Parts::Shares(shares), places(keys), others)
            }
            Kind::Priorities { quota, classes } => {
                let priorities = Box::new(priorities(*quota, classes, clock)?.counted());
                let keys = classes.iter().map(|class: &ClassPolicy| &class.values[..]);
                // A class that there is not counts as the last one.
                (Parts::Classes(priorities), places(keys), usize::MAX)
            }
            _ => return Ok(None),
        };
        Ok(Some(CommonLimiter { limiter, places, others, granted: ShareCounters::default() }))
    }

    fn place(&self, key: &[u8]) -> usize {
        self.places.get(key).copied().unwrap_or(self.others)
    }

    /// Takes all of `permits` for the key, or none, and tells their source. Reads the clock once. Allocates for a tenant that was
    /// idle.
    ///
    /// # Errors
    ///
    /// [`Denied`], of the tenant's share or of what can be lent, whichever is granted sooner; or of the class.
    pub fn decide(&self, key: &[u8], permits: u64) -> Result<CommonGrant, Denied> {
        let place = self.place(key);
        match &self.limiter {
            Parts::Shares(shares) => {
                let granted = shares.try_acquire(place, key, permits)?;
                self.granted.count(granted.into(), permits);
                Ok(told(granted))
            }
            Parts::Classes(priorities) => Ok((priorities.try_acquire(place, permits)?, None)),
        }
    }

    /// Returns the answer that [`decide`](CommonLimiter::decide) would give now, if there is a place for the tenant. Takes
    /// nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`decide`](CommonLimiter::decide).
    pub fn look(&self, key: &[u8], permits: u64) -> Result<CommonGrant, Denied> {
        let place = self.place(key);
        match &self.limiter {
            Parts::Shares(shares) => shares.peek(place, key, permits).map(told),
            Parts::Classes(priorities) => Ok((priorities.peek(place, permits)?, None)),
        }
    }

    /// Counts a denial that [`look`](CommonLimiter::look) has told, as one by [`decide`](CommonLimiter::decide).
    #[cfg(feature = "registry")]
    pub(crate) fn note_denial(&self, key: &[u8], permits: u64, denied: &Denied) {
        let Parts::Classes(priorities) = &self.limiter else { return };
        let class = self.place(key).min(priorities.classes().len() - 1);
        if let Some(answers) = priorities.answers(class) {
            answers.count(permits, Err(denied));
        }
    }

    /// Returns the permits that can be lent now, to all tenants together; `None` if keys are no tenants.
    #[must_use]
    pub fn lendable(&self) -> Option<u64> {
        let Parts::Shares(shares) = &self.limiter else { return None };
        // As one without a share, and without a ceiling, would find it.
        let lent = shares.peek(usize::MAX, &[][..], 0);
        Some(lent.map_or(0, |lent| lent.grant().remaining()))
    }

    /// Decides on `permits` of each key, one after the other.
    pub(crate) fn try_acquire_batch_with<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k [u8]>,
        permits: u64,
        mut answer: impl FnMut(usize, Result<Grant, Denied>),
    ) {
        for (place, key) in keys.into_iter().enumerate() {
            answer(place, self.try_acquire(key, permits));
        }
    }

    /// Returns the answers to each class so far, in the order of the classes; none if keys are tenants. Another limiter begins
    /// anew. Allocates; may be out of date.
    #[must_use]
    pub fn class_counts(&self) -> Vec<ClassCounts> {
        let Parts::Classes(priorities) = &self.limiter else { return Vec::new() };
        let classes = priorities.classes().iter().enumerate();
        let counted = classes.filter_map(|(index, class)| {
            let counts = priorities.answers(index)?.counts();
            Some(ClassCounts { name: class.name.clone().into_owned(), counts })
        });
        counted.collect()
    }

    /// Returns the permits that were granted so far; `None` if keys are no tenants. Wait-free; may be out of date.
    #[must_use]
    pub fn counts(&self) -> Option<ShareCounts> {
        matches!(self.limiter, Parts::Shares(_)).then(|| self.granted.counts())
    }
}

/// Numbers the lists of keys, and returns the number of the list that each key is in.
fn places<'k>(lists: impl Iterator<Item = &'k [String]>) -> HashMap<Vec<u8>, usize> {
    let numbered = lists.enumerate();
    numbered
        .flat_map(|(place, keys)| keys.iter().map(move |key| (key.clone().into_bytes(), place)))
        .collect()
}

fn told(granted: ShareGrant) -> CommonGrant {
    (granted.grant(), Some(granted.into()))
}

impl From<ShareGrant> for PermitSource {
    fn from(granted: ShareGrant) -> PermitSource {
        match granted {
            ShareGrant::Assured(_) => PermitSource::Assured,
            ShareGrant::Borrowed(_) => PermitSource::Borrowed,
        }
    }
}

/// Returns the most permits, up to `most`, that would be granted.
fn most_granted(most: u64, is_granted: impl Fn(u64) -> bool) -> u64 {
    let (mut least, mut most) = (0, most);
    while least < most {
        let middle = most - (most - least) / 2;
        if is_granted(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}

impl KeyedLimiter<[u8]> for CommonLimiter {
    fn try_acquire(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        self.decide(key, permits).map(|(grant, _)| grant)
    }

    /// Looks for the number first, and again if others take permits meanwhile.
    fn try_acquire_up_to(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        let is_granted = |permits| self.look(key, permits).is_ok();
        let mut most = permits;
        loop {
            let wanted = if is_granted(most) {
                most
            } else {
                most_granted(most.saturating_sub(1), is_granted)
            };
            if wanted == 0 {
                return self.try_acquire(key, permits.min(1));
            }
            if let Ok((grant, _)) = self.decide(key, wanted) {
                return Ok(grant);
            }
            most = wanted;
        }
    }

    fn try_acquire_batch_with(
        &self,
        keys: &mut dyn Iterator<Item = &[u8]>,
        permits: u64,
        answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
    ) {
        self.try_acquire_batch_with(keys, permits, answer);
    }

    fn peek(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        self.look(key, permits).map(|(grant, _)| grant)
    }

    /// Makes the bucket of all classes full. The share of a tenant stays: what it has used is gone from the limit for all,
    /// which the shares of the others rely on.
    fn reset(&self, _: &[u8]) {
        if let Parts::Classes(priorities) = &self.limiter {
            priorities.limiter().reset();
        }
    }

    /// Forgets nothing: no key has a limiter of its own.
    fn remove(&self, _: &[u8]) -> bool {
        false
    }

    /// Returns the number of tenants that have a place; 0 if keys are no tenants.
    fn len(&self) -> usize {
        match &self.limiter {
            Parts::Shares(shares) => {
                let groups = (0..).take_while(|&group| shares.share(group).is_some());
                groups.map(|group| shares.tenants(group)).sum()
            }
            Parts::Classes(_) => 0,
        }
    }

    fn sweep(&self) -> usize {
        match &self.limiter {
            Parts::Shares(shares) => shares.sweep(),
            Parts::Classes(_) => 0,
        }
    }

    fn memory_bytes(&self) -> usize {
        match &self.limiter {
            Parts::Shares(shares) => shares.memory_bytes(),
            Parts::Classes(_) => 0,
        }
    }

    fn healed(&self) -> u64 {
        match &self.limiter {
            Parts::Shares(shares) => shares.healed(),
            Parts::Classes(priorities) => priorities.limiter().healed(),
        }
    }
}

/// Shows the limiter of all keys.
impl fmt::Debug for CommonLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.limiter {
            Parts::Shares(shares) => shares.fmt(f),
            Parts::Classes(priorities) => priorities.limiter().fmt(f),
        }
    }
}
