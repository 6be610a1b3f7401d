//! The driver of the algorithms.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use sluicegate::*;
use sluicegate_flow::concurrency::{Adaptive, ConcurrencyLimit, LimitAlgorithm, Outcome, Sample};

/// An algorithm that keeps its samples.
#[derive(Debug, Default)]
struct Kept {
    limit: u64,
    samples: Vec<Sample>,
}

impl LimitAlgorithm for Kept {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples.push(*sample);
    }
}

fn kept<C: Clock>(limit: u64, clock: C) -> Adaptive<Kept, C> {
    Adaptive::with_clock(Kept { limit, samples: Vec::new() }, clock)
}

fn samples<C: Clock>(adaptive: &Adaptive<Kept, C>) -> Vec<Sample> {
    adaptive.with_algorithm(|kept| kept.samples.clone()).unwrap()
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_sample_tells_time_company_and_end_of_its_call() {
    let adaptive = kept(10, ManualClock::at(5_000_000));
    let first = adaptive.try_acquire(3).unwrap();
    adaptive.clock().advance(millis(2));
    let second = adaptive.try_acquire(4).unwrap();
    adaptive.clock().advance(millis(1));
    first.end(Outcome::Success);
    adaptive.clock().advance(millis(7));
    second.end(Outcome::Dropped);
    let expected = [
        Sample::new(millis(3), 3).ended_at(millis(8)),
        Sample::new(millis(8), 7).dropped().ended_at(millis(15)),
    ];
    assert_eq!(samples(&adaptive), expected);
    assert_eq!(adaptive.in_flight(), 0);
}

#[test]
fn ends_that_say_nothing_are_no_samples() {
    let adaptive = kept(10, ManualClock::new());
    adaptive.try_acquire(1).unwrap().end(Outcome::Ignored);
    drop(adaptive.try_acquire(1).unwrap());
    adaptive.try_acquire(0).unwrap().end(Outcome::Success);
    adaptive.try_acquire(0).unwrap().end(Outcome::Dropped);
    adaptive.try_acquire(11).unwrap_err();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _guard = adaptive.try_acquire(1).unwrap();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(caught.is_err());
    assert_eq!(samples(&adaptive), []);
    assert_eq!(adaptive.in_flight(), 0);
}

#[test]
fn a_call_during_which_the_clock_went_back_is_left_out_unless_it_was_dropped() {
    let adaptive = kept(10, ManualClock::at(1_000_000_000));
    for outcome in [Outcome::Success, Outcome::Dropped] {
        let guard = adaptive.try_acquire(1).unwrap();
        adaptive.clock().rewind(Duration::from_nanos(1));
        guard.end(outcome);
    }
    let samples = samples(&adaptive);
    assert_eq!(samples.len(), 1);
    assert_eq!((samples[0].was_dropped, samples[0].rtt), (true, Duration::ZERO));
}

#[test]
fn the_limit_is_what_the_algorithm_says_and_at_least_one() {
    let adaptive = kept(0, ManualClock::new());
    assert_eq!(adaptive.limit(), 1);
    for (says, limit) in [(7, 7), (0, 1), (u64::MAX, ConcurrencyLimit::MAX), (3, 3)] {
        adaptive.with_algorithm(|kept| kept.limit = says);
        assert_eq!(adaptive.limit(), limit);
    }
    let _all = adaptive.try_acquire(3).unwrap();
    adaptive.with_algorithm(|kept| kept.limit = 2);
    assert_eq!((adaptive.in_flight(), adaptive.available()), (3, 0));
}

#[test]
fn permits_are_back_before_the_algorithm_runs() {
    struct Asks<'a>(&'a Cell<Option<u64>>, Option<Arc<ConcurrencyLimit>>);
    impl LimitAlgorithm for Asks<'_> {
        fn limit(&self) -> u64 {
            1
        }
        fn sample(&mut self, _: &Sample) {
            self.0.set(self.1.as_ref().map(|limit| limit.in_flight()));
            panic!("as an algorithm of a user's might");
        }
    }
    let seen = Cell::new(None);
    let other = Arc::new(ConcurrencyLimit::new(1));
    let adaptive = Adaptive::with_clock(Asks(&seen, Some(other)), ManualClock::new());
    for _ in 0..2 {
        // The panic does not keep the permits, nor the algorithm.
        let guard = adaptive.try_acquire(1).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| guard.end(Outcome::Success))).is_err());
        assert_eq!((adaptive.in_flight(), seen.take()), (0, Some(0)));
    }
}

/// While the algorithm is in use, up the stack here, a success is left out and a drop is remembered.
#[test]
fn a_drop_that_finds_the_algorithm_in_use_counts_for_the_next_sample() {
    let adaptive = kept(10, ManualClock::new());
    adaptive.with_algorithm(|_| {
        assert!(adaptive.with_algorithm(|_| ()).is_none());
        adaptive.try_acquire(1).unwrap().end(Outcome::Success);
        adaptive.try_acquire(1).unwrap().end(Outcome::Dropped);
        adaptive.try_acquire(1).unwrap().end(Outcome::Dropped);
    });
    assert_eq!(samples(&adaptive), []);
    for _ in 0..2 {
        adaptive.try_acquire(1).unwrap().end(Outcome::Success);
    }
    let dropped: Vec<_> = samples(&adaptive).iter().map(|sample| sample.was_dropped).collect();
    assert_eq!(dropped, [true, false]);
}

#[test]
fn a_clock_that_panics_keeps_no_permits() {
    struct Broken;
    impl Clock for Broken {
        fn now_nanos(&self) -> u64 {
            panic!("as a clock of a user's might");
        }
    }
    let adaptive = kept(1, Broken);
    assert!(catch_unwind(AssertUnwindSafe(|| adaptive.try_acquire(1).map(drop))).is_err());
    assert_eq!(adaptive.in_flight(), 0);
}

#[test]
fn an_owned_guard_ends_in_another_thread_with_its_sample() {
    let adaptive = Arc::new(kept(2, ManualClock::new()));
    let guard = adaptive.try_acquire_owned(2).unwrap();
    assert_eq!(guard.permits(), 2);
    adaptive.clock().advance(millis(3));
    std::thread::spawn(move || guard.end(Outcome::Success)).join().unwrap();
    assert_eq!(samples(&adaptive)[0].rtt, millis(3));
    assert_eq!((adaptive.in_flight(), Arc::strong_count(&adaptive)), (0, 1));
}

#[test]
fn an_adaptive_limit_is_shown_with_its_algorithm_unless_that_is_in_use() {
    let adaptive = kept(5, ManualClock::new());
    let guard = adaptive.try_acquire(2).unwrap();
    assert_eq!(format!("{guard:?}"), "TimedInFlight { permits: 2, .. }");
    let algorithm = "Kept { limit: 5, samples: [] }";
    let shown = format!("Adaptive {{ limit: 5, in_flight: 2, algorithm: {algorithm} }}");
    assert_eq!(format!("{adaptive:?}"), shown);
    adaptive.with_algorithm(|_| {
        assert_eq!(format!("{adaptive:?}"), "Adaptive { limit: 5, in_flight: 2, .. }");
    });
}
