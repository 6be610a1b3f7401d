//! One token bucket shared by all cores without contention.
//!
//! Take a [`Sharded`] where several cores ask one limiter all the time: each spends from a cache line of its own, and the bound stays
//! burst + rate × t. A [`Shard`] is one thread's way to it.

// A token bucket split into shards: callers spend from shards, and shards refill from a root.
//
// The root is the [single word](crate::bucket) of a token bucket. A shard is a word on its own
// cache line: capacity that the root has *reserved* for it, and the tokens in that capacity. A
// caller spends from its thread's shard, by one CAS on a line that no other thread normally
// writes, and without reading a clock. An empty shard refills from the root. Near the limit the
// refills become small, and in the end every call asks the root itself. Before a request is
// refused, all shards are checked, and the tokens that it needs are stolen from them.
//
// With the feature `per-cpu` there is a shard for each CPU too, from which callers spend first, without a locked
// instruction (`per_cpu.rs`). Its word changes one step at a time, as that of the others does.
//
// Progress: lock-free. Memory: 640 bytes, 256 for each shard, and 128 for each CPU that has one. Cost:
// an admission does 1 load and 1 CAS of the shard's line, and on the shared lines 2
// read-modify-writes per up to 1,024 permits (3 while the shard grows). A cached denial does only
// loads: of its shard's own lines, and of one line that only refills write.
//
// # Why the bound holds
//
// **Capacity moves with the tokens.** A token outside the root always lies in capacity that the
// root has reserved. A call that moves tokens moves as much capacity with them, or takes the
// tokens out of capacity that stays. `reserved` is all reserved capacity outside the root: in
// shards, in leases, and *in transit*, in calls that are moving it; but not the capacity that a
// call has just reserved and not yet filled. The root holds at most `capacity - reserved`, its
// *clamp*. (`level` is its word, and `A(t)` what it has earned by `t`.)
//
// ```text
// root(t)  = min(A(t) - level, capacity - reserved)   what the root could grant at t
// held(t)  = tokens in shards, in transit, in leases  <= reserved, always
// root(t) + held(t) <= capacity                        (*)
// ```
//
// A permit granted by the root counts as admitted at the clock reading that decided it; a permit
// from a shard, from tokens in transit or from a lease counts when it is taken from there.
//
// **Theorem.** If every clock reading is at least as late as all readings that other calls had
// finished before it began, then in any span (s, t] the permits admitted are at most
// `capacity + A(t) - A(s)`. If a reading may be older than those by up to `d`, they are at most
// `capacity + A(t) - A(s - d)`. Both hold as long as the limiter is not reset, restored or healed,
// if what is credited in the span counts as earned.
//
// *Proof.* Let `all = root + held`. By (*) it is at most the capacity at s, and it is never
// negative. So it remains to show that only what is earned in the span adds to it. (1) Spending,
// taking and putting move tokens, or remove them. (2) Tokens that leave the root, for a caller or
// in transit, are subtracted from its level as in the [single word](crate::bucket), at the instant
// of the reading: from then to the CAS the level is the same, and capacity that was in transit at
// the reading was already empty. The root never gives out what is above the clamp. (3) Reserving
// capacity lowers the clamp, and is counted before the CAS of the refill, so a call that finds the
// level as that refill left it finds the capacity reserved. Capacity that was never filled is
// released as if it had never been reserved. (4) Releasing capacity raises the clamp, and could
// uncover what the word has earned and cut off: what it earned *before* the capacity was empty
// must not come back. So the word is cut first: what is cut off at an instant at which the
// capacity was empty and held by no other call is cut off for good. From that instant on `all` is
// below the capacity by the amount released, so what is uncovered has been earned since, and fits.
// This also holds under the terms of a change in progress: cutting off moves the word, so the
// change has to read the clock again. If there is nothing to cut off, capacity is released only
// while no change is in progress; a change that begins then reads the clock later. (5) A change of
// terms that keeps the tokens puts those of the shards back into the root, and sets its level,
// before it releases their capacity. If it lowers the capacity, the tokens in leases and in
// transit at that moment were taken under the old terms; they are not put back beyond the new
// capacity. (6) A credit adds to the root alone, by a change of its terms, and leaves it with at
// most the capacity. What it adds counts with what is earned in the span. As far as that is above
// the clamp, it is not given out; by (4) it is cut off before capacity that held tokens is released.
// If capacity is released that was never filled, or that a change had emptied, `all` was below the
// capacity by that much since the credit, so that what is uncovered fits. (7) A request that leaves a
// reserve puts nothing back into the root. It takes tokens of shards into transit, with their capacity,
// and spends from these (1) and from the root (2); it releases the capacity of those that it has spent
// (4), and puts the others into its shard (1). ∎
//
// **Theorem.** When a request that leaves `reserve` is granted, `root + held` without leases is at least
// that at some instant of the call, after the grant.
//
// *Proof.* Nobody else spends what the call has in transit. It asks the root for what it lacks of its
// permits and of the reserve together, and spends there no more than what it lacks of its permits. The
// instant is that of the CAS, or, if it lacks no permits, that of the load which finds the word as it was.
// Then the root held both parts by the reading of the clock, and by (3) in capacity that holds no
// other tokens; what is in transit makes up for the rest. Tokens in other shards only add to it. ∎
//
// A single-word limiter requires only that each clock reading is taken during the call. Here
// permits are spent without any reading, so spans have to be spans of true time; if threads'
// clocks differ by `d`, what `d` earns may be added.
//
// # Drawbacks
//
// *When* a token was spent from a shard is not recorded, so capacity that was used up stays
// reserved, and earns nothing, until a call checks. After a time in which the limiter was full,
// the burst may lack what was spent from shards since their last refill. A refused request
// releases the empty capacity that it needs, so nothing is missing for long. A call that refills
// from a full root, or cuts one, while another call has reserved capacity and not yet filled
// it, cuts off as much as that capacity holds.

