//! A token bucket in many places: a root of one word, and shards from which callers
//! spend without a look at the root or the clock.
//!
//! The root is the word of `give_back.rs`: a level, from which what is earned counts.
//! A token that is not in the root is in *room*, which travels with it: of a shard,
//! of the hand of a call that moves some, of a lease that a caller holds. How much
//! room there is outside is counted in a word of its own, and is not the root's: that
//! holds `min(earned - level, cap - outside)`. In order:
//!
//! * A spend takes its tokens of its shard, by one CAS. If there are too few: it takes
//!   all of the shard into its hand, room and tokens; reads the clock; looks at the root.
//! * A lease is drawn into the room in hand; room that lacks is registered outside
//!   first, and does not count against its own draw: it was empty when the clock was
//!   read. A draw loads the level, then what is outside, and does its CAS of the level.
//!   A small call draws its permits alone, all or none.
//! * If that is refused, the other shards are taken too, and what still lacks is drawn
//!   by the same reading. What is in hand is put down in the shard.
//! * Empty room in hand goes back to the root by a reading of the clock later than it
//!   was in hand and empty. What the root has earned above the clamp is only hidden: the
//!   level and then what is outside are loaded, and what was above the clamp by that
//!   reading is cut off by a CAS. If there is nothing, the level is loaded again. (The code
//!   then gives no room back beside a change, either: that is for changes of the rate, and
//!   here the rate is always the same.) If the level is ahead of the reading, the room is
//!   put down in the shard.
//!   Room that was registered and never had a token in it needs none of this.
//! * A caller's lease takes tokens from a shard, or draws them, each with its room;
//!   they are spent without an access. When it is dropped, the room of what was spent
//!   goes back by a new reading, and what is left is put into the shard; but what is
//!   outside beyond the cap is first lost of it.
//! * To close takes the empty room of all shards, and no token.
//! * A change takes all shards into its hand, adds their tokens to the root, and then
//!   releases their room. It leaves a mark in the level's word, so that a word from
//!   before a change does not come back.
//!
//! Stated of every state: in any span the permits admitted, and all those that could be
//! if somebody came for them now, are no more than the cap and what is earned in the
//! span; by as much as is earned in `lag` instants more, if readings are so late. What
//! comes from a shard or a lease is admitted at the instant of its step. What the root
//! grants alone counts when the clock was read for it: by then it was there. Room
//! outside is never more than is registered, and no token is without room. And of every
//! state in which all calls have returned: who asks for all that there can be, and if
//! refused closes, waits until as much is earned and asks again, has it. No room is lost.
//!
//! A take and a put of a shard are loops of a load and a CAS that know nothing but the
//! word they change: each is one step here, that of the CAS which succeeds.
//!
//! | mutant                | what it drops                                             | what goes wrong |
//! |-----------------------|-----------------------------------------------------------|-----------------|
//! | `NoCarveOut`          | the room outside, in a draw                               | the root fills up though its tokens are elsewhere |
//! | `RegisterLate`        | the order: room, then draw                                | the same, between the two |
//! | `OutsideFirst`        | the order: level, then what is outside                    | it draws past a lease that was drawn in between |
//! | `OldRoomIsFresh`      | the difference of old room and fresh                      | into room that was in use while the root was full it draws what was earned then |
//! | `RoomNotPut`          | the room, where tokens are put                            | it is released, and there are tokens without |
//! | `RoomStays`           | the room, where a lease is taken                          | other tokens are drawn into it, and then the lease comes back |
//! | `ReleasedLease`       | that a lease's room is in use                             | it is released, and then tokens come back |
//! | `RoomForgotten`       | the room of what a lease has spent                        | nobody ever has it again |
//! | `NotBurnt`            | that a lease loses what there is no place for             | more is outside than the cap |
//! | `StealByStore`        | the CAS on the other shard                                | its owner spends what was stolen |
//! | `PutByStore`          | the CAS on the own shard                                  | what was spent meanwhile is there again |
//! | `Unsettled`           | that the root is settled                                  | what was earned above the clamp comes to light |
//! | `OnlyUnclamped`       | (leaves the room lent if the root is clamped)             | it is for ever, and whoever needs the room is refused for ever |
//! | `SettleByStore`       | the CAS of the level                                      | what was drawn meanwhile is there again |
//! | `SettleOutsideFirst`  | the order: level, then what is outside                    | too little is cut off, if a lease was drawn in between |
//! | `NoStill`             | the second load of the level                              | a level from before a change, with the room from after it: as `Unsettled` |
//! | `OldReading`          | that the clock is read after the take                     | the room had tokens in it at the reading, and the root has been full since |
//! | `LeaseOldReading`     | that it is read after a lease's last spend                | the same |
//! | `ReleaseSpent`        | the same, for tokens spent from the hand                  | the same |
//! | `ReleaseTwice`        | that it is released once                                  | there is room that is not registered |
//! | `UndoesUsed`          | that the room never had a token in it                     | as `Unsettled` |
//! | `ChangeUnclamped`     | the clamp of what a change finds in the root              | what was earned above it comes to light |
//! | `ChangeReleasesFirst` | the order: tokens, then room                              | the root fills up while the tokens are in hand |
//! | `ChangeUnnoticed`     | the mark that a change leaves                             | the level comes back by a draw, and an older draw succeeds that does not count its room |
//! | `RootTakesBack`       | (puts back what a draw found, if nothing was drawn since) | room was released since, which the draw had made lawful |
//!
//! That room goes back only by a reading no earlier than the level has no mutant: it
//! exceeds nothing, late readings or not.

