//! The problem: a program that uses governor is to use this crate. Each call stands below the one
//! that it replaces. The limiters are a `TokenBucket` (governor's `direct`) and a `Keyed` (its
//! `keyed`), which decide as governor's GCRA does: a burst, and then the rate.

use std::time::Duration;

use sluicegate::{Denied, Keyed, ManualClock, TokenBucket, Wait, quota};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // let clock = FakeRelativeClock::default();
    let clock = ManualClock::new();

    // let quota = Quota::per_second(nonzero!(50u32)).allow_burst(nonzero!(3u32));
    // let limiter = RateLimiter::direct_with_clock(quota, clock.clone());
    let limiter = TokenBucket::with_clock(quota!(50 / second, burst 3), &clock);

    // limiter.check().is_ok()
    let granted = (0..5).filter(|_| limiter.try_acquire(1).is_ok()).count();
    println!("granted {granted} of 5");

    // let not_until = limiter.check().unwrap_err();
    // println!("wait {:?}", not_until.wait_time_from(clock.now()));
    let denied = limiter.try_acquire(1).unwrap_err();
    println!("wait {:?}", denied.retry_after().unwrap_or_default());

    // clock.advance(Duration::from_millis(40));
    clock.advance(Duration::from_millis(40));

    // match limiter.check_n(nonzero!(n)) {
    //     Ok(Ok(())) => "granted", Ok(Err(_)) => "later", Err(InsufficientCapacity(_)) => "never" }
    for permits in [2, 2, 4] {
        let answer = match limiter.try_acquire(permits) {
            Ok(_) => "granted",
            Err(Denied::TooLarge { .. }) => "never",
            Err(_) => "later",
        };
        println!("{permits} at once: {answer}");
    }

    // let users = RateLimiter::keyed(Quota::per_hour(nonzero!(2u32)));
    // users.check_key(&"ada".to_string()).is_ok()
    let users = Keyed::<String>::new(quota!(2 / hour));
    for user in ["ada", "ada", "ada", "bob"] {
        println!(
            "{user}: {}",
            if users.try_acquire(user, 1).is_ok() { "granted" } else { "later" }
        );
    }

    // users.retain_recent(); users.shrink_to_fit(); in a thread that does it every minute:
    // nothing. New keys evict those that are full again.

    // let pages = RateLimiter::direct(Quota::per_second(nonzero!(100u32)).allow_burst(nonzero!(1u32)));
    // pages.until_ready().await
    let pages = TokenBucket::new(quota!(100 / second, burst 1));
    for page in 1..=3 {
        pages.acquire_blocking(1)?; // In a task: pages.acquire(1).await?
        println!("page {page}");
    }
    Ok(())
}
