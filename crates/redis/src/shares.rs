//! One limit with an assured share for each tenant, on a server.
//!
//! | file | |
//! |---|---|
//! | `request` | a request of a tenant, and its answer |
//! | `scripts/shares.lua` | the decision |
//!
//! # Why the bound holds
//!
//! The common bucket has the rate `R` and the burst `B`. Place `j` of all groups has `r_j` and `b_j`. [`RedisShares::new`] has
//! checked that the sum of all `r_j` is at most `R`, and `F`, the sum of all `b_j`, at most `B`.
//!
//! A *place* is one bucket, which goes from tenant to tenant: a tenant takes it by a grant of its share, and has it
//! until its own bucket is full, at the time by which the sorted set of the group has it. The next one comes with a full
//! bucket, and so does a tenant whose key has expired. So the bucket of a place never jumps.
//!
//! **Theorem.** Let the server keep what the scripts write, and all callers have the same numbers. Then, by the time of the
//! scripts, (A) no tenant with a place, or for which there is one, is refused permits that its own bucket holds; and (B) all
//! tenants together are granted at most `B + R t` in any span of `t`.
//!
//! *Proof.* (A) is the script's first rule. For (B), let `Q` be what the common bucket holds and `V_j` what the bucket of place `j`
//! does, by one time, which the script reads once and which never goes back behind the common bucket's. Each step keeps
//!
//! ```text
//! Q >= sum of all V_j
//! ```
//!
//! * *Time passes.* `Q` grows by `R dt`, and the sum by the sum of `r_j dt` at most; unless the common bucket is full,
//!   when `Q = B >= F`, which is at least the sum.
//! * *A grant of a share* takes as much of `V_j` as of `Q`, in one script.
//! * *A loan* leaves `Q >= F`.
//!
//! So `Q >= 0`: the common bucket is never in debt, and it grants at most what it held, `B` at most, and what it has
//! earned. ∎ A ceiling stands to the one bucket of its tenant as the common bucket does to all. Nothing is rounded: all buckets
//! count as a [`RedisLimit::token_bucket`]. The theorem is the one of the engine's `Shares` with overlap `a = 0`, because scripts
//! do not overlap.
//!
//! *Keys that expire* are full buckets; a set of places expires when all buckets in it are full.
//!
//! *A clock that is set back.* By up to a second, time stands still until it has caught up with the common bucket; if there is
//! none, it is full, and (B) begins anew. By more, all buckets count from the new time on with what they held, so the repeated
//! time is earned once more. A place is kept no longer than an empty bucket takes to be full by the new time: a
//! bucket that counted from then on would be full, and the tenant's own holds no more, whenever it is asked.
//!
//! *Lost keys, and numbers that change.* An own bucket that the server has lost is full, so the common bucket may go into
//! debt, of up to its burst, and nobody borrows meanwhile. A common bucket that is lost grants its burst once more.

mod request;

use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::{Denied, ManualClock, Quota};

use crate::error::{KeyError, LimitError, TryAcquireError};
use crate::key_space::KeySpace;
use crate::limit::{RedisLimit, packed};
use crate::run_script::{Run, RunScript, RunScriptBlocking};
use crate::script::SHARES;

use self::request::Request;

/// The name of the kind in keys.
const KIND: &str = "sh";

/// One limit for all tenants, with an assured share for each of them, kept on a server that other processes share. Idle permits
/// are lent.
///
/// Gives the answers of the engine's [`Shares`]: a call is for a tenant of a group, and takes its permits of the tenant's own
/// bucket if that holds them, and otherwise borrows what others leave idle, up to a ceiling if there is one.
///
/// Each call is one round trip, in which the server decides and writes at once, by its own clock. Calls are futures with a
/// [`RunScript`], and block with a [`RunScriptBlocking`]. There is no fallback: while the server gives no answer, calls fail.
///
/// # Guarantees
///
/// With the quota `B + R t` for all:
///
/// * **Assured:** a tenant is never refused a request that a bucket of its assured quota alone would grant, as long as
///   no more tenants of its group than there are places have been granted anything of their shares since they were last full.
/// * **Bounded:** all tenants of all processes together are granted at most `B + R t` in any span of `t` by the server's clock.
///   Nothing is added for calls that overlap, and nothing is rounded.
/// * **Lent:** idle permits are lent, as long as the sum `F` of all assured bursts is left. Nothing is owed for them.
/// * **Ceiling:** a tenant is never granted more than the quota of its ceiling, assured and borrowed.
///
/// They hold as long as the server keeps its keys: one that evicts them, or a replica that takes over without the last
/// of them, grants again what they had taken. All processes need the same quota and the same shares, in the same order. After a
/// change they hold when all keys have expired once, or at once with another prefix.
///
/// # Keys and memory
///
/// All keys of one `RedisShares` have one hash tag, so they are on one node of a cluster, and its speed is the limit: shares
/// that are independent need prefixes of their own. On the server there is a key for each tenant that is not full, and an entry
/// in the sorted set of its group: as many at a time as the group has places. A tenant with a ceiling has
/// one more key, until that is full, also if it has no place and only borrows. Keys expire when they are full.
///
/// # Examples
///
/// ```no_run
/// # #[cfg(feature = "async")]
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use sluicegate::quota;
/// use sluicegate::share::{Share, ShareGrant};
/// use sluicegate_redis::{Async, KeySpace, RedisShares};
///
/// const PAID: usize = 0;
/// const FREE: usize = 1;
///
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// // 1,000 a second for all. Each of 4 paying tenants has 150 for sure, each of 40 others has 10.
/// let groups = [
///     Share::new(quota!(150 / second, burst 30)).with_tenants(4),
///     Share::new(quota!(10 / second, burst 2))
///         .with_tenants(40)
///         .with_ceiling(quota!(100 / second, burst 20)),
/// ];
/// let quota = quota!(1_000 / second, burst 400);
/// let shares = RedisShares::new(quota, groups, KeySpace::new("app:api")?, Async::new(client))?;
///
/// match shares.try_acquire(PAID, "acme", 1).await {
///     Ok(ShareGrant::Assured(grant)) => println!("{} left of its share", grant.remaining()),
///     Ok(ShareGrant::Borrowed(_)) => println!("lent"),
///     Err(error) => println!("{error}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisShares<R> {
    numbers: Numbers,
    keys: KeySpace,
    runner: R,
}

