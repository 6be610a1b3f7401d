//! The worked examples of what the limiters were asked to do, as tests.
//!
//! The requirements describe five systems. Their examples on token buckets, leaky
//! buckets and minimum intervals are here, one test each, with the rule in a
//! comment. Windows, queues, waiting callers, keys, Redis and HTTP belong to other
//! limiters and packages.
//!
//! No example here contradicts its own rule. Where an answer of ours has another
//! form than the one that was described, the test says so.

use std::thread;
use std::time::Duration;

use sluicegate::{Clock, Denied, LeakyBucket, ManualClock, Quota, Rate, Refill, TokenBucket};
use sluicegate::{quota, rate};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Single permits that `try_acquire` grants before it denies one.
fn admitted<C: Clock>(bucket: &TokenBucket<C>) -> u64 {
    let mut admitted = 0;
    while bucket.try_acquire(1).is_ok() {
        admitted += 1;
    }
    admitted
}

// === Section 1: token bucket with a try that never blocks ===

/// Rule: a try answers yes or no at once, whatever there is.
#[test]
fn a_try_answers_at_once_although_time_stands_still() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    assert!(bucket.try_acquire(10).is_ok());
    for _ in 0..1_000 {
        assert!(bucket.try_acquire(1).is_err());
    }
}

/// Rule: asking for more than the capacity is answered with no. Ours tells it from
/// a no that a wait would cure.
#[test]
fn a_try_for_more_than_the_capacity_says_no_even_when_full() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    assert_eq!(bucket.try_acquire(11), Err(Denied::TooLarge { limit: 10, which: 0 }));
    assert!(bucket.try_acquire(10).is_ok(), "the no has cost nothing");
}

/// Rule: a request for none or fewer is a wrong argument. Fewer than none cannot be
/// written with our types. None is granted, even by an empty bucket: that is a
/// decision of ours, so that a caller needs no special case for an empty batch.
#[test]
fn a_request_for_no_permits_is_granted_and_takes_nothing() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    assert_eq!(bucket.drain().permits(), 10);
    let before = bucket.snapshot();
    assert_eq!(bucket.try_acquire(0).map(|grant| grant.permits()), Ok(0));
    assert_eq!(bucket.snapshot(), before);
}

/// Rule: tokens are counted up when somebody calls, at the refill rate, and never
/// above the capacity.
#[test]
fn refill_is_lazy_and_stops_at_the_capacity() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(10 / second, burst 30), &clock);
    assert_eq!(bucket.drain().permits(), 30);
    clock.advance(2 * SECOND);
    assert_eq!(bucket.peek(0).map(|grant| grant.remaining()), Ok(20));
    clock.advance(3600 * SECOND);
    assert_eq!(admitted(&bucket), 30);
}

/// Rule: the wait is the missing tokens times the time that one takes.
#[test]
fn a_wait_is_the_missing_tokens_times_the_time_per_token() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(4 / second, burst 10), &clock);
    assert!(bucket.try_acquire(8).is_ok());
    let Err(Denied::Wait(shortfall)) = bucket.try_acquire(7) else { panic!("2 are no 7") };
    assert_eq!((shortfall.missing(), shortfall.retry_after()), (5, 5 * SECOND / 4));

    clock.advance_nanos(1_249_999_999);
    assert!(bucket.try_acquire(7).is_err());
    clock.advance_nanos(1);
    assert!(bucket.try_acquire(7).is_ok());
}

// === Section 2: the classic algorithms ===

/// Rule: tokens arrive at the end of each period. Example: size 5, refilled every
/// second.
#[test]
fn a_bucket_of_5_that_is_refilled_each_second_admits_5_in_each() {
    let clock = ManualClock::new();
    let quota = quota!(5 / second).with_refill(Refill::Interval);
    let bucket = TokenBucket::with_clock(quota, &clock);
    for second in 1..=10 {
        assert_eq!(admitted(&bucket), 5);
        clock.set_nanos(second * 1_000_000_000 - 1);
        assert_eq!(admitted(&bucket), 0, "nothing arrives before second {second}");
        clock.set_nanos(second * 1_000_000_000);
    }
    clock.advance(10 * SECOND);
    assert_eq!(admitted(&bucket), 5, "what was not used is not kept");
}