use crate::explore::Found;

#[path = "leases/calls.rs"]
mod calls;
#[path = "leases/checks.rs"]
mod checks;
#[path = "leases/draw.rs"]
mod draw;
#[path = "leases/give.rs"]
mod give;
#[path = "leases/scenes.rs"]
mod scenes;
#[path = "leases/state.rs"]
mod state;

const SHARDS: usize = 2;
const THREADS: usize = 3;
/// The clock never comes to this.
const INSTANTS: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoCarveOut,
    RegisterLate,
    OutsideFirst,
    OldRoomIsFresh,
    RoomNotPut,
    RoomStays,
    ReleasedLease,
    RoomForgotten,
    NotBurnt,
    StealByStore,
    PutByStore,
    Unsettled,
    OnlyUnclamped,
    SettleByStore,
    SettleOutsideFirst,
    NoStill,
    OldReading,
    LeaseOldReading,
    ReleaseSpent,
    ReleaseTwice,
    UndoesUsed,
    ChangeUnclamped,
    ChangeReleasesFirst,
    ChangeUnnoticed,
    RootTakesBack,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    /// Takes these permits from a thread's own shard, or else refills it by a lease of this size.
    Spend(u8, i8, i8),
    /// Takes from the root alone.
    Root(i8),
    /// A lease for the caller, of the own shard or else of the root.
    Lease(u8, i8),
    /// Gives back the empty room of all shards, or puts it into this.
    Close(u8),
    /// To this capacity.
    Change(i8),
    /// So many instants.
    Wait(i8),
}

#[derive(Clone, Copy)]
struct Leases {
    cap: i8,
    /// The root's tokens at first; they are no more than fit.
    root: i8,
    shards: [Hold; SHARDS],
    /// Registered room that is in no shard at first.
    outside: i8,
    /// The tokens in the lease that the first thread has already.
    held: i8,
    earns: i8,
    run: i8,
    /// By how many instants a reading may be late.
    lag: i8,
    /// True if what the root grants alone counts when it is granted.
    counts_late: bool,
    /// By how much the bound may be exceeded.
    excess: i8,
    /// The most tokens that may get lost while the clock stands still.
    lost: i8,
    /// True if in the end no more may be outside than the cap.
    is_tight: bool,
    /// True if in the end all that there can be is asked for.
    asks: bool,
    mutant: Option<Mutant>,
    programs: [&'static [Op]; THREADS],
}

/// Room, and the tokens in it: of a shard, a caller's lease or a thread's hand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Hold {
    room: i8,
    tokens: i8,
}

/// A reading of the clock: what was earned by it, and when that was.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Reading {
    earned: i8,
    time: i8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Root {
    level: i8,
    cap: i8,
    /// Number of changes it has seen, which makes every change noticeable.
    terms: u8,
}

/// Room that goes back to the root.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Giving {
    room: i8,
    reading: Reading,
    then: Then,
}

/// The next step of a call that has given room back, or could not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Then {
    Put,
    Draw(Reading),
    Part,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Idle,
    Take,
    Clock,
    Register(Reading),
    Level(Reading),
    Outside(Reading, Root),
    /// The mutant that loads them the other way round.
    LevelLast(Reading, i8),
    Draw(Reading, Root, i8, i8),
    /// The mutant that registers the room of a lease when it is drawn.
    RegisterLate,
    Steal(Reading),
    StealStore(Reading, Hold),
    /// With the reading of the mutant that has one already.
    CloseOwn(Option<Reading>),
    CloseOther(Option<Reading>),
    GiveClock,
    Give(Giving),
    GiveOutside(Giving, Root),
    /// The mutant that loads them the other way round.
    OutsideFirst(Giving, i8),
    /// From that root to this.
    Settle(Giving, Root, Root),
    GiveAgain(Giving, Root),
    Release(i8, Then),
    /// The lease is in the hand, and perhaps more.
    Part,
    Held,
    /// The mutant that reads the clock before it drops its lease.
    HeldSince(Reading),
    /// The mutant that puts the root back to what it found, if it is as it was left.
    TakeBack(Root, Root, Reading),
    Put,
    PutStore(Hold),
    ChangeTake,
    ChangeLevel,
    ChangeOutside(Root),
    ChangeClock(Root, i8),
    ChangeStore(Root, Root),
    ChangeRelease,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Thread {
    next: u8,
    at: At,
    hand: Hold,
    /// Room in the hand that was registered after its reading of the clock.
    fresh: i8,
    is_direct: bool,
    has_stolen: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: i8,
    root: Root,
    /// Room that is not the root's.
    outside: i8,
    shards: [Hold; SHARDS],
    threads: [Thread; THREADS],
    /// Permits that were admitted, by instant.
    admitted: [i8; INSTANTS],
}

use Op::{Change, Close, Lease, Root as OfRoot, Spend, Wait};