/// The buckets, and their numbers for the script.
#[derive(Clone, Debug)]
struct Numbers {
    quota: Quota,
    common: RedisLimit,
    /// The permits that borrowers leave: the sum of all assured bursts.
    kept: u64,
    groups: Box<[Group]>,
}

#[derive(Clone, Debug)]
struct Group {
    share: Share,
    assured: RedisLimit,
    ceiling: Option<RedisLimit>,
}

impl Group {
    fn new(share: Share) -> Result<Group, LimitError> {
        let assured = RedisLimit::token_bucket(share.assured().with_max_debt(0)?)?;
        let ceiling = share.ceiling().map(|quota| RedisLimit::token_bucket(indebted(quota)?));
        Ok(Group { share, assured, ceiling: ceiling.transpose()? })
    }
}

/// Returns `quota` with the debt that lost keys may leave.
fn indebted(quota: Quota) -> Result<Quota, LimitError> {
    Ok(quota.with_max_debt(quota.burst().min(Quota::MAX_DEBT))?)
}

impl<R> RedisShares<R> {
    /// Creates a limit of `quota` for all, with a group of tenants for each of `shares`. Sends nothing.
    ///
    /// # Errors
    ///
    /// * [`LimitError::Config`] as for [`Shares::new`]: with the sum if the shares are more than the quota, if a
    ///   ceiling is below its share, for a refill by interval, unless there are 1 to 64 shares, and for a number of tenants that
    ///   is out of range.
    /// * [`LimitError::Period`] as for [`RedisLimit::token_bucket`].
    pub fn new(
        quota: impl Into<Quota>,
        shares: impl IntoIterator<Item = Share>,
        keys: KeySpace,
        runner: R,
    ) -> Result<RedisShares<R>, LimitError> {
        let (quota, shares): (Quota, Vec<Share>) = (quota.into(), shares.into_iter().collect());
        // The engine checks them.
        Shares::<u64, _>::with_clock(quota, shares.iter().copied(), &ManualClock::new())?;
        // Below the burst of the quota.
        let of_group = |share: &Share| share.assured().burst() * share.tenants() as u64;
        let numbers = Numbers {
            quota,
            common: RedisLimit::token_bucket(indebted(quota)?)?,
            kept: shares.iter().map(of_group).sum(),
            groups: shares.into_iter().map(Group::new).collect::<Result<_, _>>()?,
        };
        Ok(RedisShares { numbers, keys, runner })
    }

    /// Returns the quota for all tenants together.
    pub fn quota(&self) -> Quota {
        self.numbers.quota
    }

    /// Returns the share of each tenant of a group, or `None` if there is no such group.
    pub fn share(&self, group: usize) -> Option<Share> {
        Some(self.numbers.groups.get(group)?.share)
    }

    /// Returns the client that runs the script.
    pub fn runner(&self) -> &R {
        &self.runner
    }

