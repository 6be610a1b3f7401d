//! Properties of the limiters on one word, over everything that they can be set
//! up with: rates from one in a hundred years to 2^31 a second, bursts and debts
//! to 2^32, both refills, all four shapes; clocks that start anywhere, stand
//! still, poll, idle for years and go back. What is checked:
//!
//! * Whatever is done to a limiter, its every answer is the exact model's: the
//!   decision, the permits, what remains, and each of the times.
//! * What a denial promises is the least wait: one nanosecond earlier is denied
//!   still, and then it is granted.
//! * No window admits more than burst and rate allow, and one unit.
//! * A decision differs from the textbook bucket's only within one unit of the
//!   cost.
//! * A clock that goes back by less than a second only denies; and what a limiter promises
//!   while that is before its beginning comes true all the same.
//! * What a limiter says of itself adds up.
//!
//! `PROPTEST_CASES` deepens it.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::bucket::Carry;
use sluicegate::*;

use crate::support::any;
use crate::support::cases::cases;
use crate::support::ideal;
use crate::support::ops::{Amount, Op, Pair, Setup, Shape, replay};
use crate::support::reference::Said;

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_answer_is_the_exact_models(
        setup in any::setup(),
        start_nanos in any::start(),
        ops in vec(any::op(), 1..40),
    ) {
        replay(setup, start_nanos, &ops);
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn no_window_admits_more_and_only_a_unit_decides_differently_from_the_ideal(
        setup in any::setup(),
        start_nanos in 0..=u64::MAX / 2,
        ops in vec(any::plain_op(), 1..60),
    ) {
        let setup = Setup { refill: Refill::Smooth, initial: u64::MAX, ..setup };
        let clock = ManualClock::at(start_nanos);
        let mut pair = Pair::new(setup, &clock);
        let plan = pair.mirror().plan().clone();
        let mut ideal = ideal::Ideal::full(&plan, start_nanos);
        let mut admissions = Vec::new();
        pair.each_answer(&ops, |op, asked, said| {
            let now_nanos = clock.now_nanos();
            ideal.pass(now_nanos);
            let (granted, counts) = match said {
                Said::Granted { permits, .. } => (permits, true),
                Said::Wait { .. } => (0, false),
                Said::TooLarge { .. } | Said::Leased { .. } => return,
            };
            match op {
                Op::Peek(_) => {
                    assert!(counts == ideal.has(asked) || ideal.is_close_to(asked));
                    return;
                }
                Op::TryAcquire(_) => {
                    assert!(counts == ideal.has(asked) || ideal.is_close_to(asked));
                }
                Op::UpTo(_) | Op::Drain => {
                    assert!(ideal.has(granted) || ideal.is_close_to(granted));
                    assert!(granted >= asked || !ideal.has(granted + 1) || ideal.is_close_to(granted + 1));
                }
                _ => unreachable!("a plain operation"),
            }
            ideal.take(granted);
            if matches!(op, Op::Drain) {
                ideal.drain();
            }
            admissions.push((now_nanos, granted));
        });
        let unit = BigRational::new(BigInt::from(1), plan.token.clone());
        prop_assert!(ideal::excess(&plan, &admissions) < unit);
    }

    #[test]
    fn interval_refill_admits_no_more_than_the_burst_and_the_steps_in_between(
        setup in any::setup(),
        start_nanos in 0..=u64::MAX / 2,
        ops in vec(any::plain_op(), 1..60),
    ) {
        let shape = if setup.shape == Shape::Cells { Shape::Bucket } else { setup.shape };
        let setup = Setup { shape, refill: Refill::Interval, initial: u64::MAX, ..setup };
        let clock = ManualClock::at(start_nanos);
        let mut pair = Pair::new(setup, &clock);
        let plan = pair.mirror().plan().clone();
        let mut going = BigInt::zero();
        let mut last = BigInt::zero();
        pair.each_answer(&ops, |op, _, said| {
            let (Said::Granted { permits, .. }, false) = (said, matches!(op, Op::Peek(_))) else {
                return;
            };
            let accrued = plan.accrued(&BigInt::from(clock.now_nanos() - start_nanos));
            going = (&going - (&accrued - &last)).max(BigInt::zero()) + &plan.token * permits;
            assert!(going <= plan.capacity);
            last = accrued;
        });
    }

    #[test]
    fn a_clock_that_goes_back_by_less_than_a_second_only_denies(
        setup in any::setup(),
        start_nanos in 2_000_000_000..=u64::MAX / 2,
        before in vec(any::plain_op(), 1..20),
        back_nanos in any::sized(999_999_999),
        permits in any::sized(1 << 33),
    ) {
        let clock = ManualClock::at(start_nanos);
        let mut pair = Pair::new(setup, &clock);
        for &op in &before {
            pair.apply(op);
        }
        let now_nanos = clock.now_nanos();
        let balance = pair.mirror().balance(now_nanos);
        let granted = pair.peek(permits).is_ok();

        clock.set_nanos(now_nanos - back_nanos);
        prop_assert!(pair.mirror().balance(clock.now_nanos()) <= balance);
        prop_assert!(granted || pair.peek(permits).is_err());
        pair.apply(Op::Snapshot);
        prop_assert_eq!(pair.mirror().healed(), 0);

        clock.set_nanos(now_nanos);
        prop_assert_eq!(pair.peek(permits).is_ok(), granted);
    }

    #[test]
    fn a_wait_named_before_the_beginning_or_a_change_of_the_rate_is_the_least_that_suffices(
        setup in any::setup(),
        start_nanos in 2_000_000_000..=u64::MAX / 2,
        before in vec(any::op(), 0..10),
        change in proptest::option::of(any::setup()),
        after in vec(any::plain_op(), 0..4),
        early_nanos in any::sized(1_000_000_000),
        amounts in vec(any::amount(), 1..4),
    ) {
        let clock = ManualClock::at(start_nanos);
        let mut pair = Pair::new(setup, &clock);
        for &op in &before {
            pair.apply(op);
        }
        if let Some(setup) = change {
            pair.apply(Op::Reconfigure(setup, Carry::Keep));
        }
        for &op in after.iter().filter(|op| !matches!(op, Op::Move(_) | Op::Poll { .. })) {
            pair.apply(op);
        }
        let origin_nanos = pair.mirror().origin_nanos();
        // No earlier than the word can tell ahead from behind.
        let earliest_nanos = *pair.mirror().reach_nanos().start();
        clock.set_nanos(origin_nanos.saturating_sub(early_nanos).max(earliest_nanos));
        for &amount in &amounts {
            // Asks again after the wait, and a nanosecond earlier.
            pair.apply(Op::Peek(amount));
            pair.apply(Op::Force(amount));
        }
    }

    #[test]
    fn what_a_limiter_says_of_itself_adds_up(
        setup in any::setup(),
        start_nanos in any::start(),
        ops in vec(any::op(), 1..20),
        asked in any::sized(u64::MAX),
    ) {
        let clock = ManualClock::at(start_nanos);
        let mut pair = Pair::new(setup, &clock);
        for &op in &ops {
            pair.apply(op);
        }
        // If a clock that went back has left anything to heal, this heals it.
        pair.apply(Op::Peek(Amount::Exactly(asked)));

        let there = pair.peek(0).unwrap();
        prop_assert!(there.remaining() <= there.limit());
        let full = there.remaining() == there.limit() && there.reset_after().is_zero();
        prop_assert_eq!(full, pair.mirror().balance(clock.now_nanos()) == pair.mirror().plan().capacity);
        if there.ready_after() > std::time::Duration::ZERO {
            prop_assert_eq!(there.remaining(), 0);
            prop_assert!(pair.mirror().balance(clock.now_nanos()).is_negative());
        }
        match pair.peek(asked) {
            Ok(grant) => {
                prop_assert!(grant.permits() == asked && asked <= there.remaining());
                prop_assert_eq!(grant.remaining(), there.remaining() - asked);
            }
            Err(Denied::Wait(shortfall)) => {
                prop_assert!(there.remaining() < asked && asked <= there.limit());
                prop_assert_eq!(shortfall.remaining(), there.remaining());
                prop_assert!(shortfall.missing() >= 1);
                prop_assert!(shortfall.retry_after() <= shortfall.reset_after());
            }
            Err(Denied::TooLarge { limit, .. }) => prop_assert!(asked > limit && limit == there.limit()),
            Err(denied) => prop_assert!(false, "{denied:?}"),
        }
    }
}
