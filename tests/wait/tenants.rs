//! A line that is divided among tenants, beside what the random histories say of it: whole stories, hostile tenants,
//! clocks that jump, threads and tasks.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::Counted;
use sluicegate::wait::{
    AcquireError, Caller as KeptCaller, LineLimits, LinePriority, LineWeights, Queued,
    SettleInLine, Tenant, WhenLineFull,
};
use sluicegate::{ConfigError, FixedWindow, Limiter, ManualClock, TokenBucket, Wait, quota, rate};

use super::support::{Caller, MILLI, block_on};

type Line<'a> = Queued<FixedWindow<&'a ManualClock>, &'a ManualClock>;

/// One permit in each millisecond, of which the present one is taken.
fn one_a_milli(clock: &ManualClock, weights: LineWeights) -> Line<'_> {
    let window = FixedWindow::with_clock(rate!(1 / 1 ms), clock).unwrap();
    let line = Queued::with_clock(window, clock).with_weights(weights).unwrap();
    line.try_acquire(1).unwrap();
    line
}

/// Returns how many of each are granted their permits while the clock goes on for so many milliseconds.
fn granted<const N: usize>(
    line: &impl Limiter,
    clock: &ManualClock,
    callers: &mut [Vec<Caller<'_>>; N],
    millis: usize,
) -> [usize; N] {
    for _ in 0..millis {
        clock.advance(MILLI);
        // Serves the line.
        assert!(line.try_acquire(1).is_err());
    }
    callers.each_mut().map(|callers| {
        let before = callers.len();
        callers.retain_mut(Caller::is_waiting);
        before - callers.len()
    })
}

#[test]
fn a_tenant_that_comes_late_does_not_wait_for_a_flood() {
    let clock = ManualClock::new();
    let line = one_a_milli(&clock, LineWeights::new(10));
    let (flood, late) = (line.tenant("flood"), line.tenant("late"));
    let mut callers = [(0..100).map(|_| Caller::new(&flood, 1)).collect(), Vec::new()];
    assert_eq!(granted(&line, &clock, &mut callers, 10), [10, 0]);
    callers[1].extend((0..5).map(|_| Caller::new(&late, 1)));
    assert_eq!(granted(&line, &clock, &mut callers, 10), [5, 5]);
    assert_eq!((flood.waiters(), late.waiters(), line.line().waiters()), (85, 0, 85));
}

#[test]
fn permits_are_divided_by_weight_whatever_sizes_tenants_ask_for() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1000 / second, burst 8), &clock);
    let weights = LineWeights::new(10).weight("large", 3).default_weight(1);
    let line = Queued::with_clock(bucket, &clock).with_weights(weights).unwrap();
    line.try_acquire(8).unwrap();
    let (large, small) = (line.tenant("large"), line.tenant("small"));
    let mut callers = [
        (0..400).map(|_| Caller::new(&large, 1)).collect::<Vec<_>>(),
        (0..400).map(|_| Caller::new(&small, 8)).collect(),
    ];
    let [one, eight] = granted(&line, &clock, &mut callers, 320);
    // The shares of 320 are 240 and 80, and the bound is 1 / 3 and 8.
    assert!((one as i64 - 3 * 8 * eight as i64).abs() <= 1 + 3 * 8, "{one} and {eight} of eight");
}

#[test]
fn priorities_divide_what_their_tenant_gets_and_take_nothing_from_others() {
    let clock = ManualClock::new();
    let line = one_a_milli(&clock, LineWeights::new(10).priorities([6, 3, 1]));
    let [high, normal, low] = [LinePriority::High, LinePriority::Normal, LinePriority::Low]
        .map(|priority| line.tenant("one").with_priority(priority));
    let other = line.tenant("other").with_priority(LinePriority::Low);
    let mut callers = [&low, &normal, &high, &other]
        .map(|tenant| (0..200).map(|_| Caller::new(tenant, 1)).collect::<Vec<_>>());
    let [low, normal, high, other] = granted(&line, &clock, &mut callers, 200);
    assert!(other.abs_diff(100) <= 1);
    for (granted, parts) in [(low, 10), (normal, 30), (high, 60)] {
        assert!(granted.abs_diff(parts) <= 2, "{granted} of {parts}");
    }
}

