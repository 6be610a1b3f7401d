//! Models of a lease's word, that of `sluicegate-redis`, and of what the key of a lease does with it under its lock. What
//! is checked, over every interleaving:
//!
//! * callers that spend, requests for more, and the end of the lease neither lose a permit nor mint one;
//! * the lease never holds more than its room, and nothing once it has ended;
//! * a grant comes after the answer that brought its permits, and after the grants before it;
//! * the checker does catch a request that does not take the lease into its hand (the canary).

use sluicegate_loom_tests::{ANY, Arc, check, race};

use self::atomics::{AtomicU64, Ordering};
use self::lock::Lock;
use self::word::{LeaseWord, Spent};

mod atomics {
    #[cfg(sluicegate_loom)]
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
    #[cfg(not(sluicegate_loom))]
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../../crates/redis/src/lease/word.rs"]
mod word;

mod lock {
    #[cfg(sluicegate_loom)]
    pub(super) use loom::sync::Mutex as Lock;
    #[cfg(not(sluicegate_loom))]
    pub(super) use std::sync::Mutex as Lock;
}

/// The most permits of the lease.
const MOST: u64 = 2;

/// Numbers of permits, behind the lock of the key.
#[derive(Default)]
struct Sums {
    /// Permits that the server has charged.
    charged: u64,
    /// Permits that the lease gave back.
    back: u64,
    has_ended: bool,
}

/// A key with a lease, in the steps of `lease/key.rs` and `lease/flight.rs`.
struct Key {
    word: LeaseWord,
    sums: Lock<Sums>,
    /// Notes of those who add permits, and of those who take them.
    answer: AtomicU64,
    spent: AtomicU64,
}

/// The steps of one thread. All return the permits that it was granted.
#[derive(Clone, Copy)]
enum Act {
    /// Takes so many permits, from the lease alone.
    Spend(u64),
    /// Takes so many from the lease, or by a request to the server.
    Take(u64),
    /// The same, by a request that only copies what is left into its hand.
    #[cfg(sluicegate_loom)]
    TakeByCopy(u64),
    /// Asks for the next lease ahead.
    Ahead,
    Retire,
}

impl Key {
    /// Makes a key whose lease has so many permits.
    fn with(permits: u64) -> Arc<Key> {
        let word = LeaseWord::default();
        word.add(permits);
        let sums = Lock::new(Sums { charged: permits, ..Sums::default() });
        Arc::new(Key { word, sums, answer: AtomicU64::new(0), spent: AtomicU64::new(0) })
    }

    fn act(&self, act: Act) -> u64 {
        match act {
            Act::Spend(permits) => self.spend(permits),
            Act::Take(permits) => match self.spend(permits) {
                0 => self.enter(permits, LeaseWord::take_all),
                granted => granted,
            },
            #[cfg(sluicegate_loom)]
            Act::TakeByCopy(permits) => self.enter(permits, LeaseWord::left),
            Act::Ahead => {
                self.ahead();
                0
            }
            Act::Retire => {
                let mut sums = self.sums.lock().unwrap();
                if !self.word.is_flying() {
                    sums.back += self.word.retire();
                    sums.has_ended = true;
                }
                0
            }
        }
    }

    fn spend(&self, permits: u64) -> u64 {
        if let Spent::Taken { .. } = self.word.spend(permits) { permits } else { 0 }
    }

    /// Takes permits under the lock, and by a request whose hand is `take_hand`'s.
    fn enter(&self, permits: u64, take_hand: fn(&LeaseWord) -> u64) -> u64 {
        let sums = self.sums.lock().unwrap();
        // It would wait, or ask for the key anew.
        if self.word.is_retired() || self.word.is_flying() {
            return 0;
        }
        let hand = take_hand(&self.word);
        if hand >= permits {
            self.word.add(hand - permits);
            return permits;
        }
        self.word.set_flying();
        drop(sums);
        // On its way.
        let mut sums = self.sums.lock().unwrap();
        let granted = permits - hand + MOST;
        sums.charged += granted;
        self.land(&sums, hand + granted - permits);
        permits
    }