/// Rule: the bucket leaks at a fixed rate, and what does not fit is dropped.
/// Example: size 4, one leaks out every 2 s; one arrives at 0 s, three at 2 s, more
/// at 3 s and at 4 s.
///
/// The example is of a queue. As a meter the same arrivals fit or do not; when they
/// leave a queue is another limiter's business.
#[test]
fn a_leaky_bucket_of_4_takes_what_fits_while_one_leaks_out_every_2_seconds() {
    let clock = ManualClock::new();
    let bucket = LeakyBucket::meter_with_clock(quota!(1 / 2 seconds, burst 4), &clock);
    assert!(bucket.try_acquire(1).is_ok());
    assert_eq!(bucket.level(), 1);

    clock.advance(2 * SECOND);
    assert_eq!(bucket.level(), 0, "the first has leaked out");
    assert!(bucket.try_acquire(3).is_ok());

    clock.advance(SECOND);
    assert!(bucket.try_acquire(1).is_ok());
    assert_eq!(bucket.level(), 4);
    let denied = bucket.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(SECOND), "full until the second leaks out");

    clock.advance(SECOND);
    assert!(bucket.try_acquire(1).is_ok());
    assert!(bucket.try_acquire(1).is_err());
}

// === Section 3: whole refills only ===

/// Rule: refills = floor(elapsed / interval); each adds its tokens, up to the
/// capacity; the time of the last refill advances by whole intervals, so that no
/// remainder is lost. The answer is whether it was allowed and what remains.
///
/// The limiter and the rule, side by side for 10 000 calls at uneven times.
fn agrees_with_the_rule(capacity: u64, refill_rate: u64, interval: Duration) {
    let clock = ManualClock::new();
    let rate = Rate::new(refill_rate, interval).unwrap();
    let quota = Quota::new(rate).with_burst(capacity).unwrap().with_refill(Refill::Interval);
    let bucket = TokenBucket::with_clock(quota, &clock);

    let interval_nanos = interval.as_nanos() as u64;
    let (mut tokens, mut last_refill_nanos) = (capacity, 0);
    let (mut allowed, mut denied) = (0, 0);
    for call in 0..10_000_u64 {
        // From no time at all to a little over two intervals, never in step.
        let step_nanos = (call * call % 23) * (call % 7) * interval_nanos / 60;
        let now_nanos = clock.now_nanos() + step_nanos;
        clock.set_nanos(now_nanos);
        let refills = (now_nanos - last_refill_nanos) / interval_nanos;
        tokens = capacity.min(tokens + refills * refill_rate);
        last_refill_nanos += refills * interval_nanos;

        let wanted = 1 + call % 3 * refill_rate;
        let is_allowed = tokens >= wanted;
        tokens -= if is_allowed { wanted } else { 0 };

        let answer = bucket.try_acquire(wanted);
        let remaining = bucket.peek(0).unwrap().remaining();
        assert_eq!((answer.is_ok(), remaining), (is_allowed, tokens), "call {call}");
        if let Err(denied) = answer {
            let ready_nanos = now_nanos + denied.retry_after().unwrap().as_nanos() as u64;
            let periods = (wanted - tokens).div_ceil(refill_rate);
            assert_eq!(ready_nanos, last_refill_nanos + periods * interval_nanos);
        }
        *if is_allowed { &mut allowed } else { &mut denied } += 1;
    }
    assert!(allowed > 1_000 && denied > 1_000, "{allowed} allowed, {denied} denied");
}

#[test]
fn capacity_10_with_1_token_per_second_refills_in_whole_intervals() {
    agrees_with_the_rule(10, 1, SECOND);
}

#[test]
fn capacity_100_with_10_tokens_per_second_refills_in_whole_intervals() {
    agrees_with_the_rule(100, 10, SECOND);
}

#[test]
fn capacity_60_with_1_token_per_minute_refills_in_whole_intervals() {
    agrees_with_the_rule(60, 1, 60 * SECOND);
}

// === Section 4: R per second with burst B ===

