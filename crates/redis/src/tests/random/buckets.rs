//! Buckets and the GCRA, and the exactness of their rates.

use std::time::Duration;

use rand::Rng;
use sluicegate::{Gcra, Grant, ManualClock, Quota, Refill, TokenBucket, quota};

use super::{Case, Engine, START, check_all};
use crate::decision::Verb;
use crate::limit::RedisLimit;
use crate::tests::oracle::{Bucket, Intervals, Oracle};
use crate::tests::scripts::{Step, random, run};
use crate::tests::server::Server;

fn of_bucket(clock: &ManualClock, quota: Quota) -> Case<'_> {
    let period = quota.rate().period().as_micros() as u64;
    let scale_micros = match quota.refill() {
        Refill::Smooth => period / quota.rate().permits(),
        Refill::Interval => period,
    };
    let oracle: Box<dyn Oracle> = match quota.refill() {
        Refill::Smooth => Box::new(Bucket::smooth(quota)),
        Refill::Interval => Box::new(Intervals::new(quota)),
    };
    Case {
        limit: RedisLimit::token_bucket(quota).unwrap(),
        oracle,
        engine: Some(Engine::new(move || TokenBucket::with_clock(quota, clock))),
        scale_micros: scale_micros.max(1),
        is_single: false,
    }
}

/// A bucket whose tokens the engine rounds to a part that it earns in that many nanoseconds.
fn of_rounded_bucket(clock: &ManualClock, nanos: u64, quota: Quota) -> Case<'_> {
    let case = of_bucket(clock, quota);
    let engine = case.engine.map(|engine| Engine { slack: Duration::from_nanos(nanos), ..engine });
    Case { engine, ..case }
}

/// A bucket of a rate that earns less than a unit of the engine between two microseconds.
fn of_finer_bucket(clock: &ManualClock, quota: Quota) -> Case<'_> {
    Case { engine: None, ..of_bucket(clock, quota) }
}

#[test]
fn smooth_buckets_answer_as_the_exact_fractions_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    check_all(
        clock,
        vec![
            of_bucket(clock, quota!(1 / day)),
            of_rounded_bucket(clock, 20, quota!(1 / day, burst 100_000)),
            of_bucket(clock, quota!(10 / second)),
            of_bucket(clock, quota!(60 / 60 seconds)),
            of_bucket(clock, quota!(1 / 3333 ns, burst 50)),
            of_bucket(clock, quota!(2 / 7 ms, burst 9)),
            of_bucket(clock, quota!(1_000_000 / second, burst 20)),
            of_rounded_bucket(clock, 1, quota!(3 / second)),
            of_rounded_bucket(clock, 1, quota!(7 / 11 ms, burst 40)),
            of_rounded_bucket(clock, 1, quota!(1_000_003 / 86_400_000 seconds, burst 1_000)),
            of_finer_bucket(clock, quota!(999_983 / second, burst 100)),
            of_finer_bucket(clock, quota!(1_000_003 / day, burst 5)),
            of_finer_bucket(clock, quota!(4_294_967_291 / 999_999 seconds, burst 4_294_967_296)),
            // The longest periods in lowest terms, in nanoseconds and in microseconds: of 2^51 - 1 steps.
            of_finer_bucket(
                clock,
                quota!(4_294_967_291 / 2_251_799_813_685_247 ns, burst 4_294_967_296),
            ),
            of_finer_bucket(clock, quota!(4_294_967_291 / 2_251_799_813_685_247 us, burst 1_000)),
        ],
    );
}

#[test]
fn interval_buckets_answer_as_the_intervals_one_by_one_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    let of = |quota: Quota| of_bucket(clock, quota.with_refill(Refill::Interval));
    check_all(
        clock,
        vec![
            // The three of the requirement.
            of(quota!(1 / second, burst 10)),
            of(quota!(10 / second, burst 100)),
            of(quota!(1 / 60 seconds, burst 60)),
            of(quota!(500 / 15 minutes, burst 5_000)),
            of(quota!(7 / 11 us, burst 7)),
            of(quota!(7 / day, burst 3)),
            of(quota!(4_294_967_296 / day, burst 4_294_967_296)),
        ],
    );
}