    fn ahead(&self) {
        let sums = self.sums.lock().unwrap();
        if self.word.is_retired() || self.word.is_flying() {
            return;
        }
        let room = MOST.saturating_sub(self.word.left());
        self.word.set_flying();
        drop(sums);
        let mut sums = self.sums.lock().unwrap();
        sums.charged += room;
        self.land(&sums, room);
    }

    /// Puts what is left of an answer into the lease. Under the lock, behind which the `sums` are.
    fn land(&self, sums: &Sums, left: u64) {
        assert!(!sums.has_ended, "a lease that has ended is filled");
        self.word.add(left);
        assert!(self.word.left() <= MOST, "more than its room");
        self.word.clear_flying();
    }
}

/// Lets threads act on a lease with so many permits, and checks that those charged are granted, given back or left.
fn assert_adds_up<const N: usize>(preemptions: usize, permits: u64, acts: [Act; N]) {
    check(preemptions, move || {
        let key = Key::with(permits);
        let granted: u64 = race(&key, acts, Key::act).iter().sum();
        let sums = key.sums.lock().unwrap();
        let left = key.word.left();
        assert!(!key.word.is_flying(), "a request that has ended is on its way");
        assert!(left == 0 || !sums.has_ended, "a lease that has ended holds {left}");
        assert_eq!(granted + sums.back + left, sums.charged, "permits are lost or minted");
    });
}

use Act::{Ahead, Retire, Spend, Take};

#[test]
fn callers_spend_each_permit_once() {
    assert_adds_up(ANY, 2, [Spend(1), Spend(2)]);
    assert_adds_up(ANY, 3, [Spend(1), Spend(1), Spend(2)]);
}

#[test]
fn a_lease_that_is_renewed_loses_nothing_and_mints_nothing() {
    assert_adds_up(ANY, 1, [Spend(1), Ahead]);
    assert_adds_up(ANY, 1, [Spend(1), Take(2)]);
    assert_adds_up(3, 1, [Take(1), Take(2)]);
    assert_adds_up(2, 2, [Spend(1), Ahead, Take(2)]);
}

#[test]
fn a_lease_that_has_ended_grants_no_more_and_gives_all_back() {
    assert_adds_up(ANY, 2, [Spend(1), Retire]);
    assert_adds_up(3, 1, [Take(2), Retire]);
    assert_adds_up(2, 1, [Spend(1), Ahead, Retire]);
}

/// The request grants what a caller spends meanwhile.
#[test]
#[cfg(sluicegate_loom)]
#[should_panic(expected = "permits are lost or minted")]
fn canary_a_request_that_copies_the_lease_into_its_hand() {
    assert_adds_up(ANY, 1, [Spend(1), Act::TakeByCopy(2)]);
}

#[test]
fn a_grant_comes_after_the_answer_that_brought_it() {
    check(ANY, || {
        let key = Key::with(0);
        race(&key, [true, false], |key, is_answer| {
            if is_answer {
                key.answer.store(1, Ordering::Relaxed);
                key.word.add(1);
            } else if key.spend(1) == 1 {
                assert_eq!(key.answer.load(Ordering::Relaxed), 1, "before the answer");
            }
        });
    });
}

/// Spends one of two permits after a note of it, or looks for the note after it was granted the other one.
#[test]
fn a_grant_comes_after_the_grants_before_it() {
    /// Takes the second permit if the first one was spent.
    type TakeSecond = fn(&LeaseWord) -> bool;
    let ways: [TakeSecond; 3] = [
        |word| matches!(word.spend(1), Spent::Taken { left: 0, .. }),
        |word| word.take_all() == 1,
        |word| word.retire() == 1,
    ];
    for way in ways {
        check(ANY, move || {
            let key = Key::with(2);
            race(&key, [None, Some(way)], |key, second| match second {
                None => {
                    key.spent.store(1, Ordering::Relaxed);
                    key.spend(1);
                }
                Some(take_second) if take_second(&key.word) => {
                    assert_eq!(key.spent.load(Ordering::Relaxed), 1, "before the first grant");
                }
                Some(_) => {}
            });
        });
    }
}
