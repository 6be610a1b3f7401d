//! The effect of each verb, on a clock that moves by hand. What is checked:
//!
//! * `try_acquire` and `peek`: all or none, at the very instant, and a denial
//!   writes nothing;
//! * `try_acquire_up_to`, `drain`, `reset`: what is there, no more and no less;
//! * the answers where limiters elsewhere disagree: more than the burst, a new
//!   limiter, the instant of a refill;
//! * the ends of every range: `u64::MAX` permits, a period of a hundred years.
//!
//! Debts are in `debts.rs`.

use std::time::Duration;

use sluicegate::bucket::{Carry, SettleableBucket};
use sluicegate::keyed::Buckets;
use sluicegate::*;

const NANO: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

/// A nanosecond less.
fn just_before(wait: Duration) -> Duration {
    wait.checked_sub(NANO).expect("a wait of some time")
}

fn bucket(quota: Quota, clock: &ManualClock) -> TokenBucket<&ManualClock> {
    TokenBucket::with_clock(quota, clock)
}

/// One limiter of each kind, with a burst of ten and ten a second.
fn each_kind(clock: &ManualClock, check: impl Fn(&dyn Limiter)) {
    let tenth = Duration::from_millis(100);
    check(&bucket(quota!(10 / second), clock));
    check(&SettleableBucket::with_clock(quota!(10 / second), clock));
    check(&LeakyBucket::meter_with_clock(quota!(10 / second), clock));
    check(&Gcra::with_clock(tenth, tenth * 9, clock).unwrap());
}

#[test]
fn more_than_the_burst_is_refused_at_once_and_for_ever() {
    let clock = ManualClock::new();
    each_kind(&clock, |limiter| {
        for permits in [11, 12, 1 << 32, u64::MAX / 2, u64::MAX] {
            let denied = limiter.try_acquire(permits).unwrap_err();
            assert_eq!(denied, Denied::TooLarge { limit: 10, which: 0 });
            assert_eq!(denied.retry_after(), None);
            assert_eq!(limiter.peek(permits), Err(denied));
        }
        assert_eq!(limiter.try_acquire(10).unwrap().remaining(), 0);
    });
}

#[test]
fn a_denial_says_what_to_do_about_it() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    bucket.try_acquire(10).unwrap();
    assert_eq!(
        [
            bucket.try_acquire(3).unwrap_err(),
            bucket.try_acquire(11).unwrap_err(),
            Denied::Leased { limit: 7, which: 1 },
            Denied::Full { retry_after: SECOND },
        ]
        .map(|denied| denied.to_string()),
        [
            "rate limited: try again in 300ms",
            "requested more than the limit of 10: waiting will not help",
            "leases hold all but 7 permits: request fewer, or wait for a lease to end",
            "no space for another key: try again in 1s",
        ]
    );
}

#[test]
fn a_new_limiter_is_full_unless_told_otherwise() {
    let clock = ManualClock::new();
    each_kind(&clock, |limiter| assert_eq!(limiter.peek(0).unwrap().remaining(), 10));
    for tokens in [0, 3, 10] {
        let bucket = bucket(quota!(10 / second), &clock).starting_with(tokens).unwrap();
        assert_eq!(bucket.drain().permits(), tokens);
        let meter = LeakyBucket::meter_with_clock(rate!(10 / second), &clock);
        assert_eq!(meter.starting_with(tokens).unwrap().level(), 10 - tokens);
    }
}

#[test]
fn no_limiter_starts_with_more_than_its_burst() {
    let clock = ManualClock::new();
    let quota = quota!(10 / second, burst 20);
    let refused = [
        bucket(quota, &clock).starting_with(21).unwrap_err(),
        LeakyBucket::meter_with_clock(quota, &clock).starting_with(21).unwrap_err(),
        Sharded::builder(quota)
            .shards(2)
            .clock(&clock)
            .build()
            .unwrap()
            .starting_with(21)
            .unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.field(), "initial");
        assert_eq!(error.to_string(), "initial is 21 of 20: must be from 0 to the burst");
    }
    let spaced = LeakyBucket::min_interval_with_clock(rate!(10 / second), &clock);
    assert!(spaced.starting_with(2).is_err());
    assert!(bucket(quota, &clock).starting_with(u64::MAX).is_err());
}

