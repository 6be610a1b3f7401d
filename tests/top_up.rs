//! Limiters with permits beside them that were added once. What is checked:
//!
//! * the limiter pays first, the balance what the limiter denies, and each request is paid whole;
//! * permits are granted once, given back once, and never lost: against two counters and a bucket;
//! * the maxima;
//! * in a store of keys, and in a line.

use std::thread;

use proptest::prelude::*;
use sluicegate::compose::TopUp;
use sluicegate::keyed::Each;
use sluicegate::wait::Queued;
use sluicegate::*;

use crate::support::cases::cases;

type Bucket<'a> = TokenBucket<&'a ManualClock>;

fn bucket(clock: &ManualClock) -> Bucket<'_> {
    TokenBucket::with_clock(quota!(5 / second), clock)
}

#[test]
fn the_balance_pays_for_what_the_limiter_denies() {
    let clock = ManualClock::new();
    let limiter = TopUp::with_balance(bucket(&clock), 3);
    assert_eq!(limiter.try_acquire(5).unwrap().remaining(), 0);
    assert_eq!(limiter.balance(), 3);

    let grant = limiter.try_acquire(2).unwrap();
    assert_eq!((grant.permits(), grant.remaining(), grant.limit()), (2, 1, 3));
    assert!(grant.reset_after().is_zero() && grant.ready_after().is_zero());
    let denied = limiter.try_acquire(2).unwrap_err();
    assert_eq!(denied, limiter.limiter().peek(2).unwrap_err());
    assert_eq!((limiter.balance(), limiter.into_limiter().peek(0).unwrap().remaining()), (1, 0));
}

#[test]
fn what_the_balance_has_paid_can_be_given_back_at_any_time() {
    let clock = ManualClock::new();
    let limiter = TopUp::with_balance(bucket(&clock), 10);
    limiter.try_acquire(5).unwrap();
    let receipt = limiter.try_acquire_revocable(4).unwrap();
    limiter.try_acquire(3).unwrap();
    assert_eq!(limiter.balance(), 3);
    assert!(receipt.give_back());
    assert_eq!(limiter.balance(), 7);
}

#[test]
fn a_balance_stays_within_what_a_word_holds() {
    let clock = ManualClock::new();
    let limiter = TopUp::with_balance(bucket(&clock), 1);
    assert_eq!(limiter.add(u64::MAX), u64::MAX);
    assert_eq!(limiter.add(1), u64::MAX);
    assert_eq!(limiter.try_acquire(u64::MAX).unwrap().remaining(), 0);
    assert_eq!((limiter.withdraw(1), limiter.add(0)), (0, 0));
    assert_eq!((limiter.add(5), limiter.withdraw(u64::MAX), limiter.balance()), (5, 5, 0));
}

#[test]
fn a_reset_leaves_the_balance_and_an_idle_one_has_that_of_its_beginning() {
    let clock = ManualClock::new();
    let limiter = TopUp::with_balance(bucket(&clock), 2);
    assert!(limiter.is_idle());
    limiter.try_acquire(5).unwrap();
    limiter.try_acquire(1).unwrap();
    limiter.reset();
    assert_eq!((limiter.peek(0).unwrap().remaining(), limiter.balance()), (5, 1));
    assert!(!limiter.is_idle());
    limiter.add(1);
    assert!(limiter.is_idle());
}

#[test]
fn each_key_has_a_balance_of_its_own() {
    let each = Each::new(|_: &u32| TopUp::new(TokenBucket::new(quota!(1 / day))));
    let keys = Keyed::<u32, _>::with(each);
    assert_eq!(keys.with_limiter(&1, |limiter| limiter.add(10)).unwrap(), 10);
    assert!(keys.try_acquire(&1, 10).is_ok());
    assert!(keys.try_acquire(&2, 10).is_err());
}

#[test]
fn a_caller_in_line_is_granted_what_is_added() {
    let full = TopUp::new(TokenBucket::new(quota!(10 / day)));
    full.try_acquire(10).unwrap();
    let line = Queued::new(full);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| line.acquire_blocking(7));
        while line.line().waiters() == 0 {
            thread::yield_now();
        }
        line.update(|limiter| limiter.add(9));
        assert_eq!(waiting.join().unwrap().unwrap().permits(), 7);
    });
    assert_eq!(line.limiter().balance(), 2);
}

