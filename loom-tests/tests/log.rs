//! Models of the logs, of one and of two places. What is checked, over every
//! interleaving:
//!
//! * calls at the same time are answered as if one came after the other, however
//!   many laps others are ahead;
//! * what is left is counted as such, now and later;
//! * time goes on from the last entry, once, if that is too far ahead of the clock,
//!   and else never;
//! * what a granted caller did is visible to the callers granted after it.

use sluicegate::window::WeightedLog;
use sluicegate::{SlidingLog, rate};
use sluicegate_loom_tests::calls::Op;
use sluicegate_loom_tests::faults::{
    assert_a_leap_is_no_fault, assert_no_reading_is_of_before_its_shift,
};
use sluicegate_loom_tests::orders::{Stage, Windows, assert_one_after_the_other};
use sluicegate_loom_tests::{SECOND, Subject, TestClock, check, race};

/// So short that threads' clocks may be four of them apart.
const WINDOW: u64 = SECOND / 4;

const NOW: u64 = 100 * WINDOW + WINDOW / 4;

const ONE: Op = Op::TryAcquire(1);
const TWO: Op = Op::TryAcquire(2);

type Log = SlidingLog<TestClock>;

fn single(clock: TestClock) -> Log {
    SlidingLog::with_clock(rate!(1 / 250 ms), clock).unwrap()
}

fn double(clock: TestClock) -> Log {
    SlidingLog::with_clock(rate!(2 / 250 ms), clock).unwrap()
}

/// Three permits in at most two requests.
fn weighted(clock: TestClock) -> WeightedLog<TestClock> {
    WeightedLog::with_capacity(rate!(3 / 250 ms), 2, clock).unwrap()
}

/// From now on the thread's clock is this many windows ahead.
fn windows(ahead: u64) -> Op {
    Op::RunAhead(ahead * WINDOW)
}

/// A log that granted one half a window before `NOW`.
fn used<L: Subject>(new: fn(TestClock) -> L) -> Windows<L> {
    let before = vec![Op::SetClock(NOW - WINDOW / 2), ONE, Op::SetClock(NOW)];
    Windows { new, capacity: None, now_nanos: NOW, before }
}

/// The same of two requests.
fn used_weighted() -> Windows<WeightedLog<TestClock>> {
    Windows { capacity: Some(2), ..used(weighted) }
}

/// A log that granted one long before `NOW`.
fn idle<L: Subject>(new: fn(TestClock) -> L) -> Windows<L> {
    Windows { before: vec![Op::SetClock(NOW - 2 * WINDOW), ONE, Op::SetClock(NOW)], ..used(new) }
}

#[test]
fn a_log_admits_no_more_than_its_limit() {
    assert_one_after_the_other(2, &idle(single), [&[ONE], &[ONE], &[ONE]]);
    assert_one_after_the_other(2, &idle(single), [&[ONE, windows(1), ONE], &[windows(1), ONE]]);
    assert_one_after_the_other(1, &used(double), [&[ONE], &[ONE], &[windows(1), ONE]]);
    assert_one_after_the_other(
        1,
        &used(double),
        [&[ONE, windows(1), ONE], &[windows(1), ONE, ONE]],
    );
}

#[test]
fn as_many_are_admitted_as_have_left_the_window() {
    for (scene, room) in [(used(double), 1), (idle(double), 2)] {
        check(1, move || {
            let log = scene.set();
            let asked = race(&log, [1, 1, 1], Log::try_acquire);
            assert_eq!(asked.into_iter().flatten().count(), room);
        });
    }
}

#[test]
fn a_weighted_log_admits_no_more_than_its_limit() {
    assert_one_after_the_other(1, &used_weighted(), [&[ONE], &[TWO], &[windows(1), TWO]]);
    assert_one_after_the_other(
        2,
        &used_weighted(),
        [&[Op::TryAcquireUpTo(3)], &[ONE, windows(1), TWO]],
    );
}

/// The other goes on for two laps, after which a place is of the same parity.
#[test]
fn a_caller_that_was_held_up_for_two_laps_begins_anew() {
    let laps = [windows(1), ONE, windows(2), ONE];
    assert_one_after_the_other(1, &idle(single), [&[ONE], &laps]);
    assert_one_after_the_other(1, &idle(single), [&[windows(1), ONE], &laps]);
}

#[test]
fn a_denial_is_of_a_moment_at_which_the_log_was_full() {
    let others = [windows(1), ONE, windows(2), ONE];
    for call in [ONE, Op::Peek(1), Op::Count] {
        assert_one_after_the_other(1, &used(single), [&[call], &others]);
        assert_one_after_the_other(1, &used(double), [&[windows(1), call], &others]);
    }
    for call in [Op::TryAcquire(3), Op::Peek(2), Op::Count] {
        assert_one_after_the_other(1, &used_weighted(), [&[windows(1), call], &others]);
    }
}

