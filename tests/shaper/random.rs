//! Any sequence of calls, beside a list of every permit with the instant at which it leaves.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::{ManualClock, Rate, Shaper, ShaperError};

use crate::cases::cases;

/// Instants of the model are in this part of a nanosecond, which is exact for the rates below.
const PARTS: i128 = 42;

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
    (prop::sample::select(vec![1, 2, 3, 6, 7]), 10..100_u64)
}

fn rate_of((permits, period): (u64, u64)) -> Rate {
    Rate::new(permits, Duration::from_nanos(period)).unwrap()
}

/// The expected state.
struct Model {
    interval: i128,
    rate: (u64, u64),
    size: u64,
    burst: u64,
    now: i128,
    /// The instant at which each permit leaves.
    leaves: Vec<i128>,
    /// The end of the last interval that is used up.
    end: i128,
}

impl Model {
    fn new(rate: (u64, u64), size: u64, burst: u64) -> Model {
        let leaves = Vec::new();
        let mut model =
            Model { interval: 0, rate, size, burst, now: 0, leaves, end: i128::MIN / 2 };
        model.interval = Model::interval(rate);
        model.credit();
        model
    }

    fn interval((permits, period): (u64, u64)) -> i128 {
        i128::from(period) * PARTS / i128::from(permits)
    }

    fn queued(&self) -> u64 {
        self.leaves.iter().filter(|instant| **instant > self.now).count() as u64
    }

    /// An empty queue has saved up at most the burst.
    fn credit(&mut self) {
        if self.queued() == 0 {
            self.end = self.end.max(self.now - i128::from(self.burst) * self.interval);
        }
    }

    /// Returns an instant in nanoseconds from now, rounded up.
    fn wait(&self, instant: i128) -> Duration {
        let nanos = -(-instant).div_euclid(PARTS) - self.now / PARTS;
        Duration::from_nanos(nanos.max(0) as u64)
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
        let instants: Vec<i128> =
            (1..=permits).map(|k| self.end + i128::from(k) * self.interval).collect();
        let last = *instants.last().unwrap();
        let wait = self.wait(last);
        let all = self.leaves.iter().chain(&instants).copied();
        let waiting: Vec<i128> = all.filter(|instant| *instant > self.now).collect();
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
            self.end = -(-self.end).div_euclid(PARTS) * PARTS;
        }
        (self.rate, self.interval) = (rate, Model::interval(rate));
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
                    model.now += i128::from(nanos) * PARTS;
                }
                // What is saved up is rounded: without a burst there is nothing.
                Op::SetRate(permits, period) if burst == 0 => {
                    shaper.set_rate(rate_of((permits, period)));
                    model.set_rate((permits, period));
                }
                Op::SetRate(..) => {}
                Op::SetSize(next) => {
                    shaper.set_size(next);
                    model.size = next;
                }
            }
            prop_assert_eq!(shaper.queued(), model.queued());
        }
    }
}
