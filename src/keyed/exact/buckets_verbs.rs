//! The verbs of a store of buckets: debts, drains, credits, changes of quota, snapshots.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use crate::bucket::carry::Carry;
use crate::bucket::charge::{Charge, all_there_is, into_debt};
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::snapshot::Snapshot;
use crate::keyed::exact::buckets::reconfigure::replaced;
use crate::keyed::exact::buckets::tiers::{Number, OneTier, Tier, Tiers};
use crate::keyed::observe::Observe;
use crate::keyed::when_full::Request;
use crate::time::clock::Clock;
use crate::time::units;

use super::Keyed;
use super::as_key::AsKey;
use super::buckets::Buckets;
use super::per_key::Engine;

impl<K, C, T, S, O> Keyed<K, Buckets<C, T>, S, O>
where
    K: Hash + Eq,
    C: Clock,
    T: Tier<K>,
    S: BuildHasher,
{
    /// Takes all of `permits` for the key, on credit if need be, down to the quota's debt.
    ///
    /// In all else the same as [`try_acquire`](Keyed::try_acquire).
    ///
    /// # Errors
    ///
    /// As for [`TokenBucket::force`](crate::TokenBucket::force), and
    /// [`Denied::Full`].
    pub fn force<Q>(&self, key: &Q, permits: u64) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        let charge = move |terms: &Terms, balance| into_debt(permits, terms, balance);
        self.spend_by(key, Request::All { permits, reserve: 0 }, charge)
    }

    /// Takes the whole balance of the key, including a fraction of a permit; grants the whole
    /// permits.
    ///
    /// Leaves a debt as it is. In all else the same as [`try_acquire`](Keyed::try_acquire).
    ///
    /// # Errors
    ///
    /// [`Denied::Full`].
    pub fn drain<Q>(&self, key: &Q) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        self.spend_by(key, Request::UpTo(0), |terms, balance| Ok(all_there_is(terms, balance)))
    }

    /// Takes what `charge` decides.
    fn spend_by<Q>(
        &self,
        key: &Q,
        request: Request,
        charge: impl Fn(&Terms, i64) -> Charge + Copy,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        let take = |_: &Buckets<C, T>, terms: &_, state: &_, now_nanos| {
            Buckets::<C, T>::take::<true, _>(terms, state, now_nanos, charge)
        };
        self.spend(key, request, take, take)
    }

    /// Adds `permits` to the balance of the key, at most to full. A debt becomes less.
    ///
    /// Use it for permits that were not used after all, such as those of a request that failed, or
    /// for permits that a customer bought. The permits need not have been taken here. In any span
    /// of time the key is then granted at most its burst, its earnings and its credits in that span.
    /// The excess is dropped. A credit of 0 permits does nothing.
    ///
    /// A key that is not known is full: nothing changes, and it stays unknown. (For some time after
    /// a change to a larger burst an unknown key has less than that burst. What is credited to it
    /// then is lost too.)
    ///
    /// Exact: the fraction of a permit that has been earned stays, and so does the schedule of an
    /// interval refill. Holds the lock of the key's shard exclusively, so it waits for calls in
    /// progress for keys of that shard, and others wait for it. Does not allocate, unless it heals
    /// the store; reads the clock once. The observer is not told. Behind
    /// [`HotKeys`](crate::keyed::HotKeys), call it within [`update`](crate::keyed::HotKeys::update).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<String>::new(quota!(2 / hour));
    /// keyed.try_acquire("ada", 2)?;
    /// keyed.credit("ada", 1);
    /// assert_eq!(keyed.peek("ada", 0)?.remaining(), 1);
    /// keyed.credit("ada", 1_000);
    /// assert_eq!(keyed.peek("ada", 0)?.remaining(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "refund", alias = "put_back", alias = "add_tokens")]
    pub fn credit<Q>(&self, key: &Q, permits: u64)
    where
        Q: AsKey<K> + ?Sized,
    {
        if permits > 0 {
            self.store.change_healed(self.place(key), key, |terms, state, now_nanos| {
                let common = Buckets::<C, T>::common(terms, state.tier());
                common.credit(state, permits, now_nanos);
            });
        }
    }

    /// Returns the state of the key, to be restored elsewhere, or `None` if the key is not
    /// known.
    pub fn snapshot_of<Q>(&self, key: &Q) -> Option<Snapshot>
    where
        Q: AsKey<K> + ?Sized,
    {
        let place = self.place(key);
        self.store.has(place, key).then(|| {
            self.store.look(place, key, |terms, state, now_nanos| {
                Buckets::<C, T>::common(terms, state.tier()).snapshot(state, now_nanos)
            })
        })
    }

    /// Returns all known keys and their balances, to be restored elsewhere.
    ///
    /// Visits one shard after the other: each key is as it was at some time between the call
    /// and the end of the iteration, but a key that is inserted meanwhile may be missed.
    /// Clones the keys of one shard at a time; no lock is held while they are handed out.
    pub fn snapshot(&self) -> impl Iterator<Item = (K, Snapshot)>
    where
        K: Clone,
    {
        self.collected(|terms, state, now_nanos| {
            Buckets::<C, T>::common(terms, state.tier()).snapshot(state, now_nanos)
        })
    }

    /// Gives each key the balance of its snapshot, and what was earned at the present quota
    /// in the time it was `away`. Returns the number of keys for which there was no space.
    ///
    /// If the time away is not known, `Duration::ZERO` is the safe answer. Of a period of
    /// interval refill, the part that had passed is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::*;
    ///
    /// let old = Keyed::<String>::new(quota!(10 / hour));
    /// old.try_acquire("ada", 7)?;
    /// let new = Keyed::<String>::new(quota!(10 / hour));
    /// assert_eq!(new.restore(old.snapshot(), Duration::ZERO), 0);
    /// assert_eq!(new.peek("ada", 0)?.remaining(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "keys that found no room are not restored"]
    pub fn restore(
        &self,
        snapshots: impl IntoIterator<Item = (K, Snapshot)>,
        away: Duration,
    ) -> usize {
        let away_nanos = units::nanos(away);
        let found_room = snapshots.into_iter().map(|(key, snapshot)| {
            let place = self.place(&key);
            self.store.put(place, key, |terms, state, now_nanos| {
                let common = Buckets::<C, T>::common(terms, state.tier());
                common.restore(state, &snapshot, away_nanos, now_nanos);
            })
        });
        found_room.filter(|found_room| !found_room).count()
    }

    /// Puts terms in force for the keys of some tiers: all of them, for the keys of a shard, while
    /// its lock is held once.
    fn change_tiers(&self, changes: &[(usize, Terms)], carry: Carry) {
        for shard in self.store.shards() {
            let shard = &mut *shard.write();
            let now_nanos = self.store.limiter.now_nanos();
            self.store.renew_terms(shard, now_nanos);
            self.store.note_change(shard);
            // A time no earlier than the horizon: otherwise evicted keys would be given a
            // second time what they have earned since.
            let now_nanos = shard.no_earlier_than_forgotten(now_nanos);
            for &(tier, ref new) in changes {
                let states = shard.table.iter_mut().map(|entry| &mut entry.state);
                let states = states.filter(|state| state.tier().place() == tier);
                let Some(common) = shard.terms.get(tier) else { continue };
                let common = common.changed(new, carry, now_nanos, states);
                shard.terms = replaced(&shard.terms, tier, &common);
            }
        }
    }
}

