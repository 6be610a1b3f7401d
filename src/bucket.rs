//! The one-word core: what a token bucket, a GCRA and a leaky bucket share.
//!
//! The state is one [`Level`]: the units spent since the origin, clamped so that
//! no more than the capacity can be unspent. [`Terms`] say how units are earned
//! (the accrual `A`) and what a token costs. To admit is to raise the level:
//!
//! ```text
//! balance = min(A(now) - level, capacity)
//! admit n   iff balance >= n * token, by CAS: level = A(now) - (balance - n * token)
//! ```
//!
//! Progress: lock-free; a CAS is repeated only because another call's succeeded
//! (or, on some processors, failed for no reason). Changes wait for each other.
//! Memory: 384 bytes on x86-64, the clock included. Cost: a denial 2 loads of the shared word
//! and no write; an admission 2 loads and 1 CAS of its line.
//!
//! # Why the bound holds
//!
//! **Theorem.** For any interleaving, and whatever value each call reads from the
//! clock between its start and its end, the units admitted in any span (s, t] of
//! the clock are at most `capacity + A(t) - A(s)`, and `max_debt` more if debt is
//! forced, as long as the limiter is not reset or healed.
//!
//! *Proof.* Leave out every grant that was given back, and the CAS that gave it
//! back: they stood next to each other, and the second put back what the first
//! found. (Of a lease a part is given back: the two make one smaller grant.) The other successful CASes have one order, the word's. (1) In that order
//! the level never falls, and rises by at least the cost of each admission: the new
//! level is `max(level, A(now) - capacity) + cost`. (2) The first admission of
//! the span starts from a level of at least `A(now) - capacity >= A(s) -
//! capacity`. (3) The last ends at a level of at most `A(now) <= A(t)`, or
//! `max_debt` above it. The costs add up to no more than (3) - (2). ∎
//!
//! Clocks of different threads need not agree, and the clock may be read before
//! the word: (2) and (3) ask only that each reading lies in (s, t].
//!
//! # Live changes of the terms
//!
//! The terms are eight words, and a caller must not see some old and some new.
//! There are two slots for them, and **the lowest bit of the level names the slot
//! in force**. A change writes the other slot, and then adds one to the word: the
//! bit flips, and every CAS that was decided under the old terms fails. A balance
//! is carried over by choosing where the new accrual starts; if it earns as the
//! old one did, that one goes on, and not even a part of a unit is lost.
//!
//! **Theorem.** No admission, and no denial that is returned, comes from a
//! mixture of terms.
//!
//! *Proof.* The word only ever grows, but for a grant that is given back, or a part of it,
//! which puts back the word just before it, or one in between; and no word from before a
//! change comes back. So a
//! CAS that succeeds found the word as it was loaded, with no change in between. A
//! slot is written only while the word names the other one. So from the load to the
//! CAS, the slot that was read was not written. A denial does no CAS; it looks at the
//! word once more instead. (Where the orderings come in is argued at each
//! operation.) ∎

pub(crate) mod accrual;
pub(crate) mod carry;
mod give_back;
pub(crate) mod level;
mod reconfigure;
pub(crate) mod reserved;
pub(crate) mod spend;
mod term_slots;
pub(crate) mod terms;

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::contention::Contention;
use crate::decision::snapshot::Snapshot;
use crate::sync::Ordering::{Acquire, Relaxed};
use crate::sync::{AtomicWord, fence};
use crate::time::clock::Clock;

use self::carry::Holding;
use self::level::Level;
use self::reserved::{Lent, NothingReserved};
use self::term_slots::TermSlots;
use self::terms::Terms;

/// A limiter whose state is one word; of its capacity, `L` may be lent.
pub(crate) struct BucketCore<C, L = NothingReserved> {
    pub(crate) line: CachePadded<ContendedLine<L>>,
    pub(crate) slots: TermSlots,
    pub(crate) clock: C,
    /// 1 while a call changes the terms: the others wait for it. No other verb
    /// looks at it.
    pub(crate) changing: AtomicWord<u64>,
    healed: AtomicWord<u64>,
}

