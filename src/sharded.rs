//! One bucket in many places: callers spend from shards what these drew from the root.
//!
//! The root is the [one word](crate::bucket) of a token bucket. A shard is a word on a
//! cache line of its own: *room*, and tokens in it. A caller spends from its thread's
//! shard, by one CAS of a line that nobody else writes, and without a clock; when the
//! shard is empty it draws some from the root. Near the limit the draws become small, and
//! in the end every call asks the root itself. Before a request is refused, all shards
//! are looked at, and what is needed is taken from them.
//!
//! Progress: lock-free. Memory: 640 bytes, and 256 for each shard; 512 as long as there are
//! none. Cost: an admission 1
//! load and 1 CAS of the shard's line; of the lines that all share, 2 read-modify-writes in
//! up to 1,024 permits (3 as long as the shard grows). A denial that is remembered:
//! loads, of lines of its own and of one that only draws write.
//!
//! # Why the bound holds
//!
//! **Room travels with the tokens.** A token outside the root is always in room that the
//! root has lent; who moves tokens moves as much room, or takes them out of room that
//! stays. `lent` counts the room that is anywhere outside: in shards, in hands of calls
//! that are moving some, in leases; but not what a call has just borrowed and not yet
//! drawn into. The root holds at most its capacity less `lent`:
//!
//! ```text
//! root(t)  = min(A(t) - level, capacity - lent)       what the root could grant at t
//! held(t)  = tokens in shards, hands and leases        <= lent, always
//! root(t) + held(t) <= capacity                        (*)
//! ```
//!
//! A permit that the root grants counts as admitted at the reading of the clock by which
//! it was decided; one from a shard, a hand or a lease when it is taken from there.
//!
//! **Theorem.** If no reading of the clock is older than one that another call had
//! finished before it began, then in any span (s, t] the permits admitted are at most
//! `capacity + A(t) - A(s)`. If readings may be older by up to `d`: at most `capacity +
//! A(t) - A(s - d)`. As long as the limiter is not reset, restored or healed.
//!
//! *Proof.* Let `all = root + held`. By (*) it is at most the capacity at s, and it is
//! never below 0. So all that has to be shown is that nothing adds to it but what is
//! earned in the span. (1) To spend, to take and to put move tokens, or take them away.
//! (2) What the root gives, to a caller or into a hand, comes off its level as in the
//! [one word](crate::bucket), at the instant of the reading: from then to the CAS the
//! level is the same, and room that was in hand at the reading was empty already. What is
//! above the clamp it gives to nobody. (3) To lend lowers the clamp, and is counted
//! before the CAS of the draw, so whoever finds the level as that draw left it finds the
//! room lent. Room that was never drawn into is taken back as if it had never been lent.
//! (4) To take room back raises the clamp, and could uncover what the word has earned
//! and cut off: what it earned *before* the room was empty must not come back. So the word
//! is settled first: what is cut off at an instant at which the room was empty and in
//! nobody else's hands is cut off for good. From that instant on `all` is below the
//! capacity by that room, so what is uncovered has been earned since, and fits. That holds
//! by the terms of a change that is under way, too: to cut off moves the word, and the
//! change has to read the clock again. Where there is nothing to cut off, no room is taken
//! back unless none is under way; one that begins then reads the clock later. (5) A
//! change of terms that keeps the tokens puts those of the shards back into the root,
//! and sets its level, before it takes back their room. If it lowers the capacity, what is
//! in leases and hands just then was taken under the old terms; it is not put back
//! beyond the new capacity. ∎
//!
//! **Shards may come at any time.** A limiter without shards is one with shards in which
//! there is no room: every call asks the root, and nothing is lent. So the proof does not
//! ask when they were made. A caller that has not seen them and is refused by the root looks
//! for them once more: a token that it lacks because it is in a shard was drawn by
//! somebody who had found the shards, and whose draw it has seen.
//!
//! A single-word limiter needs nothing of its clock but that each reading is taken in
//! the call. Here permits are spent without any reading, so spans have to be spans of
//! the true time, and what threads' clocks are apart adds what is earned in it.
//!
//! # What it costs
//!
//! Nothing tells *when* a token was spent from a shard: so room that was used up stays
//! lent, and earns nothing, until somebody looks. After a time in which the limiter was
//! full there may be missing, of the burst, what was spent from shards since they last
//! drew. A request that is refused closes the room that it lacks, so nothing is missing for
//! long. And who draws from a full root, or settles one, while another has borrowed room
//! and not yet drawn, cuts off as much.

mod acquire;
mod deny;
pub(crate) mod handle;
mod in_transit;
mod lease;
mod line;
mod races;
mod reconfigure;
mod reserved;
mod root_access;
mod shard_slots;
mod shard_word;
mod shards;
mod unsharded;
mod verbs;

use core::fmt;

