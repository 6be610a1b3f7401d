//! The theorems about the programs, and the fault of each mutant.

use crate::explore::{Trace, explore};

use super::scenes::*;
use super::*;

fn holds(model: &Leases, at_least: usize) {
    let explored = explore(model).unwrap();
    println!("leases {:?}: {explored:?}", model.programs);
    assert!(explored.states > at_least && explored.counts.grants > 0);
}

fn fails(model: &Leases, fault: &str) {
    let trace: Trace = explore(model).expect_err(&format!("{:?}", model.mutant));
    assert!(trace.fault.contains(fault), "{:?}: {trace:?}", model.mutant);
}

fn exceeds(model: &Leases, by: i8) {
    fails(&Leases { asks: false, ..*model }, &format!("{by} more than the bound"));
}

#[test]
fn the_root_the_shards_and_the_leases_admit_no_more_than_one_bucket() {
    holds(&drawing(), 1_000);
    holds(&closing(), 2_000);
    holds(&closing_beside_a_draw(), 4_000);
    holds(&stealing(), 20_000);
    holds(&Leases { earns: 2, ..stealing() }, 20_000);
    holds(&Leases { run: 3, ..leasing() }, 100_000);
    holds(&Leases { earns: 2, ..leasing() }, 40_000);
    holds(&leasing_a_part(), 1_000);
    holds(&robbing(), 1_500);
    holds(
        &full(3, [1, 1], 3, [&[Spend(0, 1, 0), Close(0)], &[Spend(1, 1, 0), Close(1)], &[]]),
        5_000,
    );
    holds(&bucket(4, 1, [(1, 2), (0, 1)], 2, [&[Spend(0, 2, 3)], &[Spend(1, 2, 0)], &[]]), 3_000);
    holds(
        &bucket(3, 1, [(1, 1), (0, 1)], 2, [&[Spend(0, 2, 0)], &[Spend(1, 1, 1)], &[Close(1)]]),
        80_000,
    );
    holds(&full(3, [0, 0], 2, [&[Spend(0, 1, 2)], &[Spend(0, 1, 2)], &[OfRoot(1)]]), 50_000);
}

#[test]
fn a_change_that_keeps_the_tokens_keeps_the_bound() {
    holds(&changing(), 15_000);
    holds(&closing_in_a_change(), 5_000);
    holds(&full(3, [2, 0], 2, [&[Lease(0, 2)], &[Change(1)], &[]]), 5_000);
    holds(&outlasting_a_change(), 15_000);
    holds(&Leases { earns: 2, ..changing() }, 18_000);
    // To another cap, and the bound of the larger.
    holds(&full(4, [1, 1], 2, [&[Change(2), Change(3)], &[Spend(0, 2, 3)], &[]]), 10_000);
    holds(&full(2, [0, 1], 2, [&[Change(4)], &[Spend(1, 1, 1), Close(1)], &[]]), 3_000);
}

#[test]
fn every_mutant_of_the_leases_is_caught() {
    use Mutant::*;

    for (mutant, model) in [
        (NoCarveOut, closing()),
        (RegisterLate, drawing()),
        (OutsideFirst, drawing()),
        (OldRoomIsFresh, leasing()),
        (RoomNotPut, leasing()),
        (RoomStays, leasing()),
        (ReleasedLease, leasing()),
        (StealByStore, robbing()),
        (PutByStore, leasing_a_part()),
        (Unsettled, closing()),
        (SettleByStore, closing()),
        (SettleOutsideFirst, closing_beside_a_draw()),
        (NoStill, closing_in_a_change()),
        (OldReading, leasing()),
        (LeaseOldReading, leasing()),
        (ReleaseSpent, drawing()),
        (ReleaseTwice, closing()),
        (UndoesUsed, drawing()),
        (ChangeUnclamped, changing()),
        (ChangeReleasesFirst, changing()),
        (ChangeUnnoticed, changing()),
        (RootTakesBack, closing()),
    ] {
        exceeds(&Leases { mutant: Some(mutant), ..model }, 1);
    }
    fails(&Leases { mutant: Some(OnlyUnclamped), ..closing() }, "refused for ever");
    fails(&Leases { mutant: Some(RoomForgotten), ..leasing() }, "refused for ever");
    let unburnt = Leases { mutant: Some(NotBurnt), ..outlasting_a_change() };
    fails(&unburnt, "more is outside than there can be");
}

#[test]
fn late_readings_add_what_is_earned_in_the_time_they_are_late() {
    let draws: [&[Op]; THREADS] = [&[OfRoot(4)], &[], &[]];
    let releases: [&[Op]; THREADS] = [&[Spend(0, 4, 0), Close(0)], &[], &[]];
    for (lag, earns) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
        for late in [full(4, [0, 0], 4, draws), full(4, [4, 0], 4, releases)] {
            let late = Leases { earns, lag, ..late };
            holds(&Leases { excess: lag * earns, ..late }, 100);
            exceeds(&Leases { excess: lag * earns - 1, ..late }, lag * earns);
        }
    }
    for late in [closing(), closing_beside_a_draw(), stealing(), changing(), leasing_a_part()] {
        holds(&Leases { lag: 1, excess: 1, ..late }, 3_000);
    }
}

/// Late or not: what is stolen after that reading was in the root then, if it was not
/// outside, for else the root would refuse the rest.
#[test]
fn what_the_root_grants_a_part_of_counts_as_a_whole_when_the_clock_was_read() {
    let steals: [&[Op]; THREADS] = [&[Spend(0, 2, 0)], &[Spend(1, 1, 1)], &[OfRoot(1)]];
    let steals = bucket(3, 1, [(0, 0), (1, 1)], 2, steals);
    holds(&steals, 15_000);
    exceeds(&Leases { counts_late: true, ..steals }, 1);
}

/// Unless the root is nearly full: capacity that is reserved for a lease hides tokens from the
/// others before the lease is drawn.
#[test]
fn no_token_is_lost_while_the_clock_stands_still() {
    let programs: [&[Op]; THREADS] =
        [&[Spend(0, 1, 2), Close(0)], &[Spend(1, 2, 1)], &[Lease(0, 1)]];
    holds(&bucket(8, 2, [(1, 1), (0, 0)], 0, programs), 4_000);
    let near = full(3, [0, 0], 0, [&[Spend(0, 1, 2)], &[OfRoot(1)], &[]]);
    holds(&Leases { lost: 2, ..near }, 50);
    fails(&near, "2 lost");
    // Where a lease is dropped, capacity that others reserve counts as if the cap were lower.
    let dropping: [&[Op]; THREADS] = [&[Lease(0, 1)], &[Lease(1, 2)], &[Lease(1, 2)]];
    let dropping = full(3, [1, 0], 0, dropping);
    holds(&Leases { lost: 3, ..dropping }, 8_000);
    fails(&Leases { lost: 2, ..dropping }, "3 lost");
}
