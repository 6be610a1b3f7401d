//! The fair line: waiters stand in it in order, beside a limiter of one word.
//!
//! The word is that of `give_back.rs`, a level, or that of a fixed window; and one bit of it is the
//! *gate*, which is closed while somebody stands in line. So the CAS of a call that does not wait
//! can succeed only while nobody does. The line is a queue under a lock; its *head* is the waiter
//! at the front, and *since* is the reading from which the head has stood there. In order:
//!
//! * A call that waits tries once, as any other does. If it is refused or finds the gate closed, it
//!   locks the line, reads the clock, and joins at the end. If it is alone, since is its reading.
//! * Whoever holds the lock *settles*: grants the head, if its turn has come, by a CAS that charges
//!   it, and then the next; and closes the gate if somebody is left, or opens it. The head is
//!   charged as of its own turn: nothing that it has earned since it came to the front is lost if
//!   nobody looks in time. A waiter is charged when it is granted and not before, so one that
//!   leaves takes nothing with it.
//! * A waiter sets its timer to the instant of its turn if nobody ahead leaves, and wakes by that,
//!   by its deadline, or because it is woken; then it locks the line, looks at its node, and
//!   settles. Only then it looks at its deadline. A waiter that leaves settles too. If the turn of
//!   the head is then earlier than its timer, the holder wakes the head.
//!   One may settle more strictly: refuse a head whose deadline has passed, if its turn is later.
//! * A try that finds the gate closed settles if nobody holds the lock. If the line is empty then,
//!   it begins again; otherwise it is denied.
//! * Force, changes and permits that are given back go through the gate and leave it as it is. The
//!   latter two settle afterwards, if it was closed. Since starts again at both, as nobody is to be
//!   charged for what comes as of an instant before; and when the head leaves. At a change, a waiter
//!   that wants more than the burst is refused.
//! * A reservation goes ahead of the clock, by a CAS, if it finds the gate open. Otherwise it joins
//!   the line, unless it would be too far ahead, and is told the instant of its turn as it is foreseen.
//!   That is fixed, and its permits may be used from then on. It has no timer and nobody wakes it:
//!   whoever settles charges it, as of the instant that it was told, and no deeper than debts go. So
//!   it does with one that has come to the front, at once; and, before anything else, with one whose
//!   instant has come. It is never refused. One that is cancelled in line was not charged; after that
//!   it is given back if the level and the terms are those that its charge left.
//! * A waiter that is dropped when it has been granted gives its permits back if the level and the
//!   terms are still those that the grant left.
//!
//! Stated of every state: the bound, without slack, each admission dated by its own turn; the
//! level is what the admissions alone make; while a waiter stands in line that has let go of the
//! lock, no CAS of a call that does not stand there succeeds; while nobody holds the lock, the gate
//! is closed if and only if somebody stands in line; a waiter has one outcome, and is awake or being
//! woken once it has it; a timer is set to later than the reading that it was set by. And from every
//! state, while the clock stands still, there is a way to one in which nobody that is polled is due
//! or out of time and still in line.
//!
//! In `waiting/`, `beside.rs` has the same line beside a limiter of several words, a ring, in
//! `ring.rs`; and `outside.rs` has a line that is outside of its limiter's word, also one for each
//! key. Each file lists its mutants.
//!
//! Left out: several changes at once, and clocks that go back by more than a reading may be late.
//!
//! | mutant                | what it drops                                            | what goes wrong |
//! |-----------------------|----------------------------------------------------------|-----------------|
//! | `TryIgnoresGate`      | that a call looks at the gate                            | it overtakes |
//! | `CasIgnoresGate`      | that its CAS compares the gate                           | the same |
//! | `NobodyClosesGate`    | that a waiter that joins closes the gate                 | the same |
//! | `GrantOpensGate`      | that the gate stays closed while others wait             | the same |
//! | `GateStaysClosed`     | that the last to leave opens the gate                    | a try comes back for ever |
//! | `HelperTries`         | that a try that has settled is denied                    | it overtakes |
//! | `TryDoesNotHelp`      | that a try at the gate settles                           | a line that nobody polls denies all for ever |
//! | `OnlyHeadArms`        | the timers of those behind the head                      | a head that nobody polls stalls them |
//! | `ClampsByReading`     | since: the head's tokens overflow by the settler's clock | it is charged for time that it has waited |
//! | `NoClamp`             | that tokens overflow                                     | more than the bound |
//! | `SinceNotRaised`      | that since is raised by a grant                          | the next has what was earned before its time |
//! | `GrantsEarly`         | that the head waits for its turn                         | more than the bound |
//! | `MarksBeforeCas`      | the order: CAS, then the node                            | a grant that nobody is charged for |
//! | `GrantsByStore`       | the CAS of a grant                                       | what was forced meanwhile is lost |
//! | `GrantDoesNotWake`    | the wake-up of a waiter that is granted                  | it sleeps on |
//! | `RegistersLate`       | that a waker is set before the lock is let go            | a wake-up is lost |
//! | `HeadNotTold`         | that a head whose timer is late is woken                 | it sleeps on |
//! | `OnlyCancelTells`     | the same, unless it is told by a waiter that leaves      | the next one sleeps on when that head is granted |
//! | `CancelDoesNotSettle` | that a waiter that leaves settles                        | the next sleeps on; the gate stays closed |
//! | `TimesOutUnseen`      | the look at the node when time is out                    | a grant that nobody has |
//! | `CancelTakesOff`      | (takes off permits that were not charged)                | more than the bound |
//! | `DropTakesOff`        | (takes off permits that others may have built on)        | the same |
//! | `GivesBackBlindly`    | the look at the level                                    | the same |
//! | `GivesBackOverAChange`| the look at the terms                                    | the same level came back after a reset |
//! | `RefundDoesNotPoke`   | the settling after permits are given back                | a waiter that is due sleeps on |
//! | `ChangeDropsGate`     | that a change leaves the gate as it is                   | a try overtakes |
//! | `ChangeDoesNotPoke`   | the settling after a change                              | a waiter that is due sleeps on |
//! | `ChangeKeepsTerms`    | that a change leaves other terms                         | a CAS from before it succeeds |
//! | `GrantsTooLarge`      | that no waiter gets more than the burst                  | more than the bound |
//! | `ForcesByStore`       | the CAS of force                                         | an admission is lost |
//! | `ReservePassesGate`   | that a reservation stops at the gate                     | it overtakes |
//! | `CloseDoesNotWake`    | the wake-ups of a close                                  | they sleep on |
//! | `GrantsLate`          | that a head whose time is out is refused, if one settles so | it is granted as of a turn after its deadline |
//! | `GrantOpensToReservation` | that the gate stays closed while only a reservation is left | a try overtakes it |
//! | `HoldsAtFront`        | that a reservation at the front is charged at once       | those behind it wake in vain; the gate stays closed for nobody |
//! | `ChargesAsOfNow`      | that a reservation is charged as of its instant          | it is used later than it counts: more than the bound |
//! | `ChargesInOrder`      | that one whose instant has come is charged first         | one ahead that is late takes what was promised: more than the bound |
//! | `ChargesAnyDebt`      | that what a debt cannot hold is not charged              | deeper than any call may go |
//! | `ForecastLeavesOut`   | the reservations ahead in what the next one is told      | more than the bound |
//! | `ForecastIgnoresInstants` | the instants of those reservations                   | the same |
//! | `CloseDropsReservation` | that a close leaves reservations                       | the same |
//! | `RefusesReservation`  | that a change leaves one of more than the burst          | the same |
//! | `CancelTakesOff`      | (takes off permits of a reservation that was not charged) | more than the bound |
//! | `CancelsBlindly`      | the look at the level when a charged one is cancelled    | the same |