#[test]
fn a_limiter_that_starts_again_forgets_what_it_has_granted() {
    let clock = ManualClock::new();
    let quota = quota!(10 / second, burst 20).with_max_debt(30).unwrap();
    let quota = quota.with_refill(Refill::Interval);
    let bucket = bucket(quota, &clock);
    bucket.force(40).unwrap();
    clock.advance(Duration::from_millis(700));
    let bucket = bucket.starting_with(3).unwrap();
    assert_eq!((bucket.quota(), bucket.peek(0).unwrap().remaining()), (quota, 3));
    // Its periods are counted from now on.
    let wait = bucket.try_acquire(4).unwrap_err().retry_after();
    assert_eq!(wait, Some(Duration::from_secs(1)));
}

#[test]
fn a_rate_is_taken_wherever_a_quota_is_with_the_burst_of_a_period() {
    let (clock, rate) = (ManualClock::new(), rate!(500 / 15 minutes));
    let quota = Quota::new(rate);
    let bucket = TokenBucket::with_clock(rate, &clock);
    let meter = LeakyBucket::meter_with_clock(rate, &clock);
    let sharded = Sharded::builder(rate).shards(2).clock(&clock).build().unwrap();
    assert_eq!([bucket.quota(), meter.quota(), sharded.quota()], [quota; 3]);
    let own_clocks = [
        TokenBucket::new(rate).quota(),
        LeakyBucket::meter(rate).quota(),
        Sharded::new(rate).quota(),
    ];
    assert_eq!(own_clocks, [quota; 3]);

    let other = rate!(3 / second);
    bucket.reconfigure(other, Carry::Reset);
    meter.reconfigure(other, Carry::Reset);
    sharded.reconfigure(other, Carry::Reset);
    let other = quota!(3 / second);
    assert_eq!([bucket.quota(), meter.quota(), sharded.quota()], [other; 3]);
}

#[test]
fn a_store_takes_a_rate_wherever_it_takes_a_quota() {
    let (clock, rate) = (ManualClock::new(), rate!(500 / 15 minutes));
    let quota = Quota::new(rate);
    assert_eq!(Keyed::<u64>::new(rate).quota(), quota);
    assert_eq!(Keyed::<u64, _>::with_clock(rate, &clock).quota(), quota);
    let tiers = Keyed::with(Buckets::tiered([rate, rate!(7 / day)], |_: &u64| 1).unwrap());
    assert_eq!(tiers.tier_quota(1), Some(quota!(7 / day)));
    tiers.reconfigure_tier(0, rate!(3 / second), Carry::Reset).unwrap();
    assert_eq!(tiers.tier_quota(0), Some(quota!(3 / second)));
    let table = KeyTable::<u64>::builder(rate).tier(rate!(10 / second)).keys(10).unwrap();
    assert_eq!(table.quota(), quota);
    assert_eq!(table.tier(1).unwrap().peek(&1, 0).unwrap().limit(), 10);
}

#[test]
fn a_permit_is_there_at_the_very_instant_of_its_refill() {
    let clock = ManualClock::new();
    each_kind(&clock, |limiter| {
        limiter.try_acquire(10).unwrap();
        for _ in 0..3 {
            let wait = limiter.try_acquire(1).unwrap_err().retry_after().unwrap();
            assert_eq!(wait, Duration::from_millis(100));
            clock.advance(just_before(wait));
            assert_eq!(limiter.try_acquire(1).unwrap_err().retry_after(), Some(NANO));
            clock.advance(NANO);
            assert!(limiter.try_acquire(1).is_ok());
        }
    });
}

