//! The bound, denials, and the fault of each mutant.

use std::time::Duration;

use sluicegate::settle::Receipt;
use sluicegate::window::{MultiWindow, SlidingWindow};
use sluicegate::{Limiter, ManualClock, Rate};

use crate::drift::{self, Answer, Random};
use crate::explore::{Explored, explore};

use super::*;

use Op::{GiveBack, Reset as Clear, Take};

pub(super) fn ring(slots: u8, limit: u8, run: u8, programs: [&'static [Op]; THREADS]) -> Ring {
    Ring {
        windows: vec![Span { exponent: 0, slots, limit }],
        parts: 1,
        run,
        span: slots,
        judge: Judge::Ticks,
        reset: Reset::StepsTotal,
        mutant: None,
        programs,
    }
}

fn takes() -> Ring {
    ring(2, 2, 4, [&[Take(1), Take(1)], &[Take(1), Take(2)], &[]])
}

fn takes_with_a_reset() -> Ring {
    ring(2, 2, 3, [&[Take(1), Take(1)], &[Take(1), Clear, Take(2)], &[]])
}

fn given_back() -> Ring {
    ring(2, 2, 4, [&[Take(1), GiveBack, Take(2)], &[Take(1), GiveBack, Take(2)], &[]])
}

fn given_back_with_resets() -> Ring {
    ring(2, 1, 1, [&[Take(1), GiveBack, Take(1)], &[Clear, Take(1)], &[Clear]])
}

/// A second window, of slots of two ticks.
pub(super) fn two_windows() -> Ring {
    let mut ring = ring(1, 1, 4, [&[Take(1), Take(1)], &[Take(1), Take(1)], &[]]);
    ring.windows.push(Span { exponent: 1, slots: 2, limit: 2 });
    ring
}

fn holds(ring: &Ring, at_least: usize) -> Explored {
    let explored = explore(ring).unwrap();
    println!("ring {:?}: {explored:?}", ring.programs);
    assert!(explored.states > at_least && explored.counts.grants > 0);
    assert!(explored.counts.denials > 0);
    explored
}

#[test]
fn no_window_holds_more_than_the_limit_and_denials_are_right() {
    holds(&takes(), 100_000);
    holds(&ring(3, 2, 5, [&[Take(1), Take(1)], &[Take(2), Take(1)], &[]]), 300_000);
    holds(&ring(2, 1, 3, [&[Take(1)], &[Take(1)], &[Take(1)]]), 700_000);
}

#[test]
fn of_two_windows_over_one_word_neither_holds_more_than_its_limit() {
    holds(&two_windows(), 200_000);
    let programs: [&[Op]; THREADS] = [&[Take(1), Take(1)], &[Take(1), Clear, Take(1)], &[]];
    holds(&Ring { run: 2, programs, ..two_windows() }, 50_000);
}

#[test]
fn permits_are_given_back_and_resets_forget_once() {
    holds(&takes_with_a_reset(), 100_000);
    assert!(holds(&given_back(), 100_000).counts.given_back > 0);
    assert!(holds(&given_back_with_resets(), 400_000).counts.given_back > 0);
    let all_at_once = ring(2, 2, 3, [&[Take(1), GiveBack], &[Take(2), GiveBack], &[Clear]]);
    assert!(holds(&all_at_once, 500_000).counts.given_back > 0);
}

#[test]
fn every_mutant_of_the_ring_is_caught() {
    use Mutant::*;

    for (mutant, ring, fault) in [
        (PlainStore, takes(), "room throughout"),
        (NoValidation, takes(), "room throughout"),
        (NoTags, takes(), "more than the limit"),
        (FillDownwards, takes(), "room throughout"),
        (BoundaryFirst, takes(), "room throughout"),
        (StoreAdmission, takes(), "more than the limit"),
        (OpenBeforeFilled, takes(), "room throughout"),
        (DenyUnchecked, takes_with_a_reset(), "room throughout"),
        (GiveBackAnyway, given_back(), "more than the limit"),
        (FirstWindowOnly, two_windows(), "room throughout"),
        (ResetAtOnce, takes_with_a_reset(), "room throughout"),
    ] {
        let trace = explore(&Ring { mutant: Some(mutant), ..ring }).unwrap_err();
        assert!(trace.fault.contains(fault), "{mutant:?}: {trace:?}");
    }
}

#[test]
fn a_reset_that_leaves_the_total_as_it_is_lets_older_grants_be_given_back() {
    let ring = Ring { reset: Reset::SameTotal, ..given_back_with_resets() };
    let trace = explore(&ring).unwrap_err();
    assert!(trace.fault.contains("more than the limit"), "{trace:?}");
}

#[test]
fn a_reset_that_shifts_the_ticks_cuts_a_window_short() {
    let takes = ring(2, 1, 3, [&[Take(1), Take(1)], &[Clear], &[]]);
    let by_the_clock = Ring { judge: Judge::Instants, ..takes };
    explore(&by_the_clock).unwrap();
    let trace = explore(&Ring { reset: Reset::ShiftsTicks, ..by_the_clock }).unwrap_err();
    assert!(trace.fault.contains("more than the limit"), "{trace:?}");
}

/// Ticks of two instants, and a window of four: as long as two ticks, but it meets
/// three of them if it begins within one.
#[test]
fn a_window_needs_one_slot_more_than_it_has_ticks() {
    let takes = |slots| Ring {
        parts: 2,
        span: 4,
        judge: Judge::Instants,
        ..ring(slots, 1, 5, [&[Take(1), Take(1)], &[Take(1)], &[]])
    };
    holds(&takes(3), 20_000);
    let trace = explore(&takes(2)).unwrap_err();
    assert!(trace.fault.contains("more than the limit"), "{trace:?}");
}

/// One thread's calls, beside the engine's own windows. A tick is a second.
fn beside_the_engine(
    random: &mut Random,
    model: impl Fn(&'static [Op]) -> Ring,
    window: &dyn Fn(&'static ManualClock) -> &'static dyn Limiter,
) -> Vec<Answer> {
    let ops = random.program(12, |random| match random.below(8) {
        0 => Clear,
        1 | 2 => GiveBack,
        permits => Take(permits as u8 / 3),
    });
    let model = model(ops);
    let ticks: Vec<u64> = ops.iter().map(|_| random.below(6).saturating_sub(3)).collect();
    let clock: &ManualClock = Box::leak(Box::new(ManualClock::at(1_000_000_000_000)));
    let window = window(clock);
    let mut held: Option<Receipt<'static>> = None;
    let has_returned = |state: &State, call: usize| usize::from(state.threads[0].next) > call;
    drift::beside(
        &model,
        ops.len(),
        |call| ticks[call],
        has_returned,
        |call, ticks| {
            clock.advance(Duration::from_secs(ticks));
            match ops[call] {
                Take(permits) => {
                    let receipt = window.try_acquire_revocable(permits.into());
                    let answer = Answer::of(&receipt);
                    // The model keeps a grant only for the next call.
                    held = receipt.ok().filter(|_| ops.get(call + 1) == Some(&GiveBack));
                    answer
                }
                GiveBack => {
                    let given_back = held.take().is_some_and(Receipt::give_back);
                    Answer { given_back, ..Answer::default() }
                }
                _ => {
                    window.reset();
                    Answer::default()
                }
            }
        },
    )
}

fn per_seconds(permits: u64, seconds: u64) -> Rate {
    Rate::new(permits, Duration::from_secs(seconds)).unwrap()
}

#[test]
fn the_rings_of_the_engine_answer_as_the_model_does() {
    let run = 40;
    drift::rows(true, |random| {
        beside_the_engine(random, |ops| ring(3, 3, run, [ops, &[], &[]]), &|clock| {
            Box::leak(Box::new(SlidingWindow::with_slots(per_seconds(3, 2), 2, clock).unwrap()))
        })
    });
    let two = |ops| Ring { run, programs: [ops, &[], &[]], windows: spans(), ..two_windows() };
    drift::rows(true, |random| {
        beside_the_engine(random, two, &|clock| {
            let limits = [per_seconds(2, 1), per_seconds(3, 2)];
            Box::leak(Box::new(MultiWindow::with_slots(limits, 1, clock).unwrap()))
        })
    });
}

/// Two in slots of a tick, three in slots of two ticks; two slots of each count.
fn spans() -> Vec<Span> {
    let span = |exponent, limit| Span { exponent, slots: 2, limit };
    vec![span(0, 2), span(1, 3)]
}
