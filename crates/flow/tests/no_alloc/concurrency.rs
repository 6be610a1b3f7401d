//! Limits of what is in flight.

use std::hint::black_box;
use std::time::Duration;

use sluicegate::*;
use sluicegate_flow::concurrency::{
    Adaptive, Aimd, ConcurrencyLimit, Gradient2, KeyedConcurrency, LimitAlgorithm, Outcome, Sample,
    Vegas, Windowed,
};

use super::Anywhere;
use crate::support::allocator::allocations;

#[test]
fn no_verb_of_a_concurrency_limit_allocates() {
    use std::fmt::Write;

    let clock = ManualClock::at(86_400_000_000_000);
    let limit = std::sync::Arc::new(ConcurrencyLimit::new(10));
    let made = allocations(|| {
        let adaptive = [
            Adaptive::with_clock(Algorithm::Aimd(Aimd::new()), &clock),
            Adaptive::with_clock(Algorithm::Vegas(Windowed::new(Vegas::new())), &clock),
            Adaptive::with_clock(Algorithm::Gradient2(Gradient2::new()), &clock),
        ];
        for permits in [0, 1, 10, 11, u64::MAX].into_iter().cycle().take(50) {
            let _ = black_box(limit.try_acquire(permits).map(|mut guard| drop(guard.split(1))));
            let _ = black_box(limit.try_acquire_owned(permits).is_ok());
            limit.set_limit(permits);
            for adaptive in &adaptive {
                let call = adaptive.try_acquire(permits);
                clock.advance(Duration::from_millis(30));
                let _ = call.map(|call| call.end(Outcome::Success));
                let _ = adaptive.try_acquire(1).map(|call| call.end(Outcome::Dropped));
            }
        }
        write!(Anywhere, "{limit:?} {adaptive:?} {:?}", limit.try_acquire(99)).unwrap();
    });
    assert_eq!(made, 0);
}

#[derive(Debug)]
enum Algorithm {
    Aimd(Aimd),
    Vegas(Windowed<Vegas>),
    Gradient2(Gradient2),
}

impl LimitAlgorithm for Algorithm {
    fn limit(&self) -> u64 {
        match self {
            Algorithm::Aimd(aimd) => aimd.limit(),
            Algorithm::Vegas(vegas) => vegas.limit(),
            Algorithm::Gradient2(gradient) => gradient.limit(),
        }
    }

    fn sample(&mut self, sample: &Sample) {
        match self {
            Algorithm::Aimd(aimd) => aimd.sample(sample),
            Algorithm::Vegas(vegas) => vegas.sample(sample),
            Algorithm::Gradient2(gradient) => gradient.sample(sample),
        }
    }
}

#[test]
fn a_known_key_of_a_keyed_concurrency_limit_allocates_nothing() {
    let keyed = KeyedConcurrency::<String>::new(3);
    let _held = keyed.try_acquire("a tenant with a long name", 1).unwrap();
    let made = allocations(|| {
        for permits in [0, 1, 2, 3, u64::MAX] {
            let _ = black_box(keyed.try_acquire("a tenant with a long name", permits).is_ok());
        }
        keyed.set_limit(2);
        let _ = black_box(keyed.in_flight("another"));
    });
    assert_eq!(made, 0);
}
