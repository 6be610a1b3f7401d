//! Ordinary callers beside composites that fail, with the figures that were computed in advance for
//! a bucket with four lots. In fill times: the bucket is full at first, so in ten of them 11 can be
//! granted. A permit is earned in a microsecond.

#![expect(clippy::cast_precision_loss, reason = "permits of ten fill times, for shares of them")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::All;
use sluicegate::settle::Receipt;
use sluicegate::*;

const FULL: u64 = 1_000_000;
const QUOTA: Quota = quota!(1_000_000 / second);

/// Permits of an ordinary request.
const ORDINARY: u64 = 2_000;

/// Composites that take from the bucket, and find only later that they fail.
struct Storm {
    callers: usize,
    permits: u64,
    /// Average time for which each holds what it took, and after which it tries again.
    hold_micros: f64,
    /// Part of what is earned that ordinary callers want.
    load: f64,
    /// All of it in three tenths of every two fill times.
    is_bursty: bool,
    fill_times: u64,
}

struct Random(u64);

impl Random {
    /// Returns a time that is distributed exponentially.
    fn micros(&mut self, average: f64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let part = ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-average * part.ln()).max(1.0) as u64
    }
}

impl Storm {
    /// Returns the permits that ordinary callers want, and those that they get.
    fn wanted_and_granted(
        &self,
        shared: &dyn Limiter,
        other: &dyn Limiter,
        clock: &ManualClock,
    ) -> (f64, f64) {
        let both = All::new([shared, other]).unwrap();
        let random = &mut Random(777);
        let mut held: Vec<Option<Receipt<'_>>> = (0..self.callers).map(|_| None).collect();
        let mut events: BinaryHeap<Reverse<(u64, Option<usize>)>> = (0..self.callers)
            .map(|caller| Reverse((random.micros(self.hold_micros), Some(caller))))
            .collect();
        events.push(Reverse((1, None)));
        let (mut wanted, mut granted) = (0, 0);
        let period = ORDINARY as f64 / self.load * if self.is_bursty { 0.3 } else { 1.0 };
        while let Some(Reverse((at, caller))) = events.pop() {
            if at > self.fill_times * FULL {
                break;
            }
            clock.set_nanos(at * 1_000);
            let next = if let Some(caller) = caller {
                held[caller] = match held[caller].take() {
                    Some(receipt) => {
                        receipt.give_back();
                        None
                    }
                    None => both.try_acquire_revocable(self.permits).ok(),
                };
                at + random.micros(self.hold_micros)
            } else {
                wanted += ORDINARY;
                granted += shared.try_acquire(ORDINARY).map_or(0, |grant| grant.permits());
                let next = at + random.micros(period);
                let of_burst = next % (2 * FULL);
                if self.is_bursty && of_burst >= 2 * FULL * 3 / 10 {
                    next - of_burst + 2 * FULL
                } else {
                    next
                }
            };
            events.push(Reverse((next, caller)));
        }
        (wanted as f64, granted as f64)
    }
}

/// Fill times of a storm with many attempts: in a debug build more would take too long. What ordinary
/// callers want has to be more than the bucket has at first.
const FEW: u64 = if cfg!(debug_assertions) { 4 } else { 10 };

/// A storm, and what is lost of 11 fill times: in the table, 1.074 and 1.053 of what is earned are granted. Most
/// is lost at first, because what is taken from a full bucket has not long to live.
const SATURATED: [(Storm, f64); 2] = [
    (
        Storm {
            callers: 8,
            permits: 1_000,
            hold_micros: 100.0,
            load: 1.3,
            is_bursty: false,
            fill_times: FEW,
        },
        0.26,
    ),
    (
        Storm {
            callers: 32,
            permits: 10_000,
            hold_micros: 10_000.0,
            load: 1.3,
            is_bursty: false,
            fill_times: 10,
        },
        0.47,
    ),
];

/// The same, and the part of what they want: in the table, 0.700 of 0.70 and 0.64 of 0.69.
const BELOW: [(Storm, f64); 2] = [
    (
        Storm {
            callers: 8,
            permits: 1_000,
            hold_micros: 100.0,
            load: 0.7,
            is_bursty: false,
            fill_times: FEW / 4,
        },
        1.0,
    ),
    (
        Storm {
            callers: 32,
            permits: 10_000,
            hold_micros: 1_000.0,
            load: 0.7,
            is_bursty: true,
            fill_times: 10,
        },
        0.64 / 0.69,
    ),
];

/// Another sequence of random numbers than that of the table: its figures have two or three digits.
const TOLERANCE: f64 = 0.01;

fn beside_settleable(storm: &Storm) -> (f64, f64) {
    let clock = ManualClock::new();
    let [shared, other] = [(); 2].map(|()| SettleableBucket::with_clock(QUOTA, &clock));
    storm.wanted_and_granted(&shared, &other, &clock)
}

#[test]
fn beside_a_storm_that_wants_all_the_others_get_nearly_all_that_is_earned() {
    for (storm, lost) in &SATURATED {
        let (_, granted) = beside_settleable(storm);
        let earned = (storm.fill_times * FULL) as f64;
        let all = FULL as f64 + earned;
        assert!(all - granted <= (lost + 2.0 * TOLERANCE) * FULL as f64, "{granted} of {all}");
    }
}

#[test]
fn beside_a_storm_others_that_want_less_than_is_earned_get_nearly_all_they_want() {
    for (storm, part) in &BELOW {
        let (wanted, granted) = beside_settleable(storm);
        assert!(granted / wanted >= part - TOLERANCE, "{granted} of {wanted}");
    }
}

/// With buckets that take back only what was taken last, most of it is lost. Of ten fill times, the
/// table has 0.016, 0.92, 0.006 and 0.30.
#[test]
fn beside_a_storm_on_buckets_that_are_not_settled_others_get_little() {
    let figures = [[0.0, 0.05], [0.90, 0.94], [0.0, 0.05], [0.28, 0.32]];
    let storms = SATURATED.iter().chain(&BELOW);
    for ((storm, _), [least, most]) in storms.zip(figures) {
        let clock = ManualClock::new();
        let [shared, other] = [(); 2].map(|()| TokenBucket::with_clock(QUOTA, &clock));
        let (_, granted) = storm.wanted_and_granted(&shared, &other, &clock);
        let part = granted / (storm.fill_times * FULL) as f64;
        assert!(part >= least && part <= most, "{part}");
    }
}
