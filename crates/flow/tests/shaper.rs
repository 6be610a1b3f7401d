//! The leaky bucket as a queue. What is checked:
//!
//! * each permit leaves an interval after the one before it, at the exact rate, whatever comes when;
//! * the queue is never longer than its size, and a refusal tells the waits that there would be;
//! * those that were told an instant keep it when the rate changes, and the others follow them;
//! * a place that is given back was never taken;
//! * threads and tasks sleep until their turn, and a clock that goes back is survived.

mod random;
mod turns;

use std::time::Duration;

use sluicegate::{ManualClock, Rate, rate};
use sluicegate_flow::shaper::{Shaper, ShaperError};

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The second at which one request leaves, or the error.
fn leaves(shaper: &Shaper<&ManualClock>) -> Result<u64, ShaperError> {
    shaper.shape(1).map(|departure| departure.at_nanos() / 1_000_000_000)
}

#[test]
fn one_leaves_every_two_seconds_and_what_overflows_is_dropped() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / 2 seconds), 4, &clock);
    // 00:00: one arrives and queues.
    assert_eq!((leaves(&shaper), shaper.queued()), (Ok(2), 1));
    // 00:02: it leaves, and three more arrive.
    clock.advance(secs(2));
    assert_eq!(shaper.queued(), 0);
    assert_eq!([(); 3].map(|()| leaves(&shaper)), [Ok(4), Ok(6), Ok(8)]);
    // 00:03: the queue takes one more, and the others are dropped.
    clock.advance(SECOND);
    assert_eq!((shaper.queued(), leaves(&shaper)), (3, Ok(10)));
    for _ in 0..3 {
        let dropped = ShaperError::Overflow { wait: secs(9), retry_after: SECOND };
        assert_eq!(leaves(&shaper), Err(dropped));
    }
    // 00:04: the second leaves, and a new one queues.
    clock.advance(SECOND);
    assert_eq!((shaper.queued(), leaves(&shaper)), (3, Ok(12)));
    assert!(leaves(&shaper).is_err());
}

#[test]
fn a_queue_that_is_empty_earns_nothing_without_a_burst() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / second), 2, &clock);
    for idle in [0, 1, 3_600] {
        clock.advance(secs(idle));
        let waits = [(); 2].map(|()| shaper.shape(1).unwrap().ready_after());
        assert_eq!(waits, [SECOND, 2 * SECOND]);
        clock.advance(secs(2));
    }
}

#[test]
fn a_burst_leaves_at_once_at_the_start_and_after_a_pause() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / second), 2, &clock).with_burst(3);
    let waits = || [(); 4].map(|()| shaper.shape(1).unwrap().ready_after().as_secs());
    assert_eq!((waits(), shaper.queued()), ([0, 0, 0, 1], 1));
    // One leaves, and two intervals are saved up.
    clock.advance(secs(3));
    assert_eq!((waits(), shaper.queued()), ([0, 0, 1, 2], 2));
    let waits = |permits: u64| match shaper.shape(permits) {
        Err(ShaperError::Overflow { wait, retry_after }) => (wait.as_secs(), retry_after.as_secs()),
        other => panic!("{other:?}"),
    };
    // The last ones need the queue to be empty, and a burst on top.
    assert_eq!([1, 2, 3, 5].map(waits), [(3, 1), (4, 2), (5, 3), (7, 5)]);
    assert_eq!(shaper.shape(6).unwrap_err(), ShaperError::TooLarge { limit: 5 });
    clock.advance(secs(5));
    assert_eq!(shaper.shape(5).unwrap().ready_after(), secs(2));
}

#[test]
fn a_request_of_several_permits_leaves_with_the_last_of_them() {
    let shaper = Shaper::with_clock(rate!(3 / second), 10, ManualClock::new());
    let third = |thirds: u64| Duration::from_nanos((thirds * 1_000_000_000).div_ceil(3));
    assert_eq!(shaper.shape(2).unwrap().ready_after(), third(2));
    assert_eq!(shaper.shape(5).unwrap().ready_after(), third(7));
    assert_eq!(shaper.shape(0).unwrap().ready_after(), Duration::ZERO);
    assert_eq!(shaper.shape(3).unwrap().ready_after(), third(10));
    assert_eq!(shaper.queued(), 10);
}

#[test]
fn one_that_would_leave_too_late_is_refused_and_takes_no_place() {
    let shaper = Shaper::with_clock(rate!(1 / second), 5, ManualClock::new());
    let soon = SECOND.checked_sub(Duration::from_nanos(1)).unwrap();
    let late = ShaperError::TooLate { wait: SECOND };
    assert_eq!(shaper.shape_within(1, soon).unwrap_err(), late);
    assert_eq!((late.wait(), shaper.queued()), (Some(SECOND), 0));
    assert_eq!(shaper.shape_within(1, SECOND).unwrap().at_nanos(), 1_000_000_000);
}

#[test]
fn those_that_were_told_keep_their_instants_when_the_rate_changes() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / 2 seconds), 4, &clock);
    let told = [(); 3].map(|()| shaper.shape(1).unwrap());
    shaper.set_rate(rate!(10 / second));
    let fourth = shaper.shape(1).unwrap();
    assert_eq!(fourth.ready_after(), secs(6) + 100 * MILLI);
    // The queue is as long as it was, and has room as those leave that were told.
    let full = ShaperError::Overflow { wait: secs(6) + 200 * MILLI, retry_after: secs(2) };
    assert_eq!(shaper.shape(1).unwrap_err(), full);
    clock.advance(secs(4));
    let waits_left = told.each_ref().map(|departure| departure.wait_left().as_secs());
    assert_eq!((waits_left, shaper.queued()), ([0, 0, 2], 2));
    shaper.set_rate(rate!(1 / minute));
    assert_eq!(shaper.shape(1).unwrap().ready_after(), secs(62) + 100 * MILLI);
    clock.advance(secs(3));
    assert_eq!(shaper.queued(), 1);
}

