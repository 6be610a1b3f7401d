//! Models of callers that wait in line for a bucket. What is checked, over every interleaving:
//! nobody overtakes them; one that gives up has taken nothing; and nobody sleeps for ever, whose
//! permits have come otherwise than by time. (A sleep that nobody ends is a deadlock, which loom
//! reports.)

use std::pin::pin;
use std::task::Poll;

use sluicegate::wait::{AcquireError, Reserve};
use sluicegate::{Limiter, Quota, Wait, quota};
use sluicegate_loom_tests::line::{acquire, poll, stand_and_ask, stand_and_then, wait};
use sluicegate_loom_tests::{
    ANY, Arc, Bucket, SECOND, TestClock, bucket_with, check, race, thread,
};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, Ordering};

const ONE: Quota = quota!(1 / second, burst 1);
const TWO: Quota = quota!(1 / second, burst 2);

/// A bucket of `quota` with `tokens`. On real threads, the calling one may have run ahead in the race
/// before.
fn fresh(tokens: u64, quota: Quota) -> Arc<Bucket> {
    TestClock::run_ahead(0);
    bucket_with(tokens, quota)
}

/// Returns whether a permit is left after `seconds`. None is given out if the gate has stayed closed.
fn is_left(bucket: &Bucket, seconds: u64) -> bool {
    TestClock::run_ahead(seconds * SECOND);
    let is_left = bucket.try_acquire(1).is_ok();
    TestClock::run_ahead(0);
    assert_eq!(bucket.line().waiters(), 0);
    is_left
}

struct Overtaken {
    bucket: Arc<Bucket>,
    stands: AtomicBool,
}

#[test]
fn nobody_overtakes_a_caller_in_line() {
    check(ANY, || {
        let shared = Overtaken { bucket: fresh(0, ONE), stands: AtomicBool::new(false) };
        let [waited, tried] =
            race(&Arc::new(shared), [true, false], |Overtaken { bucket, stands }, waits| {
                if waits {
                    let is_granted = stand_and_then(&**bucket, || {
                        stands.store(true, Ordering::Release);
                        TestClock::run_ahead(SECOND);
                    });
                    (true, is_granted)
                } else {
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(SECOND);
                    (stands, bucket.try_acquire(1).is_ok())
                }
            });
        assert_ne!(waited.1, tried.1, "there is one permit");
        assert!(!tried.0 || waited.1, "overtaken");
    });
}

#[test]
fn nobody_overtakes_the_second_in_line() {
    check(2, || {
        let shared = Overtaken { bucket: fresh(0, ONE), stands: AtomicBool::new(false) };
        let [waited, tried] =
            race(&Arc::new(shared), [true, false], |Overtaken { bucket, stands }, waits| {
                if waits {
                    let mut first = pin!(acquire(bucket, 1));
                    let mut second = pin!(acquire(bucket, 1));
                    let is_first_in_line = poll(&mut first).is_pending();
                    let _in_line = poll(&mut second);
                    stands.store(true, Ordering::Release);
                    TestClock::run_ahead(SECOND);
                    if is_first_in_line {
                        let _granted = poll(&mut first);
                    }
                    TestClock::run_ahead(2 * SECOND);
                    (true, matches!(poll(&mut second), Poll::Ready(Ok(_))))
                } else {
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(2 * SECOND);
                    (stands, bucket.try_acquire(1).is_ok())
                }
            });
        assert!(!tried.0 || waited.1 && !tried.1, "overtaken");
    });
}

#[test]
fn nobody_overtakes_a_caller_beside_a_reset() {
    check(1, || {
        let shared = Overtaken { bucket: fresh(0, ONE), stands: AtomicBool::new(false) };
        race(&Arc::new(shared), [0, 1, 2], |Overtaken { bucket, stands }, part| match part {
            0 => {
                let mut caller = pin!(acquire(bucket, 1));
                let mut answer = poll(&mut caller);
                stands.store(true, Ordering::Release);
                while answer.is_pending() {
                    thread::park();
                    answer = poll(&mut caller);
                }
            }
            1 => {
                let stands = stands.load(Ordering::Acquire);
                let tried = bucket.try_acquire(1).is_ok();
                assert!(!stands || !tried, "overtaken: the other reset has brought one");
                bucket.reset();
            }
            _ => bucket.reset(),
        });
    });
}

#[test]
fn nobody_overtakes_a_caller_beside_a_force() {
    check(2, || {
        let bucket = fresh(0, ONE.with_max_debt(2).unwrap());
        let shared = Overtaken { bucket, stands: AtomicBool::new(false) };
        let [waited, tried, _] =
            race(&Arc::new(shared), [0, 1, 2], |Overtaken { bucket, stands }, part| match part {
                0 => {
                    let is_granted = stand_and_then(&**bucket, || {
                        stands.store(true, Ordering::Release);
                        TestClock::run_ahead(2 * SECOND);
                    });
                    (true, is_granted)
                }
                1 => {
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(2 * SECOND);
                    (stands, bucket.try_acquire(1).is_ok())
                }
                _ => (false, bucket.force(1).is_ok()),
            });
        assert!(!tried.0 || waited.1, "overtaken");
    });
}

#[test]
fn the_next_in_line_is_granted_its_permit_when_the_first_gives_up() {
    check(ANY, || {
        let bucket = fresh(1, TWO);
        race(&bucket, [2, 1], |bucket, permits| {
            if permits == 1 {
                wait(bucket, 1).unwrap();
            } else {
                let mut caller = pin!(acquire(bucket, 2));
                assert!(poll(&mut caller).is_pending());
            }
        });
        assert!(!is_left(&bucket, 0));
    });
}

