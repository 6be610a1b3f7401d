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
    let log = SlidingLog::with_clock(rate!(99 / second), &clock).unwrap();
    let sharded = Sharded::with_clock(quota!(99 / second), &clock);
    let limiters: [&dyn share::Leaving; 4] = [&bucket, &window, &log, &sharded];
    for limiter in limiters {
        let priorities = Priorities::by_percent(limiter, PERCENT).unwrap();
        let reserves = priorities.classes().iter().map(|class| class.reserve);
        assert_eq!(reserves.collect::<Vec<_>>(), [0, 20, 50], "rounded up");
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
    assert_eq!((refused.name(), refused.class(), refused.reserve), ("batch", 2, 5));
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
    assert_eq!(priorities.try_acquire(usize::MAX, 1).unwrap_err().name(), "batch");
    for class in [0, 1, 2, 3] {
        assert!(priorities.try_acquire(class, 0).is_ok());
        assert!(priorities.try_acquire(class, u64::MAX).is_err());
    }
}

#[test]
fn names_that_are_made_at_run_time_are_told_as_others_are() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    let names = (0..3).map(|number| (format!("class {number}"), 10 * number));
    let priorities = Priorities::by_percent(bucket, names).unwrap();
    let refused = priorities.try_acquire(2, 9).unwrap_err();
    assert!(refused.to_string().starts_with("class 2 leaves 2 to others: "), "{refused}");
    assert_eq!(refused.class(), 2);
}

#[test]
fn answers_are_counted_by_class_if_that_is_wanted() {
    let bucket = || TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    let plain = Priorities::by_percent(bucket(), PERCENT).unwrap();
    assert!(plain.try_acquire(0, 1).is_ok() && plain.answers(0).is_none());
    let priorities = Priorities::by_percent(bucket(), PERCENT).unwrap().counted();
    for (class, permits) in [(2, 5), (2, 1), (usize::MAX, 6), (1, 1), (0, 1), (0, 0)] {
        assert_eq!(priorities.peek(class, permits), priorities.try_acquire(class, permits));
    }
    let counts = [0, 1, 2].map(|class| priorities.answers(class).unwrap());
    let granted = counts.map(|answers| (answers.counts().granted, answers.counts().permits));
    assert_eq!(granted, [(2, 1), (1, 1), (1, 5)]);
    let denials = counts.map(|answers| (answers.denials().rate, answers.denials().too_large));
    assert_eq!(denials, [(0, 0), (0, 0), (1, 1)]);
    assert!(priorities.answers(3).is_none());
    let shared = Priorities::by_percent(priorities.limiter(), PERCENT).unwrap().counted();
    assert!(shared.try_acquire(0, 0).is_ok());
    let clone = shared.clone();
    assert!(clone.try_acquire(0, 0).is_ok() && clone.try_acquire(0, 0).is_ok());
    let granted = [&shared, &clone].map(|own| own.answers(0).unwrap().counts().granted);
    assert_eq!(granted, [1, 2], "a clone counts for itself");
}

#[test]
fn a_refusal_outlives_its_classes_and_becomes_a_denial() {
    fn ask(percent: u8) -> Result<Grant, Box<dyn std::error::Error>> {
        let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
        let priorities = Priorities::by_percent(bucket, [("batch", percent)])?;
        Ok(priorities.try_acquire(0, 6)?)
    }
    fn denied() -> Result<Grant, Denied> {
        let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
        let priorities = Priorities::by_percent(bucket, PERCENT).unwrap();
        Ok(priorities.try_acquire(2, 6)?)
    }
    assert!(ask(0).is_ok());
    assert!(ask(50).unwrap_err().is::<share::RefusedClass>());
    assert_eq!(denied(), Err(Denied::TooLarge { limit: 5, which: 0 }));
}

#[test]
fn a_class_that_could_never_be_granted_anything_is_refused() {
    let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    let text =
        |percent| Priorities::by_percent(&bucket, [("all", percent)]).unwrap_err().to_string();
    assert_eq!(text(100), "reserve is 10: must be less than 10, the limit");
    assert_eq!(text(255), "reserve is 26: must be less than 10, the limit");
    let whole = PriorityClass { name: "whole".into(), reserve: u64::MAX };
    assert!(Priorities::new(&bucket, [whole]).is_err());
    let class = |reserve| PriorityClass { name: "one".into(), reserve };
    let of_many = |count| Priorities::new(&bucket, vec![class(0); count]).err();
    assert!(of_many(1).is_none() && of_many(64).is_none());
    for count in [0, 65] {
        let text = format!("count is {count}: must be from 1 to 64");
        assert_eq!(of_many(count).unwrap().to_string(), text);
    }
    assert!(Priorities::by_percent(&bucket, [("most", 90)]).is_ok());
    assert!(Priorities::by_percent(compose::Gate::new(&bucket), [("most", 90)]).is_ok());
}

#[test]
fn an_answer_tells_what_is_above_the_reserve_of_the_class() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    let fixed = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    let sliding = SlidingWindow::with_clock(rate!(10 / second), &clock).unwrap();
    let log = SlidingLog::with_clock(rate!(10 / second), &clock).unwrap();
    let sharded = Sharded::with_clock(quota!(10 / second), &clock);
    let limiters: [&dyn share::Leaving; 5] = [&bucket, &fixed, &sliding, &log, &sharded];
    for limiter in limiters {
        let priorities = Priorities::by_percent(limiter, PERCENT).unwrap();
        let told = |class| {
            let grant = priorities.peek(class, 0).unwrap();
            (grant.remaining(), grant.limit())
        };
        assert_eq!([0, 1, 2].map(told), [(10, 10), (8, 8), (5, 5)]);
        for left in (0..5).rev() {
            assert_eq!(priorities.try_acquire(2, 1).unwrap().remaining(), left);
        }
        let Denied::Wait(shortfall) = priorities.try_acquire(2, 1).unwrap_err().denied else {
            panic!("a request of one permit is not too large");
        };
        assert_eq!((shortfall.remaining(), shortfall.limit()), (0, 5));
        let whole = limiter.peek_leaving(1, 5).unwrap_err().retry_after();
        assert_eq!(Some(shortfall.retry_after()), whole);
        assert_eq!([0, 1, 2].map(told), [(5, 10), (3, 8), (0, 5)]);
    }
}
