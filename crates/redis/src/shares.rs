//! One limit with an assured share for each tenant, on a server.
//!
//! | file | |
//! |---|---|
//! | `numbers` | the buckets, and their numbers for the script |
//! | `request` | a request of a tenant, and its answer |
//! | `reset` | makes a tenant's share full, or all |
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
//! time is earned once more. A place is kept no longer than an empty bucket takes to be full by the new time, from the first request
//! on that needs a place and comes to it; each comes to a thousand. A bucket that counted from then on would be full, and
//! the tenant's own holds no more, whenever it is asked.
//!
//! *Lost keys.* An own bucket that the server has lost is full, so the common bucket may go into debt, of up to its burst, and
//! nobody borrows meanwhile. So it is after a reset of a tenant. A set of places that is lost is one of places that are free. A
//! common bucket that is lost grants its burst once more.
//!
//! *Numbers that change.* Buckets keep what they hold, up to the new bursts; one without a key is full by the new numbers. Let
//! all callers have the new numbers from `s` on. Then (B) holds with them for each span that begins at `s` or later.
//!
//! *Proof.* Count all buckets as full at `s`: a key that nobody writes from then on expires by the old numbers, and a place that
//! goes to another tenant has a full bucket. From then on no `V_j` jumps, and the sum is at most `F` at any time. The last loan of the
//! span, at `u`, leaves `Q >= F`, so until then at most `B + R (u - s) - F` were granted, and afterwards at most `F` and what all
//! `V_j` earn. If the common bucket's debt would be deeper than its burst, a part of it is forgotten: but never between a loan and
//! the end of the span, since `F` and the earnings of all `V_j` do not take more than `F` from `Q`. Before, nothing is lent
//! since `s`, at most `F` and the earnings of all `V_j` are granted, and `Q < 0`, so it has to earn `F` before the next loan. ∎
//!
//! While some callers have other numbers, a tenant's own bucket is bounded by the greater of both shares, and loans leave the
//! smaller `F` in a common bucket of at most the greater quota.

mod numbers;
mod request;
mod reset;

use sluicegate::share::{Share, ShareGrant};
use sluicegate::{Denied, Quota};

use crate::error::{KeyError, LimitError, TryAcquireError};
use crate::key_space::KeySpace;
use crate::limit::{RedisLimit, packed};
use crate::run_script::{Run, RunScript, RunScriptBlocking};
use crate::script::SHARES;

use self::numbers::{Group, Numbers};
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
/// of them, grants again what they had taken.
///
/// # Other numbers
///
/// The numbers go with each call, so a change is another `RedisShares` with the same prefix, and all processes need the same
/// quota and shares, in the same order. Balances stay, up to the new bursts; a tenant that is idle has the new burst at once. From
/// the moment on at which all processes have the new numbers, the guarantees hold with these. While some have the old ones, a
/// tenant may have the greater of both shares, or both if its group differs; what is lent is within the greater quota. Groups
/// are told apart by their index, so a new one is best the last. Places beyond a smaller number are given up by tenants that are
/// full the soonest.
///
/// # Keys and memory
///
/// All keys of one `RedisShares` have one hash tag, so they are on one node of a cluster, and its speed is the limit: shares
/// that are independent need prefixes of their own. On the server there is a key for each tenant that is not full, and an entry
/// in the sorted set of its group: as many at a time as the group has places. A tenant with a ceiling has
/// one more key, until that is full, also if it has no place and only borrows: so there are no more of these than permits that
/// were granted within the time in which a ceiling fills. A refusal makes no key. Keys expire when they are full.
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
///
/// [`Shares`]: sluicegate::share::Shares
#[derive(Clone, Debug)]
pub struct RedisShares<R> {
    numbers: Numbers,
    keys: KeySpace,
    runner: R,
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
    ///
    /// [`Shares::new`]: sluicegate::share::Shares::new
    pub fn new(
        quota: impl Into<Quota>,
        shares: impl IntoIterator<Item = Share>,
        keys: KeySpace,
        runner: R,
    ) -> Result<RedisShares<R>, LimitError> {
        let numbers = Numbers::new(quota.into(), &shares.into_iter().collect::<Vec<_>>())?;
        Ok(RedisShares { numbers, keys, runner })
    }

    /// Returns the limit with names for its groups: one for all whose tenants are known, each of which has a place of its own,
    /// and another one for a group of others. So a known tenant keeps what it has used when its group changes.
    #[cfg(feature = "policy")]
    pub(crate) fn with_known_tenants(
        mut self,
        are_known: impl Fn(usize) -> bool,
    ) -> RedisShares<R> {
        for (index, group) in self.numbers.groups.iter_mut().enumerate() {
            let is_known = are_known(index);
            group.name = String::from(if is_known { "named" } else { "others" });
            group.places = group.places.filter(|_| !is_known);
        }
        self
    }

    /// Returns the quota for all tenants together.
    pub fn quota(&self) -> Quota {
        self.numbers.quota
    }

    /// Returns the share of each tenant of a group, or `None` if there is no such group.
    pub fn share(&self, group: usize) -> Option<Share> {
        Some(self.numbers.groups.get(group)?.share)
    }

    /// Returns the name of a tenant's own bucket on the server, or that of the common bucket for a group that there is not.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if the tenant's name is too long.
    pub fn name(&self, group: usize, tenant: &str) -> Result<String, KeyError> {
        let mut names = self.names(self.numbers.groups.get(group), tenant)?;
        names.truncate(2);
        Ok(names.pop().unwrap_or_default())
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
        let group = groups.get(group);
        let names = self.names(group, tenant)?;
        let limit = self.numbers.largest(group);
        if permits > limit {
            return Err(Denied::TooLarge { limit, which: 0 }.into());
        }
        let places = group.and_then(|group| group.places).unwrap_or(0);
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

    /// Returns the names of the common bucket, and if there is a group of the tenant's own, of the group's places, and of the
    /// tenant's ceiling.
    fn names(&self, group: Option<&Group>, tenant: &str) -> Result<Vec<String>, KeyError> {
        let all = self.keys.name_of_all(KIND);
        let mut names = Vec::with_capacity(4);
        if let Some(group) = group {
            let name = |of| self.keys.name_behind(&format!("{all}:{of}:{}:", group.name), tenant);
            names.push(name("assured")?);
            if group.places.is_some() {
                names.push(format!("{all}:places:{}", group.name));
            }
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
    ///
    /// [`Shares::try_acquire`]: sluicegate::share::Shares::try_acquire
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
