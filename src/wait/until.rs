//! A sleep until an instant of a clock, for permits that are the caller's already.
//!
//! The clock is asked again after each sleep: a timer may be early, and a clock may be set.

use core::time::Duration;
use std::thread;

use super::timer::Timer;

/// Blocks the thread until `wait_left` is zero.
pub(crate) fn block_until(wait_left: impl Fn() -> Duration) {
    loop {
        match wait_left() {
            Duration::ZERO => return,
            left => thread::sleep(left),
        }
    }
}

/// Sleeps by `timer` until `wait_left` is zero.
pub(crate) async fn sleep_until<T: Timer>(timer: T, wait_left: impl Fn() -> Duration) {
    loop {
        match wait_left() {
            Duration::ZERO => return,
            left => timer.sleep(left).await,
        }
    }
}
