//! Models of spending from one word. What is checked, over every interleaving:
//!
//! * no span of the clock admits more than the theorem of the core allows,
//!   whether the clock stands, moves, goes back or differs between threads;
//! * while the clock stands, not one permit is lost either;
//! * debts have a bottom, a reserve is left, and a denial leaves no trace;
//! * what a granted caller did is visible to the callers granted after it.

use sluicegate::{Clock, Gcra, LeakyBucket, Quota, Refill, quota};
use sluicegate_loom_tests::{
    Admission, Arc, Bucket, Ledger, SECOND, TestClock, bucket, check, race,
};

fn ask(bucket: &Bucket, permits: u64) -> Admission {
    Admission::of(bucket.try_acquire(permits))
}

/// A bucket that was emptied at 0, and the record of that. At `now_nanos`.
fn emptied(quota: Quota, now_nanos: u64) -> (Arc<Bucket>, Admission) {
    let bucket = bucket(quota);
    let first = Admission::of(Ok(bucket.drain()));
    bucket.clock().set(now_nanos);
    (bucket, first)
}

/// The bucket has been idle for so long that every first decision clamps.
#[test]
fn never_admits_more_than_the_bound() {
    check(3, || {
        let quota = quota!(1 / second, burst 2);
        let (bucket, first) = emptied(quota, 10 * SECOND);
        let ledger: Ledger = race(&bucket, [1, 1, 1], ask).into_iter().chain([first]).collect();
        ledger.assert_bounded(quota, 0);
        assert_eq!(ledger.total(), 2 + 2);
    });
}

#[test]
fn admits_the_whole_bound_whatever_the_sizes() {
    check(3, || {
        let quota = quota!(1 / second, burst 3);
        let (bucket, first) = emptied(quota, 10 * SECOND);
        let asked = race(&bucket, [[2, 1], [1, 2]], |bucket, sizes| {
            sizes.map(|permits| ask(bucket, permits))
        });
        let ledger: Ledger = asked.into_iter().flatten().chain([first]).collect();
        ledger.assert_bounded(quota, 0);
        // A two that came second may have found one, and then nobody took it.
        let left = bucket.peek(0).unwrap().remaining();
        assert_eq!(ledger.total() + left, 3 + 3);
        assert!(left <= 1, "{ledger:?}");
    });
}

/// Four threads, two permits.
#[test]
fn a_crowd_gets_no_more_than_two() {
    check(2, || {
        let quota = quota!(1 / second, burst 2);
        let (bucket, first) = emptied(quota, 10 * SECOND);
        let ledger: Ledger = race(&bucket, [1, 1, 1, 1], ask).into_iter().chain([first]).collect();
        assert_eq!(ledger.total(), 2 + 2);
    });
}

/// Three callers, each of which has to leave one of three.
#[test]
fn nobody_leaves_less_than_the_reserve() {
    check(3, || {
        let (bucket, _) = emptied(quota!(1 / second, burst 3), 10 * SECOND);
        let ask = |bucket: &Bucket, reserve| bucket.try_acquire_leaving(1, reserve).is_ok();
        let granted = race(&bucket, [1, 1, 1], ask);
        assert_eq!(granted.into_iter().filter(|granted| *granted).count(), 2);
        assert_eq!(bucket.peek(0).unwrap().remaining(), 1);
    });
}

/// An action of a thread beside the callers in the models below.
type Move = fn(&TestClock);

/// Lets three threads ask, for 1, 1 and 2 permits, while a fourth moves the
/// clock.
fn asks_while_the_clock_moves(preemptions: usize, quota: Quota, by: Move) {
    check(preemptions, move || {
        let (bucket, first) = emptied(quota, 10 * SECOND);
        let act = [Act::Ask(1), Act::Ask(2), Act::Move(by), Act::Ask(1)];
        let ledger: Ledger = race(&bucket, act, Act::on).into_iter().chain([first]).collect();
        ledger.assert_bounded(quota, 0);
        assert_eq!(bucket.healed(), 0);
    });
}

#[derive(Clone, Copy)]
enum Act {
    Ask(u64),
    Move(Move),
}

impl Act {
    fn on(bucket: &Bucket, act: Act) -> Admission {
        match act {
            Act::Ask(permits) => ask(bucket, permits),
            Act::Move(by) => {
                by(bucket.clock());
                Admission { at_nanos: bucket.clock().now_nanos(), permits: 0 }
            }
        }
    }
}

#[test]
fn the_clock_may_move_at_any_time() {
    asks_while_the_clock_moves(2, quota!(1 / second, burst 2), |clock| clock.set(11 * SECOND));
}

