//! The permits that are left of a key's lease, in one word.

use super::atomics::AtomicU64;
use super::atomics::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The permits left, and two flags.
///
/// | bits | |
/// |---|---|
/// | 0..62 | permits left |
/// | 62 | `FLYING`: a request for more is on its way |
/// | 63 | `RETIRED`: the key has no lease any more, and this word never will have |
///
/// Anybody spends. Only a caller that holds the key's lock adds permits, takes all of them, or changes a flag.
///
/// The permits need no ordering, since all that change them change this word; the flags need none, since a caller that acts
/// by them holds the lock. The orderings are those of the callers: a grant happens after the answer of the server that
/// brought its permits, and after the grants before it.
#[derive(Debug)]
pub(super) struct LeaseWord(AtomicU64);

const RETIRED: u64 = 1 << 63;
const FLYING: u64 = 1 << 62;
const LEFT: u64 = FLYING - 1;

/// The outcome of a spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    /// Taken; so many are left then.
    Taken { left: u64, is_flying: bool },
    /// There are too few.
    Short,
    /// The lease has ended.
    Retired,
}

impl Default for LeaseWord {
    fn default() -> LeaseWord {
        LeaseWord(AtomicU64::new(0))
    }
}

impl LeaseWord {
    /// Takes `permits`, or none if fewer are left. Lock-free.
    #[inline]
    pub(super) fn spend(&self, permits: u64) -> Spent {
        // ORDERING: Relaxed. The CAS validates what is taken, and a caller that finds too few, or the end, goes on under
        // the lock.
        // MODEL: `callers_spend_each_permit_once`.
        let mut seen = self.0.load(Relaxed);
        loop {
            if seen & RETIRED != 0 {
                return Spent::Retired;
            }
            let Some(left) = (seen & LEFT).checked_sub(permits) else { return Spent::Short };
            let next = seen & !LEFT | left;
            // ORDERING: AcqRel. Acquire pairs with the Release of `add`, and with that of the spends before it; Release with
            // the Acquire of the spends after it, of `take_all` and of `retire`. Relaxed if it fails: as the load.
            // MODEL: `a_grant_comes_after_the_answer_that_brought_it`, `a_grant_comes_after_the_grants_before_it`.
            match self.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return Spent::Taken { left, is_flying: seen & FLYING != 0 },
                Err(found) => seen = found,
            }
        }
    }

    /// Returns the permits left: an estimate for a caller without the lock; for its holder an upper bound, since others may
    /// have spent some, and nobody has added any.
    pub(super) fn left(&self) -> u64 {
        // ORDERING: Relaxed. Nothing is granted by it.
        // MODEL: `a_lease_that_is_renewed_loses_nothing_and_mints_nothing`.
        self.0.load(Relaxed) & LEFT
    }

    /// Returns whether the lease has ended. Under the lock.
    pub(super) fn is_retired(&self) -> bool {
        // ORDERING: Relaxed. The lock orders it after the end.
        // MODEL: `a_lease_that_has_ended_grants_no_more_and_gives_all_back`.
        self.0.load(Relaxed) & RETIRED != 0
    }

    /// Returns whether a request is on its way. Under the lock.
    pub(super) fn is_flying(&self) -> bool {
        // ORDERING: Relaxed. The lock orders it after the change.
        // MODEL: `a_lease_that_is_renewed_loses_nothing_and_mints_nothing`.
        self.0.load(Relaxed) & FLYING != 0
    }

    /// Adds permits. Under the lock, for a word that is not retired.
    pub(super) fn add(&self, permits: u64) {
        // ORDERING: Release. Pairs with the Acquire of `spend`.
        // MODEL: `a_grant_comes_after_the_answer_that_brought_it`.
        self.0.fetch_add(permits & LEFT, Release);
    }

    /// Takes all permits. Under the lock.
    pub(super) fn take_all(&self) -> u64 {
        // ORDERING: Acquire. Pairs with the Release of `spend`: what the holder of the lock grants comes after what was
        // spent. It releases nothing, because permits to spend come by `add`.
        // MODEL: `a_grant_comes_after_the_grants_before_it`.
        self.0.fetch_and(!LEFT, Acquire) & LEFT
    }

    /// Notes that a request is on its way. Under the lock.
    pub(super) fn set_flying(&self) {
        // ORDERING: Relaxed. A caller that acts by it holds the lock.
        // MODEL: `a_lease_that_is_renewed_loses_nothing_and_mints_nothing`.
        self.0.fetch_or(FLYING, Relaxed);
    }

    /// Notes that no request is on its way any more. Under the lock.
    pub(super) fn clear_flying(&self) {
        // ORDERING: Relaxed, as in `set_flying`.
        // MODEL: `a_lease_that_is_renewed_loses_nothing_and_mints_nothing`.
        self.0.fetch_and(!FLYING, Relaxed);
    }

    /// Ends the lease for good, and returns the permits that were left. Under the lock.
    pub(super) fn retire(&self) -> u64 {
        // ORDERING: Acquire. Pairs with the Release of `spend`: what is given back goes back after what was spent.
        // MODEL: `a_grant_comes_after_the_grants_before_it`.
        self.0.swap(RETIRED, Acquire) & LEFT
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn permits_are_spent_up_to_those_that_are_left_and_never_once_the_lease_has_ended() {
        let word = LeaseWord::default();
        assert_eq!(word.spend(1), Spent::Short);
        word.add(5);
        word.set_flying();
        assert_eq!(word.spend(2), Spent::Taken { left: 3, is_flying: true });
        word.clear_flying();
        assert_eq!(word.spend(0), Spent::Taken { left: 3, is_flying: false });
        assert_eq!(word.spend(4), Spent::Short);
        assert_eq!(word.take_all(), 3);
        word.add(2);
        assert_eq!((word.retire(), word.left(), word.is_retired()), (2, 0, true));
        assert_eq!(word.spend(0), Spent::Retired);
    }

    #[test]
    fn threads_spend_each_permit_once() {
        let (word, rounds) = (LeaseWord::default(), if cfg!(miri) { 20 } else { 20_000 });
        let taken: u64 = std::thread::scope(|scope| {
            let spender = || {
                let mut taken = 0;
                while !word.is_retired() {
                    if let Spent::Taken { .. } = word.spend(1) {
                        taken += 1;
                    }
                }
                taken
            };
            let threads = [scope.spawn(spender), scope.spawn(spender)];
            let mut back = 0;
            for _ in 0..rounds {
                word.add(3);
                back += word.take_all();
            }
            back += word.retire();
            back + threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
        });
        assert_eq!(taken, rounds * 3);
    }
}
