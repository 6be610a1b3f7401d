//! Models of healing. What is checked, over every interleaving:
//!
//! * a level that no call can have left is healed, and only once;
//! * a level that some call did leave never is, however late its readers are and
//!   however their clocks differ;
//! * a change beside it neither mints nor gets lost.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::{Denied, Quota, Refill, quota};
use sluicegate_loom_tests::shards::{ask, sharded};
use sluicegate_loom_tests::{
    ANY, Admission, Arc, Bucket, Ledger, SECOND, TestClock, bucket, check, once, race,
};

const QUOTA: Quota = quota!(1 / second, burst 2);

/// A bucket that was emptied long after what its clock shows now.
fn impossible() -> Arc<Bucket> {
    let bucket = bucket(QUOTA);
    bucket.clock().set(100 * SECOND);
    assert_eq!(bucket.drain().permits(), 2);
    bucket.clock().set(10 * SECOND);
    bucket
}

#[test]
fn an_impossible_level_is_healed_once() {
    check(3, || {
        let bucket = impossible();
        let granted = race(&bucket, [1, 1, 1], |bucket, permits| {
            u64::from(bucket.try_acquire(permits).is_ok())
        });
        let granted: u64 = granted.iter().sum();
        assert_eq!(bucket.healed(), 1);
        assert_eq!(granted + bucket.peek(0).unwrap().remaining(), 2);
        // One that met the healing may have been refused, but not the healer.
        assert!(granted >= 1);
    });
}

/// The caller that reads the clock before it leaps meets the level that is left
/// after, and so does one that looks into it while the clock leaps again.
#[test]
fn a_late_reader_heals_nothing() {
    let acts: [fn(&Bucket) -> [Admission; 2]; 2] = [
        |bucket| [2, 1].map(|permits| Admission::of(bucket.try_acquire(permits))),
        |bucket| {
            [100, 1_000].map(|seconds| {
                bucket.clock().set(seconds * SECOND);
                Admission::of(bucket.try_acquire(2))
            })
        },
    ];
    check(3, move || {
        let bucket = bucket(QUOTA.with_max_debt(0).unwrap());
        bucket.clock().set(10 * SECOND);
        let admitted: Ledger =
            race(&bucket, acts, |bucket, act| act(bucket)).into_iter().flatten().collect();
        admitted.assert_bounded(QUOTA, 0);
        assert_eq!(bucket.healed(), 0);
    });
}

/// Debt is as deep as allowed, by a clock as far ahead as allowed.
#[test]
fn clocks_that_differ_by_a_second_heal_nothing() {
    for refill in [Refill::Smooth, Refill::Interval] {
        check(3, move || {
            let bucket = bucket(QUOTA.with_refill(refill));
            bucket.clock().set(10 * SECOND);
            let answers = race(&bucket, [SECOND, SECOND / 2, 0], |bucket, ahead_nanos| {
                TestClock::run_ahead(ahead_nanos);
                [bucket.force(4).is_ok(), bucket.try_acquire(1).is_ok()]
            });
            let forced = answers.iter().filter(|[forced, _]| *forced).count();
            assert_eq!(forced, 1, "{answers:?}");
            assert_eq!(bucket.healed(), 0);
        });
    }
}

/// Whichever comes first, the bucket is of the new quota and holds no more than
/// full.
#[test]
fn a_change_beside_a_healing_stays() {
    let new = quota!(1 / second, burst 3).with_max_debt(0).unwrap();
    for carry in [Carry::Keep, Carry::Scale, Carry::Reset] {
        check(ANY, move || {
            let bucket = impossible();
            let granted = race(&bucket, [None, Some((new, carry))], |bucket, change| {
                if let Some((quota, carry)) = change {
                    bucket.reconfigure(quota, carry);
                    return 0;
                }
                u64::from(bucket.try_acquire(1).is_ok())
            });
            let granted: u64 = granted.iter().sum();
            assert_eq!(bucket.quota(), new);
            assert!(bucket.healed() <= 1);
            let left = bucket.try_acquire_up_to(9).map_or(0, |grant| grant.permits());
            assert!(granted + left <= 3 + 2, "{granted} and {left}");
            // What the change carried over is in reach of the clock again.
            bucket.clock().set(14 * SECOND);
            assert!(bucket.try_acquire(1).is_ok());
        });
    }
}

/// A change gets in between the healing and the look after it. That look then
/// decides under the new quota, and under all of it.
#[test]
fn a_change_right_after_a_healing_is_seen_whole() {
    let new = quota!(3 / 7 seconds, burst 5);
    let asked = [false, true].map(|is_changed| {
        once(move || {
            let bucket = impossible();
            if is_changed {
                bucket.reconfigure(new, Carry::Reset);
            }
            bucket.try_acquire(1)
        })
    });
    check(ANY, move || {
        let bucket = impossible();
        let answers = race(&bucket, [None, Some(new)], |bucket, change| match change {
            None => Some(bucket.try_acquire(1)),
            Some(quota) => {
                // No change, but loom now tries to let this thread run before each
                // look at the clock, and so right after the healing.
                bucket.clock().set(10 * SECOND);
                bucket.reconfigure(quota, Carry::Reset);
                None
            }
        });
        let [Some(answer), None] = answers else { unreachable!() };
        match answer {
            Ok(_) => assert!(asked.contains(&answer), "{answer:?} is none of {asked:?}"),
            // The change was under way, and what was found stands: at 10 seconds,
            // what was left at 100.
            Err(denied) => assert_eq!(denied.retry_after(), Some(Duration::from_secs(91))),
        }
    });
    check(ANY, move || {
        let bucket = impossible();
        let seen = race(&bucket, [None, Some(new)], |bucket, change| {
            if let Some(quota) = change {
                bucket.reconfigure(quota, Carry::Reset);
            }
            let quota = bucket.quota();
            (quota.rate(), quota.burst(), quota.max_debt())
        });
        let of = |quota: Quota| (quota.rate(), quota.burst(), quota.max_debt());
        assert!(seen[0] == of(QUOTA) || seen[0] == of(new), "{seen:?}");
        assert_eq!(seen[1], of(new));
    });
}

/// The same of a bucket in many places, which looks at its root.
#[test]
fn a_change_right_after_a_healing_of_the_root_is_seen_whole() {
    check(2, || {
        let limiter = sharded(quota!(1 / second, burst 32), TestClock::new());
        limiter.clock().set(1_000 * SECOND);
        assert_eq!(ask(&limiter, (1, &[32])), 32);
        limiter.clock().set(10 * SECOND);
        let new = quota!(1 / minute, burst 5);
        let limits = race(&limiter, [None, Some(new)], |limiter, change| match change {
            None => match limiter.shard(1).try_acquire(100) {
                Err(Denied::TooLarge { limit, .. }) => limit,
                answer => unreachable!("{answer:?}"),
            },
            Some(quota) => {
                // No change, as above.
                limiter.clock().set(10 * SECOND);
                limiter.reconfigure(quota, Carry::Reset);
                quota.burst()
            }
        });
        assert!([[32, 5], [5, 5]].contains(&limits), "{limits:?}");
    });
}
