//! Classes of requests over one limiter. What is checked: each leaves its reserve, in any limiter; answers name
//! the class; classes that could never be granted anything are refused.

use sluicegate::share::{Priorities, PriorityClass};
use sluicegate::*;

const PERCENT: [(&str, u8); 3] = [("critical", 0), ("normal", 20), ("batch", 50)];

#[test]
fn classes_are_refused_one_after_the_other_as_the_limiter_runs_low() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(99 / second), &clock);
    let window = FixedWindow::with_clock(rate!(99 / second), &clock).unwrap();
    let limiters: [&dyn share::Leaving; 2] = [&bucket, &window];
    for limiter in limiters {
        let priorities = Priorities::by_percent(limiter, PERCENT).unwrap();
        assert_eq!(priorities.classes().map(|class| class.reserve), [0, 20, 50], "rounded up");
        let taken = [2, 1, 0]
            .map(|class| (0..200).take_while(|_| priorities.try_acquire(class, 1).is_ok()).count());
        assert_eq!(taken, [49, 30, 20]);
        assert_eq!(priorities.limiter().peek(0).unwrap().remaining(), 0);
    }
}

#[test]
fn an_answer_names_the_class() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    let priorities = Priorities::by_percent(bucket, PERCENT).unwrap();
    let refused = priorities.try_acquire(2, 6).unwrap_err();
    assert_eq!(refused.class.name, "batch");
    let text =
        "batch leaves 5 to others: requested more than the limit of 5: waiting will not help";
    assert_eq!(refused.to_string(), text);
    assert_eq!(
        std::error::Error::source(&refused).unwrap().to_string(),
        refused.denied.to_string()
    );
    assert_eq!(priorities.peek(2, 6).unwrap_err(), refused);
    assert!(priorities.try_acquire(0, 10).is_ok());
    let refused = priorities.try_acquire(0, 1).unwrap_err();
    assert_eq!(refused.to_string(), "critical: rate limited: try again in 100ms");
    // A class that there is not counts as the last.
    assert_eq!(priorities.try_acquire(usize::MAX, 1).unwrap_err().class.name, "batch");
    for class in [0, 1, 2, 3] {
        assert!(priorities.try_acquire(class, 0).is_ok());
        assert!(priorities.try_acquire(class, u64::MAX).is_err());
    }
}

#[test]
fn a_class_that_could_never_be_granted_anything_is_refused() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    let text =
        |percent| Priorities::by_percent(&bucket, [("all", percent)]).unwrap_err().to_string();
    assert_eq!(text(100), "reserve is 10: must be less than 10, the limit");
    assert_eq!(text(255), "reserve is 26: must be less than 10, the limit");
    let whole = PriorityClass { name: "whole", reserve: u64::MAX };
    assert!(Priorities::new(&bucket, [whole]).is_err());
    assert_eq!(
        Priorities::new(&bucket, []).unwrap_err().to_string(),
        "count is 0: must be from 1 to 64"
    );
    assert!(Priorities::by_percent(&bucket, [("most", 90)]).is_ok());
    assert!(Priorities::by_percent(compose::Gate::new(&bucket), [("most", 90)]).is_ok());
}