impl<K, C, S, O> Keyed<K, Buckets<C, OneTier>, S, O>
where
    K: Hash + Eq,
    C: Clock,
    S: BuildHasher,
{
    /// Enforces `quota` from now on; `carry` says what becomes of the tokens of each key,
    /// unknown keys included.
    ///
    /// Live: a call for a key is decided by all of the old quota or all of the new one. Never
    /// retroactive. Goes through the keys, one shard after the other; calls for keys of that
    /// shard wait meanwhile, 20 to 50 ns for each of its keys. Two concurrent changes leave
    /// each shard with one of the two.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    /// use sluicegate::bucket::Carry;
    ///
    /// let keyed = Keyed::<u64>::new(quota!(10 / hour));
    /// keyed.try_acquire(&7, 5)?;
    /// keyed.reconfigure(quota!(100 / hour), Carry::Scale);
    /// assert_eq!(keyed.peek(&7, 0)?.remaining(), 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure(&self, quota: impl Into<Quota>, carry: Carry) {
        self.change_tiers(&[(0, Terms::of_quota(quota.into()))], carry);
    }

    /// Returns the quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.store.terms_in_force(|terms| Buckets::<C>::common(terms, ()).terms().quota())
    }
}

impl<K, C, F, S, O> Keyed<K, Buckets<C, Tiers<F>>, S, O>
where
    K: Hash + Eq,
    C: Clock,
    F: Fn(&K) -> usize,
    S: BuildHasher,
{
    /// Enforces `quota` for the keys of `tier` from now on, in the way of
    /// [`reconfigure`](Keyed::reconfigure).
    ///
    /// # Errors
    ///
    /// [`ConfigError::Which`] if there is no such tier. Nothing is changed then.
    pub fn reconfigure_tier(
        &self,
        tier: usize,
        quota: impl Into<Quota>,
        carry: Carry,
    ) -> Result<(), ConfigError> {
        if self.tier_quota(tier).is_none() {
            let count = self.store.limiter.terms().len();
            return Err(ConfigError::Which { which: tier, count });
        }
        self.change_tiers(&[(tier, Terms::of_quota(quota.into()))], carry);
        Ok(())
    }

    /// Enforces one quota for each tier from now on, in the order of the tiers; `carry` says what
    /// becomes of the tokens of each key, unknown keys included.
    ///
    /// Live: a call for a key is decided by all of the old quota of its tier or all of the new one,
    /// and keys of one shard (one in 128 of all) change together, in whatever tier they are. Shards
    /// change one after the other, so for a moment some keys are under new quotas and others,
    /// even of the same tier, still under old ones. Never retroactive. Calls for keys of the shard
    /// that is being changed wait meanwhile: each tier takes one walk over its keys. Two concurrent
    /// changes leave each shard with all quotas of one of the two. Allocates.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Quotas`] if there are not as many quotas as tiers. Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::quota;
    /// use sluicegate::bucket::Carry;
    /// use sluicegate::keyed::TieredKeyed;
    ///
    /// let quotas = [quota!(10 / second), quota!(1_000 / second)];
    /// let keyed = TieredKeyed::<u64>::tiered(quotas, |&id| usize::from(id >= 1_000))?;
    /// keyed.reconfigure_tiers([quota!(20 / second), quota!(500 / second)], Carry::Scale)?;
    /// assert_eq!(keyed.peek(&7, 0)?.limit(), 20);
    /// assert_eq!(keyed.peek(&1_007, 0)?.limit(), 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure_tiers(
        &self,
        quotas: impl IntoIterator<Item: Into<Quota>>,
        carry: Carry,
    ) -> Result<(), ConfigError> {
        let changes = quotas.into_iter().map(|quota| Terms::of_quota(quota.into()));
        let changes: Vec<(usize, Terms)> = changes.enumerate().collect();
        let tiers = self.store.limiter.terms().len();
        if changes.len() != tiers {
            return Err(ConfigError::Quotas { quotas: changes.len(), tiers });
        }
        self.change_tiers(&changes, carry);
        Ok(())
    }

    /// Returns the quota in force for the keys of `tier`, or `None` if there is no such tier.
    #[must_use]
    pub fn tier_quota(&self, tier: usize) -> Option<Quota> {
        self.store.terms_in_force(|terms| Some(terms.get(tier)?.terms().quota()))
    }

    /// Determines the tier of the key again; `carry` says what becomes of its tokens.
    pub fn reassign<Q>(&self, key: &Q, carry: Carry)
    where
        Q: AsKey<K> + ?Sized,
    {
        let limiter = &self.store.limiter;
        self.store.change(self.place(key), key, |terms, entry, now_nanos| {
            limiter.move_to_tier(terms, &entry.key, &mut entry.state, carry, now_nanos);
        });
    }
}
