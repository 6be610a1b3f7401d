//! A limit for all, an assured share for each tenant; idle permits are lent.
//!
//! | file | |
//! |---|---|
//! | `borrow` | permits that are lent: of the common bucket, below a ceiling |
//! | `constructors` | shares that are checked, and their buckets |
//! | `group` | the buckets of the tenants of a group: assured, ceiling |
//! | `reconfigure` | changes of all numbers while calls go on |
//! | `refusal` | the denial that tells the shortest wait |
//! | `restore` | the permits that are left, for other shares that take the place of these |
//!
//! A call is for `n` permits of a tenant, and reads the clock once:
//!
//! ```text
//! assured   if the tenant's own bucket holds n: takes n there, and n of the common bucket whatever it holds
//! borrowed  otherwise, if the common bucket holds n + F: takes n there, by one CAS; F is the sum of the
//!           assured bursts of all tenants
//! ```
//!
//! A ceiling is a third bucket, of the tenant. It stands to the tenant's own bucket as the common one does to all:
//! assured permits are taken there whatever it holds, and borrowed ones leave the tenant's assured burst.
//!
//! Progress: lock-free for the common bucket; for tenants as in a `Keyed`. Memory: a `Keyed` for each group, two with a
//! ceiling; 22 bytes a slot for each tenant that is not idle, in each of them, and so for at most as many as there are places,
//! and ceilings that are remembered. Cost: a call of a `Keyed` and a CAS on the common bucket's word;
//! all tenants contend for that word.
//!
//! # Why the bound holds
//!
//! The common bucket has the rate `R` and the burst `B`, tenant `j` has `r_j` and `b_j`. The sum of all `r_j` is at
//! most `R`, and `F`, the sum of all `b_j`, at most `B`.
//!
//! **Theorem.** Let no bucket be asked by a reading of the clock that is older by more than `a` than one by which a
//! bucket was asked before. Then (A) no tenant is refused permits that its own bucket holds; (B) all calls together are
//! granted at most `B + R * (t + a)` in any span of `t`; and the common bucket is never in debt by more than `R * a`.
//! For calls one after another, `a` is 0; for others it is at most the time that a call takes from its reading to
//! its last step.
//!
//! *Proof.* (A) is the first rule: nothing else is asked. For (B), count in permits. Let the counts accrued be `R t`
//! and `r_j t` at the instant `t`, and the level of a bucket `L` or `L_j` as in [`BucketCore`]. *Now* is the latest
//! reading so far by which a bucket was asked, `t`. At every step consider
//!
//! ```text
//! Q   = R t - max(L, R t - B)                  held by the common bucket now, negative for a debt
//! V_j = r_j t - max(L_j, r_j (t - a) - b_j)    at least as much as j's bucket holds, by whatever reading
//! P_j                                          assured to j, and not yet taken of the common bucket
//! ```
//!
//! (1) `V_j + P_j <= b_j + r_j a`: the readings of the permits in `P_j` are `t - a` or later, so the first of these
//! took from a level of `r_j (t - a) - b_j` at least. (2) Each step, and the passing of time, keeps
//!
//! ```text
//! Q + R a >= sum of (V_j + P_j)                which is at least 0
//! ```
//!
//! * *Time passes.* `Q` grows by `R dt`, and the sum by the sum of `r_j dt` at most, unless the bucket is full. Then
//!   `Q + R a = B + R a >= F + R a`, which is at least the sum, by (1).
//! * *A tenant's own bucket grants, by a reading from `t - a` to `t`.* That moves `L_j` up by `n`, from
//!   `r_j (t - a) - b_j` or more: `V_j` falls by `n` at least, and `P_j` grows by `n`.
//! * *Assured permits are taken of the common bucket.* `Q` falls by `n` at most, and `P_j` falls by `n`.
//! * *A tenant borrows.* By its reading, which is not later than `t`, `F` is left. So `Q >= F`, and
//!   `Q + R a >= F + R a` is at least the sum, by (1).
//!
//! So `Q >= -R a`. Each permit raises `L` by 1. `L` is at least `R s - B` when the first by a reading from `s` to
//! `s + t` is granted, and at most `R (s + t) + R a` after the last, so there are no more than `B + R (t + a)`. ∎
//!
//! *One reading for both buckets.* A later one for the common bucket would let it lose permits in between, because
//! it is full, while the tenant's own bucket earns. The theorem would hold with the time between the two readings for
//! `a`, so even calls one after another could exceed the bound.
//!
//! *Tenants come and go.* An own bucket is kept while it is not full, for at most as many tenants as the group has
//! places: they are counted in one word, before they are inserted. And a tenant for which there is a place finds it,
//! whatever the size of the group: one is turned away only if as many others as there are places were not full, each at
//! some instant of the call (the theorem of `keyed/exact/store/search`). A free place counts as the full bucket that it had last, and a tenant that comes has a full one: so a place
//! is one bucket, of which the theorem speaks. There is one exception. If a tenant comes by an earlier reading than
//! the one by which its predecessor was found to be idle, `V_j` grows, by as much as `r_j` earns in between: at most
//! `r_j a`. So (B) and the debt grow by that for each tenant that has taken the place of another by an old reading
//! since the common bucket was full. A tenant for which there is no place only borrows.
//!
//! *Rounding.* Counts are rounded down to units, once. The level of the common bucket is never above the exact one, so
//! its rounding adds nothing to (B). An own bucket may grant less than a unit early. A unit is at most a nanosecond's
//! worth, or 2^-27 of a permit if the burst is very large; rates of one or two permits in a period, in lowest terms,
//! round nothing. So (B) is exceeded by less than one unit of each place. The sum of the rates is compared exactly.
//!
//! *The debt that is kept.* The common bucket keeps a debt of as much as a minute earns, and a burst. A deeper one can
//! only be left by a call that took longer than a minute, or by a clock that went back: a refused caller that finds
//! one starts the common bucket from full again ([`heal`](crate::bucket)). A clock that is set back by more than a second
//! starts tenants' buckets from full; if it is by less than a minute, nobody borrows until it has caught up. A clock
//! that jumps ahead fills all buckets.
//!
//! *Changes* are argued in `reconfigure`.

