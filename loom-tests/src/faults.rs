//! A clock that leaps and is set back within another caller's call.

use crate::calls::{Answer, Op};
use crate::{Admission, Arc, Ledger, SECOND, Subject, TestClock, check, race};

const NOW: u64 = 25 * SECOND;

/// Asks for one permit each time, after the clock was set to each of `times`.
fn play<L: Subject>(limiter: &L, times: &[u64]) {
    for &nanos in times {
        limiter.clock().set(nanos);
        _ = limiter.try_acquire(1);
    }
}

/// Explores that a limiter of two, whose time goes on where it stood when the clock is set
/// back, never adds what it is ahead since then to a reading from before.
///
/// One caller sets the clock to each of `times` and asks for one each time, the last two
/// times in one window; another asks for one. If its time were of no clock, it would be
/// granted one in a window of its own, and the two before would be forgotten.
fn assert_two_are_counted<L: Subject>(new: fn(TestClock) -> L, times: &'static [u64]) {
    check(1, move || {
        let limiter = Arc::new(new(TestClock::new()));
        limiter.clock().set(NOW);
        race(&limiter, [Some(times), None], |limiter, times| match times {
            Some(times) => play(limiter, times),
            None => _ = limiter.try_acquire(1),
        });
        assert_eq!(limiter.call(Op::Count), Answer::Count(2));
    });
}

/// The clock leaps, and is set back once.
///
/// # Panics
///
/// If a reading from before was shifted.
pub fn assert_no_reading_is_of_before_its_shift<L: Subject>(new: fn(TestClock) -> L) {
    assert_two_are_counted(new, &[200 * SECOND, NOW]);
}

/// Twice, for a caller that has found a fault, and may look at the clock again after the next:
/// of a ring, that does so in a place of its own.
///
/// # Panics
///
/// If a reading from before was shifted.
pub fn assert_no_second_reading_is_of_before_its_shift<L: Subject>(new: fn(TestClock) -> L) {
    assert_two_are_counted(new, &[200 * SECOND, NOW, 400 * SECOND, NOW]);
}

/// Explores that what others were granted in between is no fault: one caller reads the clock before it leaps, and may look
/// again when it has, and then it leaps once more.
///
/// # Panics
///
/// If a limiter of two or more is healed, or has forgotten a grant.
pub fn assert_a_leap_is_no_fault<L: Subject>(new: fn(TestClock) -> L, now_nanos: u64) {
    check(2, move || {
        let limiter = Arc::new(new(TestClock::new()));
        limiter.clock().set(now_nanos);
        leap(&limiter);
        assert_eq!(limiter.healed(), 0);
    });
}

/// Plays that on a limiter.
///
/// # Panics
///
/// If it has forgotten a grant.
pub fn leap<L: Subject>(limiter: &Arc<L>) {
    let admitted = race(limiter, [false, true], |limiter, leaps| {
        if !leaps {
            return [Admission::of(limiter.try_acquire(1)), Admission::NONE];
        }
        [1_000, 2_000].map(|seconds| {
            limiter.clock().set(seconds * SECOND);
            Admission::of(limiter.try_acquire(1))
        })
    });
    assert_eq!(admitted.into_iter().flatten().collect::<Ledger>().total(), 3);
    // What was granted after the last leap is counted there.
    let count = limiter.call(Op::Count);
    assert!([1, 2].map(Answer::Count).contains(&count), "{count:?}");
}
