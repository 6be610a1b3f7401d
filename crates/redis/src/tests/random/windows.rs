//! Windows and logs.

use std::time::Duration;

use sluicegate::{
    FixedWindow, Limiter, ManualClock, Rate, SlidingCounter, SlidingLog, SlidingWindow,
    WindowFromFirst, rate,
};

use super::{Case, Engine, START, check_all};
use crate::limit::RedisLimit;
use crate::tests::oracle::{Rule, Windows};

fn of_window<'a, L: Limiter + 'a>(
    limit: RedisLimit,
    rate: Rate,
    rule: Rule,
    make: Option<impl Fn() -> L + 'a>,
) -> Case<'a> {
    let scale_micros = match rule {
        Rule::Slots { slot } => slot as u64 / 1_000,
        _ => rate.period().as_micros() as u64 / rate.permits().min(10),
    };
    Case {
        limit,
        oracle: Box::new(Windows::new(rate, rule)),
        engine: make.map(Engine::new),
        scale_micros,
        is_single: false,
    }
}

const RATES: [Rate; 5] =
    [rate!(5 / minute), rate!(1 / day), rate!(100 / 7 ms), rate!(3 / 13 us), rate!(1_000 / hour)];

#[test]
fn fixed_windows_answer_as_all_their_grants_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    let aligned = RATES.map(|rate| {
        let make = move || FixedWindow::with_clock(rate, clock).unwrap();
        of_window(RedisLimit::fixed_window(rate).unwrap(), rate, Rule::Aligned, Some(make))
    });
    let from_first = RATES.map(|rate| {
        let make = move || WindowFromFirst::with_clock(rate, clock).unwrap();
        // That of the engine begins at a multiple of its resolution, as microseconds do if that is 8 ns.
        let make = (make().resolution() <= Duration::from_nanos(8)).then_some(make);
        of_window(RedisLimit::window_from_first(rate).unwrap(), rate, Rule::FromFirst, make)
    });
    check_all(4, clock, aligned.into_iter().chain(from_first).collect());
}

#[test]
fn sliding_counters_answer_as_exact_weights_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    let cases = RATES.map(|rate| {
        let make = move || SlidingCounter::with_clock(rate, clock).unwrap();
        of_window(RedisLimit::sliding_counter(rate).unwrap(), rate, Rule::Weighted, Some(make))
    });
    check_all(5, clock, cases.into());
}

#[test]
fn sliding_windows_answer_as_all_their_grants_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    let of = |rate: Rate, slots: u32| {
        let window = rate.period().as_micros() as u64;
        let slot = window.div_ceil(u64::from(slots));
        let make = move || SlidingWindow::with_clock(rate, slots, clock).unwrap();
        // A slot of the engine need not be whole microseconds.
        let make = window.is_multiple_of(u64::from(slots)).then_some(make);
        let rule = Rule::Slots { slot: i128::from(slot) * 1_000 };
        of_window(RedisLimit::sliding_window(rate, slots).unwrap(), rate, rule, make)
    };
    check_all(
        6,
        clock,
        vec![
            of(rate!(10 / minute), 6),
            of(rate!(10 / minute), 1),
            of(rate!(100 / second), 60),
            of(rate!(3 / 13 us), 13),
            of(rate!(1_000_000 / day), 1_000),
            of(rate!(50 / second), 7),
        ],
    );
}

#[test]
fn logs_answer_as_all_their_grants_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    let of_any = RATES.map(|rate| {
        let limit = RedisLimit::sliding_log(rate).unwrap();
        of_window(limit, rate, Rule::Log, None::<fn() -> SlidingLog>)
    });
    let of_one = RATES.map(|rate| {
        let make = move || SlidingLog::with_clock(rate, clock).unwrap();
        let limit = RedisLimit::sliding_log(rate).unwrap();
        let case = of_window(limit, rate, Rule::Log, Some(make));
        let scale_micros = (rate.period().as_micros() as u64 / rate.permits()).div_ceil(2);
        Case { scale_micros, is_single: true, ..case }
    });
    check_all(7, clock, of_any.into_iter().chain(of_one).collect());
}
