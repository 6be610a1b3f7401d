//! Any sequence of calls, beside the definition in exact fractions.

use std::time::Duration;

use num_rational::BigRational;
use num_traits::ToPrimitive;
use proptest::prelude::*;
use sluicegate::wait::AcquireError;
use sluicegate::{Clock, ManualClock, Rate};
use sluicegate_flow::warm_up::WarmUp;

use super::reference::{Model, Rounds, ratio};
use crate::support::cases::cases;

#[derive(Clone, Debug)]
enum Op {
    Take(u64),
    /// With a longest wait that is this much more or less than enough.
    TakeWithin(u64, i64),
    /// Permits that are given back at once.
    Cancel(u64),
    /// To this many nanoseconds after the instant from which on the next may go.
    ToFree(i64),
    /// By this part of the time to warm up, in thousandths.
    Idle(u64),
    Advance(u64),
    SetRate(Rate),
}

#[derive(Clone, Copy, Debug)]
struct Terms {
    rate: Rate,
    warm_up_nanos: u64,
    cold_factor: u32,
}

/// Rates of few digits, and of as many as there can be.
fn rates() -> impl Strategy<Value = Rate> {
    let few = (1..20_u64, 1..500_u64);
    let many = (any::<u32>(), 0..32_u32, any::<u64>(), 2..60_u32).prop_map(
        |(permits, fewer, nanos, shorter)| (u64::from(permits >> fewer).max(1), nanos >> shorter),
    );
    let most = prop::sample::select(vec![
        (Rate::MAX_PERMITS, Rate::MAX_PERIOD.as_nanos() as u64),
        (Rate::MAX_PERMITS - 5, Rate::MAX_PERIOD.as_nanos() as u64 - 1),
        (Rate::MAX_PER_SECOND, 1_000_000_000),
        (1, Rate::MAX_PERIOD.as_nanos() as u64),
        (Rate::MAX_PERMITS - 5, 2_000_000_011),
    ]);
    prop_oneof![4 => few, 2 => many, 1 => most].prop_filter_map("too fast", |(permits, nanos)| {
        Rate::new(permits, Duration::from_nanos(nanos)).ok()
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    let longest = WarmUp::MAX_WARM_UP.as_nanos() as u64;
    let warm_up = prop_oneof![
        4 => 1..5_000_u64,
        1 => Just(0),
        2 => (0..longest, 0..40_u32).prop_map(|(nanos, shorter)| nanos >> shorter),
        1 => Just(longest),
    ];
    let cold_factor = prop_oneof![2 => Just(3), 3 => 1..12_u32, 1 => 1..=WarmUp::MAX_COLD_FACTOR];
    (rates(), warm_up, cold_factor).prop_map(|(rate, warm_up_nanos, cold_factor)| Terms {
        rate,
        warm_up_nanos,
        cold_factor,
    })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let permits = prop_oneof![6 => 0..7_u64, 1 => 0..3_000_u64, 1 => 0..=WarmUp::MAX_PERMITS];
    let op = prop_oneof![
        6 => permits.clone().prop_map(Op::Take),
        1 => (permits.clone(), -1..2_i64).prop_map(|(permits, more)| Op::TakeWithin(permits, more)),
        1 => permits.prop_map(Op::Cancel),
        3 => (-1..2_i64).prop_map(Op::ToFree),
        3 => (0..1_500_u64).prop_map(Op::Idle),
        1 => (0..200_u64).prop_map(Op::Advance),
        1 => rates().prop_map(Op::SetRate),
    ];
    prop::collection::vec(op, 1..60)
}

fn limiter(terms: Terms, clock: &ManualClock) -> WarmUp<&ManualClock> {
    let Terms { rate, warm_up_nanos, cold_factor } = terms;
    let warm_up = Duration::from_nanos(warm_up_nanos);
    WarmUp::with_clock(rate, warm_up, clock).unwrap().with_cold_factor(cold_factor).unwrap()
}

fn model(terms: Terms, rounds: Rounds) -> Model {
    Model::new(terms.rate, terms.warm_up_nanos, terms.cold_factor, rounds)
}

/// A wait in whole nanoseconds, as a `Duration` has them.
fn whole(nanos: &BigRational) -> Duration {
    let nanos = nanos.ceil().to_integer().to_u128().unwrap();
    let seconds = u64::try_from(nanos / 1_000_000_000).unwrap();
    Duration::new(seconds, (nanos % 1_000_000_000) as u32)
}

/// The instant that a move of the clock ends at.
fn moved(op: &Op, terms: Terms, free: &BigRational, now_nanos: u64) -> u64 {
    let to = match *op {
        Op::ToFree(more) => free.ceil().to_integer().to_i128().unwrap() + i128::from(more),
        Op::Idle(thousandths) => {
            i128::from(now_nanos)
                + i128::from(terms.warm_up_nanos) * i128::from(thousandths) / 1_000
        }
        Op::Advance(nanos) => i128::from(now_nanos) + i128::from(nanos),
        _ => return now_nanos,
    };
    u64::try_from(to.max(0)).unwrap_or(u64::MAX).max(now_nanos)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_request_goes_when_the_definition_says(first in terms(), ops in ops()) {
        let clock = ManualClock::new();
        let limiter = limiter(first, &clock);
        let mut model = model(first, Rounds::AsDocumented);
        for op in ops {
            clock.set_nanos(moved(&op, first, &model.free, model.now_nanos));
            model.now_nanos = clock.now_nanos();
            let wait = whole(&model.wait());
            prop_assert_eq!(limiter.ready_after(), wait);
            let is_in_range = model.free <= ratio(u64::MAX);
            let take = |permits: u64, longest: Duration| {
                let told = limiter.reserve_within(permits, longest);
                told.map(|turn| (turn.ready_after(), turn.at_nanos()))
            };
            let too_late = Err(AcquireError::TimedOut { retry_after: wait });
            match op {
                Op::Take(0) | Op::TakeWithin(0, _) | Op::Cancel(0) => {
                    let now = (Duration::ZERO, model.now_nanos);
                    prop_assert_eq!(take(0, Duration::ZERO), Ok(now));
                }
                Op::Take(permits) | Op::Cancel(permits) if !is_in_range => {
                    prop_assert_eq!(take(permits, Duration::MAX), too_late);
                }
                Op::Take(permits) => {
                    let at_nanos = model.now_nanos + wait.as_nanos() as u64;
                    prop_assert_eq!(take(permits, Duration::MAX), Ok((wait, at_nanos)));
                    model.take(permits);
                }
                Op::TakeWithin(permits, more) => {
                    let nanos = wait.as_nanos().cast_signed() + i128::from(more);
                    let longest = Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX));
                    if longest >= wait && is_in_range {
                        prop_assert!(take(permits, longest).is_ok());
                        model.take(permits);
                    } else {
                        prop_assert_eq!(take(permits, longest), too_late);
                    }
                }
                Op::Cancel(permits) => {
                    prop_assert!(limiter.reserve(permits).unwrap().cancel());
                }
                Op::SetRate(rate) => {
                    if rate != limiter.rate() {
                        model.set_rate(rate);
                    }
                    limiter.set_rate(rate);
                }
                Op::ToFree(_) | Op::Idle(_) | Op::Advance(_) => {}
            }
            prop_assert_eq!(limiter.ready_after(), whole(&model.wait()));
            // What is stored is shown as of now, and noted as of the next request.
            let (stored, free) = (model.stored.clone(), model.free.clone());
            model.sync();
            let shown = model.stored.floor().to_integer().to_u64().unwrap_or(u64::MAX);
            prop_assert_eq!(limiter.stored(), shown);
            (model.stored, model.free) = (stored, free);
        }
    }

    /// After each idle time, what is told is as if that one had been rounded, and nothing else.
    #[test]
    fn an_idle_time_makes_the_limiter_colder_by_less_than_a_nanosecond(
        terms in terms(),
        before in 1..400_u64,
        idle in 0..1_200_u64,
        after in prop::collection::vec(1..100_u64, 1..10),
    ) {
        let clock = ManualClock::new();
        let limiter = limiter(terms, &clock);
        let mut exact = model(terms, Rounds::Nothing);
        let _ = limiter.reserve(before).unwrap();
        exact.take(before);
        clock.set_nanos(moved(&Op::ToFree(0), terms, &exact.free, 0));
        clock.set_nanos(moved(&Op::Idle(idle), terms, &exact.free, clock.now_nanos()));
        exact.now_nanos = clock.now_nanos();
        // The steepest that the costs grow with idle time.
        let cold = ratio(terms.cold_factor);
        let one = ratio(1);
        let steepest = (&cold - &one) * (&cold + ratio(5)) / (ratio(2) * (&cold + &one));
        for permits in after {
            prop_assume!(exact.free < ratio(u64::MAX / 2));
            let told = ratio(limiter.reserve(permits).unwrap().at_nanos());
            exact.sync();
            prop_assert!(told >= exact.free);
            prop_assert!(told < &exact.free + &steepest + &one);
            exact.take(permits);
        }
    }

    /// The theorem of `src/warm_up.rs`, for all spans that begin and end at a request.
    #[test]
    fn in_no_span_more_is_used_than_the_rate_lets_through_and_the_last_request(
        terms in terms(),
        ops in ops(),
    ) {
        let clock = ManualClock::new();
        let limiter = limiter(terms, &clock);
        let mut used: Vec<(u64, u64)> = Vec::new();
        for op in ops {
            let free = ratio(clock.now_nanos()) + ratio(limiter.ready_after().as_nanos().cast_signed());
            clock.set_nanos(moved(&op, terms, &free, clock.now_nanos()));
            if let Op::Take(permits @ 1..) | Op::TakeWithin(permits @ 1.., _) = op
                && let Ok(turn) = limiter.reserve(permits)
            {
                used.push((turn.at_nanos(), permits));
            }
        }
        prop_assert!(used.is_sorted_by_key(|(at_nanos, _)| at_nanos));
        let period = terms.rate.period().as_nanos();
        for (first, &(from_nanos, _)) in used.iter().enumerate() {
            let mut earlier = 0;
            for &(at_nanos, permits) in &used[first..] {
                // The span (from - 1, at]: it is longer by the nanosecond of the first instant.
                let span = u128::from(at_nanos - from_nanos) + 1;
                let let_through = span.saturating_mul(terms.rate.permits().into());
                prop_assert!(u128::from(earlier) * period <= let_through);
                earlier += permits;
            }
        }
    }

    /// Half of what the rate lets through, for a cold factor of 3.
    #[test]
    fn from_the_cold_less_is_used_until_it_has_warmed_up(
        terms in terms(),
        gaps in prop::collection::vec((1..5_u64, 0..300_u64), 1..60),
    ) {
        let clock = ManualClock::new();
        let limiter = limiter(terms, &clock);
        let mut earlier = 0;
        for (permits, gap) in gaps {
            let Ok(turn) = limiter.reserve(permits) else { break };
            if turn.at_nanos() > terms.warm_up_nanos {
                break;
            }
            // earlier <= 2 * warm_up / (cold factor + 1) at the stable rate.
            let paid = u128::from(earlier) * terms.rate.period().as_nanos();
            let through = 2 * u128::from(terms.warm_up_nanos) * u128::from(terms.rate.permits());
            prop_assert!(paid * u128::from(terms.cold_factor + 1) <= through);
            earlier += permits;
            clock.advance_nanos(terms.warm_up_nanos / 1_000 * gap);
        }
    }
}