use crate::bucket::BucketCore;
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::config::refill::Refill;
use crate::decision::denied::Denied;
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::decision::known::Known;
use crate::thread_index::MAX_PLACES;
#[cfg(feature = "std")]
use crate::thread_index::places;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use self::reserved::Reserved;
use self::shards::Shards;

/// A token bucket for many cores: each spends from a cache line of its own.
///
/// Decides as a [`TokenBucket`](crate::TokenBucket) of the same quota does, and keeps its
/// bound. A caller pays for one compare-and-swap of a line that is in its own cache,
/// reads no clock, and disturbs nobody. In up to 1,024 permits, one call draws the next
/// ones from the word that all share.
///
/// | | how |
/// |---|---|
/// | which shard | each thread of the process has a number, the lowest that is free when it first asks, until it ends. So as many threads as there are shards have one each; more share them, counting round. Or name one: [`shard`](Sharded::shard) |
/// | how many shards | as many as the machine runs threads at once, rounded up to a power of two; or none until callers get in each other's way: [`when_contended`](Sharded::when_contended) |
/// | how much is drawn | 16, and each time twice as much, up to 1,024; but at most a quarter of what the root holds, divided by the shards, and if that is less than 4 nothing: then each call asks the root. A small burst is therefore never split |
/// | a request that its shard has too little for | is taken from the root, and if that has too little from all of them: up to the whole burst |
/// | tokens in a shard whose thread is gone | are taken by whoever would be refused without them |
/// | a quota's debt | plays no part: there is no `force` |
/// | denials | those that name a wait are remembered by each shard until they can change; [`Denied::Leased`] and [`Denied::TooLarge`] are not |
///
/// # Accuracy
///
/// In any span of time it admits at most the burst and what was earned in it. Clocks of
/// different threads that disagree by `d` can add what is earned in `d`; and a quota that
/// is lowered does not reach what calls and leases hold at that moment.
///
/// **A request is refused only if, at some time during the call, the root and every shard
/// were each seen to hold so little that together it was too little** (or if it was refused
/// so a moment ago, and nothing has come back since). So what is there is refused only while
/// other calls carry tokens from one place to another, or [leases](crate::Lease) and
/// [receipts](crate::Receipt) hold them or their room: to ask again will do.
///
/// Nobody reads a clock to spend from a shard, so it is not known when that was. After a
/// time in which the limiter was full, what was spent from the shards since they last
/// drew may be missing from the burst: at most a quarter of it, if there are no more
/// threads than shards and no leases are given back to them unspent. A request that lacks
/// it is refused once, and has it after the time that it says. After a denial near the limit
/// nothing is missing. And who draws from a root that is full, or closes room, while another
/// has just borrowed room and not yet drawn into it, cuts off as much: up to 512 permits;
/// or what a lease takes, which may be all there is.
///
/// The wait that a denial names is the least that suffices if nobody else takes any, also for
/// the whole burst: the room that it needs is closed first. Three things it cannot know. Room
/// that leases and receipts hold earns nothing until they end, so no wait is named for what
/// needs it: [`Denied::Leased`]. Nor does it know of a lease that begins during the call or
/// after it: then the wait is for what that lease holds by then. And where the clock reads
/// earlier than that of another thread did when it took from the root, or the quota is just
/// being changed, room is not closed: then a request for nearly the whole burst may be
/// refused once more.
///
/// [`Grant::remaining`] of a grant from a shard is what that shard has left, and
/// [`Grant::reset_after`] the time in which the whole burst is earned: one is at least,
/// the other at most so much. [`peek`](Sharded::peek) counts them all. A denial that was
/// remembered tells what was true when it was first given, less the time that has passed.
///
/// # Fairness
///
/// None. Who draws has some tokens that others cannot see, until they would be refused.
///
/// # Memory ordering
///
/// None: callers of different shards have nothing in common.
///
/// It is an escrow of tokens (O'Neil, *The Escrow Transactional Method*, 1986), as in the
/// exact limit counters of *Is Parallel Programming Hard* (ch. 5), with room that travels
/// with the tokens, so that it can be lent and given back while the bucket fills.
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
pub struct Sharded<C = DefaultClock> {
    root: BucketCore<C, Reserved>,
    shards: Shards,
}

#[cfg(feature = "std")]
impl Sharded {
    /// A limiter of `quota` on a clock of its own, with a shard for each thread that the
    /// machine runs at once.
    #[must_use]
    pub fn new(quota: Quota) -> Sharded {
        Sharded::with_clock(quota, DefaultClock::default())
    }
}

