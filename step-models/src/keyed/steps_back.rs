//! A clock that steps back: any reading may be behind the latest one, by so much. A key that
//! has spent gets nothing for it, and one that has lost its place does not earn the same time
//! twice. No margin is needed for that: the table keeps the time.

use super::matrix::{EMPTY, another, other, stale};
use super::*;

const TAKE: Op = take(1, 1);
const OTHER: Op = take(2, 1);
const SWEEP: Op = Op::Sweep(key(1));

/// Programs of a thread that takes all, loses the place, and comes again.
fn programs(cap: i8) -> Vec<Vec<Vec<Op>>> {
    let all = take(1, cap);
    vec![
        vec![vec![all, OTHER], vec![all, TAKE]],
        vec![vec![all, SWEEP, TAKE], vec![TAKE]],
        vec![vec![all, OTHER, all]],
        vec![vec![TAKE, TAKE], vec![OTHER, TAKE]],
        vec![vec![all, Op::Reset(key(1)), OTHER], vec![TAKE]],
        vec![vec![all, Op::GiveBack, TAKE], vec![OTHER]],
    ]
}

fn scenes(caps: &[i8], slack: i8, back: i8, until: i8) -> Vec<Scene> {
    let mut scenes = Vec::new();
    for &cap in caps {
        let old = stale(cap, 2 * slack + 1);
        let tables = [
            [EMPTY, EMPTY],
            [other(0), EMPTY],
            [other(old), another(0)],
            [Word::charged(1, 0), other(old)],
            [Word::charged(1, old), other(0)],
        ];
        for table in tables {
            for programs in programs(cap) {
                let scene = Scene { slack, ..Scene::new(2, cap, until, &table) };
                let programs: Vec<&[Op]> = programs.iter().map(Vec::as_slice).collect();
                scenes.push(scene.threads(&programs).steps_back(back));
            }
        }
    }
    scenes
}

#[test]
fn a_clock_that_steps_back_grants_nothing_anew() {
    all_hold(scenes(&[1], 0, 1, 2));
    all_hold(scenes(&[1], 0, 2, 1));
}

#[test]
#[cfg(sluicegate_deep)]
fn a_clock_that_steps_back_grants_nothing_anew_in_full() {
    for (slack, back) in [(0, 1), (0, 2), (1, 1), (1, 2), (0, 3)] {
        all_hold(scenes(&[1, 2], slack, back, 4));
    }
}

#[test]
fn a_table_that_forgets_how_far_the_clock_was_is_caught() {
    use Mutant::*;
    for mutant in [ForgetsSteps, GoesByClock, ForgetsTime] {
        let exceeds = |scene: Scene| {
            let scene = Scene { is_unique: false, ..scene }.mutate(&[mutant]);
            explore(&scene).is_err_and(|trace| trace.fault.contains("exceeds its capacity"))
        };
        assert!(scenes(&[1], 0, 2, 3).into_iter().any(exceeds), "{mutant:?}");
    }
}