// The documented page has the public methods in the order of these modules.
pub(crate) mod builder;

mod verbs;

mod reconfigure;

mod acquire;
mod deny;
pub(crate) mod handle;
mod in_transit;
mod lease;
mod leaving;
mod line;
mod per_cpu;
mod refill_size;
mod release;
mod reserved;
mod root_access;
mod shard_word;
mod shards;

pub use self::builder::ShardedBuilder;
pub use self::handle::Shard;

use core::fmt;

use crate::bucket::BucketCore;
use crate::config::refill::Refill;
use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use self::reserved::Reserved;
use self::shards::Shards;

/// A token bucket for many cores, each of which spends from its own cache line.
///
/// Decides as a [`TokenBucket`](crate::TokenBucket) of the same quota does, and keeps its bound. A
/// caller pays for one compare-and-swap on a line in its own cache, reads no clock, and does not
/// contend with callers of other shards. Once in up to 1,024 permits, a call takes the next ones
/// from the *root*, a word that all threads share.
///
/// | | how |
/// |---|---|
/// | which shard | each thread of the process has a number from its first call until it ends: the lowest that is free at that call. With no more threads than shards, each thread therefore has a shard of its own; with more, the numbers wrap, and threads share shards. To choose a shard yourself, use [`shard`](Sharded::shard) |
/// | how many shards | as many as the machine runs threads at once, rounded up to a power of two; [`builder`](Sharded::builder) sets another number |
/// | size of a refill | 16 permits at first, then each time twice as many, up to 1,024; but at most a quarter of what the root holds, divided by the number of shards. If that is less than 4, there is no refill, and each call asks the root. A small burst is therefore never split |
/// | a request that leaves a reserve ([`Leaving`](crate::share::Leaving)) | is taken from the root, as from a [`TokenBucket`](crate::TokenBucket), so that the reserve is exact: see [`try_acquire_leaving`](Sharded::try_acquire_leaving) |
/// | a request too large for its shard | is taken from the root, and if the root has too few permits, from all shards too: up to the whole burst |
/// | tokens in a shard whose thread has ended | are stolen by callers that would otherwise be refused |
/// | a quota's debt | is ignored, and there is no `force`. A debt would be in the root, where callers that spend from shards do not look: so each `force` would have to empty all shards, and none could refill until the debt is repaid. For that time, the limiter would be a slower [`TokenBucket`](crate::TokenBucket). Use one for debts |
/// | denials | those that name a wait are cached by each shard until they can change; [`Denied::Leased`] and [`Denied::TooLarge`] are not |
///
/// # Examples
///
/// ```
/// use sluicegate::{Sharded, quota};
///
/// let limiter = Sharded::new(quota!(1_000_000 / second));
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| assert!(limiter.try_acquire(1).is_ok()));
///     }
/// });
/// assert!(limiter.peek(0)?.remaining() >= 1_000_000 - 4);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
///
/// # Shards of CPUs
///
/// With the feature `per-cpu`, on Linux with glibc (2.35, linked dynamically) on x86-64, callers spend from a shard of the CPU on which they
/// run. A permit then takes neither a locked instruction nor a thread's number, and nothing is left behind when a thread ends. The
/// limiter looks for what that takes when it is built ([`is_per_cpu`](Sharded::is_per_cpu)); where it is missing, and if the builder is
/// given a number of [`shards`](ShardedBuilder::shards), there are only shards of threads.
///
/// * Such a limiter takes 128 bytes more for each CPU that the machine can have.
/// * To take permits from the shard of another CPU, a call interrupts that CPU, which takes some microseconds, and waits for no thread that
///   is not running. It does so only if it sees permits there; and a denied call, only if it has to release empty capacity there.
/// * A thread whose shard is being robbed, that is not registered with the kernel, or that is on a CPU without a shard goes to the
///   shard of its number.
/// * A child process after `fork` has a limiter of its own, with what the parent's held, except for what other threads
///   were moving.
/// * If the system forbids to interrupt CPUs later on, what their shards hold is lost with its capacity, until the limiter ends.
///   From then on there are only shards of threads.
/// * A library that has called such a limiter must not be unloaded, as the kernel may still look at its code's description. The first
///   limiter of a process may take some milliseconds to build.
///
/// # Accuracy
///
/// In any span of time it admits at most the burst plus what was earned in the span. If the clocks
/// of different threads differ by `d`, what `d` earns may be added. Lowering the quota does not
/// affect the permits that calls and leases hold at the moment of the change.
///
/// **A request is refused only if the root and every shard, each checked at some time during the
/// call, held too few permits together** (or if the same was found a moment ago, and nothing has
/// come back since). So permits that exist are refused only while other calls move tokens from one
/// place to another, or [leases](crate::lease::Lease) and [receipts](crate::settle::Receipt) hold them or their
/// capacity; a retry after that suffices.
///
/// Spending from a shard reads no clock, so it is not known when a permit was spent. After a time
/// in which the limiter was full, the burst may lack what was spent from the shards since their
/// last refill: at most a quarter of the burst, if there are no more threads than shards and no
/// leases are returned to the shards unspent. A request that needs the missing permits is refused
/// once, and has them after the wait that the denial names. After a denial near the limit nothing
/// is missing. A call that refills from a full root, or releases empty capacity, while another call
/// has just reserved capacity and not yet filled it, cuts off as many permits as that capacity
/// holds: up to 512, or as many as a lease takes, which may be all.
///
/// The wait that a denial names is the shortest that suffices if no other caller takes permits,
/// even for a request of the whole burst: the capacity that it needs is released first. There are
/// three exceptions. Capacity held by leases and receipts earns nothing until they end, so a
/// request that needs it gets [`Denied::Leased`], which names no wait. A lease that begins during
/// the call or after it is not foreseen: the permits waited for may then be in that lease. And if
/// the clock reads earlier than another thread's clock did when that thread took permits from the
/// root, or if the quota is being changed, capacity is not released: then a request for nearly the
/// whole burst may be refused once more.
///
/// For a grant from a shard, [`Grant::remaining`] is what that shard has left, which is a lower
/// bound, and [`Grant::reset_after`] is the time in which the whole burst is earned, which is an
/// upper bound. [`peek`](Sharded::peek) counts all permits. A cached denial reports what was true
/// when it was first given, less the time that has passed.
///
/// # Fairness
///
/// None. A shard holds tokens that callers of other shards cannot see until they would be refused.
///
/// # Memory ordering
///
/// None: callers of different shards do not synchronize with each other.
///
/// The algorithm is an escrow of tokens (O'Neil, *The Escrow Transactional Method*, 1986), as in
/// the exact limit counters of *Is Parallel Programming Hard* (ch. 5), with capacity that moves
/// with the tokens, so that it can be reserved and released while the bucket fills.
pub struct Sharded<C = DefaultClock> {
    root: BucketCore<C, Reserved>,
    shards: Shards,
}