#[test]
fn a_rate_that_changes_often_leaves_no_gap_and_no_crowd() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / second), 100, &clock);
    let mut expected = 0;
    for turn in 0..50_u64 {
        let millis = 1 + turn % 7 * 10;
        shaper.set_rate(Rate::every(Duration::from_millis(millis)).unwrap());
        expected += millis * 1_000_000;
        assert_eq!(shaper.shape(1).unwrap().at_nanos(), expected);
    }
    assert_eq!(shaper.queued(), 50);
}

#[test]
fn a_change_of_the_rate_of_an_empty_queue_keeps_what_was_saved_up() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / second), 4, &clock).with_burst(4);
    assert_eq!(shaper.shape(4).unwrap().ready_after(), Duration::ZERO);
    clock.advance(2_500 * MILLI);
    // Two and a half are saved up.
    shaper.set_rate(rate!(1 / minute));
    let waits = [(); 3].map(|()| shaper.shape(1).unwrap().ready_after().as_secs());
    assert_eq!(waits, [0, 0, 30]);
}

#[test]
fn a_smaller_size_lets_those_leave_that_are_queued() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / second), 4, &clock);
    for _ in 0..4 {
        assert!(shaper.shape(1).is_ok());
    }
    shaper.set_size(2);
    assert_eq!((shaper.size(), shaper.queued()), (2, 4));
    let full = ShaperError::Overflow { wait: secs(5), retry_after: secs(3) };
    assert_eq!(shaper.shape(1).unwrap_err(), full);
    assert_eq!(shaper.shape(3).unwrap_err(), ShaperError::TooLarge { limit: 2 });
    clock.advance(secs(3));
    assert_eq!(shaper.shape(1).unwrap().ready_after(), secs(2));
    shaper.set_size(u64::MAX);
    assert_eq!(shaper.size(), Shaper::<ManualClock>::MAX);
}

#[test]
fn the_newest_place_can_be_given_back_and_then_the_one_before_it() {
    let clock = ManualClock::new();
    let shaper = Shaper::with_clock(rate!(1 / second), 5, &clock);
    let [first, second, third] = [1, 2, 1].map(|permits| shaper.shape(permits).unwrap());
    assert!(third.cancel() && second.cancel());
    assert_eq!(shaper.queued(), 1);
    let after = shaper.shape(2).unwrap();
    assert_eq!(after.ready_after(), secs(3));
    assert!(!first.cancel(), "another came after it");
    shaper.set_rate(rate!(2 / second));
    assert!(!after.cancel(), "the rate was changed");
    assert!(shaper.shape(0).unwrap().cancel());
    assert_eq!(shaper.queued(), 3);
}

#[test]
fn the_largest_of_everything_overflows_nothing() {
    const MAX: u64 = Shaper::<ManualClock>::MAX;
    let slowest = Rate::new(1, Rate::MAX_PERIOD).unwrap();
    let fastest = Rate::per_second(Rate::MAX_PER_SECOND).unwrap();
    let odd = Rate::new(Rate::MAX_PERMITS, Rate::MAX_PERIOD).unwrap();
    for now_nanos in [0, 1, u64::MAX - 1, u64::MAX] {
        for (before, after) in [(slowest, fastest), (fastest, slowest), (odd, slowest)] {
            let clock = ManualClock::new();
            clock.set_nanos(now_nanos);
            let shaper = Shaper::with_clock(before, u64::MAX, &clock).with_burst(u64::MAX);
            let too_large = ShaperError::TooLarge { limit: 2 * MAX };
            for permits in [2 * MAX + 1, u64::MAX] {
                assert_eq!(shaper.shape(permits).unwrap_err(), too_large);
            }
            shaper.set_rate(after);
            assert_eq!(shaper.shape(MAX).unwrap().ready_after(), Duration::ZERO);
            shaper.set_rate(before);
            let last = shaper.shape(MAX).unwrap();
            assert!(
                last.at_nanos() >= now_nanos && last.wait_left() > Duration::ZERO
                    || now_nanos == u64::MAX
            );
            assert!(shaper.shape(1).is_err());
            shaper.set_rate(after);
            clock.set_nanos(u64::MAX);
            assert!(shaper.queued() <= MAX);
        }
    }
}

#[test]
fn a_credit_is_exact_whatever_rates_were_in_force() {
    let clock = ManualClock::new();
    let hourly = rate!(1 / hour);
    let shaper = Shaper::with_clock(hourly, 10, &clock).with_burst(1);
    drop(shaper.shape(1).unwrap());
    clock.advance(secs(3_599));
    let others = [(1, 1_000), (7, 4_000_000_000), (1, u64::from(u32::MAX)), (3, 2)];
    for (permits, nanos) in others {
        shaper.set_rate(Rate::new(permits, Duration::from_nanos(nanos)).unwrap());
    }
    shaper.set_rate(hourly);
    assert_eq!(shaper.shape(1).unwrap().ready_after(), SECOND);
}