use std::fmt;
use std::hash::Hash;

use crate::explore::{CLOCK, Explored, Found, Goal, Model, explore_with_goal};

#[path = "waiting/beside.rs"]
mod beside;
#[path = "waiting/booking.rs"]
mod booking;
#[path = "waiting/calls.rs"]
mod calls;
#[path = "waiting/changes.rs"]
mod changes;
#[path = "waiting/engine.rs"]
mod engine;
#[path = "waiting/matrix.rs"]
mod matrix;
#[path = "waiting/mutants.rs"]
mod mutants;
#[path = "waiting/outside.rs"]
mod outside;
#[path = "waiting/reservations.rs"]
mod reservations;
#[path = "waiting/ring.rs"]
mod ring;
#[path = "waiting/rules.rs"]
mod rules;
#[path = "waiting/scene.rs"]
mod scene;
#[path = "waiting/scenes.rs"]
mod scenes;
#[path = "waiting/settle.rs"]
mod settle;
#[path = "waiting/state.rs"]
mod state;
#[path = "waiting/turns.rs"]
mod turns;

use rules::*;
use scene::*;
use state::*;

const THREADS: usize = 4;
const INSTANTS: usize = 12;
/// A timer that is not set.
const NEVER: i8 = i8::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    TryIgnoresGate,
    CasIgnoresGate,
    NobodyClosesGate,
    GrantOpensGate,
    GateStaysClosed,
    HelperTries,
    TryDoesNotHelp,
    OnlyHeadArms,
    ClampsByReading,
    NoClamp,
    SinceNotRaised,
    GrantsEarly,
    MarksBeforeCas,
    GrantsByStore,
    GrantDoesNotWake,
    RegistersLate,
    HeadNotTold,
    OnlyCancelTells,
    CancelDoesNotSettle,
    TimesOutUnseen,
    CancelTakesOff,
    DropTakesOff,
    GivesBackBlindly,
    GivesBackOverAChange,
    RefundDoesNotPoke,
    ChangeDropsGate,
    ChangeDoesNotPoke,
    ChangeKeepsTerms,
    GrantsTooLarge,
    ForcesByStore,
    ReservePassesGate,
    CloseDoesNotWake,
    GrantsLate,
    GrantOpensToReservation,
    HoldsAtFront,
    ChargesAsOfNow,
    ChargesInOrder,
    ChargesAnyDebt,
    ForecastLeavesOut,
    ForecastIgnoresInstants,
    CloseDropsReservation,
    RefusesReservation,
    CancelsBlindly,
}
