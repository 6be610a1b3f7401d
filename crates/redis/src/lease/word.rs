//! The permits that are left of a key's lease, in one word.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

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
/// Orderings: the count itself needs none, since all that change it change this word. What they pair for is that a
/// caller that spends a permit happens after the server's answer that brought it.
///
/// MODEL: none. Threads spend beside a holder of the lock in the tests below; interleavings of keys and requests are the
/// simulation's (`tests::leases::simulation`), which runs one call at a time.
#[derive(Debug, Default)]
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

impl LeaseWord {
    /// Takes `permits`, or none if fewer are left. Lock-free.
    #[inline]
    pub(super) fn spend(&self, permits: u64) -> Spent {
        // ORDERING: Acquire, as the CAS that follows if it succeeds; and a word that is retired was retired before.
        let mut seen = self.0.load(Acquire);
        loop {
            if seen & RETIRED != 0 {
                return Spent::Retired;
            }
            let Some(left) = (seen & LEFT).checked_sub(permits) else { return Spent::Short };
            let next = seen & !LEFT | left;
            // ORDERING: AcqRel. Acquire pairs with the Release of `add`; Release with the Acquire of `take_all`, by which
            // what was spent happens before the request that replaces it. A failure only gives another value.
            match self.0.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                Ok(_) => return Spent::Taken { left, is_flying: seen & FLYING != 0 },
                Err(found) => seen = found,
            }
        }
    }

    /// Returns the permits left.
    pub(super) fn left(&self) -> u64 {
        // ORDERING: Acquire: the caller may grant by it.
        self.0.load(Acquire) & LEFT
    }

    pub(super) fn is_retired(&self) -> bool {
        // ORDERING: Acquire: sees what the one that retired it left behind.
        self.0.load(Acquire) & RETIRED != 0
    }

    pub(super) fn is_flying(&self) -> bool {
        // ORDERING: Acquire; under the lock, which orders it as well.
        self.0.load(Acquire) & FLYING != 0
    }

    /// Adds permits. Under the lock, for a word that is not retired.
    pub(super) fn add(&self, permits: u64) {
        // ORDERING: Release: pairs with the Acquire of `spend`.
        self.0.fetch_add(permits & LEFT, Release);
    }

    /// Takes all permits. Under the lock.
    pub(super) fn take_all(&self) -> u64 {
        // ORDERING: AcqRel: pairs with `spend` and `add`.
        self.0.fetch_and(!LEFT, AcqRel) & LEFT
    }

    /// Notes that a request is on its way. Under the lock.
    pub(super) fn set_flying(&self) {
        // ORDERING: Release: whoever sees the flag leaves the next request to the one that set it.
        self.0.fetch_or(FLYING, Release);
    }

    /// Notes that no request is on its way any more. Under the lock.
    pub(super) fn clear_flying(&self) {
        // ORDERING: Release, as above.
        self.0.fetch_and(!FLYING, Release);
    }

    /// Ends the lease for good, and returns the permits that were left. Under the lock.
    pub(super) fn retire(&self) -> u64 {
        // ORDERING: AcqRel: Acquire as in `take_all`; Release, so that who finds it retired sees the key's end.
        self.0.swap(RETIRED, AcqRel) & LEFT
    }
}

#[cfg(test)]
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
