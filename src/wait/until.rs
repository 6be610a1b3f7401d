//! A sleep until an instant of a clock, for permits that are the caller's already.
//!
//! The clock is asked again after each sleep: a timer may be early, and a clock may be set. If it was
//! set back meanwhile by more than threads' clocks may differ, nobody knows by how much; but the caller
//! has slept for as long as it was told, and does not sleep for that again.

use core::time::Duration;
use std::thread;

use crate::time::clock::Timeline;
use crate::time::units::SKEW_NANOS;

use super::timer::Timer;

/// A reading of the clock, and the wait that is left by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) now_nanos: u64,
    pub(crate) left: Duration,
}

impl Look {
    /// Returns the look at a reading of `now_nanos`, for the instant `at_nanos` of the same clock.
    pub(crate) fn until(at_nanos: u64, now_nanos: u64) -> Look {
        Look { now_nanos, left: Duration::from_nanos(at_nanos.saturating_sub(now_nanos)) }
    }
}

/// Blocks the thread until no wait is left. `look` is told whether the caller has slept for the wait that
/// it returned before.
pub(crate) fn block_until(look: impl Fn(bool) -> Look) {
    let mut began_nanos = None;
    while let Some(left) = next_sleep(&look, &mut began_nanos) {
        thread::sleep(left);
    }
}

/// Does the same as [`block_until`] for a task, which sleeps by `timer` on the clock's `timeline`.
pub(crate) async fn sleep_until<T: Timer>(
    timer: T,
    timeline: Timeline,
    look: impl Fn(bool) -> Look,
) {
    let mut began_nanos = None;
    while let Some(left) = next_sleep(&look, &mut began_nanos) {
        timer.sleep_on(timeline, left).await;
    }
}

/// Returns the time to sleep for, if any is left. `began_nanos` is the reading at which the last sleep
/// began.
fn next_sleep(look: &impl Fn(bool) -> Look, began_nanos: &mut Option<u64>) -> Option<Duration> {
    let Look { now_nanos, left } = look(began_nanos.is_some());
    let is_set_back = began_nanos.is_some_and(|began| now_nanos.saturating_add(SKEW_NANOS) < began);
    *began_nanos = Some(now_nanos);
    (!is_set_back && !left.is_zero()).then_some(left)
}
