//! The invariants, and the fault of each mutant.

use crate::explore::{Explored, explore};

use super::*;

use Op::{Change, Close, Lease, Reset, Spend};

const fn hold(room: i8, tokens: i8) -> Hold {
    Hold { room, tokens, is_closed: false }
}

/// Two threads on the first CPU and one on the second, with a slot of some tokens each.
fn of(programs: [&'static [Op]; THREADS]) -> PerCpu {
    PerCpu {
        cap: 8,
        root: 1,
        slots: [hold(3, 2), hold(2, 1)],
        spill: hold(0, 0),
        cpus: [0, 0, 1],
        programs,
        switches: if cfg!(sluicegate_deep) { 2 } else { 1 },
        run: 0,
        fails: false,
        checks_denials: false,
        mutant: None,
    }
}

fn holds(model: &PerCpu) -> Explored {
    let explored = explore(model).unwrap();
    println!("per cpu {model:?}: {explored:?}");
    explored
}

#[test]
fn no_token_is_made_or_lost_and_capacity_goes_with_it() {
    for programs in [
        [&[Spend(1)][..], &[Spend(2)], &[Spend(3)]],
        [&[Spend(1)], &[Spend(2)], &[Change(4)]],
        [&[Spend(1)], &[Lease(2, 1)], &[Spend(3)]],
        [&[Spend(1)], &[Close], &[Spend(4)]],
        [&[Spend(2)], &[Reset], &[Spend(3)]],
        [&[Lease(3, 1)], &[Change(2)], &[Close]],
    ] {
        assert!(holds(&PerCpu { run: 1, ..of(programs) }).states > 100_000);
    }
}

#[test]
fn a_fence_that_fails_makes_no_token() {
    for programs in [
        [&[Spend(1)][..], &[Spend(1)], &[Spend(3)]],
        [&[Spend(1)], &[Change(2)], &[Spend(2)]],
        [&[Spend(1)], &[Reset], &[Lease(3, 2)]],
    ] {
        holds(&PerCpu { fails: true, ..of(programs) });
    }
}

#[test]
fn a_denial_is_right_at_some_moment_if_permits_are_only_spent() {
    let explored =
        holds(&PerCpu { checks_denials: true, ..of([&[Spend(1)], &[Spend(2)], &[Spend(3)]]) });
    assert!(explored.counts.denials > 0);
}

#[test]
fn every_rule_of_a_slot_is_needed() {
    use Mutant::*;

    let race = PerCpu { switches: 1, ..of([&[Spend(1)], &[], &[Spend(3)]]) };
    let twice = PerCpu { programs: [&[Spend(1), Spend(1)], &[], &[Spend(3)]], ..race };
    let thieves = PerCpu {
        slots: [hold(2, 2), hold(0, 0)],
        root: 0,
        ..of([&[Spend(1)], &[Change(4)], &[Spend(2)]])
    };
    let (made, uncounted) = ("made or lost", "not counted");
    // With the length of the shortest run to the fault.
    for (mutant, model, fault, steps) in [
        (NoFence, race, uncounted, 23),
        (PlainFence, race, uncounted, 23),
        (FlagInTheWord, twice, uncounted, 28),
        (SpillIntoTheSlot, race, made, 21),
        (OpensFirst, race, uncounted, 24),
        (OldCpu, of([&[Spend(1)], &[Spend(1)], &[]]), made, 11),
        (UncheckedFlag, race, uncounted, 23),
        (ClosesByStore, thieves, uncounted, 22),
        (TakesUnfenced, PerCpu { fails: true, ..race }, uncounted, 23),
        (TokensAlone, race, "without capacity", 18),
        (CountsClosed, thieves, "without end", 8),
        (FencesEmpty, PerCpu { slots: [hold(0, 0); CPUS], ..race }, "an empty slot", 15),
    ] {
        explore(&model).unwrap();
        let trace = explore(&PerCpu { mutant: Some(mutant), ..model }).unwrap_err();
        assert!(trace.fault.contains(fault), "{mutant:?}: {trace:?}");
        assert_eq!(trace.steps(), steps, "{mutant:?}: {trace:?}");
    }
}