/// What callers write, on a line of its own.
pub(crate) struct ContendedLine<L> {
    pub(crate) word: AtomicWord<Level>,
    pub(crate) lent: L,
    contention: Contention,
}

impl<C: Clock, L: Lent> BucketCore<C, L> {
    /// A limiter on `terms` that holds `initial` tokens.
    pub(crate) fn new(terms: Terms, initial: u64, clock: C) -> BucketCore<C, L> {
        let balance = initial.saturating_mul(terms.token).min(terms.capacity) as i64;
        let terms = Terms {
            origin_nanos: clock.now_nanos(),
            base: Level::ZERO.accrued_at(balance),
            ..terms
        };
        BucketCore {
            line: CachePadded::new(ContendedLine {
                word: AtomicWord::new(Level::ZERO),
                lent: L::none(),
                contention: Contention::new(),
            }),
            slots: TermSlots::new(terms),
            clock,
            changing: AtomicWord::new(0),
            healed: AtomicWord::new(0),
        }
    }

    pub(crate) fn clock(&self) -> &C {
        &self.clock
    }

    /// How often an impossible level was healed.
    pub(crate) fn healed(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; nothing is decided by it.
        // MODEL: `an_impossible_level_is_healed_once`.
        self.healed.load(Relaxed)
    }

    /// What is held, with so many permits more that are held `outside`.
    pub(crate) fn snapshot(&self, outside: u64) -> Snapshot {
        let (terms, holding) = self.look();
        holding.plus(outside, &terms).snapshot(&terms)
    }

    pub(crate) fn terms(&self) -> Terms {
        self.look().0
    }

    /// The tokens that are missing to full, a part of one counted whole.
    pub(crate) fn level(&self) -> u64 {
        let (terms, holding) = self.look();
        terms.capacity.saturating_add_signed(holding.balance.saturating_neg()).div_ceil(terms.token)
    }

    /// The terms in force and what is held under them.
    fn look(&self) -> (Terms, Holding) {
        let mut may_heal = true;
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `a_reading_is_never_from_mixed_terms`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let now_nanos = self.clock.now_nanos();
            let holding = Holding::of(seen, &terms, self.capacity(&terms), now_nanos);
            seen = match self.still(seen) {
                Ok(()) if may_heal && terms.is_impossible(holding.balance, now_nanos) => {
                    may_heal = false;
                    self.heal();
                    // ORDERING: Acquire, as in `spend`.
                    // MODEL: `a_change_right_after_a_healing_is_seen_whole`.
                    self.line.word.load(Acquire)
                }
                Ok(()) => return (terms, holding),
                Err(found) => found,
            };
        }
    }

    /// What the word may hold: all of the capacity but what is lent. To be asked after
    /// the word was loaded.
    #[inline(always)]
    pub(crate) fn capacity(&self, terms: &Terms) -> u64 {
        self.line.lent.left_of(terms, 0)
    }

    /// Whether the word is still `seen`, so that the terms it named are not a
    /// mixture; the word as it is now if not.
    #[inline]
    pub(crate) fn still(&self, seen: Level) -> Result<(), Level> {
        // ORDERING: an Acquire fence, so that the look at the word comes after
        // the loads of the terms. Pairs with the Release stores in
        // `TermSlots::prepare`: had one of them been seen, so would be the CAS before
        // them that moved the word on.
        // MODEL: `a_denial_is_never_from_mixed_terms`.
        fence(Acquire);
        // ORDERING: Acquire, because the caller goes on with the level found.
        // MODEL: `a_denial_is_never_from_mixed_terms`.
        let found = self.line.word.load(Acquire);
        if found == seen { Ok(()) } else { Err(found) }
    }
}

impl<C, L: fmt::Debug> fmt::Debug for BucketCore<C, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketCore")
            .field("word", &self.line.word)
            .field("lent", &self.line.lent)
            .field("contention", &self.line.contention)
            .field("healed", &self.healed)
            .finish_non_exhaustive()
    }
}
