//! A call that is held up just after it has read its clock.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::*;

use super::{SECOND, strict_setups};
use crate::windows::setup::Subject;

thread_local! {
    static INTERRUPTION: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// A clock that, once, lets somebody else do something before its reading is used.
struct Interrupted(ManualClock);

impl Clock for Interrupted {
    fn now_nanos(&self) -> u64 {
        let now_nanos = self.0.now_nanos();
        if let Some(interrupt) = INTERRUPTION.take() {
            interrupt();
        }
        now_nanos
    }
}

/// The limiter's time goes on from where it stood. A caller that added that difference to
/// a reading from before the clock was set back was three seconds ahead, where all that
/// counts is gone.
#[test]
fn a_reading_from_before_the_clock_was_set_back_is_no_time_to_come() {
    for setup in strict_setups(3, 2 * SECOND) {
        let clock = Arc::new(Interrupted(ManualClock::at(100 * SECOND)));
        let subject: Arc<Subject<_>> = Arc::new(setup.subject(Arc::clone(&clock)));
        for _ in 0..3 {
            subject.limiter().try_acquire(1).unwrap();
        }
        let other = Arc::clone(&subject);
        INTERRUPTION.set(Some(Box::new(move || {
            clock.0.rewind(Duration::from_secs(3));
            other.limiter().try_acquire(1).unwrap_err();
            assert_eq!(other.healed(), 1);
        })));
        let answer = subject.limiter().try_acquire(1);
        assert!(answer.is_err(), "{:?} {answer:?}", setup.kind);
    }
}

/// Two callers find the window too far ahead. One of them moves it, by a clock that is a
/// nanosecond behind the other's: to the window before.
#[test]
fn a_count_is_of_the_window_of_now_though_another_moved_it_to_the_one_before() {
    const MINUTE: u64 = 60 * SECOND;
    let clock = Arc::new(Interrupted(ManualClock::at(100 * MINUTE)));
    let window = Arc::new(FixedWindow::with_clock(rate!(5 / minute), Arc::clone(&clock)).unwrap());
    window.try_acquire(3).unwrap();
    clock.0.set_nanos(10 * MINUTE);
    let other = Arc::clone(&window);
    let moves = Box::new(move || {
        clock.0.set_nanos(10 * MINUTE - 1);
        assert_eq!(other.count(), 3);
        clock.0.set_nanos(10 * MINUTE);
    });
    // The first reading is from before the word is looked at.
    INTERRUPTION.set(Some(Box::new(move || INTERRUPTION.set(Some(moves)))));
    assert_eq!(window.count(), 0);
    assert_eq!(window.healed(), 1);
}
