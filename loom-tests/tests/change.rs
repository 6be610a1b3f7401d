//! Models of live changes. What is checked, over every interleaving:
//!
//! * every grant, and every denial, is of one quota and of what is held under it,
//!   however many changes its caller is held up by;
//! * changes take turns, and each starts from what the last one left;
//! * a change mints nothing, and forgives no debt.
//!
//! But for the last, the clocks are the threads' own: each change has a time of
//! its own, and yet the outcome of every order is known.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::compose::{Gate, GateMode};
use sluicegate::{Limiter, Quota, Refill, quota};
use sluicegate_loom_tests::calls::Op;
use sluicegate_loom_tests::orders::{Scene, assert_one_after_the_other};
use sluicegate_loom_tests::{
    ANY, Admission, Arc, Bucket, Ledger, SECOND, TestClock, bucket, bucket_with, check, once, race,
};

// Three quotas that have little in common.
const ONE: Quota = quota!(1 / second, burst 4);
const TWO: Quota = quota!(3 / 7 seconds, burst 2).with_refill(Refill::Interval);
const THREE: Quota = quota!(5 / 3 seconds, burst 6);

/// Two changes in a row, so that the second writes where the first quota was.
const CHANGES: [Op; 4] = [
    Op::RunAhead(SECOND / 2),
    Op::Reconfigure(TWO, Carry::Keep),
    Op::RunAhead(SECOND),
    Op::Reconfigure(THREE, Carry::Scale),
];

/// A bucket of `ONE` that holds three at 10 seconds.
fn three_held() -> Scene {
    Scene { quota: ONE, now_nanos: 10 * SECOND, before: vec![Op::TryAcquire(1)] }
}

/// One that owes one.
fn one_owed() -> Scene {
    Scene { before: vec![Op::Force(5)], ..three_held() }
}

#[test]
fn terms_are_never_mixed() {
    for call in [Op::TryAcquire(1), Op::Force(3), Op::Drain] {
        assert_one_after_the_other(1, &three_held(), [&CHANGES, &[call]]);
    }
    assert_one_after_the_other(2, &three_held(), [&CHANGES, &[Op::TryAcquireUpTo(6)]]);
}

/// One of them is also held up by the other.
#[test]
fn two_spenders_do_not_mix_the_terms_either() {
    let spend = [Op::TryAcquire(1)];
    assert_one_after_the_other(ANY, &three_held(), [&CHANGES[..2], &spend, &spend]);
}

#[test]
fn a_denial_is_never_from_mixed_terms() {
    for call in [Op::TryAcquire(2), Op::TryAcquireUpTo(1), Op::TryAcquire(7), Op::Peek(1)] {
        assert_one_after_the_other(1, &one_owed(), [&CHANGES, &[call]]);
    }
}

#[test]
fn a_reading_is_never_from_mixed_terms() {
    for call in [Op::Peek(0), Op::Snapshot, Op::Quota, Op::TryAcquire(0)] {
        assert_one_after_the_other(1, &three_held(), [&CHANGES, &[call]]);
    }
}

/// Every pair of changes that shows in which order they were made.
#[test]
fn two_changes_leave_one_of_them() {
    let half = once(|| bucket_with(3, THREE).snapshot());
    let changes = [
        // Of three tokens this keeps two.
        Op::Reconfigure(TWO, Carry::Keep),
        Op::Reconfigure(THREE, Carry::Scale),
        Op::Restore(half, Duration::from_secs(1)),
        Op::Reset,
    ];
    for (index, change) in changes.iter().enumerate() {
        for other in &changes[index..] {
            let ahead = [Op::RunAhead(SECOND), *change];
            assert_one_after_the_other(ANY, &three_held(), [&ahead, &[*other]]);
        }
    }
}

#[test]
fn a_spender_between_two_changes_sees_one_of_them() {
    let change = [Op::Reconfigure(TWO, Carry::Keep)];
    let other = [Op::Reconfigure(THREE, Carry::Scale)];
    assert_one_after_the_other(1, &three_held(), [&change, &other, &[Op::TryAcquire(1)]]);
}

/// A credit is added to what the other calls left, and they start from what it left.
#[test]
fn a_credit_is_added_once_to_what_is_there_beside_a_spender_and_a_change() {
    let ahead = [Op::RunAhead(SECOND / 2), Op::Credit(1)];
    let change = [Op::Reconfigure(TWO, Carry::Keep)];
    assert_one_after_the_other(1, &three_held(), [&ahead, &change]);
    for spend in [Op::TryAcquire(2), Op::Force(3)] {
        assert_one_after_the_other(1, &one_owed(), [&[Op::Credit(2)], &[spend]]);
    }
}