#[test]
fn the_clock_may_go_back_at_any_time() {
    asks_while_the_clock_moves(2, quota!(1 / second, burst 2), |clock| {
        clock.set(9 * SECOND + 1);
        clock.set(11 * SECOND);
    });
}

/// Steps of two, and the clock crosses the end of one.
#[test]
fn a_step_arrives_once() {
    let quota = quota!(2 / 4 seconds, burst 2).with_refill(Refill::Interval);
    asks_while_the_clock_moves(2, quota, |clock| clock.set(12 * SECOND));
}

/// Each asks twice, so that a clock that is behind meets a level that is ahead.
#[test]
fn threads_need_not_agree_on_the_time() {
    check(3, || {
        let quota = quota!(1 / second, burst 2);
        let (bucket, first) = emptied(quota, 10 * SECOND);
        let asked = race(&bucket, [0, SECOND / 2, SECOND], |bucket, ahead_nanos| {
            TestClock::run_ahead(ahead_nanos);
            ask(bucket, 2)
        });
        let ledger: Ledger = asked.into_iter().chain([first]).collect();
        ledger.assert_bounded(quota, 0);
        assert_eq!(bucket.healed(), 0);
    });
}

#[test]
fn a_debt_is_never_deeper_than_the_quota_allows() {
    check(2, || {
        let quota = quota!(1 / second, burst 1).with_max_debt(2).unwrap();
        let (bucket, first) = emptied(quota, 10 * SECOND);
        let forced =
            race(&bucket, [1, 2, 1], |bucket, permits| Admission::of(bucket.force(permits)));
        let ledger: Ledger = forced.into_iter().chain([first]).collect();
        ledger.assert_bounded(quota, 2);
        // Either two fitted in as well, or both ones did and two did not.
        assert!(matches!(ledger.total() - 1, 2 | 3), "{ledger:?}");
        let owed = bucket.peek(1).unwrap_err().retry_after().unwrap();
        assert_eq!(owed.as_secs(), ledger.total() - 1);
    });
}

#[test]
fn a_drain_and_its_rivals_share_what_was_there() {
    check(3, || {
        let quota = quota!(1 / second, burst 3);
        let (bucket, _) = emptied(quota, 10 * SECOND);
        let taken = race(&bucket, [0, 1, 2], |bucket, who| match who {
            1 => bucket.try_acquire_up_to(2).map_or(0, |grant| grant.permits()),
            _ => bucket.drain().permits(),
        });
        assert_eq!(taken.iter().sum::<u64>(), 3);
    });
}

#[test]
fn a_denial_leaves_no_trace() {
    check(3, || {
        let (bucket, _) = emptied(quota!(1 / second, burst 4), 3 * SECOND);
        let asked = race(&bucket, [4, 2, 1], |bucket, permits| bucket.try_acquire(permits).is_ok());
        assert_eq!(asked, [false, true, true]);
        assert!(bucket.try_acquire(1).is_err());
    });
}

/// The promise of the limiters' section on memory ordering.
#[test]
#[cfg(sluicegate_loom)]
fn a_granted_caller_sees_what_those_before_it_did() {
    use sluicegate_loom_tests::seen::assert_a_grant_is_seen_by_the_next;

    let two = || emptied(quota!(1 / second, burst 2), 10 * SECOND).0;
    assert_a_grant_is_seen_by_the_next(3, two, |bucket| bucket.try_acquire(1).unwrap());
}

/// The same core behind other constructors: one model each.
#[test]
fn a_gcra_passes_no_more_cells_than_the_tolerance_has_room_for() {
    check(3, || {
        let second = std::time::Duration::from_secs(1);
        let gcra = Gcra::with_clock(second, second, TestClock::new()).unwrap();
        let gcra = Arc::new(gcra);
        let passed = race(&gcra, [1, 1, 1], |gcra, cells| gcra.try_acquire(cells).is_ok());
        assert_eq!(passed.iter().filter(|&&passed| passed).count(), 2);
    });
}

#[test]
fn a_leaky_bucket_does_not_overflow() {
    check(3, || {
        let quota = quota!(1 / second, burst 2);
        let leaky = Arc::new(LeakyBucket::meter_with_clock(quota, TestClock::new()));
        let passed = race(&leaky, [1, 1, 1], |leaky, permits| {
            assert!(leaky.level() <= 2);
            leaky.try_acquire(permits).is_ok()
        });
        assert_eq!(passed.iter().filter(|&&passed| passed).count(), 2);
        assert_eq!(leaky.level(), 2);
    });
}