#[test]
fn a_denial_says_what_is_missing_and_writes_nothing() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    bucket.try_acquire(8).unwrap();
    clock.advance(Duration::from_millis(50)); // half a token
    let before = bucket.snapshot();
    let Err(Denied::Wait(shortfall)) = bucket.try_acquire(6) else { panic!("6 of 2.5") };
    assert_eq!((shortfall.remaining(), shortfall.missing()), (2, 4));
    assert_eq!(shortfall.retry_after(), Duration::from_millis(350));
    assert_eq!(shortfall.reset_after(), Duration::from_millis(750));
    assert_eq!(bucket.snapshot(), before);
}

#[test]
fn fractions_of_a_token_add_up() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(100 / second), &clock);
    bucket.drain();
    let granted = (0..1_000).filter(|_| {
        clock.advance(Duration::from_millis(1));
        bucket.try_acquire(1).is_ok()
    });
    assert_eq!(granted.count(), 100);
}

#[test]
fn what_is_not_used_does_not_add_up_beyond_the_burst() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(500 / 15 minutes, burst 5_000), &clock);
    bucket.try_acquire(5_000).unwrap();
    clock.advance(15 * 60 * SECOND);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 500);
    clock.advance(365 * 24 * 3_600 * SECOND);
    let grant = bucket.peek(0).unwrap();
    assert_eq!(
        (grant.remaining(), grant.limit(), grant.reset_after()),
        (5_000, 5_000, Duration::ZERO)
    );
}

#[test]
fn up_to_takes_what_is_there_but_not_less_than_one() {
    let clock = ManualClock::new();
    each_kind(&clock, |limiter| {
        assert_eq!(limiter.try_acquire_up_to(4).unwrap().permits(), 4);
        let rest = limiter.try_acquire_up_to(u64::MAX).unwrap();
        assert_eq!((rest.permits(), rest.remaining()), (6, 0));
        let denied = limiter.try_acquire_up_to(u64::MAX).unwrap_err();
        assert_eq!(denied.retry_after(), Some(Duration::from_millis(100)));
        clock.advance(SECOND);
    });
}

#[test]
fn a_peek_takes_nothing_and_tells_how_it_would_be_afterwards() {
    let clock = ManualClock::new();
    each_kind(&clock, |limiter| {
        let peeked = limiter.peek(7);
        assert_eq!(peeked.unwrap().remaining(), 3);
        assert_eq!(limiter.peek(7), peeked);
        assert_eq!(limiter.try_acquire(7), peeked);
        assert_eq!(limiter.peek(7).unwrap_err(), limiter.try_acquire(7).unwrap_err());
    });
}

#[test]
fn drain_takes_the_part_of_a_permit_too() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    bucket.try_acquire(9).unwrap();
    clock.advance(Duration::from_millis(99));
    let grant = bucket.drain();
    assert_eq!((grant.permits(), grant.remaining()), (1, 0));
    assert_eq!(bucket.try_acquire(1).unwrap_err().retry_after(), Some(SECOND / 10));
}

#[test]
fn a_reset_forgives_a_debt_and_leaves_the_steps_where_they_are() {
    let clock = ManualClock::new();
    each_kind(&clock, |limiter| {
        limiter.try_acquire(10).unwrap();
        limiter.reset();
        assert_eq!(limiter.peek(0).unwrap().remaining(), 10);
    });
    let bucket = bucket(quota!(10 / second).with_refill(Refill::Interval), &clock);
    clock.advance(SECOND * 3 / 4);
    bucket.force(20).unwrap();
    bucket.reset();
    assert_eq!(bucket.drain().permits(), 10);
    assert_eq!(bucket.try_acquire(1).unwrap_err().retry_after(), Some(SECOND / 4));
}