pub(crate) mod answers;
mod borrow;
pub(crate) mod constructors;
pub(crate) mod group;
pub(crate) mod reconfigure;
pub(crate) mod refusal;
pub(crate) mod restore;

use alloc::boxed::Box;
use core::fmt;
use core::hash::{BuildHasher, Hash};

use crossbeam_utils::CachePadded;

use crate::bucket::BucketCore;
use crate::config::quota::Quota;
use crate::decision::denied::Denied;
use crate::keyed::exact::Hasher;
use crate::keyed::exact::as_key::AsKey;
use crate::sync::{AtomicWord, SharedLock};
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use self::answers::ShareAnswers;
use self::group::Group;
use self::refusal::{both, sooner};

use super::share_grant::ShareGrant;
use super::tenant_share::Share;

/// One limit for all tenants, with an assured share for each of them. Idle permits are lent.
///
/// A tenant that stays within its assured rate and burst is never refused, whatever the others do. Others may borrow
/// the permits that it leaves idle, up to their ceilings. Nothing is owed: the owner has its share at once when it comes
/// back. (The words are those of HTB, Linux's hierarchical token bucket: assured rate, ceil, borrow.)
///
/// Tenants are in groups: all tenants of a group have equal shares, and a group has places for a number of them at a
/// time. A call names both. Tenants need not be announced, and idle ones take no memory.
///
/// # Guarantees
///
/// With the quota `B + R t` for all:
///
/// * **Assured:** a tenant is never refused a request that a bucket of its assured quota alone would grant, as long as
///   no more tenants of its group than there are places are not full. (Tenants count that were not full at some instant
///   of the call.)
/// * **Bounded:** all tenants together are granted at most `B + R t` in any span of `t`. Calls that overlap may add
///   as much as `R` earns in the time that the longest of them takes from reading the clock to its last step. A
///   tenant that takes the place of another meanwhile may add as much as its share earns in that time.
/// * **Lent:** idle permits are lent to tenants that ask for more than their share: all of the rate, if the burst `B`
///   exceeds the sum `F` of all assured bursts by as much as `R` earns between two requests. At most `B - F` are lent
///   at once.
/// * **Not owed:** borrowed permits are not taken from the share of the borrower.
/// * **Ceiling:** a tenant is never granted more than the quota of its ceiling, assured and borrowed, as long as no more
///   tenants of its group than [`Share::max_ceilings`] are below full ceilings. Calls that overlap may add as much as
///   the ceiling earns meanwhile. Beyond that number a tenant without a place borrows nothing, and one with a place
///   makes a ceiling be forgotten that lacks little: it is full again.
///
/// [`reconfigure`](Shares::reconfigure) changes all numbers while calls go on, and keeps the guarantees.
///
/// # Accuracy
///
/// As of a [`TokenBucket`](crate::TokenBucket), for each bucket. Unless all rates are of one or two permits in a
/// period, in lowest terms, the bound may be exceeded by less than `R` earns in two nanoseconds (or 2^-27 of a permit for
/// each place, if bursts are very large), because the buckets of tenants round for themselves. A call that takes longer
/// than a minute from its reading of the clock to its last step may break the bound.
///
/// # Fairness
///
/// Between shares, exact. For lent permits, none: the first to ask has them, whatever its share.
///
/// # Memory ordering
///
/// As of a [`TokenBucket`](crate::TokenBucket): everything that a caller did before its grant happens before
/// everything that a caller with a later grant does after that, for all tenants.
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::share::{Share, ShareGrant, Shares};
///
/// const PAID: usize = 0;
/// const FREE: usize = 1;
///
/// // 1,000 a second for all. Each of 4 paying tenants has 150 for sure, each of 40 others has 10.
/// let shares = Shares::<String>::new(quota!(1_000 / second, burst 400), [
///     Share::new(quota!(150 / second, burst 30)).with_tenants(4),
///     Share::new(quota!(10 / second, burst 2))
///         .with_tenants(40)
///         .with_ceiling(quota!(100 / second, burst 20)),
/// ])?;
///
/// assert!(shares.try_acquire(PAID, "acme", 30)?.is_assured());
/// assert!(shares.try_acquire(PAID, "acme", 100)?.is_borrowed());
/// match shares.try_acquire(FREE, "ada", 25) {
///     Ok(ShareGrant::Assured(_) | ShareGrant::Borrowed(_)) => unreachable!("above the ceiling"),
///     Err(denied) => assert_eq!(denied.limit(), Some(18)),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shares<K, C: Clock = DefaultClock, S = Hasher> {
    common: BucketCore<C>,
    /// The permits that borrowers leave: the sum of the assured bursts. Off the common bucket's line.
    kept: CachePadded<AtomicWord<u64>>,
    groups: Box<[Group<K, C, S>]>,
    /// Set if the answers are counted.
    answers: Option<Box<ShareAnswers>>,
    in_force: SharedLock<InForce>,
}

