//! Clocks that go back, jump and disagree.

use std::time::Duration;

use sluicegate::penalty::{Offence, PenaltyBox, PenaltyRule};
use sluicegate::*;

use super::{SECOND, rule};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
const YEAR: Duration = Duration::from_secs(365 * 86_400);

#[test]
fn a_clock_set_back_by_days_at_most_doubles_a_penalty_that_runs() {
    let clock = ManualClock::at(30 * DAY.as_nanos() as u64);
    let penalties = PenaltyBox::with_clock(rule(rate!(1 / minute), 10 * MINUTE), &clock);
    penalties.offend(1);
    clock.rewind(20 * DAY);
    let left = penalties.try_acquire(1).unwrap_err().retry_after().unwrap();
    assert!(left >= 10 * MINUTE && left < 20 * MINUTE, "{left:?}");
    assert_eq!(penalties.healed(), 1);
    // It goes on from there, and ends.
    clock.advance_nanos(left.as_nanos() as u64 - 1);
    assert_eq!(penalties.try_acquire(1).unwrap_err().retry_after(), Some(Duration::from_nanos(1)));
    clock.advance_nanos(1);
    assert!(penalties.try_acquire(1).is_ok());
    assert_eq!(penalties.healed(), 1);
}

#[test]
fn a_clock_set_back_is_noticed_by_an_offence_and_by_a_penalty_too() {
    type Act = fn(&PenaltyBox<ManualClock>) -> Offence;
    let acts: [Act; 3] = [
        |penalties| penalties.offend(1),
        |penalties| penalties.penalize_for(SECOND),
        |penalties| penalties.offend(0),
    ];
    for act in acts {
        let clock = ManualClock::at(30 * DAY.as_nanos() as u64);
        let penalties = PenaltyBox::with_clock(rule(rate!(1 / minute), 10 * MINUTE), clock);
        penalties.offend(1);
        penalties.clock().rewind(20 * DAY);
        let retry_after = act(&penalties).retry_after().unwrap();
        assert!(retry_after >= 10 * MINUTE && retry_after < 20 * MINUTE, "{retry_after:?}");
        assert_eq!((penalties.healed(), penalties.try_acquire(1).is_err()), (1, true));
    }
}

#[test]
fn offences_of_a_clock_that_was_set_back_still_count() {
    let clock = ManualClock::at(30 * DAY.as_nanos() as u64);
    let penalties = PenaltyBox::with_clock(rule(rate!(3 / minute), 10 * MINUTE), &clock);
    penalties.offend(2);
    clock.set_nanos(0);
    assert!(penalties.try_acquire(1).is_ok());
    assert!(penalties.offend(1).is_penalized());
    assert_eq!(penalties.healed(), 1);
}

#[test]
fn clocks_of_threads_may_differ_by_a_second() {
    let clock = ManualClock::at(DAY.as_nanos() as u64);
    let penalties = PenaltyBox::with_clock(rule(rate!(3 / minute), MINUTE), &clock);
    penalties.offend(1);
    clock.rewind(SECOND);
    assert_eq!(penalties.offend(1), Offence::Counted { remaining: 1 });
    clock.advance(SECOND);
    let end = penalties.offend(1).retry_after().unwrap();
    clock.rewind(SECOND);
    assert_eq!(penalties.try_acquire(1).unwrap_err().retry_after(), Some(end + SECOND));
    assert_eq!(penalties.healed(), 0);
}

#[test]
fn a_jump_forward_ends_penalties_and_forgets_offences() {
    let clock = ManualClock::new();
    let penalties = PenaltyBox::with_clock(rule(rate!(2 / minute), MINUTE), &clock);
    penalties.offend(1);
    clock.advance(70 * YEAR);
    assert_eq!(penalties.offend(1), Offence::Counted { remaining: 1 });
    penalties.offend(1);
    clock.advance(140 * YEAR);
    assert!(penalties.try_acquire(1).is_ok() && penalties.is_idle());
    assert_eq!(penalties.healed(), 0);
}

#[test]
fn the_longest_times_at_the_ends_of_the_clock() {
    let most = PenaltyRule::MAX_TIME;
    let slow = PenaltyRule::new(rate!(1_023 / 3_650 days), most).unwrap();
    let slow = slow.doubled_up_to(most, most).unwrap();
    for start in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        let clock = ManualClock::at(start);
        let penalties = PenaltyBox::with_clock(slow, &clock);
        assert_eq!(penalties.offend(1_022), Offence::Counted { remaining: 1 });
        let left = penalties.offend(1).retry_after().unwrap();
        assert!(left >= most && left < most + Duration::from_nanos(2_048));
        assert_eq!(penalties.try_acquire(1).unwrap_err().retry_after(), Some(left));
    }
}

#[test]
fn the_shortest_times_are_rounded_up() {
    let clock = ManualClock::at(12_345);
    let penalties = PenaltyBox::with_clock(rule(rate!(2 / ns), Duration::from_nanos(1)), &clock);
    penalties.offend(1);
    clock.advance(Duration::from_millis(16));
    let left = penalties.offend(1).retry_after().unwrap();
    assert!(left <= Duration::from_nanos(2_048));
    clock.advance(left);
    assert!(penalties.try_acquire(1).is_ok());
}