#[test]
fn interval_refill_pays_whole_periods_counted_from_the_creation() {
    let clock = ManualClock::at(123);
    let bucket = bucket(quota!(3 / second, burst 8).with_refill(Refill::Interval), &clock);
    bucket.drain();
    clock.advance(just_before(SECOND));
    assert_eq!(bucket.try_acquire(3).unwrap_err().retry_after(), Some(NANO));
    assert_eq!(bucket.try_acquire(4).unwrap_err().retry_after(), Some(NANO + SECOND));
    clock.advance(NANO);
    assert_eq!(bucket.drain().permits(), 3);

    // What is taken late in a period does not put off its end.
    clock.advance(SECOND * 5 / 2);
    assert_eq!(bucket.drain().permits(), 6);
    clock.advance(SECOND / 2);
    assert_eq!(bucket.drain().permits(), 3);
    clock.advance(SECOND * 100);
    assert_eq!(bucket.drain().permits(), 8);
}

#[test]
fn a_permit_in_a_hundred_years_comes_to_the_nanosecond() {
    let clock = ManualClock::new();
    let bucket = bucket(Quota::new(Rate::every(Rate::MAX_PERIOD).unwrap()), &clock);
    bucket.try_acquire(1).unwrap();
    assert_eq!(bucket.try_acquire(1).unwrap_err().retry_after(), Some(Rate::MAX_PERIOD));
    clock.advance(just_before(Rate::MAX_PERIOD));
    assert!(bucket.try_acquire(1).is_err());
    clock.advance(NANO);
    assert!(bucket.try_acquire(1).is_ok());
}

#[test]
fn no_verb_panics_on_any_number_of_permits() {
    let clock = ManualClock::at(u64::MAX - 10);
    let slow = Rate::every(Rate::MAX_PERIOD).unwrap();
    let fast = rate!(2_147_483_648 / second);
    for refill in [Refill::Smooth, Refill::Interval] {
        for quota in [slow, fast].map(|rate| Quota::new(rate).with_refill(refill)) {
            let bucket = bucket(quota, &clock);
            for permits in [0, 1, 1 << 32, 1 << 33, 1 << 62, 1 << 63, u64::MAX - 1, u64::MAX] {
                for answer in [
                    bucket.try_acquire(permits),
                    bucket.try_acquire_up_to(permits),
                    bucket.peek(permits),
                    bucket.force(permits),
                ] {
                    let _ = answer.map(|grant| (grant.reset_after(), grant.ready_after()));
                    let _ = answer.map_err(|denied| denied.to_string());
                }
            }
            clock.advance_nanos(5);
        }
    }
}

#[test]
fn a_tolerance_beyond_what_can_be_counted_is_refused_whatever_its_lowest_bits_are() {
    let interval = Duration::from_secs(1);
    let most = Duration::from_nanos(u64::MAX);
    for tolerance in [most, most + Duration::from_nanos(1), most + interval, Duration::MAX] {
        let error = Gcra::with_clock(interval, tolerance, ManualClock::new()).unwrap_err();
        assert_eq!(error, ConfigError::Tolerance { tolerance, interval });
    }
    // Less than 2^32 emission intervals are allowed.
    let nano = Duration::from_nanos(1);
    let most = Duration::from_nanos((1 << 32) - 1);
    assert_eq!(Gcra::with_clock(nano, most, ManualClock::new()).unwrap().tolerance(), most);
    assert!(Gcra::with_clock(nano, most + nano, ManualClock::new()).is_err());
    // The longest period is allowed.
    let day = Duration::from_secs(86_400);
    let gcra = Gcra::with_clock(day, Rate::MAX_PERIOD, ManualClock::new()).unwrap();
    assert_eq!(gcra.tolerance(), Rate::MAX_PERIOD);
    let tolerance = Rate::MAX_PERIOD + NANO;
    assert!(Gcra::with_clock(day, tolerance, ManualClock::new()).is_err());
}
