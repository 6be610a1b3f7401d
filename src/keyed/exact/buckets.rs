//! Token buckets of one quota, or of a few, with 8 bytes of state for each key.
//!
//! The terms belong to the shard. A key's state is a [`Level`], as in `BucketCore`. The bit
//! that names the slot of the terms there is 0 here, because terms change only under the
//! exclusive lock of the shard, when no caller is between reading the terms and spending.
//!
//! Unknown keys have a level too, `unknown`, one for all of them. It is carried through
//! changes of the quota like that of any other key. So a key that was full and evicted gains
//! nothing from a larger burst that it would not have been given had it been kept.

#[cfg(feature = "wait")]
mod book;
mod engine;
mod idle;
pub(crate) mod reconfigure;
mod spend;
pub(crate) mod tiers;

use alloc::sync::Arc;
use core::fmt;

use crate::bucket::carry::Holding;
use crate::bucket::charge::{Charge, Spend};
use crate::bucket::level::Level;
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::decision::forecast::Forecast;
use crate::keyed::prepay::PrepayRequest;
use crate::sync::AtomicWord;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::per_key::Answer;

use self::spend::spend;
use self::tiers::{Number, OneTier, Tiers};

/// A token bucket for each key, like a [`TokenBucket`](crate::TokenBucket): one quota for all
/// keys, or one for each tier of keys.
///
/// Takes 8 bytes of state for a key (16 if there are tiers), besides the key. A quota can be
/// changed at any time; see [`Keyed::reconfigure`](crate::Keyed::reconfigure).
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, quota};
/// use sluicegate::keyed::Buckets;
///
/// // The tier of a key is a function of it.
/// let quotas = [quota!(10 / second), quota!(1_000 / second)];
/// let buckets = Buckets::tiered(quotas, |key: &String| usize::from(key.starts_with("paid:")))?;
/// let keyed = Keyed::with(buckets);
/// assert_eq!(keyed.try_acquire("free:ada", 1)?.remaining(), 9);
/// assert_eq!(keyed.try_acquire("paid:bob", 1)?.remaining(), 999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// As for a [`TokenBucket`](crate::TokenBucket), for each key. Steps of an interval refill
/// come at the same times for all keys, counted from the creation of the store.
pub struct Buckets<C = DefaultClock, T = OneTier> {
    clock: C,
    terms: Arc<[Common]>,
    tier: T,
}

/// Maximum number of tiers.
const MAX_TIERS: usize = 64;

/// The state that the keys of a tier share.
#[derive(Clone, Debug)]
pub struct Common {
    terms: Terms,
    /// The level of each unknown key.
    unknown: Level,
}

/// The state of one key.
#[derive(Debug)]
pub struct State<N> {
    level: AtomicWord<Level>,
    tier: N,
}

impl Buckets {
    /// Creates a bucket of `quota` for each key. A bare rate has a burst of one period's permits.
    ///
    /// A key starts full: a key that is full may be evicted, so an unknown key must be full.
    #[must_use]
    pub fn new(quota: impl Into<Quota>) -> Buckets {
        Buckets::with_clock(quota, DefaultClock::default())
    }
}

impl<C: Clock> Buckets<C> {
    /// Creates a bucket of `quota` for each key, on `clock`. Reads the clock once.
    #[must_use]
    pub fn with_clock(quota: impl Into<Quota>, clock: C) -> Buckets<C> {
        let terms = Arc::new([Common::new(quota.into(), clock.now_nanos())]);
        Buckets { clock, terms, tier: OneTier }
    }
}

impl<F> Buckets<DefaultClock, Tiers<F>> {
    /// Creates a bucket of one of `quotas` for each key: the one whose index, from 0, `tier`
    /// returns for the key. An index that is too large stands for the last quota.
    ///
    /// `tier` is called once, when a key becomes known; see
    /// [`Keyed::reassign`](crate::Keyed::reassign).
    ///
    /// # Errors
    ///
    /// [`ConfigError::Count`] if there are no quotas or more than 64.
    pub fn tiered<K>(
        quotas: impl IntoIterator<Item: Into<Quota>>,
        tier: F,
    ) -> Result<Buckets<DefaultClock, Tiers<F>>, ConfigError>
    where
        F: Fn(&K) -> usize,
    {
        Buckets::tiered_with_clock(quotas, tier, DefaultClock::default())
    }
}

