//! Each rule left out, and the scene that tells.

use super::fixed::*;
use super::matrix::{EMPTY, other, stale};
use super::*;

const TAKE: Op = take(1, 1);
const TWO: Op = take(1, 2);
const OTHER: Op = take(2, 1);

const EXCEEDS: &str = "exceeds its capacity";
const TWICE: &str = "has two words";
const CIRCLE: &str = "goes round without end";
const CLIMBS: &str = "uses up the band";

fn caught(name: &str, mutants: &[Mutant], scene: Scene, by: &str) {
    // Two words are no harm by themselves, unless that is what is looked for.
    let is_unique = by == TWICE;
    let scene = Scene { is_unique, ..scene };
    let whole = explore(&Scene { is_unique: true, ..scene.clone() });
    if let Err(trace) = whole {
        panic!("{name} without the mutant: {trace:?}")
    }
    match explore(&scene.mutate(mutants)) {
        Ok(explored) => panic!("{name} is not caught in {} states", explored.states),
        Err(trace) => assert!(trace.fault.contains(by), "{name}: {trace:?}"),
    }
}

#[test]
fn every_rule_is_needed() {
    use Mutant::*;
    let small = |programs: &[&[Op]]| Scene::new(2, 1, 1, &[other(-1), EMPTY]).threads(programs);
    let pair = || small(&[&[TAKE], &[TAKE]]);
    let four = |until| {
        let scene = Scene::new(2, 1, until, &[other(-1), EMPTY]);
        scene.threads(&[&[TAKE, OTHER], &[TAKE, TAKE]])
    };
    let old = |until| Scene::new(2, 2, until, &[other(stale(2, 1)), EMPTY]);
    let obvious =
        [ClockFirst, ExpiredIsAbsent, BuriesNothing, ChargesByScan, SkipsOldMarks, NoJoin];
    let after_loads = Scene { take_reads: TakeReads::AfterLoads, ..pair() };
    caught("the obvious protocol", &obvious, after_loads, CIRCLE);
    let one_slot = || Scene::new(1, 2, 2, &[EMPTY]).threads(&[&[TWO, TAKE], &[take(2, 2)]]);
    let lost = || Scene::new(1, 2, 2, &[Word::charged(1, -2)]).threads(&[&[TAKE], &[TWO, TWO]]);
    let table: [(&[Mutant], Scene, &str); 19] = [
        (&[ClockFirst], one_slot(), EXCEEDS),
        (&[FirstLooksAhead], lost(), EXCEEDS),
        (&[FirstRetriesAhead], lost(), EXCEEDS),
        (&[FirstMarksOver], pair(), EXCEEDS),
        (&[ExpiredIsAbsent], old(3).threads(&[&[TAKE, TAKE], &[TWO]]), EXCEEDS),
        (&[ChargesByScan], old(4).threads(&[&[TWO, OTHER], &[TWO]]), EXCEEDS),
        (&[ChargesBeforeRescan], four(3), EXCEEDS),
        (&[NoRescan], pair(), EXCEEDS),
        (&[NoFence], pair(), EXCEEDS),
        (&[SkipsOldMarks], pair(), EXCEEDS),
        (&[SparesHigher], pair(), EXCEEDS),
        (&[KillsBlindly], pair(), EXCEEDS),
        (&[IgnoresLower], pair(), EXCEEDS),
        (&[BuriesNothing], small(&[&[TAKE] as &[Op]; 3]), EXCEEDS),
        (&[StoresHit], small(&[&[TAKE, TAKE], &[TAKE]]), EXCEEDS),
        (&[TakesMarks], four(2), CIRCLE),
        (&[NoJoin], climb(24), CLIMBS),
        (&[ResetsToNothing], reset_over_a_mark(), TWICE),
        (
            &[SweepsLive],
            Scene::new(2, 1, 1, &[]).threads(&[&[TAKE, TAKE], &[Op::Sweep(key(1))]]),
            EXCEEDS,
        ),
    ];
    for (mutants, scene, by) in table {
        caught(&format!("{mutants:?}"), mutants, scene, by);
    }
}

/// From where the rule has been broken already, as to get there takes many threads.
#[test]
fn a_mark_that_comes_back_is_caught() {
    let scene = Scene { is_unique: false, ..stalled_mark(0) }.mutate(&[Mutant::SameMark]);
    let trace = explore(&scene).expect_err("is caught");
    assert!(trace.fault.contains(EXCEEDS), "{trace:?}");
}

#[test]
fn late_readings_need_both_the_margin_and_the_slack() {
    use Mutant::*;
    let scene = |slack| late(slack, &[&[TWO, OTHER], &[TWO]]);
    let no_margin: &[Mutant] = &[NoBandInMargin, NoSlackInMargin];
    for (mutants, slack) in [(no_margin, 1), (&[], 0)] {
        let scene = Scene { is_unique: false, ..scene(slack) };
        let trace = explore(&scene.mutate(mutants)).expect_err("is caught");
        assert!(trace.fault.contains(EXCEEDS), "{mutants:?}, slack {slack}: {trace:?}");
    }
    assert!(explore(&scene(1)).is_ok());
}
