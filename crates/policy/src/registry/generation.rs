//! The number of the terms in force, by which decisions notice that others have taken their place.
//!
//! ```text
//! decide   load the number; if it is that of the caller's terms, decide by these;
//!          [barrier]; load the number again: if it has changed, the decision is void
//! change   store an odd number; [barrier]; change the limiter, or make another of what it has counted;
//!          publish it, and store the next even number
//! ```
//!
//! A void decision is made again by the terms in force. If the number is odd, it waits for them.
//!
//! **Theorem 1.** A change finds each grant by the old terms that is not void in the old limiter.
//!
//! *Proof.* A grant writes the limiter's word, and loads the number after a barrier. A change stores the
//! number, and reads the word after a barrier. One of the barriers is before the other. If the grant's is,
//! the change reads the word as the grant left it, or later. If the change's is, the grant loads the odd
//! number or a later one, and is void. ∎
//!
//! **Theorem 2.** A decision that is not void is made by the terms of one file.
//!
//! *Proof.* Let the decision have read any word that the change has written. The change wrote it after
//! its barrier, and the decision loads the number after its own, so it finds the odd number or a later
//! one, and numbers do not repeat. So it is void. ∎
//!
//! The decision's barrier is the locked instruction of the grant itself where the processor has such
//! ones (x86): no later load passes it. A denial needs no more than that loads stay in order, which they
//! do there.

use super::atomics::{AtomicU64, Ordering, compiler_fence, fence};

/// The number of the terms in force. It is odd while they change.
#[derive(Debug)]
pub(super) struct Generation(AtomicU64);

impl Default for Generation {
    fn default() -> Generation {
        Generation(AtomicU64::new(0))
    }
}

impl Generation {
    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        // ORDERING: Acquire. A caller that finds a number finds the terms that were published with it.
        // Pairs with `publish`.
        // MODEL: `a_limiter_that_takes_the_place_knows_all_that_was_granted`.
        self.0.load(Ordering::Acquire)
    }

    /// Returns true if the number is still `seen`, so that the decision before this call is not void.
    #[inline(always)]
    pub(super) fn is_still(&self, seen: u64) -> bool {
        barrier();
        // ORDERING: Relaxed, after the barrier.
        // MODEL: as in `barrier`.
        self.0.load(Ordering::Relaxed) == seen
    }

    /// Makes void whatever is decided by the terms of number `seen`, which is even, from now on. Only for
    /// the holder of the lock of changes.
    pub(super) fn begin(&self, seen: u64) {
        // ORDERING: Relaxed, before the barrier.
        // MODEL: as for the barrier.
        self.0.store(seen.wrapping_add(1), Ordering::Relaxed);
        // ORDERING: SeqCst, with `is_still`: see the theorems.
        // MODEL: `a_limiter_that_takes_the_place_knows_all_that_was_granted`,
        // `no_decision_is_made_by_some_of_the_old_terms_and_some_of_the_new`.
        fence(Ordering::SeqCst);
    }

    /// Puts the terms of number `next` in force, which is even, and which nobody has seen before.
    pub(super) fn publish(&self, next: u64) {
        // ORDERING: Release, after the store of the terms. Pairs with `get`.
        // MODEL: `a_limiter_that_takes_the_place_knows_all_that_was_granted`.
        self.0.store(next, Ordering::Release);
    }
}

/// Keeps the load that follows behind all that a decision has done.
#[inline(always)]
fn barrier() {
    if HAS_LOCKED_GRANTS {
        // ORDERING: SeqCst, with `begin`: see the theorems. The grant's own instruction is the barrier, and
        // the compiler is all that could reorder.
        // MODEL: as below, with the fence.
        compiler_fence(Ordering::SeqCst);
    } else {
        // ORDERING: SeqCst, with `begin`: see the theorems.
        // MODEL: `a_limiter_that_takes_the_place_knows_all_that_was_granted`,
        // `no_decision_is_made_by_some_of_the_old_terms_and_some_of_the_new`.
        fence(Ordering::SeqCst);
    }
}

/// True on processors whose atomic exchanges no later load passes, if it is these that run the code.
const HAS_LOCKED_GRANTS: bool =
    cfg!(any(target_arch = "x86", target_arch = "x86_64")) && !cfg!(any(miri, sluicegate_loom));