/// The operations, for a caller of the shard at `index`.
impl<C: Clock> Sharded<C> {
    /// Takes `permits` for a caller of the shard at that index, which is not asked for if the shard of the CPU has them.
    #[inline(always)]
    fn acquire_by(&self, index: impl FnOnce() -> usize, permits: u64) -> Result<Grant, Denied> {
        if let Some(left) = self.shards.spend_here(permits) {
            return Ok(self.grant_of(permits, left));
        }
        self.acquire_at(index(), permits)
    }

    #[inline(always)]
    fn acquire_at(&self, index: usize, permits: u64) -> Result<Grant, Denied> {
        if let Some(left) = self.shards.at(index).spend(permits) {
            return Ok(self.grant_of(permits, left));
        }
        let lookup = self.cached_denial(index, permits)?;
        self.acquire_elsewhere(index, permits, lookup)
    }

    fn acquire_up_to_at(&self, index: usize, permits: u64) -> Result<Grant, Denied> {
        let left = self.shards.spend_here(permits);
        if let Some(left) = left.or_else(|| self.shards.at(index).spend(permits)) {
            return Ok(self.grant_of(permits, left));
        }
        if permits == 0 {
            return self.peek(0);
        }
        loop {
            let lookup = self.cached_denial(index, 1)?;
            let reading = self.find(index, 1, lookup)?;
            let there = reading.permits() + self.shards.look().0;
            match self.acquire_elsewhere(index, permits.min(there.max(1)), lookup) {
                // Other callers were faster.
                Err(Denied::Wait(_) | Denied::Leased { .. }) if there > 1 => {}
                answer => return answer,
            }
        }
    }