#[test]
fn cells_pass_as_by_exact_times_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    let of = |interval: u64, tolerance: u64| {
        let [interval, tolerance] = [interval, tolerance].map(Duration::from_nanos);
        Case {
            limit: RedisLimit::gcra(interval, tolerance).unwrap(),
            oracle: Box::new(Bucket::cells(interval, tolerance)),
            engine: Some(Engine::new(move || {
                Gcra::with_clock(interval, tolerance, clock).unwrap()
            })),
            scale_micros: (interval.as_micros() as u64).max(1),
            is_single: false,
        }
    };
    check_all(
        clock,
        vec![
            of(1_000_000_000, 0),
            of(1_000_000_000, 4_500_000_000),
            of(86_400_000_000_000, 86_400_000_000_000),
            of(3_333, 100_001),
            of(1_000, 7_000),
            of(777_777_777, 1_234_567_891),
            // Together 2^51 nanoseconds, the longest.
            Case { engine: None, ..of(22_517_998_136_853, 2_229_281_815_548_395) },
        ],
    );
}

/// A caller that asks at random times takes each token as soon as it is there: from one a day to a million a second,
/// after any time it has got the burst and what the rate has earned, to the permit.
#[test]
fn a_rate_is_exact_whatever_its_callers_do() {
    let server = Server::start();
    let mut connection = server.connection();
    let mut random = random();
    let quotas = [
        quota!(1 / day, burst 1_000),
        quota!(1 / hour, burst 1_000),
        quota!(7 / minute, burst 1_000),
        quota!(100 / second, burst 1_000),
        quota!(3 / 7 ms, burst 1_000),
        quota!(99_991 / second, burst 1_000),
        quota!(1_000_000 / second, burst 1_000),
    ];
    for quota in quotas {
        let (permits, period) = (quota.rate().permits(), quota.rate().period().as_micros());
        // Half a token between two requests, so that each leaves a part behind.
        let apart = (period as u64 / permits).max(1);
        let mut micros = START;
        let ask = |micros| Step { micros, verb: Verb::UpTo, permits: 1_000 };
        let steps: Vec<_> = std::iter::once(ask(START))
            .chain((0..3_000).map(|_| {
                micros += random.random_range(0..=apart);
                ask(micros)
            }))
            .collect();
        let limit = RedisLimit::token_bucket(quota).unwrap();
        let answers = run(&mut connection, &limit, &format!("{quota:?}"), &steps);
        let got: u64 = answers.iter().flatten().map(Grant::permits).sum();
        let earned = u128::from(micros - START) * u128::from(permits) / period;
        assert_eq!(u128::from(got), 1_000 + earned, "{quota:?}");
        assert!(earned > 100, "{quota:?}");
    }
}

#[test]
fn callers_with_different_rates_are_granted_no_more_than_by_the_greater() {
    let server = Server::start();
    let mut connection = server.connection();
    let mut random = random();
    // In lowest terms, the fractions of one are a thousand times as many as those of the other.
    let greater = quota!(1_001 / 1000 seconds, burst 40);
    let limits = [greater, quota!(1_000 / 1000 seconds, burst 40)];
    let limits = limits.map(|quota| RedisLimit::token_bucket(quota).unwrap());
    let (mut bound, mut micros, mut granted) = (Bucket::smooth(greater), START, 0);
    for _ in 0..1_500 {
        micros += [1_000, 50_000, 400_000][random.random_range(0..3)];
        let limit = &limits[random.random_range(0..2)];
        let step = Step { micros, verb: Verb::Take, permits: 1 };
        if run(&mut connection, limit, "ada", &[step])[0].is_ok() {
            let now = i128::from(micros - START) * 1_000;
            assert!(bound.room(now) >= 1, "above the greater: {step:?}, after {granted}");
            bound.take(now, 1);
            granted += 1;
        }
    }
    // 225 seconds.
    assert!(granted > 200, "{granted}");
}
