//! A token bucket in several places: a root of one word, and shards from which callers
//! spend without a look at the root or the clock.
//!
//! The root is the word of `give_back.rs`: a level, from which what is earned counts. A token
//! that is not in the root is in *reserved capacity*, which moves with it: in a shard, in
//! transit in a call that moves some, or in a lease that a caller holds. All capacity outside
//! the root is counted in a word of its own, and is not the root's: the root holds
//! `min(earned - level, cap - outside)`.
//!
//! In the code `room` is reserved capacity, `outside` is the count of it, in which a call that
//! reserves some registers it, and `hand` is what a call has in transit. A *draw* is a refill: it
//! takes tokens from the root. `fresh` is the capacity that a call has reserved after its reading
//! of the clock. To settle the root is to cut off what it has earned above the clamp,
//! `cap - outside`. In order:
//!
//! * A spend takes its tokens from its shard, by one CAS. If there are too few, it takes all of
//!   the shard in transit, capacity and tokens; reads the clock; and looks at the root.
//! * A lease is drawn into the capacity in transit. Capacity that is lacking is reserved first,
//!   and does not count against its own draw: it was empty when the clock was read. A draw loads
//!   the level, then `outside`, and does its CAS of the level. A call whose lease would be
//!   smaller than its permits draws its permits alone, all or none.
//! * If that is refused, the call steals from the other shards too, and draws what is still
//!   lacking by the same reading. What it has in transit then goes into its shard.
//! * Empty capacity goes back to the root by a reading of the clock from after it was in transit
//!   and empty. What the root has earned above the clamp is only hidden, so the call loads the
//!   level and then `outside`, and cuts off by a CAS what was above the clamp by that reading. If
//!   that is nothing, it loads the level again. (The code then releases no capacity beside a
//!   change, either: that is for changes of the rate, and here the rate is always the same.) If
//!   the level is ahead of the reading, the capacity goes into the shard.
//!   Capacity that was reserved and never had a token in it needs none of this.
//! * A caller's lease takes tokens from a shard, or draws them, each with its capacity; they are
//!   spent without an access. When it is dropped, the capacity of what was spent goes back by a
//!   new reading, and the tokens left go into the shard; but it first loses as many of them as
//!   `outside` is beyond the cap.
//! * A close takes the empty capacity of all shards, and no token.
//! * A change takes all shards in transit, adds their tokens to the root, and then releases their
//!   capacity. It leaves a number in the level's word, so that a word from before a change does
//!   not come back.
//!
//! Stated of every state: in any span, the permits admitted and all those that could be if a
//! caller asked for them now are no more than the cap and what is earned in the span. If readings
//! are up to `lag` late, they may be more by what is earned in `lag` instants. What comes from a
//! shard or a lease is admitted at the instant of its step. What the root grants alone counts at
//! the clock reading for it: by then it was there. No more capacity is outside than is counted,
//! and no token is without capacity. Stated of every state in which all calls have returned: a
//! caller that asks for all that there can be, and if refused closes, waits until as much is
//! earned and asks again, is granted it. So no capacity is lost.
//!
//! A take and a put of a shard are loops of a load and a CAS that know nothing but the word they
//! change: each is one step here, that of the CAS which succeeds.
//!
//! | mutant                | what it drops                                             | what goes wrong |
//! |-----------------------|-----------------------------------------------------------|-----------------|
//! | `NoCarveOut`          | the capacity outside, in a draw                           | the root fills up though its tokens are elsewhere |
//! | `RegisterLate`        | the order: reserve, then draw                             | the same, between the two |
//! | `OutsideFirst`        | the order: level, then `outside`                          | it draws past a lease that was drawn in between |
//! | `OldRoomIsFresh`      | the difference of old capacity and fresh                  | into capacity that was in use while the root was full it draws what was earned then |
//! | `RoomNotPut`          | the capacity, where tokens are put into a shard           | it is released, and there are tokens without |
//! | `RoomStays`           | the capacity, where a lease is taken                      | other tokens are drawn into it, and then the lease comes back |
//! | `ReleasedLease`       | that a lease's capacity is in use                         | it is released, and then tokens come back |
//! | `RoomForgotten`       | the capacity of what a lease has spent                    | it is reserved for ever |
//! | `NotBurnt`            | that a lease loses what there is no place for             | more is outside than the cap |
//! | `StealByStore`        | the CAS on the other shard                                | its owner spends what was stolen |
//! | `PutByStore`          | the CAS on the own shard                                  | what was spent meanwhile is there again |
//! | `Unsettled`           | that the root is settled                                  | what was earned above the clamp comes to light |
//! | `OnlyUnclamped`       | (keeps the capacity reserved if the root is clamped)      | that is for ever, and a caller that needs the capacity is refused for ever |
//! | `SettleByStore`       | the CAS of the level                                      | what was drawn meanwhile is there again |
//! | `SettleOutsideFirst`  | the order: level, then `outside`                          | too little is cut off, if a lease was drawn in between |
//! | `NoStill`             | the second load of the level                              | a level from before a change, with the capacity from after it: as `Unsettled` |
//! | `OldReading`          | that the clock is read after the take                     | the capacity had tokens in it at the reading, and the root has been full since |
//! | `LeaseOldReading`     | that it is read after a lease's last spend                | the same |
//! | `ReleaseSpent`        | the same, for tokens spent in transit                     | the same |
//! | `ReleaseTwice`        | that capacity is released once                            | there is capacity that is not counted |
//! | `UndoesUsed`          | that the capacity never had a token in it                 | as `Unsettled` |
//! | `ChangeUnclamped`     | the clamp of what a change finds in the root              | what was earned above it comes to light |
//! | `ChangeReleasesFirst` | the order: tokens, then capacity                          | the root fills up while the tokens are in transit |
//! | `ChangeUnnoticed`     | the number that a change leaves                           | the level comes back by a draw, and an older draw succeeds that does not count its capacity |
//! | `RootTakesBack`       | (puts back what a draw found, if nothing was drawn since) | capacity was released since, which the draw had made lawful |
//!
//! One rule has no mutant: capacity is released only by a reading no earlier than the level.
//! Without it the bound still holds, late readings or not.

