//! The table that keeps no keys: buckets of one-word slots, a key's fingerprint and what it
//! has spent in one word, and no lock.
//!
//! A word is empty; a key's (a fingerprint and a level: when its capacity is whole again); a
//! *marker* (of a key that is about to come in); or the *tombstone* that a marker leaves. In the
//! code `print` is the fingerprint, `charged` a key's word, `mark` a marker and `buried` its
//! tombstone. A *hit* is a take by a key's word that was found. In order:
//!
//! * A take reads the clock, and looks for its key. If it finds a word of it that is not ahead of
//!   the reading, it goes by that reading. If its CAS then fails, it does so again, provided that
//!   the word it finds is the key's and not ahead of the reading either. If not, it drops the
//!   reading, and goes on as if that had not been. But if it saw its key nowhere, it may put its
//!   marker, by that reading, where there never was a word; and it looks for its key no more when
//!   it loads the words again, to choose a slot for its marker.
//! * It loads the slots of its home, and if its key is not there those of the other bucket; then
//!   it reads the clock. A word of the key is the key's, however old it is, and the take is one
//!   CAS of it. A take that is refused writes nothing.
//! * If there is no such word, it joins the lowest marker of the key. If there is none either, it
//!   puts a marker over a word that no longer counts, by a CAS. It makes no difference which of
//!   those it chooses. A marker's level is above all that the slot had before.
//! * Then a fence, and it looks at every other slot of the key again, in the one order that all
//!   keys have. If it finds a word of the key, it takes its marker away and begins again. If it
//!   finds a lower marker of the key, it begins again, and joins it. If it finds a higher one, it
//!   makes a tombstone of it, and if it cannot it looks again.
//! * Then it reads the clock, and charges the marker by a CAS.
//! * Only a hit goes by the clock itself, which may be behind the word that it hits: then the key
//!   has nothing. All else that compares levels goes by the table's time, if the clock is behind
//!   that: the latest reading that any call went by, or less than that by up to a slack.
//! * A reset, and giving back what was taken of a full key, leave a word of the key that is full
//!   by every clock. It may be lower than a marker that was there, by the margin at most: so a word
//!   is spared for longer than it lives, by the margin. A sweep leaves a tombstone. No slot becomes
//!   empty again.
//! * A batch loads the homes of two keys, reads the clock, and takes of both by that reading; a key
//!   that is not in its home, or changes, is taken alone.
//!
//! Stated of every state: in any span a key is granted no more than its capacity and what is
//! earned in the span, each grant dated by the reading that decided it; no key has two words; and
//! no circle of states goes round without end.
//!
//! | mutant                | what it drops                                           | what goes wrong |
//! |-----------------------|---------------------------------------------------------|-----------------|
//! | `ClockFirst`          | the clock is read again, after the loads                | what was written since counts as expired |
//! | `FirstLooksAhead`     | a level is compared with the reading before it          | the same |
//! | `FirstRetriesAhead`   | after a CAS that failed it is compared again            | the same |
//! | `FirstMarksOver`      | a marker by the first reading is put where no word was  | a word that is ahead of it counts as expired |
//! | `ClockBetween`        | the clock is read again, after loading the other bucket | the same |
//! | `ExpiredIsAbsent`     | a word of the key is its word, however old              | the key comes in elsewhere, and an old CAS succeeds |
//! | `ChargesByScan`       | the clock is read again before the charge               | the key has been in and gone meanwhile |
//! | `ChargesBeforeRescan` | it is read after the second look                        | the same |
//! | `NoRescan`            | the second look                                         | two markers are charged |
//! | `RescansHome`         | the second look at the other bucket                     | the same |
//! | `NoFence`             | the fence: the second look may see what was before      | the same |
//! | `SkipsOldMarks`       | a marker is one however old it is                       | its owner charges it |
//! | `SparesHigher`        | a higher marker is taken away                           | both are charged |
//! | `KillsBlindly`        | it is looked at again if that fails                     | it had been charged |
//! | `IgnoresLower`        | a lower marker goes first                               | both are charged |
//! | `BuriesNothing`       | a marker that goes leaves a tombstone                   | the same marker comes back, and its first owner charges it |
//! | `SameMark`            | a marker is above the tombstone                         | the same |
//! | `SweepsToNothing`     | a sweep leaves a tombstone                              | the same |
//! | `StoresHit`           | the CAS of a take                                       | another's take is lost |
//! | `TakesMarks`          | another key may not take a marker that is live          | two keys take each other's for ever |
//! | `NoJoin`              | a marker is joined                                      | at one reading levels are used up |
//! | `ResetsToNothing`     | a reset leaves the key in its place                     | two words |
//! | `ResetsToSpan`        | a reset makes full by every clock                       | it is not full by a late one |
//! | `NoBandInMargin`      | the margin has the band of markers                      | an earlier marker comes back after a reset, and is charged |
//! | `OneSlackInMargin`    | it has two slacks                                       | the same, after a reset by a late reading |
//! | `NoSlackInMargin`     | it has any                                              | with no band either, a word that is live by a late reading goes |
//! | `SweepsLive`          | a sweep spares what is live                             | a key is full at once |
//! | `SweepsByScan`        | a sweep reads the clock after its load                  | what is ahead of the reading counts as expired |
//! | `ForgetsSteps`        | a level that a clock has stepped back from is live      | a key is full at once |
//! | `GoesByClock`         | a key comes in by the table's time                      | it earns the same time twice |
//! | `ForgetsTime`         | that time is kept                                       | the same |
//!
//! `BelowMark` is no fault: a charge that is lower than its marker is within the margin too.
//!
//! Other files have: a clock that steps back, in `steps_back.rs`; late readings without slack, in
//! `mutants.rs`; receipts from before a reset, in `resets.rs`; words as old as the modulus, in
//! `wrap.rs` and `sweeps.rs`; keys of one fingerprint that share one bucket, in `two_buckets.rs`;
//! and a batch that reads too early, in `batches.rs`.
//!
//! Tests whose names end in `in_full` take minutes, and are built by `ci/models.sh` only.

use crate::explore::{CLOCK, Found, Model, explore};

#[path = "keyed/batches.rs"]
mod batches;
#[path = "keyed/calls.rs"]
mod calls;
#[path = "keyed/engine.rs"]
mod engine;
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
