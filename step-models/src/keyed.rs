//! The table that keeps no keys: buckets of one-word slots, a key's print and what it
//! has spent in one word, and no lock.
//!
//! A word is empty, a key's (a print and a level: when its capacity is whole again), a
//! mark (a key that is about to come in), or the tombstone of a mark. In order:
//!
//! * A take reads the clock, and looks for its key. If it finds a word of it that is not
//!   ahead of the reading, it goes by that; and if its CAS fails, by the same reading again
//!   if the word that it finds is the key's, and not ahead of it either. If not, the reading
//!   is dropped, and what follows is as if it had not been. But if it saw its key nowhere, it
//!   may put its mark, by that reading, where there never was a word; and it looks for its key
//!   no more when it loads the words again, to choose one for its mark.
//! * It loads the slots of its home, and if its key is not there those of the other
//!   bucket; then it reads the clock. A word of the key is the key's, however old it is,
//!   and the take is one CAS of it. A take that is refused writes nothing.
//! * If there is none, it joins the lowest mark of the key; if there is none either it
//!   puts a mark over a word that counts for nobody, by a CAS. Which it chooses of those
//!   makes no difference. A mark's level is above all that the slot had before.
//! * Then a fence, and it looks at every other slot of the key again, in the one order
//!   that all keys have. A word of the key: it takes its mark away and begins again. A
//!   lower mark of the key: it begins again, and joins it. A higher one: it makes a
//!   tombstone of it, and if it cannot it looks again.
//! * Then it reads the clock, and charges the mark by a CAS.
//! * By the clock itself only a hit goes, and it may be behind the word that it hits: then the
//!   key has nothing. Whatever else compares levels goes by the table's time: the latest reading
//!   that any call went by, but for a slack, if the clock is behind that.
//! * A reset, and what is given back of a full key, leave a word of the key that is full by
//!   every clock. It may be lower than a mark that was there, by the margin at most: by so
//!   much longer than it lives is a word spared. A sweep leaves a tombstone. Nothing is
//!   empty again.
//! * A batch loads the homes of two keys, reads the clock, and takes of both by that
//!   reading; what is not in its home, or changes, is taken alone.
//!
//! Stated of every state: in any span a key is granted no more than its capacity and
//! what is earned in the span, each grant dated by the reading that decided it; no key
//! has two words; and no circle of states goes round without end.
//!
//! | mutant                | what it drops                                        | what goes wrong |
//! |-----------------------|------------------------------------------------------|-----------------|
//! | `ClockFirst`          | the clock is read again, after the loads             | what was written since counts as expired |
//! | `FirstLooksAhead`     | a level is compared with the reading before it       | the same |
//! | `FirstRetriesAhead`   | after a CAS that failed it is compared again         | the same |
//! | `FirstMarksOver`      | a mark by the first reading is put where nobody was  | a word that is ahead of it counts as expired |
//! | `ClockBetween`        | the same, for the other bucket                       | the same |
//! | `ExpiredIsAbsent`     | a word of the key is its word, however old           | the key comes in elsewhere, and an old CAS succeeds |
//! | `ChargesByScan`       | the clock is read again before the charge            | the key has been in and gone meanwhile |
//! | `ChargesBeforeRescan` | it is read after the second look                     | the same |
//! | `NoRescan`            | the second look                                      | two marks are charged |
//! | `RescansHome`         | the second look at the other bucket                  | the same |
//! | `NoFence`             | the fence: the second look may see what was before   | the same |
//! | `SkipsOldMarks`       | a mark is one however old it is                      | its owner charges it |
//! | `SparesHigher`        | a higher mark is taken away                          | both are charged |
//! | `KillsBlindly`        | it is looked at again if that fails                  | it had been charged |
//! | `IgnoresLower`        | a lower mark goes first                              | both are charged |
//! | `BuriesNothing`       | a mark that goes leaves a tombstone                  | the same mark comes back, and its first owner charges it |
//! | `SameMark`            | a mark is above the tombstone                        | the same |
//! | `SweepsToNothing`     | a sweep leaves a tombstone                           | the same |
//! | `StoresHit`           | the CAS of a take                                    | another's take is lost |
//! | `TakesMarks`          | a mark that is live is not another key's to take     | two keys take each other's for ever |
//! | `NoJoin`              | a mark is joined                                     | at one reading levels are used up |
//! | `ResetsToNothing`     | a reset leaves the key in its place                  | two words |
//! | `ResetsToSpan`        | a reset makes full by every clock                    | it is not full by a late one |
//! | `NoBandInMargin`      | the margin has the band of marks                     | an earlier mark comes back after a reset, and is charged |
//! | `OneSlackInMargin`    | it has two slacks                                    | the same, after a reset by a late reading |
//! | `NoSlackInMargin`     | it has any                                           | with no band either, a word that is live by a late reading goes |
//! | `SweepsLive`          | a sweep spares what is live                          | a key is full at once |
//! | `SweepsByScan`        | a sweep reads the clock after its load               | what is ahead of the reading counts as expired |
//! | `ForgetsSteps`        | a level that a clock has stepped back from is live   | a key is full at once |
//! | `GoesByClock`         | a key comes in by the table's time                   | it earns the same time twice |
//! | `ForgetsTime`         | that is kept                                         | the same |
//!
//! `BelowMark` is no fault: a charge that is lower than its mark is within the margin too.
//!
//! Besides: a clock that steps back, in `steps_back.rs`; late readings without slack, in `mutants.rs`; receipts from before a reset, in
//! `resets.rs`; words as old as the modulus in `wrap.rs` and `sweeps.rs`; keys of one print
//! that share one bucket in `two_buckets.rs`; and a batch that reads too early in
//! `batches.rs`.
//!
//! Tests whose names end in `in_full` take minutes, and are built by `ci/models.sh` only.

