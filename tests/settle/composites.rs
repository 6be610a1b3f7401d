//! Composites that fail: they take permits and give them back, over and over.

use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::All;
use sluicegate::settle::Receipt;
use sluicegate::*;

const FILL_TIMES: u64 = 3;

/// Ordinary callers that want a third more than there is, beside eight that take a permit and give
/// it back a ten-thousandth of the fill time later, again and again. Returns the permits that
/// the ordinary callers get.
fn granted_beside_a_storm(limiter: &dyn Limiter, clock: &ManualClock) -> u64 {
    let mut granted = 0;
    let mut asked = 0;
    let mut held: Vec<Option<Receipt<'_>>> = (0..8).map(|_| None).collect();
    for tick in 0..FILL_TIMES * 10_000 {
        clock.advance_nanos(100_000);
        for receipt in &mut held {
            receipt.take().map(Receipt::give_back);
            *receipt = limiter.try_acquire_revocable(1).ok();
        }
        while asked * 10_000 < tick * 1_333 {
            asked += 1;
            granted += limiter.try_acquire(1).map_or(0, |grant| grant.permits());
        }
    }
    granted
}

/// There are three thousand to earn, and a thousand at first. Of these a part is lost: what is taken
/// from a full bucket has not long to live.
#[test]
fn composites_that_fail_leave_others_their_rate() {
    const QUOTA: Quota = quota!(1_000 / second);
    let clock = ManualClock::new();
    let settles = SettleableBucket::with_clock(QUOTA, &clock);
    let settles = granted_beside_a_storm(&settles, &clock);
    assert!((3_650..=4_000).contains(&settles), "{settles}");
    // What the storm takes from a bucket is lost, unless it was the last to take.
    let bucket = TokenBucket::with_clock(QUOTA, &clock);
    let bucket = granted_beside_a_storm(&bucket, &clock);
    assert!(bucket < 400, "{bucket}");
}

#[test]
fn a_composite_that_fails_gives_back_whatever_was_taken_since() {
    let clock = ManualClock::new();
    let buckets = [(); 2].map(|()| SettleableBucket::with_clock(quota!(10 / second), &clock));
    let all = All::new(buckets.each_ref()).unwrap();
    let receipt = all.try_acquire_revocable(4).unwrap();
    for bucket in &buckets {
        bucket.try_acquire(5).unwrap();
    }
    assert!(receipt.give_back());
    assert_eq!(all.try_acquire_up_to(10).unwrap().permits(), 5);
}
