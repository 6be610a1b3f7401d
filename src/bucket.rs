//! Token buckets whose whole state is one word.
//!
//! | type | for |
//! |---|---|
//! | [`TokenBucket`] | a rate with bursts; smooth or interval refill. Start here |
//! | [`SettleableBucket`] | usage known only afterwards |
//! | [`Gcra`] | permits one interval apart, each up to a tolerance early |
//! | [`LeakyBucket`] | a level that leaks, or a minimum interval between permits |
//!
//! [`Carry`] keeps, scales or resets the balance when a quota changes; a [`Snapshot`] carries it to another process.

// The core of the token bucket, the GCRA and the leaky bucket: all their state is one word.
//
// The state is one [`Level`]: the units spent since the origin, clamped so that the unspent units
// never exceed the capacity. [`Terms`] say how units are earned (the accrual `A`) and how many a
// token costs. Admitting a request raises the level:
//
// ```text
// balance = min(A(now) - level, capacity)
// admit n   iff balance >= n * token, by CAS: level = A(now) - (balance - n * token)
// ```
//
// Progress: lock-free; a CAS is retried only because another call's CAS succeeded (or because it
// failed spuriously, as it may on some processors). Changes of the terms wait for each other.
// Memory: 384 bytes on x86-64, including the clock. Cost: a denial does 2 loads of the shared word
// and no write; an admission does 2 loads and 1 CAS on its line.
//
// # Why the bound holds
//
// **Theorem.** For any interleaving, and whatever value each call reads from the clock between its
// start and its end, the units admitted in any span (s, t] of the clock are at most
// `capacity + A(t) - A(s)`, and `max_debt` more if debt is forced, and what was credited in the
// span, as long as the limiter is not reset or healed.
//
// *Proof.* Leave out every grant that was given back, together with the CAS that gave it back: the
// two were adjacent, and the second restored what the first had found. (A lease gives back a part
// of its grant: the two CASes count as one smaller grant.) The other successful CASes have one
// order, that of the word. (1) In that order the level never falls, and rises by at least the cost
// of each admission: the new level is `max(level, A(now) - capacity) + cost`. (2) The first
// admission of the span starts from a level of at least `A(now) - capacity >= A(s) - capacity`.
// (3) The last ends at a level of at most `A(now) <= A(t)`, or `max_debt` above it. The costs add
// up to no more than (3) - (2). A credit raises `A` by what is credited, or by less if the bucket
// is full then, at the instant of its CAS; so it is among what `A` gains in the span. ∎
//
// The clocks of different threads need not agree, and the clock may be read before the word: (2)
// and (3) require only that each reading lies in (s, t].
//
// # Live changes of the terms
//
// The terms are eight words, and a caller must never see a mixture of old and new ones. They have
// two slots, and **the lowest bit of the level names the slot in force**. A change writes the
// other slot, then moves the word on so that the bit flips, and every CAS decided under the old
// terms fails. A balance is carried over by choosing where the new accrual starts. If the
// new terms earn as the old ones did, the old accrual continues, and not even a fraction of a unit
// is lost.
//
// **Theorem.** No admission, and no denial that is returned, is decided under a mixture of terms.
//
// *Proof.* No word from before a change comes back after it. Right after the change this is so
// because the bit differs; let there be a second change, after which the bit is the same again. The
// units only ever grow, except when a grant is given back, in whole or in part: that restores the
// level just before the grant, or one between the two. Before the level falls, the one from which
// it falls is noted in `fell_from`. So of the levels from before the first change, each is at most
// the one that the second change finds, or was noted by then; and the two changes together move the
// word on by a unit, above both, whatever the gate's bit is. (What is given back later was granted
// later, or its CAS fails: it needs the level that its grant left.) So a CAS that succeeds found the word as it was loaded, with no change in
// between. A slot is written only while the word names the other one. So the slot that was read was
// not written between the load and the CAS. A denial does no CAS; it loads the word a second time
// instead. (The orderings are argued at each operation.) ∎

