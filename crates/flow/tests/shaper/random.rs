//! Any sequence of calls, beside a list of every permit with the instant at which it leaves.

use std::time::Duration;

use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use proptest::prelude::*;
use sluicegate::{ManualClock, Rate};
use sluicegate_flow::shaper::{Shaper, ShaperError};

use crate::support::cases::cases;

#[derive(Clone, Debug)]
enum Op {
    Shape(u64),
    ShapeWithin(u64, u64),
    /// A place that is given back at once.
    Cancel(u64),
    Advance(u64),
    SetRate(u64, u64),
    SetSize(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let permits = 0..7_u64;
    let op = prop_oneof![
        6 => permits.clone().prop_map(Op::Shape),
        1 => (permits.clone(), 0..300_u64).prop_map(|(permits, nanos)| Op::ShapeWithin(permits, nanos)),
        1 => permits.prop_map(Op::Cancel),
        5 => (0..120_u64).prop_map(Op::Advance),
        1 => (0..2_000_u64).prop_map(Op::Advance),
        2 => rates().prop_map(|(permits, period)| Op::SetRate(permits, period)),
        1 => (0..9_u64).prop_map(Op::SetSize),
    ];
    prop::collection::vec(op, 1..80)
}

fn rates() -> impl Strategy<Value = (u64, u64)> {
    let few = (prop::sample::select(vec![1, 2, 3, 6, 7]), 10..100_u64);
    // Of which a second is a small part of an interval, and a large one.
    prop_oneof![4 => few, 1 => (1..4_u64, 2..5_u64), 1 => (1..4_u64, 1_000..4_000_u64)]
}

fn rate_of((permits, period): (u64, u64)) -> Rate {
    Rate::new(permits, Duration::from_nanos(period)).unwrap()
}

/// The expected state.
struct Model {
    interval: BigRational,
    rate: (u64, u64),
    size: u64,
    burst: u64,
    now: u64,
    /// The instant at which each permit leaves that has not left.
    leaves: Vec<BigRational>,
    /// The end of the last interval that is used up.
    end: BigRational,
}

fn ratio(nanos: u64) -> BigRational {
    BigRational::from_integer(nanos.into())
}

fn interval((permits, period): (u64, u64)) -> BigRational {
    ratio(period) / ratio(permits)
}

impl Model {
    fn new(rate: (u64, u64), size: u64, burst: u64) -> Model {
        let interval = interval(rate);
        let end = -ratio(burst) * &interval;
        Model { interval, rate, size, burst, now: 0, leaves: Vec::new(), end }
    }

    fn queued(&mut self) -> u64 {
        let now = ratio(self.now);
        self.leaves.retain(|instant| *instant > now);
        self.leaves.len() as u64
    }

    /// An empty queue has saved up at most the burst.
    fn credit(&mut self) {
        if self.queued() == 0 {
            let most = ratio(self.now) - ratio(self.burst) * &self.interval;
            self.end = self.end.clone().max(most);
        }
    }

    /// Returns an instant in nanoseconds from now, rounded up.
    fn wait(&self, instant: &BigRational) -> Duration {
        let nanos = (instant - ratio(self.now)).ceil().max(BigRational::zero());
        Duration::from_nanos(nanos.to_integer().to_u64().unwrap())
    }

    fn shape(&mut self, permits: u64, longest: u64) -> Result<Duration, ShaperError> {
        if permits == 0 {
            return Ok(Duration::ZERO);
        }
        let limit = self.size + self.burst;
        if permits > limit {
            return Err(ShaperError::TooLarge { limit });
        }
        self.credit();
        let instants: Vec<BigRational> =
            (1..=permits).map(|k| &self.end + ratio(k) * &self.interval).collect();
        let last = instants.last().unwrap().clone();
        let wait = self.wait(&last);
        let now = ratio(self.now);
        let all = self.leaves.iter().chain(&instants);
        let waiting: Vec<&BigRational> = all.filter(|instant| **instant > now).collect();
        if let Some(missing) = waiting.len().checked_sub(self.size as usize)
            && missing > 0
        {
            // Room comes when as many have left as are too many.
            let retry_after = self.wait(waiting[missing - 1]);
            return Err(ShaperError::Overflow { wait, retry_after });
        }
        if wait > Duration::from_nanos(longest) {
            return Err(ShaperError::TooLate { wait });
        }
        self.leaves.extend(instants);
        self.end = last;
        Ok(wait)
    }

    fn set_rate(&mut self, rate: (u64, u64)) {
        if rate_of(rate) == rate_of(self.rate) {
            return;
        }
        self.credit();
        if self.queued() > 0 {
            // A whole nanosecond.
            self.end = self.end.ceil();
        }
        // The credit stays the same part of an interval.
        let (now, interval) = (ratio(self.now), interval(rate));
        if self.queued() == 0 {
            self.end = &now - (&now - &self.end) / &self.interval * &interval;
        }
        (self.rate, self.interval) = (rate, interval);
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_permit_leaves_when_a_list_of_all_of_them_says(
        first in rates(),
        size in 0..9_u64,
        burst in 0..4_u64,
        ops in ops(),
    ) {
        let clock = ManualClock::new();
        let shaper = Shaper::with_clock(rate_of(first), size, &clock).with_burst(burst);
        let mut model = Model::new(first, size, burst);
        for op in ops {
            match op {
                Op::Shape(permits) => {
                    let told = shaper.shape(permits).map(|departure| departure.ready_after());
                    prop_assert_eq!(told, model.shape(permits, u64::MAX));
                }
                Op::ShapeWithin(permits, longest) => {
                    let within = Duration::from_nanos(longest);
                    let told = shaper.shape_within(permits, within);
                    let told = told.map(|departure| departure.ready_after());
                    prop_assert_eq!(told, model.shape(permits, longest));
                }
                Op::Cancel(permits) => {
                    if let Ok(departure) = shaper.shape(permits) {
                        prop_assert!(departure.cancel());
                    }
                }
                Op::Advance(nanos) => {
                    clock.advance(Duration::from_nanos(nanos));
                    model.now += nanos;
                }
                Op::SetRate(permits, period) => {
                    shaper.set_rate(rate_of((permits, period)));
                    model.set_rate((permits, period));
                }
                Op::SetSize(next) => {
                    shaper.set_size(next);
                    model.size = next;
                }
            }
            prop_assert_eq!(shaper.queued(), model.queued());
        }
    }
}
