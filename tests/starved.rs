//! Callers that are starved of a limiter's word. What is checked: whatever they did, and
//! however their calls ended, nobody is left announced, and not one permit is lost or granted
//! twice.

use std::fmt::Debug;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use sluicegate::{FixedWindow, Limiter, ManualClock, Rate, TokenBucket, quota};
use sluicegate::{SlidingLog, SlidingWindow};

const THREADS: u64 = 4;
const CALLS: u64 = 20_000;

fn assert_nobody_is_announced(limiter: &impl Debug) {
    let shown = format!("{limiter:#?}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let nobody = "Starved { heeded: 0, written_off: 0, steps: 0, }";
    assert!(shown.contains(nobody), "{shown}");
}

/// Asks from all threads at once, for twice as much as there is; what was granted.
fn granted(limiter: &(impl Limiter + Debug), also: impl Fn(u64) + Sync) -> u64 {
    let start = Barrier::new(THREADS as usize);
    let granted = thread::scope(|scope| {
        let caller = |thread| {
            let (start, also) = (&start, &also);
            move || {
                start.wait();
                let mut granted = 0;
                for call in 0..CALLS {
                    granted += u64::from(limiter.try_acquire(1).is_ok());
                    also(thread * CALLS + call);
                }
                granted
            }
        };
        let callers: Vec<_> = (0..THREADS).map(|thread| scope.spawn(caller(thread))).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    assert_nobody_is_announced(limiter);
    granted
}

/// Half of what is asked for.
const THERE: u64 = THREADS * CALLS / 2;

fn rate() -> Rate {
    Rate::new(THERE, Duration::from_secs(3_600)).unwrap()
}

#[test]
fn a_bucket_that_all_race_for_grants_what_it_holds_and_forgets_who_was_starved() {
    let quota = quota!(1 / day).with_burst(THERE).unwrap();
    let bucket = TokenBucket::with_clock(quota, ManualClock::new());
    assert_eq!(granted(&bucket, |_| {}), THERE);
}

#[test]
fn changes_of_a_bucket_that_all_race_for_leave_nobody_announced() {
    let quota = quota!(1 / day).with_burst(THERE).unwrap();
    let bucket = TokenBucket::with_clock(quota, ManualClock::new());
    let resets = |call: u64| {
        if call.is_multiple_of(64) {
            bucket.reset();
        }
    };
    assert!(granted(&bucket, resets) >= THERE);
}

#[test]
fn a_window_that_all_race_for_grants_its_limit_and_forgets_who_was_starved() {
    let window = FixedWindow::with_clock(rate(), ManualClock::new()).unwrap();
    assert_eq!(granted(&window, |_| {}), THERE);
}

#[test]
fn rings_and_logs_that_all_race_for_grant_their_limit_and_forget_who_was_starved() {
    let ring = SlidingWindow::with_slots(rate(), 60, ManualClock::new()).unwrap();
    assert_eq!(granted(&ring, |_| {}), THERE);
    let log = SlidingLog::with_clock(rate(), ManualClock::new()).unwrap();
    assert_eq!(granted(&log, |_| {}), THERE);
}