pub(crate) mod accrual;
#[cfg(feature = "keyed")]
mod by_reading;
pub(crate) mod carry;
pub(crate) mod charge;
mod credit;
#[cfg(feature = "wait")]
mod foreseen;
pub(crate) mod gcra;
mod give_back;
mod heal;
pub(crate) mod leaky_bucket;
pub(crate) mod lease_verbs;
pub(crate) mod level;
#[cfg(not(feature = "wait"))]
mod no_turns;
mod reconfigure;
#[cfg(feature = "wait")]
pub(crate) mod reserve;
pub(crate) mod reserved;
pub(crate) mod settle;
pub(crate) mod settleable_bucket;
pub(crate) mod spend;
mod term_slots;
pub(crate) mod terms;
pub(crate) mod token_bucket;
#[cfg(feature = "wait")]
mod turns;
pub(crate) mod verbs;

pub use self::carry::Carry;
pub use self::gcra::Gcra;
pub use self::leaky_bucket::LeakyBucket;
pub use self::settleable_bucket::SettleableBucket;
pub use self::token_bucket::TokenBucket;
pub use crate::decision::snapshot::{Snapshot, SnapshotError};

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::config::error::ConfigError;
use crate::contention::Contention;
use crate::sync::Ordering::{Acquire, Relaxed};
use crate::sync::{AtomicWord, fence};
use crate::time::clock::Clock;
use crate::wait::line_lock::LineLock;

use self::carry::Holding;
use self::level::Level;
use self::reserved::{NothingReserved, ReservedCapacity};
use self::term_slots::TermSlots;
use self::terms::Terms;

/// A limiter whose state is one word; `L` counts the part of its capacity that is reserved.
pub(crate) struct BucketCore<C, L = NothingReserved> {
    pub(crate) line: CachePadded<ContendedLine<L>>,
    pub(crate) slots: TermSlots,
    pub(crate) clock: C,
    /// 1 while a call changes the terms: other changes wait for it. No other operation reads it.
    pub(crate) changing: AtomicWord<u64>,
    healed: AtomicWord<u64>,
}