impl<C: Clock, F> Buckets<C, Tiers<F>> {
    /// Does the same as [`Buckets::tiered`], on `clock`.
    ///
    /// # Errors
    ///
    /// As for [`Buckets::tiered`].
    pub fn tiered_with_clock<K>(
        quotas: impl IntoIterator<Item: Into<Quota>>,
        tier: F,
        clock: C,
    ) -> Result<Buckets<C, Tiers<F>>, ConfigError>
    where
        F: Fn(&K) -> usize,
    {
        let now_nanos = clock.now_nanos();
        let quotas = quotas.into_iter().map(Into::into);
        let terms: Arc<[Common]> = quotas.map(|quota| Common::new(quota, now_nanos)).collect();
        match terms.len() {
            1..=MAX_TIERS => Ok(Buckets { clock, terms, tier: Tiers(tier) }),
            count => Err(ConfigError::Count { count }),
        }
    }
}

impl<C: Clock, T> Buckets<C, T> {
    /// Returns the terms of tier `number`, out of a shard's terms.
    #[inline(always)]
    pub(super) fn common<N: Number>(terms: &[Common], number: N) -> &Common {
        // Never out of range; the fallback is only for the compiler.
        terms.get(number.place()).unwrap_or_else(|| &terms[terms.len() - 1])
    }
}

impl<C: Clock, T> Buckets<C, T> {
    /// Takes what `charge` decides if `TAKE`; otherwise only answers.
    pub(super) fn take<const TAKE: bool, N: Number>(
        terms: &Arc<[Common]>,
        state: &State<N>,
        now_nanos: u64,
        charge: impl Fn(&Terms, i64) -> Charge,
    ) -> Answer {
        let common = Self::common(terms, state.tier);
        spend::<TAKE>(&common.terms, &state.level, now_nanos, charge)
    }

    /// Prepays some permits for a hot key, if it has enough to spare.
    pub(super) fn draw<N: Number>(
        terms: &Arc<[Common]>,
        state: &State<N>,
        want: PrepayRequest,
        now_nanos: u64,
    ) -> Answer {
        let common = Self::common(terms, state.tier);
        let charge = |terms: &Terms, balance| {
            let charged = want.charge(balance, terms.capacity as i64, terms.token as i64);
            Ok(charged.map_or(Spend::Nothing, |(permits, cost)| Spend::Some {
                permits,
                cost,
                is_forced: false,
            }))
        };
        spend::<true>(&common.terms, &state.level, now_nanos, charge)
    }
}

impl Common {
    fn new(quota: Quota, now_nanos: u64) -> Common {
        let terms = Terms::of_quota(quota).starting(now_nanos);
        let unknown = full(&terms, now_nanos);
        Common { terms, unknown }
    }

    fn holding(&self, level: Level, now_nanos: u64) -> Holding {
        Holding::of(level, &self.terms, self.terms.capacity, now_nanos)
    }

    /// Returns the level of a key that becomes known. It is clamped to the capacity now,
    /// because other callers may read an earlier time later.
    #[inline]
    fn fresh(&self, now_nanos: u64) -> Level {
        let accrued = self.terms.accrued(now_nanos);
        Level::leaving(self.unknown.balance(accrued, self.terms.capacity), accrued)
    }

    fn forecast(&self, level: Level, now_nanos: u64) -> Forecast {
        self.terms.forecast(self.holding(level, now_nanos).balance, now_nanos)
    }
}

/// Returns the level of a full bucket.
fn full(terms: &Terms, now_nanos: u64) -> Level {
    Level::leaving(terms.capacity as i64, terms.accrued(now_nanos))
}

impl<C: fmt::Debug, T> fmt::Debug for Buckets<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets")
            .field("clock", &self.clock)
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}