/// The numbers in force. While a change is in progress, the shares are the lower of the old and the new ones.
struct InForce {
    quota: Quota,
    shares: Box<[Share]>,
}

impl<K: Hash + Eq, C: Clock, S: BuildHasher> Shares<K, C, S> {
    /// Takes all of `permits` for a tenant of a group, or none: of its share, or else lent ones.
    ///
    /// A group that there is not has no share: its tenants only borrow. So does a tenant for which its
    /// group has no place. A request for 0 permits is always granted and changes nothing.
    ///
    /// Finds the tenant as [`Keyed::try_acquire`](crate::Keyed::try_acquire) does, with the same locks, readings of the
    /// clock and allocations; with a ceiling, once more. The common bucket is lock-free. A refused tenant writes
    /// nothing, unless its ceiling had enough and others take the permits that it was about to borrow.
    ///
    /// A new tenant of a group that has no free place looks for a tenant that is full again, in all of 128 parts of the
    /// group, locking one after the other; a part is gone through only if one of its tenants was to be full by now. That
    /// takes some microseconds, and more while tenants become full as it goes on. If none is found, other new tenants are
    /// refused without a search until one of the tenants is to be full, or another has got a place.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] with the shortest wait after which the request is granted, if nobody else is: of
    ///   the share, or by borrowing. Its numbers are those of that way, as in a [`ShareGrant`].
    /// * [`Denied::TooLarge`] if it is more than the tenant's burst, and more than can ever be lent to it.
    /// * [`Denied::Full`] if the group has no place for the tenant, and one is free sooner than it can borrow; or if
    ///   no ceiling more can be remembered, and none is full sooner.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, quota};
    /// use sluicegate::share::{Share, Shares};
    ///
    /// let clock = ManualClock::new();
    /// let share = Share::new(quota!(2 / second)).with_tenants(2);
    /// let shares = Shares::<u64, _>::with_clock(quota!(4 / second, burst 5), [share], &clock)?;
    /// assert!(shares.try_acquire(0, &7, 2)?.is_assured());
    /// assert!(shares.try_acquire(0, &7, 1).is_err(), "3 are left, of which 2 are for the other's share");
    /// assert!(shares.try_acquire(0, &8, 2)?.is_assured());
    ///
    /// let denied = shares.try_acquire(0, &7, 1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn try_acquire<Q>(
        &self,
        group: usize,
        tenant: &Q,
        permits: u64,
    ) -> Result<ShareGrant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        match &self.answers {
            None => self.decide(group, tenant, permits),
            Some(answers) => self.decide_counted(answers, group, tenant, permits),
        }
    }

    /// Decides, and counts the answer. Apart from the call that is not counted, whose answer then need not be there as a whole.
    #[inline(never)]
    fn decide_counted<Q>(
        &self,
        answers: &ShareAnswers,
        group: usize,
        tenant: &Q,
        permits: u64,
    ) -> Result<ShareGrant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let answer = self.decide(group, tenant, permits);
        answers.count(permits, &answer);
        answer
    }

    #[inline(always)]
    fn decide<Q>(&self, group: usize, tenant: &Q, permits: u64) -> Result<ShareGrant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let Some(group) = self.groups.get(group) else {
            return self.borrow_without_share(permits).map(ShareGrant::Borrowed);
        };
        let (answer, now_nanos) = group.assured.try_acquire_with_reading(tenant, permits);
        match answer {
            Ok(grant) => {
                if let Some(ceiling) = &group.ceiling {
                    ceiling.take_in_any_case(tenant, permits, now_nanos);
                }
                self.common.take_in_any_case(permits, now_nanos);
                Ok(ShareGrant::Assured(grant))
            }
            Err(denied) => self
                .borrow_beyond_share(group, tenant, permits, now_nanos, denied)
                .map(ShareGrant::Borrowed),
        }
    }

    /// Returns the answer that [`try_acquire`](Shares::try_acquire) would give now, if there is a place for the
    /// tenant. Takes nothing.
    ///
    /// `peek(group, tenant, 0)` reads the rest of the tenant's share. Reads the clock for each bucket.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] and [`Denied::TooLarge`].
    pub fn peek<Q>(&self, group: usize, tenant: &Q, permits: u64) -> Result<ShareGrant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let lent = || self.borrow::<false>(permits, self.common.clock().now_nanos());
        let Some(group) = self.groups.get(group) else { return lent().map(ShareGrant::Borrowed) };
        let denied = match group.assured.peek(tenant, permits) {
            Ok(grant) => return Ok(ShareGrant::Assured(grant)),
            Err(denied) => denied,
        };
        let limited = group.ceiling.as_ref().map(|ceiling| ceiling.look(tenant, permits));
        both(lent(), limited).map_err(|other| sooner(denied, other)).map(ShareGrant::Borrowed)
    }

    /// Returns the quota for all that is in force. Waits for a change in progress.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.in_force.read().quota
    }

    /// Returns the share that each tenant of a group has, or `None` if there is no such group. Waits for a change in
    /// progress.
    #[must_use]
    pub fn share(&self, group: usize) -> Option<Share> {
        self.in_force.read().shares.get(group).copied()
    }

    /// Returns the number of tenants that have a place in the group: all that are not idle, and some that have
    /// become idle lately.
    #[must_use]
    pub fn tenants(&self, group: usize) -> usize {
        self.groups.get(group).map_or(0, |group| group.assured.len())
    }

    /// Returns the memory of the slots for tenants, in bytes, without their names. Takes the shared lock of one shard
    /// after the other.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.groups.iter().map(Group::memory_bytes).sum()
    }

    /// Removes the tenants that are idle from all groups, and returns their number. Only frees memory sooner: it
    /// is done by and by in any case. Holds the locks of tenants one after the other.
    pub fn sweep(&self) -> usize {
        self.groups.iter().map(Group::sweep).sum()
    }

    /// Returns how often a bucket was started again from full because the clock had gone back. See [`Clock`].
    #[must_use]
    pub fn healed(&self) -> u64 {
        let of_tenants: u64 = self.groups.iter().map(Group::healed).sum();
        self.common.healed().saturating_add(of_tenants)
    }
}

/// Shows the numbers in force. Waits for a change in progress.
impl<K, C: Clock, S> fmt::Debug for Shares<K, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_force = self.in_force.read();
        f.debug_struct("Shares")
            .field("quota", &in_force.quota)
            .field("shares", &in_force.shares)
            .finish_non_exhaustive()
    }
}
