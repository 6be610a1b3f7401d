//! Threads that do everything at once to one line, on the true clock.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::{
    Carry, Clock, Limiter, LineLimits, MonotonicClock, Reserve, TokenBucket, Wait, WhenLineFull,
    quota,
};

use crate::support::NoTimer;

const STEPS: u64 = if cfg!(miri) { 20 } else { 20_000 };
const PER_MILLI: u64 = 1_000;
const BURST: u64 = 50;

/// One step of a thread; the permits that it was granted.
fn step(bucket: &TokenBucket<MonotonicClock>, random: &mut StdRng) -> u64 {
    let permits = random.random_range(1..=BURST / 5);
    let micros = Duration::from_micros(random.random_range(0..200));
    let granted = |is_granted: bool| if is_granted { permits } else { 0 };
    match random.random_range(0..20) {
        0..=7 => granted(bucket.try_acquire(permits).is_ok()),
        8..=11 => granted(bucket.acquire_timeout(permits, micros).is_ok()),
        12 => granted(bucket.acquire(permits).is_ok()),
        13..=16 => {
            // Polled a few times, and dropped wherever it is. What it was granted and does not know
            // of is given back or lost.
            let mut caller = pin!(bucket.acquire_async(permits).timer(NoTimer));
            for _ in 0..random.random_range(1..4) {
                match caller.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(answer) => return granted(answer.is_ok()),
                    Poll::Pending => thread::yield_now(),
                }
            }
            0
        }
        17 => match bucket.reserve_within(permits, micros) {
            Ok(reservation) => granted(random.random() || !reservation.cancel()),
            Err(_) => 0,
        },
        18 => {
            // The same terms again.
            bucket.reconfigure(quota!(1_000_000 / second, burst 50, max_debt 50), Carry::Keep);
            0
        }
        _ => match bucket.try_acquire_revocable(permits) {
            Ok(receipt) => granted(!receipt.give_back()),
            Err(_) => 0,
        },
    }
}

#[test]
fn a_storm_of_calls_keeps_the_bound_and_leaves_nobody_in_line() {
    for when_full in [WhenLineFull::RefuseNewest, WhenLineFull::EvictOldest] {
        let clock = MonotonicClock::new();
        let began = clock.now_nanos();
        let quota = quota!(1_000_000 / second, burst 50, max_debt 50);
        let bucket = TokenBucket::with_clock(quota, clock);
        bucket.line().set_limits(LineLimits::new().max_waiters(6).when_full(when_full));
        let granted = AtomicU64::new(0);
        thread::scope(|scope| {
            for thread in 0..4 {
                let (bucket, granted) = (&bucket, &granted);
                scope.spawn(move || {
                    let mut random = StdRng::seed_from_u64(thread);
                    for _ in 0..STEPS / 4 {
                        granted.fetch_add(step(bucket, &mut random), Relaxed);
                    }
                });
            }
        });
        assert_eq!((bucket.line().waiters(), bucket.line().permits()), (0, 0));
        let ended = bucket.clock().now_nanos();
        let earned = (ended - began) * PER_MILLI / 1_000_000;
        // Reservations may be for a little later than the end.
        let most = BURST + earned + 200 * PER_MILLI / 1_000 + 1;
        assert!(granted.into_inner() <= most, "more than the bound");
        // The gate is open, and what is earned can be taken.
        thread::sleep(Duration::from_millis(1));
        assert!(bucket.try_acquire(BURST).is_ok());
    }
}