    /// Prepares a request.
    ///
    /// # Errors
    ///
    /// [`Denied::TooLarge`] for permits that no server would grant, and [`KeyError`].
    pub(crate) fn request(
        &self,
        verb: &'static str,
        group: usize,
        tenant: &str,
        permits: u64,
    ) -> Result<Request<'_>, TryAcquireError> {
        let Numbers { ref common, kept, ref groups, .. } = self.numbers;
        let place = groups.get(group).map(|of_tenant| (group, of_tenant));
        let names = self.names(place, tenant)?;
        let limit = self.largest(place.map(|(_, group)| group));
        if permits > limit {
            return Err(Denied::TooLarge { limit, which: 0 }.into());
        }
        let group = place.map(|(_, group)| group);
        let places = group.map_or(0, |group| group.share.tenants() as u64);
        let mut terms = packed(&[kept, places]);
        terms.extend_from_slice(common.numbers());
        for bucket in group.iter().flat_map(|group| [Some(&group.assured), group.ceiling.as_ref()])
        {
            terms.extend_from_slice(bucket.map_or(&[], RedisLimit::numbers));
        }
        // Nothing is taken, so nothing need be written.
        let verb = if permits == 0 { "peek" } else { verb };
        let (permits_text, time) = (permits.to_string(), String::new());
        let numbers = &self.numbers;
        Ok(Request { numbers, group, names, terms, verb, permits, permits_text, time })
    }

    /// Returns the most permits that a tenant can be granted at once.
    fn largest(&self, group: Option<&Group>) -> u64 {
        let lent = self.numbers.common.limit() - self.numbers.kept;
        let Some(group) = group else { return lent };
        let own = group.assured.limit();
        let most = group.ceiling.as_ref().map_or(lent, |ceiling| lent.min(ceiling.limit() - own));
        most.max(own)
    }

    fn names(&self, place: Option<(usize, &Group)>, tenant: &str) -> Result<Vec<String>, KeyError> {
        let all = self.keys.name_of_all(KIND);
        let mut names = Vec::with_capacity(4);
        if let Some((index, group)) = place {
            let name = |kind| self.keys.name_behind(&format!("{all}:{kind}:{index}:"), tenant);
            names.extend([name("assured")?, format!("{all}:places:{index}")]);
            if group.ceiling.is_some() {
                names.push(name("ceiling")?);
            }
        }
        names.insert(0, all);
        Ok(names)
    }
}

/// # For callers in tasks
impl<R: RunScript> RedisShares<R> {
    /// Takes all of `permits` for a tenant of a group, or none: of its share, or else lent ones.
    ///
    /// A group that there is not has no share: its tenants only borrow. So does a tenant for which its group has no
    /// place. A request for 0 permits is always granted and changes nothing. A refusal writes nothing, unless the clock of the
    /// server was set back by more than a second.
    ///
    /// # Errors
    ///
    /// * [`TryAcquireError::Denied`] as for [`Shares::try_acquire`], with the shortest wait after which the request is
    ///   granted if nobody else is: of the share, by borrowing, or when the group has a place. More permits than a tenant can ever
    ///   be granted are denied without a round trip.
    /// * [`TryAcquireError::Key`] if the tenant's name is too long, and [`TryAcquireError::Store`] if the server does not answer.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may have been taken, or may yet be.
    pub async fn try_acquire(
        &self,
        group: usize,
        tenant: &str,
        permits: u64,
    ) -> Result<ShareGrant, TryAcquireError> {
        self.send("take", group, tenant, permits).await
    }

    /// Returns the answer that [`try_acquire`](RedisShares::try_acquire) would give. Takes nothing.
    ///
    /// `peek(group, tenant, 0)` reads the rest of the tenant's share.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisShares::try_acquire).
    pub async fn peek(
        &self,
        group: usize,
        tenant: &str,
        permits: u64,
    ) -> Result<ShareGrant, TryAcquireError> {
        self.send("peek", group, tenant, permits).await
    }

    async fn send(
        &self,
        verb: &'static str,
        group: usize,
        tenant: &str,
        permits: u64,
    ) -> Result<ShareGrant, TryAcquireError> {
        let request = self.request(verb, group, tenant, permits)?;
        let (keys, arguments) = (request.keys(), request.arguments());
        let run = Run { script: &SHARES, keys: &keys, arguments: &arguments };
        let reply = self.runner.run(run).await?;
        Ok(request.answer(&reply)??)
    }
}

/// # For callers on threads
impl<R: RunScriptBlocking> RedisShares<R> {
    /// Does the same as [`try_acquire`](RedisShares::try_acquire). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisShares::try_acquire).
    pub fn try_acquire_blocking(
        &self,
        group: usize,
        tenant: &str,
        permits: u64,
    ) -> Result<ShareGrant, TryAcquireError> {
        self.send_blocking("take", group, tenant, permits)
    }

    /// Does the same as [`peek`](RedisShares::peek). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisShares::try_acquire).
    pub fn peek_blocking(
        &self,
        group: usize,
        tenant: &str,
        permits: u64,
    ) -> Result<ShareGrant, TryAcquireError> {
        self.send_blocking("peek", group, tenant, permits)
    }

    fn send_blocking(
        &self,
        verb: &'static str,
        group: usize,
        tenant: &str,
        permits: u64,
    ) -> Result<ShareGrant, TryAcquireError> {
        let request = self.request(verb, group, tenant, permits)?;
        let (keys, arguments) = (request.keys(), request.arguments());
        let run = Run { script: &SHARES, keys: &keys, arguments: &arguments };
        let reply = self.runner.run_blocking(run)?;
        Ok(request.answer(&reply)??)
    }
}
