//! Reservations that stand in line, beside waiters that leave, are late, or are never polled.

use super::mutants::caught;
use super::scenes::{holds, scene};
use super::*;

use Op::{Burst, Close, Force, Reserve, ReserveAndCancel, Reset, Try};

#[test]
fn a_reservation_in_line_keeps_its_instant_the_order_and_the_bound() {
    holds(&scene![acquire(1), Reserve(1), Try(1)], 47_000);
    holds(&scene![dropped(2), Reserve(1), Try(1)], 56_000);
    holds(&scene![dropped(1), ReserveAndCancel(2), Try(2)], 82_000);
    holds(&scene![dropped(1), Reserve(1), acquire(1)].run(3).exact(), 60_000);
    holds(&scene![acquire(1).until(1), Reserve(2), acquire(1)].run(3).exact(), 36_000);
    holds(&scene![dropped(2), Reserve(1), ReserveAndCancel(1)].run(3).exact(), 49_000);
}

#[test]
fn a_reservation_behind_a_waiter_that_nobody_polls_stalls_nobody() {
    holds(&scene![unpolled(1), Reserve(1), Try(1)], 20_000);
    holds(&scene![unpolled(1), Reserve(1), acquire(1)].exact(), 58_000);
}

#[test]
fn a_reservation_in_line_bears_force_changes_and_a_close() {
    holds(&scene![dropped(1), Reserve(2), Force(1)].slack(1), 65_000);
    holds(&scene![dropped(2), Reserve(1), Reset].run(3), 60_000);
    holds(&scene![acquire(1), Reserve(2), Burst(1)].run(3).slack(1), 26_000);
    holds(&scene![acquire(1), Reserve(2), Burst(3)].run(3), 31_000);
    holds(&scene![dropped(1), ReserveAndCancel(2), Close, Try(1)].run(2).exact(), 96_000);
}

#[test]
fn a_reservation_counts_for_the_bounds_of_a_line_and_is_not_evicted() {
    let short = |ops: Scene| Scene { longest: 2, ..ops.run(3).exact() };
    holds(&short(scene![acquire(1), Reserve(1), acquire(1)]), 40_000);
    let evicts = |ops: Scene| Scene { when_long: WhenLong::EvictsOldest, ..short(ops) };
    holds(&evicts(scene![acquire(1), Reserve(1), acquire(1)]), 44_000);
    holds(&evicts(scene![acquire(1), acquire(1), Reserve(1)]), 40_000);
}

/// The one behind a head that was late is charged as if it had come to the front only then.
#[test]
fn behind_waiters_that_are_late_the_bound_has_a_reservation_as_slack() {
    let late = || scene![acquire(2), acquire(2), Reserve(2)].debt(6).run(6).exact();
    holds(&late().slack(2), 140_000);
    let trace = explore_with_goal(&late()).unwrap_err();
    assert!(trace.fault.contains(BOUND), "{trace:?}");
}

#[test]
fn a_reservation_stands_in_the_line_of_a_window_and_its_window_keeps_the_limit() {
    holds(&scene![acquire(2), Reserve(1), Try(1)].window(2), 22_000);
    holds(&scene![dropped(2), Reserve(1), acquire(1)].window(2).run(3).exact(), 27_000);
    holds(&scene![dropped(1), ReserveAndCancel(2), Try(1)].window(2), 82_000);
    holds(&scene![unpolled(1), Reserve(2), Try(2)].window(2).run(5), 19_000);
    holds(&scene![dropped(2), Reserve(1), Reserve(1), Close].window(2).run(3).exact(), 94_000);
}

#[test]
fn every_rule_of_reservations_is_needed() {
    use Mutant::*;
    for (mutant, scene, by) in [
        (ReservePassesGate, scene![acquire(1), Reserve(1)].run(2), OVERTAKES),
        (GrantOpensToReservation, scene![acquire(1), Reserve(1), Try(1)].run(3), BOUND),
        (HoldsAtFront, scene![dropped(3), Reserve(1), acquire(1)].cap(3).debt(4).exact(), STALL),
        (ChargesAsOfNow, scene![dropped(2), Reserve(1), Try(2)].debt(3), BOUND),
        (ChargesInOrder, scene![acquire(1), Reserve(2), Try(1)].window(2).exact(), BOUND),
        (ChargesAnyDebt, scene![acquire(1), Reserve(1), Force(2)].slack(2), DEEP),
        (ForecastLeavesOut, scene![acquire(1), Reserve(1), Reserve(1)].debt(3).exact(), BOUND),
        (
            ForecastIgnoresInstants,
            scene![dropped(2), acquire(1), Reserve(2), Reserve(2)].debt(7).run(1).exact(),
            BOUND,
        ),
        (CloseDropsReservation, scene![acquire(1), Reserve(1), Close, Try(2)].exact(), UNITS),
        (
            RefusesReservation,
            scene![acquire(1), Reserve(2), Burst(1), Try(1)].debt(3).run(3).exact().slack(1),
            BOUND,
        ),
        (CancelTakesOff, scene![acquire(1), ReserveAndCancel(1), Try(1)].run(3), BOUND),
        (
            CancelsBlindly,
            scene![dropped(1), ReserveAndCancel(2), Reserve(1), Try(2)].debt(4).exact(),
            BOUND,
        ),
    ] {
        caught(mutant, scene, by);
    }
}
