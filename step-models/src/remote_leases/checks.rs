//! The bound, and the fault of each mutant.

use crate::explore::{Explored, explore};

use super::*;

use Op::{Ahead, Call, Crash, Retire};

/// Two nodes with leases of one permit, of a cap of four.
fn of(run: i8, programs: [&'static [Op]; 2]) -> Remote {
    Remote {
        cap: 4,
        lease: 1,
        stated: 2,
        run,
        held: 0,
        granted: 0,
        is_fresh: false,
        programs: [programs[0], programs[1], &[]],
        repeats: 0,
        departures: 0,
        failovers: 0,
        ahead: 0,
        allows: true,
        mutant: None,
    }
}

/// One node with leases of two permits, of a cap of five, that holds so many from long ago.
fn alone(run: i8, held: i8, program: &'static [Op]) -> Remote {
    Remote { cap: 5, lease: 2, stated: 1, held, ..of(run, [program, &[]]) }
}

/// One node with leases of one permit, of a cap of three.
fn small(program: &'static [Op]) -> Remote {
    Remote { cap: 3, stated: 1, ..of(0, [program, &[]]) }
}

fn filling() -> Remote {
    Remote { repeats: 1, ..alone(3, 1, &[Call(2), Ahead]) }
}

fn departing() -> Remote {
    Remote { departures: 1, ..alone(3, 0, &[Call(2), Ahead, Call(1)]) }
}

/// Permits of a charge of which one was granted.
fn giving_back() -> Remote {
    Remote { held: 1, granted: 1, is_fresh: true, repeats: 2, ..small(&[Retire, Call(1), Retire]) }
}

fn keeping() -> Remote {
    Remote { is_fresh: true, ..alone(0, 2, &[Retire, Call(2), Ahead, Retire]) }
}

/// Permits from long ago, while the lease is used up that came after them.
fn giving_back_late() -> Remote {
    alone(2, 2, &[Retire, Ahead, Call(2), Call(2)])
}

fn crashing() -> Remote {
    of(3, [&[Call(1), Crash, Call(1)], &[Call(1)]])
}

fn failing_over() -> Remote {
    Remote { failovers: 1, ahead: 1, ..of(1, [&[Call(1), Ahead], &[Call(1)]]) }
}

fn holds(model: &Remote) -> Explored {
    let explored = explore(model).unwrap();
    println!("remote leases {model:?}: {explored:?}");
    assert!(explored.counts.grants > 0);
    explored
}

fn caught(model: &Remote) -> usize {
    let trace = explore(model).unwrap_err();
    assert!(trace.fault.contains("more than the bound"), "{model:?}: {trace:?}");
    trace.steps()
}

#[test]
fn no_span_has_more_than_the_cap_and_what_it_earns() {
    for model in [filling(), departing(), giving_back(), keeping(), giving_back_late(), crashing()]
    {
        holds(&model);
    }
    let explored = holds(&of(2, [&[Call(1), Retire, Call(1)], &[Call(1), Call(1)]]));
    assert!(explored.counts.denials > 0 && explored.counts.given_back > 0);
}

#[test]
fn a_failover_adds_what_it_forgets_and_what_its_clock_is_ahead_and_no_more() {
    holds(&failing_over());
    let forgets = Remote { ahead: 0, allows: false, ..failing_over() };
    assert_eq!(caught(&forgets), 10);
}

/// Three nodes, where two are stated.
#[test]
fn the_number_of_nodes_has_to_be_stated() {
    let programs: [&[Op]; NODES] = [&[Ahead], &[Ahead], &[Ahead]];
    let stated = Remote { cap: 5, stated: 3, run: 3, programs, ..of(0, [&[], &[]]) };
    explore(&stated).unwrap();
    assert_eq!(caught(&Remote { stated: 2, cap: 4, ..stated }), 12);
}

#[test]
fn every_rule_of_remote_leases_is_needed() {
    use Mutant::*;

    // With the length of the shortest run to the fault.
    for (mutant, model, steps) in [
        (NoCarveOut, filling(), 1),
        (Unreserved, alone(2, 1, &[Ahead]), 5),
        (Copies, filling(), 6),
        (TwoRequests, alone(3, 0, &[Ahead, Ahead]), 9),
        (AnyAnswer, filling(), 4),
        (OldLife, crashing(), 12),
        (Uncut, departing(), 7),
        (KeepsLent, keeping(), 8),
        (BackToNow, giving_back_late(), 10),
        (BackTwice, giving_back(), 9),
        (ServerExpires, alone(2, 0, &[Call(2), Call(2)]), 10),
        (FailureGrants, small(&[Call(1), Call(1)]), 4),
    ] {
        explore(&model).unwrap();
        assert_eq!(caught(&Remote { mutant: Some(mutant), ..model }), steps, "{mutant:?}");
    }
}