use crate::explore::Found;

#[path = "leases/calls.rs"]
mod calls;
#[path = "leases/checks.rs"]
mod checks;
#[path = "leases/draw.rs"]
mod draw;
#[path = "leases/engine.rs"]
mod engine;
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
    /// Takes a lease for the caller, from the own shard or else from the root.
    Lease(u8, i8),
    /// Releases the empty capacity of all shards, or puts it into this shard.
    Close(u8),
    /// Changes the capacity to this.
    Change(i8),
    /// Waits for so many instants.
    Wait(i8),
}

#[derive(Clone, Copy)]
struct Leases {
    cap: i8,
    /// The root's tokens at first; they are no more than fit.
    root: i8,
    shards: [Hold; SHARDS],
    /// Reserved capacity that is in no shard at first.
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

/// Reserved capacity (`room`) and the tokens in it: of a shard, of a caller's lease, or in
/// transit in a thread (its `hand`).
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

/// Reserved capacity that goes back to the root.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Giving {
    room: i8,
    reading: Reading,
    then: Then,
}

/// The next step of a call that has released capacity, or could not.
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
    /// The mutant that registers the capacity of a lease when it is drawn.
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
    /// The lease is in transit, and perhaps more.
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
    /// Capacity in transit that was registered after the call's reading of the clock.
    fresh: i8,
    is_direct: bool,
    has_stolen: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: i8,
    root: Root,
    /// Count of all reserved capacity, which is not the root's.
    outside: i8,
    shards: [Hold; SHARDS],
    threads: [Thread; THREADS],
    /// Permits that were admitted, by instant.
    admitted: [i8; INSTANTS],
}

use Op::{Change, Close, Lease, Root as OfRoot, Spend, Wait};