/// A token of `FULL` is one unit, so that spending after two changes can bring the word back to a
/// level of before, when a grant was there that has been given back since. A caller that saw the
/// earlier level must not go by it.
#[test]
fn no_word_comes_back_after_two_changes() {
    const TOKEN_UNITS: u64 = 1_000_000_000;
    const FULL: Quota = quota!(1 / ns, burst 1_000_000_000);
    let given_back = [Op::Revocable(1), Op::GiveBack];
    // Two changes raise the word by two halves of a unit.
    let changes = [
        Op::Reconfigure(TWO, Carry::Keep),
        Op::Reconfigure(FULL, Carry::Reset),
        Op::TryAcquire(TOKEN_UNITS - 1),
    ];
    let both = [&given_back[..], &changes].concat();
    for call in [Op::TryAcquire(1), Op::TryAcquire(4)] {
        assert_one_after_the_other(1, &three_held(), [&both, &[call]]);
    }
}

/// The quota is changed first, and then the gate's mode: no caller sees the mode without the quota.
#[test]
fn a_gate_that_limits_again_is_found_with_the_quota_of_before() {
    check(ANY, || {
        let bucket = Bucket::with_clock(ONE, TestClock::new());
        let gate = Arc::new(Gate::with_mode(bucket, GateMode::Closed));
        race(&gate, [true, false], |gate, changes| {
            if changes {
                gate.limiter().reconfigure(quota!(1 / second), Carry::Keep);
                gate.set(GateMode::Limiting);
            } else {
                assert!(gate.peek(2).is_err(), "a look at the old quota");
                assert!(gate.try_acquire(2).is_err(), "a grant by the old quota");
            }
        });
        assert!(gate.try_acquire(1).is_ok());
    });
}

/// The clock leaps, and a change that looked at it too early would take what was
/// admitted since for a debt, and forgive most of it.
#[test]
fn a_change_keeps_the_bound() {
    const EARLY: u64 = 10 * SECOND;
    const LATE: u64 = 100 * SECOND;
    const SLOW: Quota = quota!(1 / second, burst 2);
    const FAST: Quota = quota!(2 / second, burst 3);
    let acts: [fn(&Bucket) -> Admission; 3] = [
        |bucket| Admission::of(bucket.try_acquire(2)),
        |bucket| {
            bucket.reconfigure(FAST.with_max_debt(0).unwrap(), Carry::Keep);
            Admission::NONE
        },
        |bucket| {
            bucket.clock().set(LATE);
            Admission::of(bucket.try_acquire(2))
        },
    ];
    check(3, move || {
        let bucket = bucket(SLOW.with_max_debt(0).unwrap());
        bucket.clock().set(EARLY);
        let mut admitted: Ledger =
            race(&bucket, acts, |bucket, act| act(bucket)).into_iter().collect();
        assert!(admitted.total() >= 2, "a full bucket was lost: {admitted:?}");
        admitted.push(Admission::of(bucket.try_acquire_up_to(9)));
        // Full at first, and full once more after so long a time.
        assert!(admitted.at(LATE) <= FAST.burst(), "{admitted:?}");
        assert!(admitted.total() <= SLOW.burst() + FAST.burst(), "{admitted:?}");
        assert_eq!(bucket.healed(), 0);
    });
}

/// The clock moves by a second, which is worth one token before the change and
/// two after it.
#[test]
fn a_change_is_not_retroactive() {
    const SLOW: Quota = quota!(1 / second, burst 3);
    const FAST: Quota = quota!(2 / second, burst 9);
    let acts: [fn(&Bucket) -> Admission; 3] = [
        |bucket| Admission::of(bucket.try_acquire_up_to(9)),
        |bucket| {
            bucket.reconfigure(FAST, Carry::Keep);
            Admission::of(bucket.try_acquire(0))
        },
        |bucket| {
            bucket.clock().set(SECOND);
            Admission::of(bucket.try_acquire_up_to(9))
        },
    ];
    check(3, move || {
        let bucket = bucket_with(1, SLOW);
        let mut admitted: Ledger =
            race(&bucket, acts, |bucket, act| act(bucket)).into_iter().collect();
        admitted.push(Admission::of(bucket.try_acquire_up_to(9)));
        assert!(matches!(admitted.total(), 2 | 3), "{admitted:?}");
        // The clock was at the end before the change was made.
        if admitted.total() == 3 {
            assert_eq!(bucket.quota().rate(), FAST.rate());
        }
    });
}