#[test]
fn tenants_that_are_made_up_push_nobody_aside() {
    let clock = ManualClock::new();
    let line = one_a_milli(&clock, LineWeights::new(2));
    let known = line.tenant("known");
    // Each comes for the first time.
    let names: Vec<_> = (0..1_000).map(|name| line.tenant(&name)).collect();
    let mut callers = [vec![Caller::new(&known, 1), Caller::new(&known, 1)], Vec::new()];
    callers[1].extend(names.iter().map(|name| Caller::new(name, 1)));
    // One finds a place of its own, and all others are strangers.
    assert_eq!(granted(&line, &clock, &mut callers, 6), [2, 4]);
}

#[test]
fn strangers_wait_in_the_order_in_which_they_came() {
    let clock = ManualClock::new();
    let line = one_a_milli(&clock, LineWeights::new(0));
    let names: Vec<_> = (0..5).map(|name| line.tenant(&(name % 3))).collect();
    let mut callers: Vec<_> = names.iter().map(|name| Caller::new(name, 1)).collect();
    let mut nobody = Caller::new(&line, 1);
    for caller in &mut callers {
        assert!(caller.is_waiting());
        clock.advance(MILLI);
        assert!(caller.is_granted());
    }
    assert!(nobody.is_waiting());
}

#[test]
fn without_weights_tenants_wait_in_one_line() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(1 / 1 ms), &clock).unwrap();
    let line = Queued::with_clock(window, &clock);
    line.try_acquire(1).unwrap();
    let (one, other) = (line.tenant("one"), line.tenant("other"));
    let mut callers = [&one, &one, &other].map(|tenant| Caller::new(tenant, 1));
    assert_eq!((one.waiters(), other.waiters()), (3, 3));
    // The line can be divided while they wait: then they are strangers.
    line.set_weights(LineWeights::new(10)).unwrap();
    let mut newer = Caller::new(&other, 1);
    assert_eq!((one.waiters(), other.waiters()), (0, 1));
    for answers in [[true, false, false], [true, false, false], [true, true, false]] {
        clock.advance(MILLI);
        _ = newer.poll();
        assert_eq!(callers.each_mut().map(Caller::is_granted), answers);
    }
    assert!(newer.is_granted());
}

#[test]
fn a_weight_of_zero_is_refused_and_changes_nothing() {
    let line = Queued::new(TokenBucket::new(quota!(1 / second)));
    for weights in [
        LineWeights::new(1).weight("none", 0),
        LineWeights::new(1).default_weight(0),
        LineWeights::new(1).priorities([1, 0, 1]),
    ] {
        let error = line.set_weights(weights).unwrap_err();
        assert_eq!(error, ConfigError::LineWeight { weight: 0 });
        assert!(error.to_string().contains("weight is 0: must be from 1"), "{error}");
    }
}

#[test]
fn a_tenant_cannot_fill_the_line() {
    let clock = ManualClock::new();
    let line = one_a_milli(&clock, LineWeights::new(10).max_waiters_each(2));
    let (one, other) = (line.tenant("one"), line.tenant("other"));
    let mut callers = [1, 2, 3].map(|_| Caller::new(&one, 1));
    assert!(matches!(callers[2].error(), Some(AcquireError::LineFull { .. })));
    assert!(Caller::new(&other, 1).is_waiting());

    // Its oldest gives way if the line says so.
    line.line().set_limits(LineLimits::new().when_full(WhenLineFull::EvictOldest));
    let mut newest = Caller::new(&one, 1);
    assert!(newest.is_waiting());
    assert_eq!(callers[0].error(), Some(AcquireError::Evicted));
    assert!(callers[1].is_waiting());
}