#[test]
fn a_caller_that_gives_up_has_taken_nothing() {
    check(3, || {
        let bucket = fresh(0, TWO);
        let [_, granted] = race(&bucket, [false, true], |bucket, stays| {
            if stays {
                return stand_and_ask(bucket, 2 * SECOND);
            }
            let mut caller = pin!(acquire(bucket, 1));
            assert!(poll(&mut caller).is_pending());
            false
        });
        assert!(granted, "two have been earned");
        // If the first permit had been granted to the one that gave up, before the second was
        // granted, it is lost; and no more than that.
        let _taken = is_left(&bucket, 2);
        TestClock::run_ahead(4 * SECOND);
        assert_eq!(bucket.peek(0).unwrap().remaining(), 2);
        TestClock::run_ahead(0);
    });
}

#[test]
fn a_reset_is_seen_by_those_in_line() {
    check(ANY, || {
        let bucket = fresh(0, ONE);
        race(&bucket, [true, false], |bucket, waits| {
            if waits {
                wait(bucket, 1).unwrap();
            } else {
                bucket.reset();
            }
        });
        assert!(!is_left(&bucket, 0));
    });
}

#[test]
fn a_caller_in_line_beside_a_reset_and_a_try_shares_the_burst_with_it() {
    check(2, || {
        let bucket = fresh(0, ONE);
        let granted = race(&bucket, [0, 1, 2], |bucket, part| match part {
            0 => stand_and_ask(bucket, 0),
            1 => bucket.try_acquire(1).is_ok(),
            _ => {
                bucket.reset();
                false
            }
        });
        let granted = granted.into_iter().filter(|granted| *granted).count();
        assert_eq!(granted + usize::from(is_left(&bucket, 0)), 1);
    });
}

#[test]
fn a_force_goes_through_the_gate_and_is_paid_for() {
    check(ANY, || {
        let bucket = fresh(0, ONE.with_max_debt(2).unwrap());
        let [granted, forced] = race(&bucket, [true, false], |bucket, waits| {
            if waits { stand_and_ask(bucket, SECOND) } else { bucket.force(1).is_ok() }
        });
        assert!(forced);
        assert_eq!(is_left(&bucket, 2), !granted);
    });
}

#[test]
fn a_closed_line_wakes_all_that_stand_in_it() {
    check(2, || {
        let bucket = fresh(0, ONE);
        let answers = race(&bucket, [0, 1, 2], |bucket, part| {
            if part < 2 {
                return Some(wait(bucket, 1));
            }
            bucket.line().close();
            None
        });
        assert_eq!(
            answers,
            [Some(Err(AcquireError::Closed)), Some(Err(AcquireError::Closed)), None]
        );
        assert!(is_left(&bucket, 1));
    });
}

#[test]
fn a_grant_given_back_while_others_wait_is_theirs() {
    check(ANY, || {
        let bucket = fresh(1, ONE);
        race(&bucket, [true, false], |bucket, waits| {
            if waits {
                wait(bucket, 1).unwrap();
            } else if let Ok(receipt) = bucket.try_acquire_revocable(1) {
                assert!(receipt.give_back());
            }
        });
        assert!(!is_left(&bucket, 0));
    });
}

struct Noted {
    bucket: Arc<Bucket>,
    note: AtomicBool,
}

#[test]
fn a_caller_in_line_is_seen_by_those_after_it() {
    check(2, || {
        let shared = Noted { bucket: fresh(0, TWO), note: AtomicBool::new(false) };
        race(&Arc::new(shared), [0, 1, 2], |Noted { bucket, note }, part| match part {
            0 => {
                note.store(true, Ordering::Relaxed);
                stand_and_ask(bucket, SECOND);
            }
            1 => {
                TestClock::run_ahead(SECOND);
                let _settles = bucket.peek(1);
            }
            _ => {
                TestClock::run_ahead(2 * SECOND);
                // None is left if the other was granted one before. (Denied if the line is locked.)
                if let Ok(grant) = bucket.try_acquire(1) {
                    assert!(grant.remaining() > 0 || note.load(Ordering::Relaxed));
                }
            }
        });
    });
}

#[test]
fn reservations_are_for_different_instants() {
    check(3, || {
        let bucket = fresh(0, ONE.with_max_debt(3).unwrap());
        let mut instants = race(&bucket, [true, true, false], |bucket, keeps| {
            let reservation = bucket.reserve(1).unwrap();
            let instant = reservation.at_nanos();
            if keeps || !reservation.cancel() { instant } else { 0 }
        });
        instants.sort_unstable();
        let [cancelled, first, second] = instants.map(|instant| instant / SECOND);
        // Of the three instants each is for one of them, and one may be free again.
        assert!(cancelled < first && first < second && second <= 3);
        let taken = if cancelled == 0 { 2 } else { 3 };
        assert_eq!(bucket.peek(0).unwrap().balance(), -taken);
    });
}

/// To reserve is a grant.
#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_a_bucket_was_reserved_is_seen_after_the_next_grant() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    check(3, || {
        let shared = Arc::new((fresh(4, quota!(1 / second, burst 4)), Atomic::new(0)));
        race(&shared, [0, 1, 2], |(bucket, done), who| match who {
            0 => {
                done.store(1, Relaxed);
                let _ = bucket.reserve(2).unwrap();
            }
            // Passes on what it finds.
            1 => _ = bucket.reserve(1).unwrap(),
            _ => {
                if bucket.try_acquire(1).unwrap().remaining() < 2 {
                    assert_eq!(done.load(Relaxed), 1, "what was done before was not seen");
                }
            }
        });
    });
}
