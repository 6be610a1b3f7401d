//! Grants that are given back.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::compose::All;
use sluicegate::*;

use super::subject::{KINDS, Kind, drain};
use super::{DAY, SECOND};

const LIMIT: Rate = rate!(5 / minute);

#[test]
fn a_grant_is_given_back_exactly_if_nothing_has_happened_since() {
    for kind in KINDS {
        let clock = ManualClock::at(DAY);
        let window = kind.of(LIMIT, &clock);
        kind.take(&*window, 2);
        clock.advance_nanos(SECOND / 3);
        // So that the slot is one in which there was a grant.
        kind.take(&*window, 1);
        let before = (window.snapshot(), window.count());
        let receipt = window.try_acquire_revocable(1).unwrap();
        assert_eq!(receipt.grant().permits(), 1);
        assert!(window.peek(2).is_err(), "neither a look nor a denial is a happening");
        assert!(window.try_acquire(5).is_err());
        clock.advance_nanos(1);
        let given = receipt.give_back();
        assert_eq!(given, !kind.name.ends_with("Log"), "{}: a log never can", kind.name);
        clock.set_nanos(clock.now_nanos() - 1);
        if given {
            assert_eq!((window.snapshot(), window.count()), before, "{}", kind.name);
        } else {
            assert_eq!(window.count(), 4, "{}", kind.name);
        }
    }
}

/// The count of a word cannot be told from the same count after a reset.
#[test]
fn a_grant_of_one_word_from_before_a_reset_gives_back_no_more_than_its_permits() {
    for kind in KINDS.iter().filter(|kind| is_one_word(kind)) {
        let clock = ManualClock::at(DAY);
        let window = kind.of(LIMIT, &clock);
        let receipt = window.try_acquire_revocable(1).unwrap();
        window.reset();
        kind.take(&*window, 3);
        assert!(!receipt.give_back(), "{}", kind.name);
        assert_eq!(window.count(), 3, "{}", kind.name);

        window.reset();
        let receipt = window.try_acquire_revocable(1).unwrap();
        window.reset();
        kind.take(&*window, 1);
        assert!(receipt.give_back(), "{}", kind.name);
        assert_eq!((window.count(), drain(&*window)), (0, LIMIT.permits()), "{}", kind.name);
    }
}

fn is_one_word(kind: &Kind) -> bool {
    ["FixedWindow", "WindowFromFirst", "SlidingCounter"].contains(&kind.name)
}

#[test]
fn all_gives_back_to_all_or_says_that_it_did_not() {
    let clock = ManualClock::at(DAY);
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 5), &clock);
    let window = FixedWindow::with_clock(rate!(7 / minute), &clock).unwrap();
    let all = All::new([&bucket as &dyn Limiter, &window]).unwrap();
    let left = || (bucket.peek(0).unwrap().remaining(), window.count());

    let receipt = all.try_acquire_revocable(3).unwrap();
    assert_eq!((receipt.grant().permits(), receipt.grant().remaining()), (3, 2));
    assert!(receipt.give_back());
    assert_eq!(left(), (5, 0));

    let receipt = all.try_acquire_revocable(3).unwrap();
    window.try_acquire(1).unwrap();
    assert!(!receipt.give_back(), "the window has granted since");
    assert_eq!(left(), (5, 4), "the bucket has taken its part back");

    let denied = all.try_acquire_revocable(4).unwrap_err();
    assert_eq!((denied.which(), left()), (1, (5, 4)));
    assert!(all.try_acquire_revocable(0).unwrap().give_back());
}

#[test]
fn all_with_a_log_cannot_give_back() {
    let clock = ManualClock::at(DAY);
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 5), &clock);
    let log = SlidingLog::with_clock(rate!(7 / minute), &clock).unwrap();
    let all = All::new([&bucket as &dyn Limiter, &log]).unwrap();
    assert!(!all.try_acquire_revocable(1).unwrap().give_back());
    assert_eq!((bucket.peek(0).unwrap().remaining(), log.count()), (5, 1));
}

#[test]
fn a_bucket_takes_a_grant_back_only_on_the_terms_on_which_it_was_made() {
    let clock = ManualClock::at(DAY);
    for carry in [Carry::Keep, Carry::Scale, Carry::Reset] {
        let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
        let exact = bucket.try_acquire_revocable(4).unwrap();
        clock.advance(Duration::from_millis(50));
        assert!(exact.give_back());
        assert_eq!(
            bucket.snapshot(),
            TokenBucket::with_clock(quota!(10 / second), &clock).snapshot()
        );

        for changes in 1..=4_u32 {
            let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
            let receipt = bucket.try_acquire_revocable(4).unwrap();
            for change in 0..changes {
                let quota = if change % 2 == 0 { quota!(20 / second) } else { quota!(10 / second) };
                bucket.reconfigure(quota, carry);
            }
            if carry == Carry::Reset {
                bucket.try_acquire(4).unwrap();
            }
            let before = bucket.snapshot();
            let given = receipt.give_back();
            assert!(!given, "{changes} changes, {carry:?}");
            assert_eq!(bucket.snapshot(), before, "{changes} changes, {carry:?}");
        }
    }
}

#[test]
fn a_bucket_takes_no_grant_back_from_before_a_reset() {
    for resets in 1..=4 {
        let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::at(DAY));
        let receipt = bucket.try_acquire_revocable(4).unwrap();
        for _ in 0..resets {
            bucket.reset();
        }
        bucket.try_acquire(4).unwrap();
        assert!(!receipt.give_back(), "{resets} resets");
        assert_eq!(bucket.peek(0).unwrap().remaining(), 6, "{resets} resets");
    }
}