#[test]
fn a_full_line_evicts_of_the_tenant_that_has_the_most_for_its_weight() {
    let clock = ManualClock::new();
    let line = one_a_milli(&clock, LineWeights::new(10).weight("large", 4));
    let limits = LineLimits::new().max_waiters(5).when_full(WhenLineFull::EvictOldest);
    line.line().set_limits(limits);
    let (large, small, new) = (line.tenant("large"), line.tenant("small"), line.tenant("new"));
    let urgent = small.with_priority(LinePriority::High);
    let mut larges = [1, 2, 3].map(|_| Caller::new(&large, 1));
    let mut smalls = [&urgent, &small].map(|tenant| Caller::new(tenant, 1));
    let mut newest = Caller::new(&new, 1);
    assert!(newest.is_waiting());
    assert!(larges.iter_mut().all(Caller::is_waiting));
    assert_eq!(smalls[1].error(), Some(AcquireError::Evicted));
    assert!(smalls[0].is_waiting());
}

#[test]
fn a_caller_that_nobody_polls_holds_up_no_other_tenant_beyond_its_turn() {
    let clock = ManualClock::new();
    let line = one_a_milli(&clock, LineWeights::new(10));
    let (idle, busy) = (line.tenant("idle"), line.tenant("busy"));
    let unpolled = Caller::new(&idle, 1);
    let mut caller = Caller::new(&busy, 1);
    // It sleeps no longer than until both have had their turns.
    assert_eq!(caller.sleeps_for(), 2 * MILLI);
    clock.advance(2 * MILLI);
    assert!(caller.is_waiting(), "a window counts what is granted when the line is served");
    clock.advance(MILLI);
    assert!(caller.is_granted());
    drop(unpolled);
}

#[test]
fn a_caller_that_leaves_first_in_line_wakes_the_next_tenant() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(4 / 1 ms), &clock).unwrap();
    let line = Queued::with_clock(window, &clock).with_weights(LineWeights::new(9)).unwrap();
    line.try_acquire(3).unwrap();
    let (one, other) = (line.tenant("one"), line.tenant("other"));
    let first = Caller::new(&one, 2);
    let mut second = Caller::new(&other, 1);
    assert!(second.is_waiting());
    drop(first);
    assert_eq!(second.woken(), 1);
    assert!(second.is_granted());
    assert!(line.try_acquire(1).is_err());
}

#[test]
fn clocks_that_jump_change_when_permits_are_granted_and_not_to_whom() {
    let clock = ManualClock::new();
    clock.set_nanos(1 << 50);
    let line = one_a_milli(&clock, LineWeights::new(9).weight("large", 3));
    let (large, small) = (line.tenant("large"), line.tenant("small"));
    let mut waiting =
        [&large, &small].map(|tenant| (0..90).map(|_| Caller::new(tenant, 1)).collect::<Vec<_>>());
    let mut counts = [0_i64; 2];
    for jump in 0..100_u64 {
        let now = 1 << 50;
        clock.set_nanos(match jump % 5 {
            0 => now - (jump << 40),
            1 => now + (jump << 40),
            2 => now + jump,
            3 => 0,
            _ => u64::MAX - jump,
        });
        for _ in 0..3 {
            for (callers, count) in waiting.iter_mut().zip(&mut counts) {
                let before = callers.len();
                callers.retain_mut(Caller::is_waiting);
                *count += (before - callers.len()) as i64;
            }
        }
        assert!((counts[0] - 3 * counts[1]).abs() <= 1 + 3, "{counts:?}");
        assert_eq!(line.line().waiters(), waiting.iter().map(Vec::len).sum::<usize>());
    }
    assert!(counts[0] > 20 && waiting[0].len() > 1, "{counts:?}");
}

#[test]
fn permits_that_come_back_untold_are_not_charged_to_the_tenant() {
    let clock = ManualClock::new();
    let bucket = SettleableBucket::with_clock(quota!(1000 / second, burst 4), &clock);
    let line = Queued::with_clock(bucket, &clock).with_weights(LineWeights::new(9)).unwrap();
    // From now on the line keeps what takes a grant back.
    line.acquire_settleable_blocking(4).unwrap().settle(4).unwrap();
    let (one, other) = (line.tenant("one"), line.tenant("other"));
    let untold = Caller::new(&one, 4);
    let mut others = [1, 2, 3].map(|_| Caller::new(&other, 1));
    let mut next = Caller::new(&one, 1);
    clock.advance(4 * MILLI);
    assert!(others.iter_mut().all(Caller::is_waiting), "the first has just been granted its four");
    drop(untold);
    // Without the charge the tenant is as far as the other one: they take turns.
    assert!(next.is_granted());
    assert!(others[0].is_granted() && others[1].is_granted());
}

