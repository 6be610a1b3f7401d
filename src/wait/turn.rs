//! The trait by which a line calls its limiter. (`serve` in `line.rs` calls it; `bucket/turns.rs`,
//! the `turns.rs` of windows and `outside.rs` implement it.)

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::charged::{Booked, Charged};
use super::lane::Lane;
use super::last_turn::LastTurn;
use super::line_lock::LineLock;
use super::place::Demand;

/// A limiter that callers can stand in line for.
///
/// Its methods are called under the line's lock, except for `try_now`, `cancel`, `wake_first`, `expect_caller`
/// and `mark`: so none of the others may lock the line. What only reads is called without it too.
pub(crate) trait TakesTurns {
    fn line_lock(&self) -> &LineLock;

    /// Returns the clock by which turns and deadlines are measured.
    fn clock(&self) -> &dyn Clock;

    fn now_nanos(&self) -> u64 {
        self.clock().now_nanos()
    }

    /// Returns whether callers stand in line. Only a hint, unless the line is locked.
    fn is_gated(&self) -> bool;

    /// Returns the word that turns are foreseen of, but for its gate.
    fn word(&self) -> u64 {
        0
    }

    /// Returns the most permits that are ever granted at once.
    fn limit(&self) -> u64;

    /// Takes `permits` at once, or not.
    fn try_now(&self, permits: u64) -> Result<Grant, Denied>;

    /// Grants the first in line its permits if they are there, and closes the gate if not. Only for
    /// the holder of the line's lock.
    fn take_turn(&self, turn: Turn) -> Taken;

    /// Opens the gate, if it is closed. Only for the holder of the line's lock, with nobody in line.
    fn open_gate(&self);

    /// Returns the instant at which `permits` are there for those in line, unless anything else
    /// happens. Never too early.
    fn due_nanos(&self, turn: Turn) -> u64;

    /// Returns the turn of the last of several callers, who want `sizes` one after the other: the
    /// `permits` of `turn` are all that they want. Those of `sizes` come behind the line that ends
    /// `from` there, if any.
    ///
    /// The sum says enough where what is left of one turn goes to the next.
    fn last_due(
        &self,
        turn: Turn,
        _from: Option<LastTurn>,
        _sizes: &mut dyn Iterator<Item = u64>,
    ) -> LastTurn {
        LastTurn { due_nanos: self.due_nanos(turn), word: None }
    }

    /// Returns the same where reservations are among those in line.
    fn last_due_among_reservations(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        demands: &mut dyn Iterator<Item = Demand>,
    ) -> LastTurn {
        self.last_due(turn, from, &mut demands.map(|demand| demand.permits))
    }

    /// Returns the turn of the last of `demands`, for a reservation, or the time after which it can be
    /// made, as it would be too far ahead now. Where no permits can be reserved, that is never.
    fn book(
        &self,
        _turn: Turn,
        _from: Option<LastTurn>,
        _demands: &mut dyn Iterator<Item = Demand>,
    ) -> Result<LastTurn, u64> {
        Err(u64::MAX)
    }

    /// Charges a reservation in line as of the instant that it was told, whatever the limiter holds, and
    /// leaves the gate closed if others stand there. Only for the holder of the line's lock.
    fn charge(&self, _due: DueReservation) -> Charged {
        Charged::NOTHING
    }

    /// Returns whether `turn`, which is foreseen at `due_nanos`, comes after the deadline. If not, it is
    /// asked again at the deadline, if that is before `due_nanos`.
    fn is_missed(&self, _turn: Turn, due_nanos: u64, deadline_nanos: u64) -> bool {
        deadline_nanos < due_nanos || due_nanos == u64::MAX
    }

    /// Takes back a grant that was never used, if nothing was granted since. Returns whether it
    /// did. Leaves the gate as it is; the holder of the lock then serves.
    fn undo(&self, charged: Charged) -> bool;

    /// Gives a reservation of `permits` back, if that is exact, and wakes the first in line then. Returns
    /// whether it did. Called without the line's lock.
    fn cancel(&self, booked: Booked, _permits: u64) -> bool {
        let is_back = self.undo(booked.charged);
        if is_back {
            self.wake_first();
        }
        is_back
    }

    /// Wakes the first in line, if anybody is. Not for the holder of the line's lock.
    fn wake_first(&self);

    /// Forgets what it keeps of a grant in line, as the caller has been told of it. Called without the
    /// line's lock.
    fn release(&self, _charged: Charged) {}

    /// Prepares for a caller that is about to stand in line.
    fn expect_caller(&self) {}

    /// Returns the lane of a caller that asks through this, for a line that is divided among tenants.
    fn lane(&self) -> Lane {
        Lane::default()
    }

    /// Returns a mark of the line, if it is found by a user's code, which may find another one.
    fn mark(&self) -> usize {
        0
    }
}

/// The turn of a caller in line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) permits: u64,
    /// Reading of the clock since which it has been the first.
    pub(crate) since_nanos: u64,
    pub(crate) now_nanos: u64,
    /// True if others stand behind it.
    pub(crate) has_others: bool,
    /// True if an impossible level may be healed.
    pub(crate) may_heal: bool,
    /// The instant that the first reservation in line was told.
    pub(crate) told_nanos: Option<u64>,
}

/// A reservation that is to be charged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueReservation {
    pub(crate) permits: u64,
    /// The instant that it was told.
    pub(crate) told_nanos: u64,
    /// Permits that the first in line wants, if that is a caller and has been the first since before that
    /// instant; otherwise 0.
    pub(crate) first_permits: u64,
    pub(crate) now_nanos: u64,
    /// True if others stand in line.
    pub(crate) has_others: bool,
}

/// The result of a turn.
#[derive(Debug)]
pub(crate) enum Taken {
    Granted(Grant, Charged),
    /// The gate is closed, and stays closed until the permits are there.
    NotYet,
    /// More than the limiter ever grants.
    TooLarge {
        limit: u64,
    },
    /// The clock had gone back, and the limiter starts again from full.
    Healed,
}
