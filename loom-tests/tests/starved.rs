//! Models of callers that are starved of a hot word. What is checked, over every
//! interleaving:
//!
//! * an announcement is taken back whatever comes of the call: a grant, a denial, a change
//!   of the terms, a panic of the clock;
//! * a thread that is suspended while it is announced stops nobody, and makes the others
//!   step back only so often.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{OnceLock, Weak};

#[cfg(sluicegate_loom)]
use loom::thread_local;
use sluicegate::bucket::Carry;
use sluicegate::{Clock, FixedWindow, TokenBucket, quota, rate};
use sluicegate_loom_tests::{ANY, Arc, Bucket, TestClock, check, race};

/// Number of times that callers step back for one announcement; see `PATIENCE` in the sources.
const PATIENCE: u64 = if cfg!(sluicegate_loom) { 2 } else { 64 };

/// The number that `limiter` shows as its `field`.
fn shown(limiter: &impl Debug, field: &str) -> u64 {
    let text = format!("{limiter:#?}");
    let after = text.split_once(&format!("{field}: ")).expect("limiters show it").1;
    let digits = after.split(|symbol: char| !symbol.is_ascii_digit()).next().unwrap();
    digits.parse().unwrap()
}

fn assert_nobody_is_announced(limiter: &impl Debug) {
    for field in ["heeded", "written_off", "steps"] {
        assert_eq!(shown(limiter, field), 0, "{limiter:#?}");
    }
}

type Fixed = FixedWindow<TestClock>;

/// The last of three calls may have lost to all others: it is granted what is left, or denied.
#[test]
fn an_announcement_is_taken_back_whatever_comes_of_the_call() {
    for limit in [2, 3, 4] {
        check(ANY, move || {
            let rate = sluicegate::Rate::new(limit, std::time::Duration::from_secs(1)).unwrap();
            let window = Arc::new(Fixed::with_clock(rate, TestClock::new()).unwrap());
            let granted = race(&window, [1, 3], |window, calls| {
                (0..calls).filter(|_| window.try_acquire(1).is_ok()).count() as u64
            });
            assert_eq!(granted.iter().sum::<u64>(), limit.min(4));
            assert_nobody_is_announced(&window);
        });
    }
}

type Interrupted = TokenBucket<Arc<Interrupting>>;

// Not `const`, which loom's macro does not know.
thread_local! {
    #[cfg_attr(not(sluicegate_loom), expect(clippy::missing_const_for_thread_local, reason = "loom"))]
    static IS_INTERRUPTED: std::cell::Cell<bool> = std::cell::Cell::new(false);
}

/// A clock whose readings are interrupted, in the threads that ask for it: others call the
/// limiter meanwhile.
struct Interrupting {
    bucket: OnceLock<Weak<Interrupted>>,
    others: fn(&Interrupted),
}

impl Clock for Interrupting {
    fn now_nanos(&self) -> u64 {
        if let Some(bucket) = self.bucket.get().and_then(Weak::upgrade)
            && IS_INTERRUPTED.with(|is| is.replace(false))
        {
            (self.others)(&bucket);
            IS_INTERRUPTED.with(|is| is.set(true));
        }
        0
    }
}

/// A bucket for whose every reading of the clock, while one thread changes it, `others` call it.
fn interrupted(others: fn(&Interrupted)) -> Arc<Interrupted> {
    let clock = Arc::new(Interrupting { bucket: OnceLock::new(), others });
    let bucket =
        Arc::new(TokenBucket::with_clock(quota!(1 / hour, burst 1_000), Arc::clone(&clock)));
    clock.bucket.set(Arc::downgrade(&bucket)).ok().unwrap();
    bucket
}

/// Resets `bucket` in this thread, with interruptions.
fn reset_interrupted(bucket: &Interrupted) {
    IS_INTERRUPTED.with(|is| is.set(true));
    let panicked = catch_unwind(AssertUnwindSafe(|| bucket.reset()));
    IS_INTERRUPTED.with(|is| is.set(false));
    if let Err(panic) = panicked
        && panic.downcast_ref() != Some(&"the clock is broken")
    {
        resume_unwind(panic);
    }
}

type Act = fn(&Interrupted);

const SPEND: Act = |bucket| assert!(bucket.try_acquire(1).is_ok());

/// A lost race, a pause, and another change meanwhile: what is granted is of the terms that the
/// word was found under.
#[test]
fn a_caller_that_paused_is_told_of_the_terms_in_force() {
    check(4, || {
        let bucket = sluicegate_loom_tests::bucket(quota!(1 / hour, burst 9));
        let act: [fn(&Bucket) -> u64; 2] = [
            |bucket| {
                assert!((0..2).all(|_| bucket.try_acquire(1).is_ok()));
                bucket.reconfigure(quota!(1 / hour, burst 5), Carry::Reset);
                0
            },
            |bucket| bucket.try_acquire(1).unwrap().limit(),
        ];
        let [_, limit] = race(&bucket, act, |bucket, act| act(bucket));
        // Under the old ones it came before the change, which starts again from full.
        let spent = u64::from(limit == 5);
        assert_eq!(bucket.peek(0).unwrap().remaining(), 5 - spent);
    });
}

#[test]
fn a_caller_that_paused_is_told_of_the_limit_in_force() {
    check(3, || {
        let window = Arc::new(Fixed::with_clock(rate!(3 / second), TestClock::new()).unwrap());
        let act: [fn(&Fixed) -> u64; 2] = [
            |window| {
                let first = window.try_acquire(1).is_ok();
                window.reconfigure(2).unwrap();
                u64::from(first) + u64::from(window.try_acquire(1).is_ok())
            },
            |window| u64::from(window.try_acquire(1).is_ok()),
        ];
        let granted = race(&window, act, |window, act| act(window));
        assert_eq!(granted.iter().sum::<u64>(), 2);
    });
}

/// Each reading loses the change a race, until it is announced.
#[test]
fn a_change_takes_its_announcement_back() {
    check(2, || {
        let bucket = interrupted(|bucket| {
            if shown(bucket, "heeded") == 0 {
                SPEND(bucket);
            }
        });
        race::<_, Act, _, 2>(&bucket, [reset_interrupted, SPEND], |bucket, act| act(bucket));
        assert_nobody_is_announced(&bucket);
    });
}

#[test]
fn a_clock_that_panics_leaves_nobody_announced() {
    check(2, || {
        let bucket = interrupted(|bucket| {
            if shown(bucket, "heeded") > 0 {
                resume_unwind(Box::new("the clock is broken"));
            }
            SPEND(bucket);
        });
        race::<_, Act, _, 2>(&bucket, [reset_interrupted, SPEND], |bucket, act| act(bucket));
        assert_nobody_is_announced(&bucket);
    });
}

/// The change is held up while it is announced, until others have called as often as they
/// have patience, and more.
#[test]
fn a_suspended_caller_is_stepped_back_for_only_so_often_and_stops_nobody() {
    check(2, || {
        let bucket = interrupted(|bucket| {
            if shown(bucket, "written_off") > 0 {
                return;
            }
            SPEND(bucket);
            if shown(bucket, "heeded") > 0 {
                for _ in 0..=PATIENCE {
                    SPEND(bucket);
                }
                assert!(shown(bucket, "written_off") > 0);
            }
        });
        race::<_, Act, _, 2>(&bucket, [reset_interrupted, SPEND], |bucket, act| act(bucket));
        assert_nobody_is_announced(&bucket);
    });
}