#[test]
fn estimates_of_tenants_are_divided_as_permits_are() {
    let clock = ManualClock::new();
    let bucket = SettleableBucket::with_clock(quota!(1000 / second, burst 1), &clock);
    let weights = LineWeights::new(9).weight("large", 3);
    let line = Queued::with_clock(bucket, &clock).with_weights(weights).unwrap();
    line.try_acquire(1).unwrap();
    let tenants = ["large", "small"].map(|name| line.tenant(name));
    let mut waiting = tenants.each_ref().map(|tenant| {
        let asked = (0..16).map(|_| Box::pin(tenant.acquire_settleable(1)));
        asked.collect::<Vec<_>>()
    });
    let mut context = Context::from_waker(Waker::noop());
    let mut granted = [0, 0];
    for _ in 0..12 {
        for (waiting, granted) in waiting.iter_mut().zip(&mut granted) {
            waiting.retain_mut(|it| match it.as_mut().poll(&mut context) {
                Poll::Ready(estimate) => {
                    *granted += 1;
                    estimate.unwrap().settle(1).unwrap();
                    false
                }
                Poll::Pending => true,
            });
        }
        clock.advance(MILLI);
    }
    assert!(granted[0] + granted[1] >= 11, "{granted:?}");
    assert!(i32::abs(granted[0] - 3 * granted[1]) <= 1 + 3, "{granted:?}");
}

#[test]
fn a_tenant_can_be_kept_wrapped_and_moved() {
    let line = Queued::new(TokenBucket::new(quota!(1_000_000 / second)));
    let line = Arc::new(line.with_weights(LineWeights::new(9)).unwrap());
    let ada = Tenant::new(Arc::clone(&line), "ada");
    let mut kept = KeptCaller::new(Counted::new(ada.clone()));
    assert!(kept.acquire_blocking(2).is_ok());
    assert_eq!(kept.limiter().counts().granted, 1);
    assert!(block_on(Arc::new(ada).acquire_owned(1)).is_ok());
    assert!(format!("{:?}", line.tenant("ada")).contains("Normal"));
}

#[test]
fn threads_and_tasks_of_many_tenants_are_all_served() {
    const EACH: usize = if cfg!(miri) { 3 } else { 200 };

    let weights = LineWeights::new(2).weight(&0, 5).max_waiters_each(1_000);
    let bucket = TokenBucket::new(quota!(1_000_000 / second, burst 10));
    let line = Queued::new(bucket).with_weights(weights).unwrap();
    let (granted, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..8 {
            let (line, granted, refused) = (&line, &granted, &refused);
            scope.spawn(move || {
                let priority = [LinePriority::High, LinePriority::Low][number % 2];
                let tenant = line.tenant(&(number / 2)).with_priority(priority);
                for turn in 0..EACH {
                    let permits = 1 + (turn as u64 * 7 + number as u64) % 10;
                    let waiting = tenant.acquire(permits);
                    let answer = match turn % 3 {
                        0 => waiting.wait_blocking(),
                        1 => block_on(waiting),
                        _ => waiting.timeout(Duration::from_micros(20)).wait_blocking(),
                    };
                    let count = match answer {
                        Ok(_) => granted,
                        Err(AcquireError::TimedOut { .. }) if turn % 3 == 2 => refused,
                        Err(error) => panic!("{error}"),
                    };
                    count.fetch_add(1, Relaxed);
                }
            });
        }
        scope.spawn(|| {
            for turn in 1..EACH as u32 {
                let weights = LineWeights::new(turn as usize % 3).weight(&1, turn);
                line.set_weights(weights).unwrap();
                thread::yield_now();
            }
        });
    });
    assert_eq!(granted.into_inner() + refused.into_inner(), 8 * EACH);
    assert_eq!(line.line().waiters(), 0);
    assert!(!line.has_waiters());
}
