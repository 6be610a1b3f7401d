//! The line as a part of its limiter: a lock, what it guards, and hints for callers that try.
//!
//! The order of the callers is in `order.rs`; who is granted when is decided by `serve` in
//! `line.rs`.

use alloc::boxed::Box;
use core::fmt;
use core::ptr;
use core::task::Waker;

use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Lock};

use crate::time::units::SKEW_NANOS;

use super::lane::Lane;
use super::last_turn::LastTurn;
use super::limits::LineLimits;
use super::line_weights::LineWeights;
use super::order::Order;
use super::place::Place;

/// The line of a limiter. Allocates when it is needed for the first time.
pub(crate) struct LineLock {
    pub(super) line: Lock<Option<Box<LineState>>>,
    /// Permits wanted by those in line, for answers of callers that find the line locked.
    pub(super) waiting: AtomicWord<u64>,
    /// The turn of the first in line as of the last pass, and the reading of that; for callers
    /// that try, so that most of them need not lock the line.
    due_nanos: AtomicWord<u64>,
    served_nanos: AtomicWord<u64>,
    /// The turn of the last in line, as it was told when it came or asked last, or as of the last
    /// settling if it is the only one. An estimate: too late if it has left since or those ahead of
    /// it have, too early if nobody came to serve. Means nothing while nobody stands in line.
    end_nanos: AtomicWord<u64>,
}

#[derive(Debug, Default)]
pub(super) struct LineState {
    pub(super) limits: LineLimits,
    pub(super) is_closed: bool,
    pub(super) order: Order,
    /// The last in line, and its turn, if the limiter tells it for those behind; and if nothing has
    /// happened since but that others came.
    pub(super) last_turn: Option<(Place, LastTurn)>,
    /// The limiter's word, from which `end` was foreseen.
    pub(super) seen: u64,
}

impl LineLock {
    pub(crate) fn new() -> LineLock {
        LineLock {
            line: Lock::new(None),
            waiting: AtomicWord::new(0),
            due_nanos: AtomicWord::new(0),
            served_nanos: AtomicWord::new(0),
            end_nanos: AtomicWord::new(0),
        }
    }

    /// Returns whether the first in line may be due at `now_nanos`, or the clock may have gone back.
    pub(super) fn may_be_due(&self, now_nanos: u64) -> bool {
        // ORDERING: Relaxed, here and below. An old value makes a caller lock the line in vain, or
        // leave it to those in line, who have timers.
        // MODEL: `nobody_overtakes_a_caller_in_line`.
        let due_nanos = self.due_nanos.load(Relaxed);
        // ORDERING: Relaxed, as above.
        // MODEL: `nobody_overtakes_a_caller_in_line`.
        let served_nanos = self.served_nanos.load(Relaxed);
        now_nanos >= due_nanos || now_nanos.saturating_add(SKEW_NANOS) < served_nanos
    }

    /// Notes the turn of the first in line, as of a pass at `now_nanos`.
    pub(super) fn note_due(&self, now_nanos: u64, due_nanos: u64) {
        // ORDERING: Relaxed, as in `may_be_due`.
        // MODEL: `nobody_overtakes_a_caller_in_line`.
        self.due_nanos.store(due_nanos, Relaxed);
        // ORDERING: Relaxed, as in `may_be_due`.
        // MODEL: `nobody_overtakes_a_caller_in_line`.
        self.served_nanos.store(now_nanos, Relaxed);
    }

    /// Notes the turn of the last in line.
    pub(super) fn note_end(&self, end_nanos: u64) {
        // ORDERING: Relaxed. Only a forecast is made of it.
        // MODEL: none; no decision depends on it.
        self.end_nanos.store(end_nanos, Relaxed);
    }

    /// Estimates the wait at `now_nanos` until all in line have had their turns. At least 1: a caller
    /// at the gate is not to come back at once.
    pub(crate) fn wait_nanos(&self, now_nanos: u64) -> u64 {
        // ORDERING: Relaxed, as in `note_end`.
        // MODEL: none; no decision depends on it.
        let end_nanos = self.end_nanos.load(Relaxed);
        // ORDERING: Relaxed, as in `may_be_due`.
        // MODEL: none; no decision depends on it.
        let due_nanos = self.due_nanos.load(Relaxed);
        match end_nanos.max(due_nanos) {
            u64::MAX => u64::MAX,
            end_nanos => end_nanos.saturating_sub(now_nanos).max(1),
        }
    }

    /// Permits wanted by those in line, as of a moment ago.
    pub(crate) fn permits(&self) -> u64 {
        // ORDERING: Relaxed. Only a forecast is made of it.
        // MODEL: none; no decision depends on it.
        self.waiting.load(Relaxed)
    }

    /// Number of callers in line.
    pub(crate) fn waiters(&self) -> usize {
        self.line.lock().as_deref().map_or(0, |line| line.order.len())
    }

    /// Returns whether the line is as a new one: nobody stands there or has yet to be told an answer, and
    /// it is not closed.
    pub(crate) fn is_unused(&self) -> bool {
        let line = self.line.lock();
        line.as_deref().is_none_or(|line| line.order.is_empty() && !line.is_closed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.line.lock().as_deref().is_some_and(|line| line.is_closed)
    }

    /// Returns the address of what the lock guards, by which two lines can be told apart. It stays
    /// the same when the limiter is moved. Allocates the line.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref::<LineState>(self.line.lock().get_or_insert_default()).addr()
    }

    pub(crate) fn set_limits(&self, limits: LineLimits) {
        self.line.lock().get_or_insert_default().limits = limits;
    }

    /// Divides the line among tenants. The weights have been checked.
    pub(crate) fn divide(&self, weights: LineWeights) {
        self.line.lock().get_or_insert_default().order.divide(weights);
    }

    /// Number of callers in line of the tenant of a lane; of all, if the line is not divided.
    pub(crate) fn waiters_of(&self, lane: Lane) -> usize {
        self.line.lock().as_deref().map_or(0, |line| line.order.waiters_of(lane))
    }

    /// Wakes the first in line that sleeps, because more has become available.
    pub(crate) fn wake_first(&self) {
        self.give_back(|| true);
    }

    /// Gives something back by `give_back`, which tells whether it did, while nobody serves; then wakes the
    /// first in line that sleeps. Returns whether anything is back.
    ///
    /// Under the lock, as nobody is to be charged for it as of an instant before.
    pub(crate) fn give_back(&self, give_back: impl FnOnce() -> bool) -> bool {
        let mut line = self.line.lock();
        if !give_back() {
            return false;
        }
        self.note_due(0, 0);
        let waker = line.as_deref_mut().and_then(|line| {
            line.last_turn = None;
            line.order.renew_since();
            line.order.disarm_first()
        });
        drop(line);
        waker.into_iter().for_each(Waker::wake);
        true
    }
}

impl LineState {
    pub(super) fn admits(&self, permits: u64) -> bool {
        let LineState { limits, ref order, .. } = *self;
        order.has_place() && limits.admit(order.len(), order.permits(), permits)
    }

    /// Returns the end of the line ahead of the last caller, which has just come to `place`.
    pub(super) fn last_turn_ahead_of(&self, place: Place) -> Option<(Place, LastTurn)> {
        self.last_turn.filter(|&(last, _)| self.order.before(place) == Some(last))
    }
}

impl Default for LineLock {
    fn default() -> LineLock {
        LineLock::new()
    }
}

impl fmt::Debug for LineLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineLock").field("permits", &self.permits()).finish_non_exhaustive()
    }
}
