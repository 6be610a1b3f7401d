//! Each rule left out, and the scene that tells. The invariant of the gate is not checked here, but for
//! one mutant: the others are caught by what callers see.

use super::rules::{LEFT, STANDS, TOLD};
use super::scenes::{dropped, keys, of, one_key, unpolled, wait};
use super::*;

use Visit::{Close, Reset, ResetAll, Try, TryAndReturn};

fn caught(flaw: Flaw, scene: Outside, by: &str) {
    if let Err(trace) = explore_with_goal(&scene) {
        panic!("without {flaw:?}: {trace:?}")
    }
    match explore_with_goal(&Outside { flaw: Some(flaw), ..scene }) {
        Ok(explored) => panic!("{flaw:?} is not caught in {} states", explored.states),
        Err(trace) => assert!(trace.fault.contains(by), "{flaw:?}: {trace:?}"),
    }
}

#[test]
fn every_rule_of_a_line_outside_is_needed() {
    use Flaw::*;
    for (flaw, scene, by) in [
        (TryIgnoresGate, of(&[wait(2), Try(1)]), OVERTAKES),
        (HelperAsks, of(&[wait(1), wait(2), Try(1)]), OVERTAKES),
        (TryDoesNotHelp, of(&[unpolled(1), Try(1)]), UNPOLLED),
        (NobodyClosesGate, of(&[wait(2), Try(1)]), OVERTAKES),
        (GrantOpensGate, of(&[wait(1), wait(2), Try(1)]), OVERTAKES),
        (LeaverOpensGate, of(&[dropped(2), wait(2), Try(1)]), OVERTAKES),
        (PassesHead, of(&[wait(2), wait(1)]), OVERTAKES),
        (PollAsksUnlocked, of(&[wait(1), Try(1)]), TOLD),
        (GrantDoesNotWake, of(&[wait(1), wait(1)]), LOST),
        (RegistersLate, of(&[dropped(2), wait(1)]), LOST),
        (HeadNotTold, of(&[dropped(2), wait(1)]), STALL),
        (HeadLooksOnce, Outside { tells: false, ..of(&[wait(1)]) }, STALL),
        (OnlyHeadArms, of(&[unpolled(1), wait(1)]), STALL),
        (LeaveDoesNotSettle, of(&[dropped(2), wait(1)]), STALL),
        (UpdateDoesNotPoke, of(&[wait(2), Reset]), STALL),
        (UpdateDoesNotPoke, Outside { spent: 0, ..of(&[TryAndReturn(2), wait(2)]) }, STALL),
        (UpdatePokesFirst, of(&[wait(2), Reset]), STALL),
        (CloseDoesNotWake, of(&[wait(2), Close]), LOST),
        (StandsThoughClosed, of(&[wait(2), Close]), STANDS),
    ] {
        caught(flaw, Outside { checks_gate: false, ..scene }, by);
    }
    // A try that settles there goes on, so that callers see no harm.
    caught(GateStaysClosed, of(&[dropped(2), Try(1)]), "the gate does not tell");
}

#[test]
fn every_rule_of_lines_of_keys_is_needed() {
    use Flaw::*;
    let both = || one_key(&[dropped(1), wait(1), Try(1)]);
    let two = |visits| Outside { cap: 2, spent: 2, ..keys(1, visits) };
    for (flaw, scene, by) in [
        (TryLooksForNoLine, one_key(&[wait(1), Try(1)]), OVERTAKES),
        (RemovesUnderOthers, both(), OVERTAKES),
        (RemovesLater, both(), OVERTAKES),
        (EntersUncounted, both(), OVERTAKES),
        (UncountsEachUser, both(), OVERTAKES),
        (OneLineOfAShard, two(&[(wait(2), 0), (wait(1), 1)]), STALL),
        (ClosesWithoutTerms, one_key(&[wait(1), Close]), STANDS),
        (CloseListsFirst, one_key(&[wait(1), Close]), STANDS),
        (UpdateListsFirst, two(&[(wait(2), 0), (ResetAll, 0)]), STALL),
    ] {
        caught(flaw, Outside { checks_gate: false, ..scene }, by);
    }
    caught(KeepsLine, one_key(&[wait(1)]), LEFT);
}