/// The contended fields, padded to their own cache line. In this order: callers that contend write the
/// first two, which must not be on two lines of 64 bytes.
#[repr(C)]
pub(crate) struct ContendedLine<L> {
    pub(crate) word: AtomicWord<Level>,
    contention: Contention,
    /// The highest level from which the word fell, because a grant was given back.
    fell_from: AtomicWord<Level>,
    pub(crate) reserved: L,
    /// The callers in line. Here because receipts and leases only have this part of the bucket.
    pub(crate) line_lock: LineLock,
}

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    /// Creates a limiter on `terms` that is full.
    pub(crate) fn new(terms: Terms, clock: C) -> BucketCore<C, L> {
        BucketCore::holding(terms, u64::MAX, clock)
    }

    /// Creates a limiter on `terms` that holds `tokens`, as far as there is capacity.
    fn holding(terms: Terms, tokens: u64, clock: C) -> BucketCore<C, L> {
        let balance = tokens.saturating_mul(terms.token).min(terms.capacity) as i64;
        let terms = Terms {
            origin_nanos: clock.now_nanos(),
            base: Level::ZERO.accrued_at(balance),
            ..terms
        };
        BucketCore {
            line: CachePadded::new(ContendedLine {
                word: AtomicWord::new(Level::ZERO),
                fell_from: AtomicWord::new(Level::ZERO),
                reserved: L::of(&terms),
                contention: Contention::new(),
                line_lock: LineLock::new(),
            }),
            slots: TermSlots::new(terms),
            clock,
            changing: AtomicWord::new(0),
            healed: AtomicWord::new(0),
        }
    }

    /// Creates the limiter anew, with `tokens` instead of what it holds.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Initial`] if that is more than the burst.
    pub(crate) fn starting_with(self, tokens: u64) -> Result<BucketCore<C, L>, ConfigError> {
        let quota = self.terms().quota();
        if tokens > quota.burst() {
            return Err(ConfigError::Initial { initial: tokens, burst: quota.burst() });
        }
        Ok(BucketCore::holding(Terms::of_quota(quota), tokens, self.clock))
    }

    pub(crate) fn clock(&self) -> &C {
        &self.clock
    }

    /// Number of times that an impossible level was healed.
    pub(crate) fn healed(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; no decision depends on it.
        // MODEL: `an_impossible_level_is_healed_once`.
        self.healed.load(Relaxed)
    }

    /// Returns what is held, plus the permits held `outside`.
    pub(crate) fn snapshot(&self, outside: u64) -> Snapshot {
        let (terms, holding) = self.look();
        holding.plus(outside, &terms).snapshot(&terms)
    }

    pub(crate) fn terms(&self) -> Terms {
        self.look().0
    }

    /// Tokens missing to full; a fraction counts as a whole token.
    pub(crate) fn level(&self) -> u64 {
        let (terms, holding) = self.look();
        terms.capacity.saturating_add_signed(holding.balance.saturating_neg()).div_ceil(terms.token)
    }

    /// Returns the terms in force and the whole permits held under them. Writes nothing: an
    /// impossible level stays as it is.
    pub(crate) fn shown(&self) -> (Terms, u64) {
        let (terms, holding) = self.look_at_terms(false);
        (terms, terms.permits_in(holding.balance))
    }

    /// Returns the terms in force and what is held under them.
    fn look(&self) -> (Terms, Holding) {
        self.look_at_terms(true)
    }

    fn look_at_terms(&self, mut may_heal: bool) -> (Terms, Holding) {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_reading_is_never_from_mixed_terms`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let now_nanos = self.clock.now_nanos();
            let open = seen.with_gate(false);
            let holding = Holding::of(open, &terms, self.capacity(&terms), now_nanos);
            seen = match self.still(seen) {
                Ok(()) if may_heal && terms.is_impossible(holding.balance, now_nanos) => {
                    may_heal = false;
                    self.heal();
                    self.poke();
                    // ORDERING: Acquire, as in `spend`.
                    // MODEL: `a_change_right_after_a_healing_is_seen_whole`.
                    self.line.word.load(Acquire)
                }
                Ok(()) => return (terms, holding),
                Err(found) => found,
            };
        }
    }

    /// The most that the word may hold: the capacity that is not reserved. Must be called after the
    /// word was loaded.
    #[inline(always)]
    pub(crate) fn capacity(&self, terms: &Terms) -> u64 {
        self.line.reserved.left_of(terms, 0)
    }

    /// Checks that the word is still `seen`, so that the terms it named are not a mixture;
    /// otherwise returns the word found.
    #[inline]
    pub(crate) fn still(&self, seen: Level) -> Result<(), Level> {
        // ORDERING: an Acquire fence, so that the second load of the word comes after the loads of
        // the terms. Pairs with the Release stores in `TermSlots::prepare`: if a load saw one of
        // them, the second load would also see the CAS before that store, which moved the word on.
        // MODEL: `a_denial_is_never_from_mixed_terms`.
        fence(Acquire);
        // ORDERING: Acquire, because the caller continues with the level found.
        // MODEL: `a_denial_is_never_from_mixed_terms`.
        let found = self.line.word.load(Acquire);
        if found == seen { Ok(()) } else { Err(found) }
    }
}

impl<C, L: fmt::Debug> fmt::Debug for BucketCore<C, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketCore")
            .field("word", &self.line.word)
            .field("reserved", &self.line.reserved)
            .field("contention", &self.line.contention)
            .field("healed", &self.healed)
            .finish_non_exhaustive()
    }
}
