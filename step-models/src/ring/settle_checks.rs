//! The theorem of settlement, and the fault of each of its mutants.

use crate::explore::{Explored, explore};

use super::checks::{ring, two_windows};
use super::*;

use Op::{Beyond, Estimate, Reset as Clear, Settle, Take};

fn holds(ring: &Ring, at_least: usize) -> Explored {
    let explored = explore(ring).unwrap();
    println!("settle rings {:?}: {explored:?}", ring.programs);
    assert!(explored.states > at_least && explored.counts.grants > 0);
    explored
}

#[test]
fn what_is_given_back_is_taken_off_the_slot_that_was_charged() {
    for programs in [
        [&[Estimate(2), Settle(1), Settle(1)][..], &[Take(1), Take(1)], &[]],
        [&[Estimate(2), Settle(2)], &[Estimate(1), Settle(1)], &[]],
        [&[Estimate(1), Settle(1), Take(2)], &[Take(1), Take(2)], &[]],
    ] {
        let explored = holds(&ring(2, 2, 3, programs), 7_000);
        assert!(explored.counts.given_back > 0 && explored.counts.denials > 0);
        assert!(explored.counts.lost > 0);
    }
    let programs: [&[Op]; THREADS] = [&[Estimate(2), Settle(1)], &[Take(1)], &[Take(2)]];
    holds(&ring(2, 2, 2, programs), 7_000);
    let programs: [&[Op]; THREADS] = [&[Estimate(2), Settle(1)], &[Take(1), Take(2)], &[]];
    holds(&ring(3, 3, 4, programs), 7_000);
}

#[test]
fn what_is_used_beyond_an_estimate_counts_in_the_tick_of_now() {
    for programs in [
        [&[Estimate(2), Settle(1)][..], &[Take(1), Beyond(2), Take(1)], &[]],
        [&[Beyond(1), Take(1)], &[Take(1), Take(2)], &[]],
    ] {
        holds(&ring(2, 2, 3, programs), 7_000);
    }
}

#[test]
fn of_two_windows_each_takes_back_what_it_counts() {
    let programs: [&[Op]; THREADS] = [&[Estimate(1), Settle(1)], &[Take(1), Take(1)], &[]];
    holds(&Ring { programs, ..two_windows() }, 7_000);
    let programs: [&[Op]; THREADS] = [&[Estimate(1), Settle(1), Take(1)], &[Beyond(1)], &[]];
    holds(&Ring { programs, ..two_windows() }, 7_000);
}

#[test]
fn nothing_of_a_ring_is_given_back_over_a_reset() {
    for programs in [
        [&[Estimate(1), Settle(1)][..], &[Clear, Take(1)], &[Take(1)]],
        [&[Estimate(2), Settle(1), Settle(1)], &[Clear, Take(2)], &[]],
        [&[Estimate(1), Settle(1)], &[Clear, Beyond(1), Take(1)], &[]],
    ] {
        let explored = holds(&ring(2, 2, 1, programs), 7_000);
        assert!(explored.counts.given_back > 0 && explored.counts.lost > 0);
    }
}

#[test]
fn every_rule_of_the_settlement_of_a_ring_is_needed() {
    use Mutant::*;

    let gives: &[Op] = &[Estimate(1), Settle(1)];
    let one = |limit, run, programs| ring(2, limit, run, programs);
    let takes = |limit, run| one(limit, run, [gives, &[Take(1), Take(1)], &[]]);
    let reset = || one(1, 0, [gives, &[Clear, Take(1), Take(1)], &[]]);
    // The boundary that is raised has the place of the one that a rotation fills.
    let races = || one(2, 2, [&[Estimate(2), Settle(1)], &[Take(1), Take(1)], &[]]);
    let two = || Ring { programs: [gives, &[Take(1), Take(1)], &[]], ..two_windows() };
    let (over, denied) = ("more than the limit", "room throughout");
    // With the length of the shortest run to the fault.
    for (mutant, ring, fault, steps) in [
        (RaisesCharged, one(2, 3, [gives, &[Take(1), Take(1), Take(2)], &[]]), over, 37),
        (LowersTotal, one(2, 3, [gives, &[Take(1), Take(1), Take(2)], &[]]), over, 42),
        (RaisesTooFew, takes(1, 2), denied, 14),
        (RaisesFirstOnly, two(), denied, 22),
        (RaisesByTicks, two(), denied, 24),
        (RaisesByStore, races(), denied, 32),
        (RaisesAnySlot, takes(1, 4), over, 33),
        (GoesOnAfterRaise, races(), denied, 32),
        (RaisesByReading, one(2, 1, [gives, &[Take(1)], &[Take(1)]]), denied, 20),
        (
            Uncut,
            one(2, 0, [&[Estimate(1), Settle(1), Settle(1)], &[Take(1), Take(2)], &[]]),
            over,
            27,
        ),
        (BeyondByStore, one(2, 0, [&[Beyond(1)], &[Take(1), Take(1)], &[]]), over, 14),
        (BeyondInPlace, one(1, 3, [&[Take(1)], &[Beyond(1), Take(1)], &[]]), over, 22),
        (NoNote, reset(), over, 35),
        (NotesLate, reset(), over, 35),
        (LooksFirst, reset(), over, 35),
        (EndsFirst, reset(), over, 35),
        (ResetDoesNotWait, reset(), over, 35),
    ] {
        explore(&ring).unwrap();
        let trace = explore(&Ring { mutant: Some(mutant), ..ring }).unwrap_err();
        assert!(trace.fault.contains(fault), "{mutant:?}: {trace:?}");
        assert_eq!(trace.steps(), steps, "{mutant:?}: {trace:?}");
    }
}