    /// Returns a grant of `permits` by a shard that has `left` permits left.
    #[inline(always)]
    fn grant_of(&self, permits: u64, left: u64) -> Grant {
        let (limit, reset_nanos) = self.shards.quota_hint();
        let used = limit.saturating_sub(left);
        let forecast = Forecast::Known(KnownForecast { limit, used, reset_nanos, retry_nanos: 0 });
        Grant { permits, forecast }
    }

    /// Stores the quota hint: the parts of the quota in force that grants report.
    fn set_quota_hint(&self) {
        self.root.publish(|terms| {
            let quota = terms.quota();
            let period_nanos = u128::from(quota.rate().period_nanos());
            let earned = u128::from(quota.burst()) * period_nanos;
            let permits = u128::from(quota.rate().permits());
            let fill_nanos = match quota.refill() {
                Refill::Smooth => earned.div_ceil(permits),
                Refill::Interval => u128::from(quota.burst()).div_ceil(permits) * period_nanos,
            };
            self.shards
                .set_quota_hint(quota.burst(), u64::try_from(fill_nanos).unwrap_or(u64::MAX));
        });
    }
}

/// Shows the quota in force, the whole permits in the root and the shards, and the number of shards;
/// `{:#?}` shows the words of the root too. Lock-free; does not allocate; reads the clock; writes
/// nothing, and heals nothing.
impl<C: Clock> fmt::Debug for Sharded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (outside, _) = self.shards.look();
        let (terms, there) = self.root.shown();
        let quota = terms.quota();
        let is_long = f.alternate();
        let mut shown = f.debug_struct("Sharded");
        shown.field("quota", &quota);
        shown.field("remaining", &there.saturating_add(outside).min(quota.burst()));
        shown.field("shards", &self.shards.count());
        if self.is_per_cpu() {
            shown.field("is_per_cpu", &true);
        }
        if is_long {
            shown.field("root", &self.root).field("in_shards", &outside);
        }
        shown.finish()
    }
}
