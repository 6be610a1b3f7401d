//! The example of a log-in.

use std::time::Duration;

use sluicegate::compose::All;
use sluicegate::penalty::{Offence, PenaltyBox, PenaltyRule};
use sluicegate::*;

use super::{SECOND, rule};

const MINUTE: Duration = Duration::from_secs(60);

fn clock() -> ManualClock {
    ManualClock::at(86_400_000_000_000)
}

#[test]
fn as_many_offences_as_the_rule_has_begin_a_penalty_and_it_ends() {
    let clock = clock();
    let log_ins = PenaltyBox::with_clock(rule(rate!(3 / minute), 10 * MINUTE), &clock);
    for remaining in [2, 1] {
        assert!(log_ins.try_acquire(u64::MAX).is_ok());
        assert_eq!(log_ins.offend(1), Offence::Counted { remaining });
    }
    let begun = log_ins.offend(1);
    let retry_after = begun.retry_after().unwrap();
    assert!(begun.is_penalized());
    assert!(retry_after >= 10 * MINUTE && retry_after < 10 * MINUTE + Duration::from_nanos(2_048));

    let denied = log_ins.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(retry_after));
    assert_eq!((denied.remaining(), denied.limit()), (Some(0), Some(u64::MAX)));
    let Denied::Wait(shortfall) = denied else { panic!("it ends: {denied:?}") };
    assert_eq!(shortfall.missing(), 1);
    assert_eq!(log_ins.try_acquire(u64::MAX).unwrap_err().retry_after(), Some(retry_after));
    assert!(log_ins.try_acquire(0).is_ok() && !log_ins.is_idle());

    clock.advance_nanos(retry_after.as_nanos() as u64 - 1);
    assert_eq!(log_ins.peek(1).unwrap_err().retry_after(), Some(Duration::from_nanos(1)));
    clock.advance_nanos(1);
    assert!(log_ins.try_acquire(1).is_ok() && log_ins.is_idle());
    assert_eq!(log_ins.offend(1), Offence::Counted { remaining: 2 }, "the count begins anew");
}

#[test]
fn a_penalty_can_be_imposed_and_lifted() {
    let penalties = PenaltyBox::with_clock(rule(rate!(2 / minute), MINUTE), clock());
    assert!(!penalties.clear());
    assert_eq!(penalties.penalize_for(Duration::ZERO), Offence::Counted { remaining: 2 });
    assert!(penalties.penalize_for(10 * MINUTE).is_penalized());
    let shorter = penalties.penalize_for(MINUTE);
    assert!(!shorter.is_penalized() && shorter.retry_after() >= Some(10 * MINUTE));
    assert!(penalties.penalize_for(Duration::MAX).is_penalized());
    let left = penalties.try_acquire(1).unwrap_err().retry_after().unwrap();
    assert!(left >= PenaltyRule::MAX_TIME && left < PenaltyRule::MAX_TIME + SECOND);
    assert!(penalties.clear() && !penalties.clear());
    assert!(penalties.try_acquire(1).is_ok());
    // The offences are forgotten too.
    penalties.offend(1);
    assert!(!penalties.clear());
    assert_eq!(penalties.offend(0), Offence::Counted { remaining: 2 });
}

#[test]
fn it_is_a_limiter_like_the_others() {
    let clock = clock();
    let penalties = PenaltyBox::with_clock(rule(rate!(1 / minute), MINUTE), &clock);
    let limiter: &dyn Limiter = &penalties;
    assert_eq!(limiter.try_acquire_up_to(7).unwrap().permits(), 7);
    let receipt = limiter.try_acquire_revocable(3).unwrap();
    receipt.give_back();
    assert!(limiter.is_idle() && limiter.healed() == 0);
    penalties.offend(1);
    assert!(limiter.try_acquire_up_to(7).is_err() && limiter.try_acquire_revocable(1).is_err());
    assert!(!limiter.is_idle());
    limiter.reset();
    assert!(limiter.is_idle() && limiter.try_acquire(1).is_ok());
}

#[test]
fn several_limits_and_a_penalty_are_all_or_nothing() {
    let clock = clock();
    let penalties = PenaltyBox::with_clock(rule(rate!(1 / minute), MINUTE), &clock);
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    let limits: Vec<&dyn Limiter> = vec![&penalties, &bucket];
    let all = All::new(limits).unwrap();
    assert!(all.try_acquire(1).is_ok());
    penalties.offend(1);
    let denied = all.try_acquire(1).unwrap_err();
    assert_eq!((denied.which(), bucket.peek(0).unwrap().remaining()), (0, 9));
}

#[test]
fn it_shows_its_rule_and_what_is_remembered() {
    let penalties = PenaltyBox::with_clock(rule(rate!(3 / minute), MINUTE), clock());
    penalties.offend(2);
    assert_eq!(
        format!("{penalties:?}"),
        r#"PenaltyBox { rule: PenaltyRule { offences: "3 / minute", penalty: 60s }, offences: 2, left: 0ns }"#
    );
    penalties.offend(1);
    let shown = format!("{penalties:#?}");
    assert!(shown.contains("offences: 0,") && shown.contains("left: 60s"), "{shown}");
    assert!(shown.contains("repeats: 0"), "{shown}");
}
