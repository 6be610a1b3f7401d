//! Every small race of one bucket of two slots.

use super::*;

/// A word of a key that no call asks for.
pub(super) const fn other(level: i8) -> Word {
    Word::charged(9, level)
}

pub(super) const fn another(level: i8) -> Word {
    Word::charged(8, level)
}

/// The level of a word that may go at 1.
pub(super) const fn stale(cap: i8, margin: i8) -> i8 {
    1 - cap - margin
}

pub(super) const EMPTY: Word = Word::EMPTY;

const TAKE: Op = take(1, 1);
const OTHER: Op = take(2, 1);

const PROGRAMS: [&[&[Op]]; 6] = [
    &[&[TAKE], &[TAKE]],
    &[&[TAKE, TAKE], &[TAKE]],
    &[&[TAKE], &[TAKE], &[TAKE]],
    &[&[TAKE, OTHER], &[TAKE, TAKE]],
    &[&[TAKE, OTHER], &[OTHER, TAKE]],
    &[&[TAKE], &[TAKE], &[OTHER]],
];

fn scenes() -> Vec<Scene> {
    let mut scenes = Vec::new();
    for cap in [1, 2] {
        let (old, mark) = (stale(cap, 1), Word::marker(1, 1 - cap));
        let tables = [
            [other(0), EMPTY],
            [other(old), EMPTY],
            [other(old), another(0)],
            [other(0), another(old)],
            [EMPTY, EMPTY],
            [other(old), Word::charged(1, 0)],
            [other(old), Word::charged(1, old)],
            [another(old), mark],
            [mark, mark],
        ];
        for until in [1, 2, 3] {
            for table in &tables {
                for programs in PROGRAMS {
                    if cap < 2 || until < 3 || programs.len() < 3 {
                        scenes.push(Scene::new(2, cap, until, table).threads(programs));
                    }
                }
            }
        }
    }
    scenes
}

/// All of it: what is the same whichever slot has it, and whichever thread, is one state.
#[test]
fn every_race_of_two_slots_holds() {
    let scenes = scenes();
    assert_eq!(scenes.len(), 306);
    assert_eq!(all_hold(scenes), 8_920_954);
}
