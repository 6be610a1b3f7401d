//! Long lines outside of their limiters' words: how often each caller wakes.

use std::time::Duration;

use sluicegate::wait::Queued;
use sluicegate::{Denied, Limiter, ManualClock, Sharded, SlidingLog, quota, rate};

use super::queued::{log, used};
use super::support::{Caller, MILLI};

/// Lets each of `callers` sleep for as long as it said, or until it is woken. Returns how
/// often they woke until all were granted their permits.
fn wakes(clock: &ManualClock, callers: Vec<Caller<'_>>, now: &mut u64) -> usize {
    let nanos = |caller: &Caller<'_>| u64::try_from(caller.sleeps_for().as_nanos()).unwrap();
    let mut asleep: Vec<_> = callers
        .into_iter()
        .map(|caller| (now.saturating_add(nanos(&caller)), caller.woken(), caller))
        .collect();
    let mut wakes = 0;
    while !asleep.is_empty() {
        let awake = asleep.iter().position(|(_, woken, caller)| caller.woken() > *woken);
        let awake = awake.unwrap_or_else(|| {
            let next = asleep.iter().enumerate().min_by_key(|(_, (at, ..))| *at).unwrap();
            *now = next.1.0.max(*now);
            next.0
        });
        clock.set_nanos(*now);
        wakes += 1;
        let (at, woken, caller) = &mut asleep[awake];
        if caller.is_granted() {
            asleep.remove(awake);
        } else {
            (*at, *woken) = (*now + nanos(caller), caller.woken());
        }
    }
    wakes
}

const CROWD: usize = if cfg!(miri) { 30 } else { 1_000 };

#[test]
fn each_of_a_thousand_callers_for_a_log_wakes_once() {
    for sizes in [[1, 1, 1, 1], [6, 3, 2, 9]] {
        let clock = ManualClock::new();
        let log = log(&clock);
        log.try_acquire(10).unwrap();
        let mut now = 0;
        let callers = |count: usize| -> Vec<Caller<'_>> {
            let sizes = sizes.into_iter().cycle().take(count);
            sizes.map(|permits| Caller::new(&log, permits)).collect()
        };
        assert_eq!(wakes(&clock, callers(CROWD), &mut now), CROWD);
        clock.advance(100 * MILLI);
        // Nothing has been granted in line yet, and what counts is old.
        let log = used(&clock);
        clock.advance(70 * MILLI);
        now += 190_000_000;
        let sizes = sizes.into_iter().cycle().take(CROWD);
        let callers = sizes.map(|permits| Caller::new(&log, permits)).collect();
        assert!(wakes(&clock, callers, &mut now) <= 2 * CROWD);
    }
}

#[test]
fn each_of_a_thousand_callers_for_a_log_of_single_permits_wakes_once() {
    let clock = ManualClock::new();
    let log = SlidingLog::with_clock(rate!(10 / 100 ms), &clock).unwrap();
    let log = Queued::with_clock(log, &clock);
    for _ in 0..10 {
        clock.advance(3 * MILLI);
        log.try_acquire(1).unwrap();
    }
    let callers: Vec<_> = (0..CROWD).map(|_| Caller::new(&log, 1)).collect();
    // Ten of them go in the gaps of the ten before, and so on.
    assert_eq!(callers[9].sleeps_for(), 100 * MILLI);
    assert_eq!(callers[19].sleeps_for(), 200 * MILLI);
    assert_eq!(wakes(&clock, callers, &mut 30_000_000), CROWD);
}

#[test]
fn each_of_a_thousand_callers_for_a_sharded_bucket_wakes_once_or_of_many_sizes_twice() {
    for (sizes, most) in [([1, 1, 1, 1], CROWD), ([6, 3, 2, 9], 2 * CROWD)] {
        let clock = ManualClock::new();
        let quota = quota!(100 / second, burst 10);
        let bucket = Sharded::builder(quota).shards(4).clock(&clock).build().unwrap();
        let bucket = Queued::with_clock(bucket, &clock);
        bucket.try_acquire(10).unwrap();
        let sizes = sizes.into_iter().cycle().take(CROWD);
        let callers = sizes.map(|permits| Caller::new(&bucket, permits)).collect();
        let woken = wakes(&clock, callers, &mut 0);
        assert!((CROWD..=most).contains(&woken), "{woken} of at most {most}");
    }
}

#[test]
fn a_log_of_single_permits_knows_when_each_of_several_requests_can_go() {
    let used = || {
        let log = SlidingLog::with_clock(rate!(5 / 100 ms), ManualClock::new()).unwrap();
        for millis in [0, 3, 4, 4] {
            log.clock().set_nanos(millis * 1_000_000);
            log.try_acquire(1).unwrap();
        }
        log
    };
    for (permits, at) in [(2, 100), (3, 103), (4, 104)] {
        let log = used();
        let wait = log.peek_ahead(permits).unwrap_err().retry_after();
        assert_eq!(wait, Some((at - 4) * MILLI), "{permits}");
        log.clock().set_nanos(u64::from(at) * 1_000_000 - 1);
        assert_eq!(log.peek_ahead(permits - 1).map(|grant| grant.remaining()), Ok(0));
        assert!(log.peek_ahead(permits).is_err());
        log.clock().advance(Duration::from_nanos(1));
        assert_eq!(log.try_acquire_up_to(permits).map(|grant| grant.permits()), Ok(permits));
    }
    let log = used();
    assert_eq!(log.peek_ahead(0).map(|grant| grant.remaining()), Ok(1));
    assert_eq!(log.peek_ahead(5).unwrap_err().retry_after(), Some(100 * MILLI));
    assert_eq!(log.peek_ahead(6), Err(Denied::TooLarge { limit: 5, which: 0 }));
    log.reset();
    assert_eq!(log.peek_ahead(5).map(|grant| grant.remaining()), Ok(0));
}