/// Rule: no fraction of a token is lost. Example: 100 per second and calls 1 ms
/// apart, of which each finds a tenth of a token more.
#[test]
fn calls_a_millisecond_apart_at_100_per_second_lose_no_tenth_of_a_token() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(100 / second), &clock);
    assert_eq!(bucket.drain().permits(), 100);
    for millis in 1..=10_000 {
        clock.advance(MILLISECOND);
        assert_eq!(bucket.try_acquire(1).is_ok(), millis % 10 == 0, "after {millis} ms");
    }
}

/// Rule: idle time accumulates up to B in a token bucket.
#[test]
fn idle_time_accumulates_up_to_the_burst() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(100 / second, burst 25), &clock);
    assert_eq!(admitted(&bucket), 25);
    for (idle_millis, there) in [(100, 10), (240, 24), (250, 25), (60_000, 25)] {
        clock.advance(idle_millis * MILLISECOND);
        assert_eq!(admitted(&bucket), there, "after {idle_millis} ms");
    }
}

/// Rule: a leaky bucket earns nothing while it is idle.
#[test]
fn a_leaky_bucket_earns_nothing_while_idle() {
    let clock = ManualClock::new();
    let bucket = LeakyBucket::min_interval_with_clock(rate!(100 / second), &clock);
    for _ in 0..3 {
        clock.advance(3600 * SECOND);
        assert!(bucket.try_acquire(1).is_ok());
        let denied = bucket.try_acquire(1).unwrap_err();
        assert_eq!(denied.retry_after(), Some(10 * MILLISECOND));
    }
}

/// Rule: many threads share one limiter, whose state is one 64-bit word that is
/// changed by compare-and-swap.
#[test]
fn many_threads_together_are_admitted_exactly_the_burst() {
    let bucket = TokenBucket::with_clock(quota!(100 / second, burst 1_000), ManualClock::new());
    let total: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| admitted(&bucket))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(total, 1_000);
}

// === Section 5: policies ===

/// Rule: a leaky bucket lets one through every 1000 / limit ms. Where that is no
/// whole number of nanoseconds a gap is within one of it, and together they are
/// never shorter.
#[test]
fn a_leaky_bucket_spaces_admissions_by_1000_over_limit_milliseconds() {
    for limit in [1, 3, 4, 7, 10, 1_000] {
        let clock = ManualClock::new();
        let rate = Rate::per_second(limit).unwrap();
        let bucket = LeakyBucket::min_interval_with_clock(rate, &clock);
        let mut last_nanos = 0;
        for earlier in 0..1_000 {
            assert!(bucket.try_acquire(1).is_ok());
            let now_nanos = clock.now_nanos();
            assert!(now_nanos * limit >= earlier * 1_000_000_000);
            if earlier > 0 {
                let gap_nanos = now_nanos - last_nanos;
                assert!((gap_nanos * limit).abs_diff(1_000_000_000) < limit, "{gap_nanos} ns");
            }
            last_nanos = now_nanos;
            clock.advance(bucket.try_acquire(1).unwrap_err().retry_after().unwrap());
        }
    }
}

/// Rule: tokens arrive in amounts per interval, and those not used do not
/// accumulate above the limit. Example: limit 5000, 500 every 15 minutes.
#[test]
fn limit_5000_with_500_every_15_minutes_never_accumulates_above_5000() {
    let clock = ManualClock::new();
    let quota = quota!(500 / 15 minutes, burst 5_000).with_refill(Refill::Interval);
    let bucket = TokenBucket::with_clock(quota, &clock);
    let quarter = 15 * 60 * SECOND;
    assert_eq!(admitted(&bucket), 5_000);

    clock.advance_nanos(899_999_999_999);
    assert_eq!(admitted(&bucket), 0);
    clock.advance_nanos(1);
    assert_eq!(admitted(&bucket), 500);

    for (quarters, there) in [(9, 4_500), (10, 5_000), (11, 5_000), (4 * 24 * 30, 5_000)] {
        clock.advance(quarters * quarter);
        assert_eq!(admitted(&bucket), there, "after {quarters} quarters of an hour");
    }
}