#[test]
fn threads_are_granted_each_permit_once() {
    let limiter = TopUp::new(TokenBucket::new(quota!(1 / day)));
    limiter.try_acquire(1).unwrap();
    let calls: u64 = if cfg!(miri) { 50 } else { 20_000 };
    let granted: u64 = thread::scope(|scope| {
        let adds = scope.spawn(|| (0..calls).for_each(|_| _ = limiter.add(3)));
        let takes: Vec<_> = (1..=3)
            .map(|permits| {
                let limiter = &limiter;
                let take =
                    move |_| limiter.try_acquire_up_to(permits).map_or(0, |grant| grant.permits());
                scope.spawn(move || (0..calls).map(take).sum::<u64>())
            })
            .collect();
        adds.join().unwrap();
        takes.into_iter().map(|take| take.join().unwrap()).sum()
    });
    assert_eq!(granted + limiter.balance(), 3 * calls);
}

/// A step of a random history.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take(u64),
    UpTo(u64),
    Return(u64),
    Add(u64),
    Withdraw(u64),
    Reset,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..9_u64).prop_map(Step::Take),
        2 => (0..9_u64).prop_map(Step::UpTo),
        1 => (0..9_u64).prop_map(Step::Return),
        2 => (0..9_u64).prop_map(Step::Add),
        1 => (0..9_u64).prop_map(Step::Withdraw),
        1 => Just(Step::Reset),
        2 => (0..1_000_000_000_u64).prop_map(Step::Pass),
    ]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_answer_is_that_of_a_bucket_or_of_a_counter(steps in prop::collection::vec(step(), 1..60)) {
        let (clock, alone) = (ManualClock::new(), ManualClock::new());
        let limiter = TopUp::new(bucket(&clock));
        // The reference: the same bucket, and a number.
        let (other, mut balance) = (bucket(&alone), 0_u64);
        for step in steps {
            match step {
                Step::Take(permits) => {
                    let peeked = limiter.peek(permits);
                    let answer = limiter.try_acquire(permits);
                    prop_assert_eq!(peeked, answer);
                    match other.try_acquire(permits) {
                        Ok(grant) => prop_assert_eq!(answer, Ok(grant)),
                        Err(_) if balance >= permits => {
                            balance -= permits;
                            let grant = answer.unwrap();
                            prop_assert_eq!((grant.permits(), grant.remaining()), (permits, balance));
                        }
                        Err(Denied::TooLarge { limit, which }) => {
                            let limit = limit.max(balance);
                            prop_assert_eq!(answer, Err(Denied::TooLarge { limit, which }));
                        }
                        Err(denied) => prop_assert_eq!(answer, Err(denied)),
                    }
                }
                Step::UpTo(permits) => {
                    let answer = limiter.try_acquire_up_to(permits);
                    match other.try_acquire_up_to(permits) {
                        Ok(grant) => prop_assert_eq!(answer, Ok(grant)),
                        Err(_) if balance.min(permits) > 0 => {
                            let paid = balance.min(permits);
                            balance -= paid;
                            prop_assert_eq!(answer.unwrap().permits(), paid);
                        }
                        Err(denied) => prop_assert_eq!(answer, Err(denied)),
                    }
                }
                Step::Return(permits) => {
                    if let Ok(receipt) = limiter.try_acquire_revocable(permits) {
                        prop_assert!(receipt.give_back());
                    }
                }
                Step::Add(permits) => {
                    balance += permits;
                    prop_assert_eq!(limiter.add(permits), balance);
                }
                Step::Withdraw(permits) => {
                    let gone = balance.min(permits);
                    balance -= gone;
                    prop_assert_eq!(limiter.withdraw(permits), gone);
                }
                Step::Reset => {
                    limiter.reset();
                    other.reset();
                }
                Step::Pass(nanos) => {
                    clock.advance_nanos(nanos);
                    alone.advance_nanos(nanos);
                }
            }
            prop_assert_eq!(limiter.balance(), balance);
            // No later wait than for one request after the other.
            let ahead = limiter.peek_ahead(balance + 3);
            prop_assert_eq!(ahead, other.peek_ahead(3));
        }
    }
}
