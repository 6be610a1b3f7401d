//! Models of calendar windows. What is checked, over every interleaving:
//!
//! * threads that are in different windows, and replace the one that is remembered
//!   by their own, each count in the right one.

use sluicegate::calendar::{Calendar, CalendarWindow};
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race};

/// Minutes, of which each grants one.
fn minutes() -> Arc<CalendarWindow<TestClock>> {
    let minutes = Calendar::minutes("UTC").expect("it needs no database");
    Arc::new(CalendarWindow::with_clock(1, minutes, TestClock::new()).expect("one is in range"))
}

/// Two callers in one minute and one in the next: if one of the first two comes after the
/// third, it is counted in the minute of the third.
#[test]
fn a_memo_of_the_calendar_is_whole() {
    check(ANY, || {
        let window = minutes();
        window.clock().set(59 * SECOND);
        let granted = race(&window, [0, SECOND, 0], |window, ahead_nanos| {
            TestClock::run_ahead(ahead_nanos);
            window.try_acquire(1).is_ok()
        });
        let [first, next, other] = granted[..] else { panic!("{granted:?}") };
        assert!(first || next || other, "{granted:?}");
        assert!(!(first && other), "two in the first minute: {granted:?}");
        window.clock().set(60 * SECOND);
        let left = window.peek(0).map_or(0, |grant| grant.remaining());
        assert_eq!(u64::from(next) + left, 1, "{granted:?}");
        assert_eq!(window.healed(), 0);
    });
}
