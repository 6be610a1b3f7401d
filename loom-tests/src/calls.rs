//! Calls of a limiter, and their answers, as values.

use std::time::Duration;

use sluicegate::bucket::{Carry, Snapshot};
use sluicegate::settle::Receipt;
use sluicegate::{Denied, Grant, Quota};

use crate::{Subject, TestClock};

/// A call.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// `try_acquire`.
    TryAcquire(u64),
    /// `try_acquire_up_to`.
    TryAcquireUpTo(u64),
    /// `peek`.
    Peek(u64),
    /// `force`.
    Force(u64),
    /// `drain`.
    Drain,
    /// `credit`.
    Credit(u64),
    /// `reset`.
    Reset,
    /// `reconfigure`.
    Reconfigure(Quota, Carry),
    /// `snapshot`.
    Snapshot,
    /// `restore`.
    Restore(Snapshot, Duration),
    /// `quota`.
    Quota,
    /// `count`.
    Count,
    /// `reconfigure` of a window.
    Limit(u64),
    /// `try_acquire_revocable`; the thread keeps the receipt.
    Revocable(u64),
    /// `give_back` of the receipt that the thread keeps.
    GiveBack,
    /// The clock of all threads is set.
    SetClock(u64),
    /// No call: the thread's own clock is this many nanoseconds ahead from now on.
    RunAhead(u64),
}

impl Op {
    pub(crate) fn on<'a, L: Subject>(
        self,
        limiter: &'a L,
        held: &mut Option<Receipt<'a>>,
    ) -> Answer {
        match self {
            Op::TryAcquire(permits) => return Answer::Decision(limiter.try_acquire(permits)),
            Op::TryAcquireUpTo(permits) => {
                return Answer::Decision(limiter.try_acquire_up_to(permits));
            }
            Op::Peek(permits) => return Answer::Decision(limiter.peek(permits)),
            Op::Revocable(permits) => {
                let receipt = limiter.try_acquire_revocable(permits);
                let decision = receipt.as_ref().map(Receipt::grant).map_err(|denied| *denied);
                *held = receipt.ok();
                return Answer::Decision(decision);
            }
            Op::GiveBack => return Answer::GivenBack(held.take().map(Receipt::give_back)),
            Op::Reset => limiter.reset(),
            Op::SetClock(nanos) => limiter.clock().set(nanos),
            Op::RunAhead(nanos) => TestClock::run_ahead(nanos),
            _ => return limiter.call(self),
        }
        Answer::Nothing
    }
}

/// The answer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Granted or denied.
    Decision(Result<Grant, Denied>),
    /// A snapshot of a bucket.
    Snapshot(Snapshot),
    /// The quota of a bucket.
    Quota(Quota),
    /// A number.
    Count(u64),
    /// True if the receipt was accepted; `None` if there was none.
    GivenBack(Option<bool>),
    /// Nothing to tell.
    Nothing,
}
