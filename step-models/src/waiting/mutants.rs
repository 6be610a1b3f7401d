//! Each rule left out, and the scene that tells. The invariant of the gate is not checked here: a
//! mutant is caught by what callers see.

use super::scenes::scene;
use super::*;

use Op::{Burst, Close, Force, Reset, Try, TryAndRefund};

pub(super) fn caught(mutant: Mutant, scene: Scene, by: &str) {
    let whole = Scene { checks_gate: false, ..scene };
    if let Err(trace) = explore_with_goal(&whole) {
        panic!("without {mutant:?}: {trace:?}")
    }
    match explore_with_goal(&Scene { mutant: Some(mutant), ..whole }) {
        Ok(explored) => panic!("{mutant:?} is not caught in {} states", explored.states),
        Err(trace) => assert!(trace.fault.contains(by), "{mutant:?}: {trace:?}"),
    }
}

#[test]
fn every_rule_is_needed() {
    use Mutant::*;
    let by_grants = |scene: Scene| Scene { judge: Judge::Grant, ..scene };
    for (mutant, scene, by) in [
        (TryIgnoresGate, scene![acquire(2), Try(1)], OVERTAKES),
        (CasIgnoresGate, scene![acquire(2), acquire(1), Try(1)], OVERTAKES),
        (NobodyClosesGate, scene![acquire(2), Try(1)], OVERTAKES),
        (GrantOpensGate, scene![acquire(1), acquire(2), Try(1)].run(3), OVERTAKES),
        (GateStaysClosed, scene![dropped(1), Try(1)], STALL),
        (HelperTries, scene![acquire(2), Try(1)].run(3), OVERTAKES),
        (TryDoesNotHelp, scene![unpolled(1), Try(1)].run(3), UNPOLLED),
        (OnlyHeadArms, scene![unpolled(1), acquire(1)].run(3), STALL),
        (ClampsByReading, scene![acquire(2), acquire(1)], LATER),
        (NoClamp, Scene { spent: 0, ..scene![acquire(2), acquire(2), Try(2)].exact() }, LEVEL),
        (
            SinceNotRaised,
            by_grants(scene![acquire(2), acquire(2), acquire(1)].run(5).exact().slack(2)),
            BOUND,
        ),
        (GrantsEarly, scene![acquire(1)].run(2), "before its time"),
        (MarksBeforeCas, scene![acquire(1), acquire(1), Force(1)].run(3).slack(1), UNITS),
        (GrantsByStore, scene![acquire(1), Force(1)].run(3).slack(1), LEVEL),
        (GrantDoesNotWake, scene![acquire(1), acquire(1)].run(2), LOST),
        (RegistersLate, scene![dropped(2), acquire(1)].run(3), LOST),
        (HeadNotTold, scene![dropped(2), acquire(1)].run(3), STALL),
        (OnlyCancelTells, scene![dropped(2), acquire(1), acquire(1)].run(3).exact(), STALL),
        (CancelDoesNotSettle, scene![dropped(2), acquire(1)].run(3), STALL),
        (TimesOutUnseen, scene![acquire(1).until(1), acquire(1)].run(3), UNITS),
        (CancelTakesOff, scene![dropped(1), Try(1)].run(3), LEVEL),
        (DropTakesOff, scene![dropped(1), Try(1)].run(3), LEVEL),
        (GivesBackBlindly, scene![dropped(1).gives_back(), Try(1), Try(2)].exact(), BOUND),
        (
            GivesBackOverAChange,
            scene![dropped(2).gives_back(), Reset, Try(2)].exact().run(2),
            LEVEL,
        ),
        (
            RefundDoesNotPoke,
            Scene { spent: 1, ..scene![acquire(2), TryAndRefund(1)].run(3) },
            STALL,
        ),
        (ChangeDropsGate, scene![acquire(2), Reset, Try(1)].run(2), OVERTAKES),
        (ChangeDropsGate, scene![acquire(2), Burst(1), Try(1)].run(3), OVERTAKES),
        (ChangeDoesNotPoke, scene![acquire(2), Reset].run(2), STALL),
        (ChangeKeepsTerms, scene![Try(2), Burst(1)].run(2), BOUND),
        (GrantsTooLarge, scene![acquire(2), Burst(1)].run(3), BOUND),
        (ForcesByStore, scene![Try(1), Force(1)].run(2).slack(1), LEVEL),
        (CloseDoesNotWake, scene![acquire(2), Close].run(3), LOST),
        (
            GrantsLate,
            Scene { refuses_late: true, ..scene![acquire(2).until(1), acquire(1)] },
            AFTER_DEADLINE,
        ),
        (TryIgnoresGate, scene![acquire(2), Try(1)].window(2), OVERTAKES),
        (
            GrantOpensGate,
            scene![acquire(2), acquire(2), Try(1)].window(1).run(3).exact(),
            OVERTAKES,
        ),
    ] {
        caught(mutant, scene, by);
    }
}
