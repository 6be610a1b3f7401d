//! Buckets, beside what the properties and the worked examples of `requirements.rs` say of every verb: how they are made,
//! what a denial tells, debts and credits, and the ends of every range.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::keyed::Buckets;
use sluicegate::*;

const NANO: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

fn bucket(quota: Quota, clock: &ManualClock) -> TokenBucket<&ManualClock> {
    TokenBucket::with_clock(quota, clock)
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
fn a_permit_in_a_hundred_years_comes_to_the_nanosecond() {
    let clock = ManualClock::new();
    let bucket = bucket(Quota::new(Rate::every(Rate::MAX_PERIOD).unwrap()), &clock);
    bucket.try_acquire(1).unwrap();
    assert_eq!(bucket.try_acquire(1).unwrap_err().retry_after(), Some(Rate::MAX_PERIOD));
    clock.advance(Rate::MAX_PERIOD.saturating_sub(NANO));
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
fn a_forced_debt_is_repaid_before_anything_is_granted() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    let grant = bucket.force(14).unwrap();
    assert_eq!((grant.permits(), grant.remaining()), (14, 0));
    assert_eq!(grant.ready_after(), Duration::from_millis(400));
    assert_eq!(grant.reset_after(), Duration::from_millis(1_400));
    assert_eq!(bucket.try_acquire_up_to(1).unwrap_err().retry_after(), Some(SECOND / 2));
    assert_eq!(bucket.drain().permits(), 0);

    clock.advance(Duration::from_millis(400));
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::ZERO);
    clock.advance(Duration::from_millis(100));
    assert!(bucket.try_acquire(1).is_ok());
}

#[test]
fn a_debt_is_never_deeper_than_its_limit() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second).with_max_debt(5).unwrap(), &clock);
    for permits in [16, 1 << 32, u64::MAX] {
        assert_eq!(bucket.force(permits), Err(Denied::TooLarge { limit: 15, which: 0 }));
    }
    bucket.force(15).unwrap();

    let Err(Denied::Wait(shortfall)) = bucket.force(2) else { panic!("a debt of 7") };
    assert_eq!((shortfall.missing(), shortfall.remaining()), (2, 0));
    assert_eq!(shortfall.retry_after(), Duration::from_millis(200));
    clock.advance_nanos(199_999_999);
    assert!(bucket.force(2).is_err());
    clock.advance(NANO);
    assert!(bucket.force(2).is_ok());
}

#[test]
fn the_largest_burst_and_debt_are_there_to_the_last_permit() {
    let clock = ManualClock::new();
    for rate in [rate!(2_147_483_648 / second), rate!(1 / 36525 days), rate!(3 / second)] {
        let quota = Quota::new(rate).with_burst(Quota::MAX_BURST).unwrap();
        let bucket = bucket(quota.with_max_debt(Quota::MAX_DEBT).unwrap(), &clock);
        assert!(bucket.try_acquire(Quota::MAX_BURST + 1).is_err());
        assert_eq!(bucket.try_acquire(Quota::MAX_BURST - 1).unwrap().remaining(), 1);
        assert_eq!(bucket.try_acquire_up_to(u64::MAX).unwrap().permits(), 1);
        bucket.force(Quota::MAX_DEBT - 1).unwrap();
        bucket.force(1).unwrap();
        assert!(matches!(bucket.force(1), Err(Denied::Wait(_))));
        bucket.reset();
        bucket.force(Quota::MAX_BURST + Quota::MAX_DEBT).unwrap();
    }
}

#[test]
fn a_credit_lowers_a_debt_first_and_stops_at_full() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    bucket.force(14).unwrap();
    bucket.credit(3);
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::from_millis(100));
    bucket.credit(0);
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::from_millis(100));
    bucket.credit(4);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 3);
    bucket.credit(8);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 10);
    assert_eq!(bucket.peek(0).unwrap().reset_after(), Duration::ZERO);
}

#[test]
fn a_credit_of_any_size_fills_the_deepest_debt_and_no_more() {
    let most = Quota::MAX_BURST;
    let quota = quota!(1 / day).with_burst(most).unwrap();
    let quota = quota.with_max_debt(Quota::MAX_DEBT).unwrap();
    for permits in [most + Quota::MAX_DEBT, 1 << 62, 1 << 63, u64::MAX - 1, u64::MAX] {
        let clock = ManualClock::new();
        let bucket = bucket(quota, &clock);
        bucket.force(most + Quota::MAX_DEBT).unwrap();
        bucket.credit(permits);
        assert_eq!(bucket.peek(0).unwrap().remaining(), most, "{permits}");
        assert_eq!(bucket.healed(), 0);
    }
}

#[test]
fn a_receipt_of_before_a_credit_gives_nothing_back() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    let receipt = bucket.try_acquire_revocable(4).unwrap();
    bucket.credit(1);
    assert!(!receipt.give_back());
    assert_eq!(bucket.peek(0).unwrap().remaining(), 7);
}