use crate::explore::{CLOCK, Found, Model, explore};

#[path = "keyed/batches.rs"]
mod batches;
#[path = "keyed/calls.rs"]
mod calls;
#[path = "keyed/first.rs"]
mod first;
#[path = "keyed/fixed.rs"]
mod fixed;
#[path = "keyed/insert.rs"]
mod insert;
#[path = "keyed/matrix.rs"]
mod matrix;
#[path = "keyed/mutants.rs"]
mod mutants;
#[path = "keyed/other_calls.rs"]
mod other_calls;
#[path = "keyed/resets.rs"]
mod resets;
#[path = "keyed/rules.rs"]
mod rules;
#[path = "keyed/scene.rs"]
mod scene;
#[path = "keyed/state.rs"]
mod state;
#[path = "keyed/steps_back.rs"]
mod steps_back;
#[path = "keyed/sweeps.rs"]
mod sweeps;
#[path = "keyed/tiers.rs"]
mod tiers;
#[path = "keyed/turn.rs"]
mod turn;
#[path = "keyed/two_buckets.rs"]
mod two_buckets;
#[path = "keyed/words.rs"]
mod words;
#[path = "keyed/wrap.rs"]
mod wrap;

use rules::*;
use scene::*;
use state::*;
use turn::Turn;
use words::*;

/// Two buckets of two, or three of fewer.
const SLOTS: usize = 6;
/// The most slots that one key has.
const SEEN: usize = 4;
const THREADS: usize = 4;
const GRANTS: usize = 8;
const OWNERS: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    ClockFirst,
    ExpiredIsAbsent,
    ChargesByScan,
    ChargesBeforeRescan,
    NoRescan,
    NoFence,
    SkipsOldMarks,
    SparesHigher,
    KillsBlindly,
    IgnoresLower,
    BuriesNothing,
    SameMark,
    BelowMark,
    StoresHit,
    TakesMarks,
    NoJoin,
    ResetsToNothing,
    SweepsLive,
    SweepsToNothing,
    SweepsByScan,
    ClockBetween,
    RescansHome,
    NoBandInMargin,
    OneSlackInMargin,
    NoSlackInMargin,
    ResetsToSpan,
    FirstLooksAhead,
    FirstRetriesAhead,
    FirstMarksOver,
    ForgetsSteps,
    GoesByClock,
    ForgetsTime,
}

fn all_hold(scenes: impl IntoIterator<Item = Scene>) -> usize {
    let mut states = 0;
    for scene in scenes {
        match explore(&scene) {
            Ok(explored) => states += explored.states,
            Err(trace) => panic!("{:?}, {:?}: {trace:?}", scene.slots, scene.plans),
        }
    }
    states
}
