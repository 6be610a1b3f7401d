//! Models of reservations of a bucket that can be settled. What is checked, over every interleaving:
//!
//! * at each instant, no more is granted and reserved than the bound, also of what was cancelled;
//! * what is cancelled is taken once, and is not lost as long as it lives.

use sluicegate::wait::Reserve;
use sluicegate::{Quota, quota};
use sluicegate_loom_tests::{ANY, Admission, Arc, Ledger, SECOND, TestClock, check, race};

type Bucket = sluicegate::bucket::SettleableBucket<TestClock>;

const EIGHT: Quota = quota!(1 / second, burst 8, max_debt 4);

/// When all that may be reserved has been earned, and nothing is dead yet.
const END: u64 = 4;
const IN_ALL: u64 = 8 + END;

/// Does the part of one thread.
#[derive(Clone, Copy)]
enum Act {
    Take(u64),
    Reserve(u64),
    /// Cancels the oldest of its reservations, if it has one.
    Cancel,
    RunAhead(u64),
}

use self::Act::{Cancel, Reserve as Book, RunAhead, Take};

fn act(bucket: &Bucket, acts: &'static [Act]) -> Vec<Admission> {
    let mut kept = Vec::new();
    let mut reservations = Vec::new();
    for act in acts {
        match *act {
            Take(permits) => kept.push(Admission::of(bucket.try_acquire(permits))),
            Book(permits) => reservations.extend(bucket.reserve(permits)),
            Cancel if reservations.is_empty() => {}
            Cancel => assert!(reservations.remove(0).cancel()),
            RunAhead(nanos) => TestClock::run_ahead(nanos),
        }
    }
    // A reservation is for its instant.
    kept.extend(reservations.iter().map(|reservation| Admission {
        at_nanos: reservation.at_nanos(),
        permits: reservation.permits(),
    }));
    kept
}

/// Checks that no span of time has more than its permits, and that all of them are there in the end.
fn each_permit_is_taken_once<const N: usize>(
    preemptions: usize,
    before: &'static [Act],
    acts: [&'static [Act]; N],
) {
    check(preemptions, move || {
        TestClock::run_ahead(0);
        let bucket = Arc::new(Bucket::with_clock(EIGHT, TestClock::new()));
        let mut all = act(&bucket, before);
        all.extend(race(&bucket, acts, act).into_iter().flatten());
        TestClock::run_ahead(0);
        for second in 0..=END {
            bucket.clock().set(second * SECOND);
            all.push(Admission::of(bucket.try_acquire_up_to(9)));
        }
        assert_eq!(bucket.healed(), 0);
        let ledger = Ledger::from_iter(all);
        ledger.assert_bounded(EIGHT, 0);
        assert_eq!(ledger.total(), IN_ALL, "{ledger:?}");
    });
}

#[test]
fn reservations_of_a_settleable_bucket_keep_to_the_bound() {
    let known: &[Act] = &[Take(7)];
    each_permit_is_taken_once(ANY, known, [&[Book(2)], &[Take(1)]]);
    each_permit_is_taken_once(ANY, known, [&[Book(2), Book(1)], &[Take(1), Book(1)]]);
    each_permit_is_taken_once(3, known, [&[Book(1)], &[Book(2)], &[RunAhead(SECOND), Take(1)]]);
}

/// Others have taken permits since, so what is cancelled goes to the lots.
#[test]
fn what_is_cancelled_of_a_settleable_bucket_is_taken_once() {
    let known: &[Act] = &[Take(7)];
    each_permit_is_taken_once(ANY, known, [&[Book(2), Cancel], &[Take(1)]]);
    each_permit_is_taken_once(3, known, [&[Book(1), Cancel, Take(1)], &[Book(2), Cancel]]);
    each_permit_is_taken_once(3, known, [&[Book(1), Book(1), Cancel], &[Take(1), Take(1)]]);
    // One whose clock is ahead asks while what is cancelled is not earned yet.
    let ahead: &[Act] = &[RunAhead(SECOND), Take(1)];
    each_permit_is_taken_once(3, known, [&[Book(2), Book(1), Cancel], ahead]);
}