/// In a log with more places than the limit, what is looked at is not at the place
/// of the head.
#[test]
fn a_denial_does_not_mix_two_laps() {
    let new = |clock| {
        Log::with_clock(rate!(2 / 250 ms), clock).and_then(|log| log.with_max_limit(4)).unwrap()
    };
    let before = vec![Op::SetClock(NOW - 2 * WINDOW), ONE, ONE, Op::SetClock(NOW)];
    let scene = Windows { new, capacity: Some(4), now_nanos: NOW, before };
    let others = [ONE, windows(1), ONE, windows(2), ONE];
    assert_one_after_the_other(1, &scene, [&[Op::Peek(1)], &others]);
}

/// Two count at any moment. One of a later lap would seem to be so old that its date comes back.
#[test]
fn a_count_does_not_mix_two_laps() {
    let new = |clock| {
        Log::with_clock(rate!(2 / 250 ms), clock).and_then(|log| log.with_max_limit(4)).unwrap()
    };
    let before = vec![Op::SetClock(NOW - WINDOW / 2), ONE, Op::SetClock(NOW), ONE];
    let scene = Windows { new, capacity: Some(4), now_nanos: NOW, before };
    let halves = |ahead| Op::RunAhead(ahead * WINDOW / 2);
    let others = [halves(1), ONE, halves(2), ONE, halves(3), ONE];
    assert_one_after_the_other(1, &scene, [&[Op::Count], &others]);
}

/// Not compared with an order where there is room: what is granted while the reset
/// is under way may be forgotten or not.
#[test]
fn a_reset_log_forgets_what_was_before() {
    assert_one_after_the_other(2, &used(single), [&[Op::Reset, ONE], &[ONE, ONE]]);
    check(3, || {
        let log = used(double).set();
        let granted = race(&log, [true, false], |log, is_resetting| {
            if is_resetting {
                log.reset();
            }
            [1, 1].map(|permits| u64::from(log.try_acquire(permits).is_ok()))
        });
        let [first, second] = granted.map(|granted| granted.iter().sum::<u64>());
        // The one from before is forgotten, and so may be those of the other.
        assert!(first + second >= 2, "{granted:?}");
        assert!((first..=2).contains(&log.count()), "{granted:?}, then {}", log.count());
    });
}

/// The later of two resets has the say.
#[test]
fn a_reset_takes_no_later_one_back() {
    check(3, || {
        let log = used(double).set();
        race(&log, [false, true], |log, is_late| {
            if is_late {
                _ = log.try_acquire(1);
            }
            log.reset();
        });
        assert_eq!(log.count(), 0);
    });
}

/// After two resets at the same time of the clock a place could hold what it held.
#[test]
fn no_entry_comes_back_after_two_resets() {
    let again = [Op::Reset, ONE, Op::Reset, ONE];
    assert_one_after_the_other(2, &used(single), [&[ONE], &again]);
    assert_one_after_the_other(1, &used(single), [&[Op::Count, ONE], &again]);
    let standing = Windows { before: vec![Op::SetClock(NOW), ONE], ..used(single) };
    assert_one_after_the_other(2, &standing, [&[ONE], &again]);
}

#[test]
fn a_log_too_far_ahead_goes_on_from_there() {
    fn far(new: fn(TestClock) -> Log) -> Windows<Log> {
        let before = vec![Op::SetClock(100 * SECOND), ONE, Op::SetClock(NOW)];
        Windows { before, ..used(new) }
    }
    assert_one_after_the_other(2, &far(double), [&[ONE], &[ONE], &[ONE]]);
    assert_one_after_the_other(2, &far(double), [&[ONE, Op::Count], &[Op::Count, ONE]]);
    assert_one_after_the_other(2, &far(single), [&[ONE], &[windows(1), ONE]]);
}

#[test]
fn an_entry_that_came_in_between_is_no_fault() {
    assert_a_leap_is_no_fault(double, NOW);
}

#[test]
fn a_log_adds_its_shift_to_no_earlier_reading() {
    assert_no_reading_is_of_before_its_shift(double);
}

/// The promise of the limiters' section on memory ordering.
#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_a_grant_is_seen_after_the_next_of_a_log() {
    use sluicegate_loom_tests::seen::assert_a_grant_is_seen_by_the_next;

    assert_a_grant_is_seen_by_the_next(
        2,
        || double(TestClock::new()),
        |log| log.try_acquire(1).unwrap(),
    );
}