impl<C: Clock> Sharded<C> {
    /// A limiter of `quota` on `clock`, with a shard for each thread that the machine
    /// runs at once. Reads the clock twice.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_clock(quota: Quota, clock: C) -> Sharded<C> {
        Sharded::of(quota, Shards::new(places(0)), clock)
    }

    /// A limiter of `quota` on `clock` that has no shards until callers get in each other's
    /// way, and then one for each thread that the machine runs at once: for one limiter of
    /// many, of which few are contended, such as one for each key. Reads the clock twice.
    ///
    /// Until then every call asks the root, by one compare-and-swap, as of a
    /// [`TokenBucket`](crate::TokenBucket), and the limiter takes 512 bytes. The shards are
    /// made, once and for good, by a caller that lost the last of 16 races for the
    /// root in one millisecond, or so; or by the first that asks for a lease or a receipt,
    /// for there has to be a place where it can be given back. They
    /// are allocated then, which may block.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, Sharded, quota};
    ///
    /// let limiter = Sharded::when_contended(quota!(1_000 / second), ManualClock::new());
    /// assert!(limiter.try_acquire(400).is_ok());
    /// assert_eq!(limiter.shards(), 0);
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn when_contended(quota: Quota, clock: C) -> Sharded<C> {
        Sharded::of(quota, Shards::later(0), clock)
    }

    /// As [`when_contended`](Sharded::when_contended), and then so many `shards`, or as many
    /// more as make a power of two.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Shards`] if they are not from 1 to 256.
    pub fn with_shards_when_contended(
        quota: Quota,
        shards: usize,
        clock: C,
    ) -> Result<Sharded<C>, ConfigError> {
        Ok(Sharded::of(quota, Shards::later(count_of(shards)?), clock))
    }

    /// A limiter of `quota` on `clock`, with so many `shards`, or as many more as make a
    /// power of two. Reads the clock twice.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Shards`] if they are not from 1 to 256.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, Sharded, quota};
    ///
    /// let limiter = Sharded::with_shards(quota!(1_000 / second), 6, ManualClock::new())?;
    /// assert_eq!(limiter.shards(), 8);
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn with_shards(quota: Quota, shards: usize, clock: C) -> Result<Sharded<C>, ConfigError> {
        Ok(Sharded::of(quota, Shards::new(count_of(shards)?), clock))
    }

    fn of(quota: Quota, shards: Shards, clock: C) -> Sharded<C> {
        let root = BucketCore::new(Terms::of_quota(quota), quota.initial(), clock);
        let limiter = Sharded { root, shards };
        limiter.tell();
        limiter
    }
}

/// How many shards there are where `shards` are asked for.
fn count_of(shards: usize) -> Result<usize, ConfigError> {
    if !(1..=MAX_PLACES).contains(&shards) {
        return Err(ConfigError::Shards { shards });
    }
    Ok(shards.next_power_of_two())
}

/// The verbs, for a caller of the shard at `index`.
impl<C: Clock> Sharded<C> {
    #[inline(always)]
    fn acquire_at(&self, index: usize, permits: u64) -> Result<Grant, Denied> {
        let Some(shard) = self.shards.at(index) else {
            return self.acquire_of_root(index, permits);
        };
        if let Some(left) = shard.spend(permits) {
            return Ok(self.grant_of(permits, left));
        }
        let recalled = self.recall(index, permits)?;
        self.ask(index, permits, recalled)
    }

    fn acquire_up_to_at(&self, index: usize, permits: u64) -> Result<Grant, Denied> {
        let Some(shard) = self.shards.at(index) else {
            return self.acquire_up_to_of_root(index, permits);
        };
        if let Some(left) = shard.spend(permits) {
            return Ok(self.grant_of(permits, left));
        }
        if permits == 0 {
            return self.peek(0);
        }
        loop {
            let recalled = self.recall(index, 1)?;
            let reading = self.find(index, 1, recalled)?;
            let there = reading.permits() + self.shards.look().0;
            match self.ask(index, permits.min(there.max(1)), recalled) {
                // Others were faster.
                Err(Denied::Wait(_) | Denied::Leased { .. }) if there > 1 => {}
                answer => return answer,
            }
        }
    }

    /// A grant of `permits` by a shard that has so many `left`.
    #[inline(always)]
    fn grant_of(&self, permits: u64, left: u64) -> Grant {
        let (limit, reset_nanos) = self.shards.told();
        let used = limit.saturating_sub(left);
        let forecast = Forecast::Known(Known { limit, used, reset_nanos, retry_nanos: 0 });
        Grant { permits, forecast }
    }

    /// Notes what grants are to tell of the quota in force.
    fn tell(&self) {
        self.root.publish(|terms| {
            let quota = terms.quota();
            let period_nanos = u128::from(quota.rate().period_nanos());
            let earned = u128::from(quota.burst()) * period_nanos;
            let permits = u128::from(quota.rate().permits());
            let fill_nanos = match quota.refill() {
                Refill::Smooth => earned.div_ceil(permits),
                Refill::Interval => u128::from(quota.burst()).div_ceil(permits) * period_nanos,
            };
            self.shards.tell(quota.burst(), u64::try_from(fill_nanos).unwrap_or(u64::MAX));
        });
    }
}

impl<C> fmt::Debug for Sharded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharded")
            .field("root", &self.root)
            .field("shards", &self.shards.count())
            .field("in_shards", &self.shards.look().0)
            .finish()
    }
}
