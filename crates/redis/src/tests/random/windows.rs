//! Windows and logs.

use std::time::Duration;

use sluicegate::window::WindowFromFirst;
use sluicegate::{
    FixedWindow, Limiter, ManualClock, Rate, SlidingCounter, SlidingLog, SlidingWindow, rate,
};

use super::{Case, Engine, START, check_all};
use crate::decision::Verb;
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::request::KeyedLimit;
use crate::tests::give_back::send;
use crate::tests::oracle::{Rule, Windows};
use crate::tests::scripts::{Step, run};
use crate::tests::server::Server;

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
    check_all(clock, aligned.into_iter().chain(from_first).collect());
}

#[test]
fn sliding_counters_answer_as_exact_weights_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    let cases = RATES.map(|rate| {
        let make = move || SlidingCounter::with_clock(rate, clock).unwrap();
        of_window(RedisLimit::sliding_counter(rate).unwrap(), rate, Rule::Weighted, Some(make))
    });
    let rate = rate!(4_294_967_291 / 3_600_000_007 us);
    let limit = RedisLimit::sliding_counter(rate).unwrap();
    let large = of_window(limit, rate, Rule::Weighted, None::<fn() -> SlidingCounter>);
    check_all(clock, cases.into_iter().chain([large]).collect());
}

/// The product of the longest window and the largest count is far above 2^53.
#[test]
fn a_count_is_weighed_exactly_in_the_longest_window() {
    const LENGTH: u64 = 1 << 51;
    let server = Server::start();
    let limit = rate!(4_294_967_296 / 2_251_799_813_685_248 us);
    let counter = RedisLimit::sliding_counter(limit).unwrap();
    let (taken, passed) = (4_294_967_291, 1_234_567_890_123_457);
    let steps = [
        Step { micros: START, verb: Verb::Take, permits: taken },
        Step { micros: LENGTH + passed, verb: Verb::UpTo, permits: limit.permits() },
    ];
    let answers = run(&mut server.connection(), &counter, "ada", &steps);
    let weight = (u128::from(taken) * u128::from(LENGTH - passed)).div_ceil(LENGTH.into()) as u64;
    assert_eq!(answers[1].as_ref().unwrap().permits(), limit.permits() - weight);
}

#[test]
fn sliding_windows_answer_as_all_their_grants_and_the_engine() {
    let clock = &ManualClock::at(START * 1_000);
    let of = |rate: Rate, slots: u32| {
        let window = rate.period().as_micros() as u64;
        let slot = window.div_ceil(u64::from(slots));
        let make = move || SlidingWindow::with_slots(rate, slots, clock).unwrap();
        // A slot of the engine need not be whole microseconds.
        let make = window.is_multiple_of(u64::from(slots)).then_some(make);
        let rule = Rule::Slots { slot: i128::from(slot) * 1_000 };
        of_window(RedisLimit::sliding_window(rate, slots).unwrap(), rate, rule, make)
    };
    check_all(
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
    check_all(clock, of_any.into_iter().chain(of_one).collect());
}

/// Four charges count at any time. Without a bound, the count of all of them would pass 2^53 after 256.
#[test]
fn a_log_that_is_never_empty_counts_exactly_whatever_it_is_charged_with() {
    const CHARGE: u64 = (1 << 45) - 3;
    let server = Server::start();
    let mut connection = server.connection();
    let limit = RedisLimit::sliding_log(rate!(10 / second)).unwrap();
    let source = limit.script().source();
    redis::cmd("SCRIPT").arg("LOAD").arg(source).exec(&mut connection).unwrap();
    let keyed = KeyedLimit { limit, keys: KeySpace::new("test").unwrap() };
    let (mut counted, mut unpaid) = ([0; 4], 0);
    for step in 0..600 {
        let request = keyed.charge("ada", CHARGE).at(START + step * 300_000);
        let reply = send(&mut connection, std::slice::from_ref(&request)).remove(0);
        let charged = request.moved(&reply).unwrap();
        counted.rotate_left(1);
        counted[3] = charged;
        assert_eq!(reply[2] as u64, counted.iter().sum::<u64>(), "step {step}");
        unpaid += usize::from(charged < CHARGE);
    }
    assert!((1..60).contains(&unpaid), "{unpaid}");
}
