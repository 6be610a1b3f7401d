//! Callers that wait for a request that is on its way.

use sluicegate::{Denied, Grant};

use super::flight::Flight;
use crate::decision::Verb;
use crate::error::StoreError;

/// A caller's request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    /// [`Verb::Take`] or [`Verb::UpTo`].
    pub(crate) verb: Verb,
    pub(crate) permits: u64,
}

impl Ask {
    /// Returns the permits without which the request is denied.
    pub(super) fn least(self) -> u64 {
        if self.verb == Verb::UpTo { self.permits.min(1) } else { self.permits }
    }

    /// Returns the permits that the request gets of those available, if they are enough.
    pub(super) fn of(self, available: u64) -> Option<u64> {
        (self.least() <= available).then(|| self.permits.min(available))
    }
}

/// The message to a caller that waits.
#[derive(Debug)]
pub(crate) enum Told {
    Answer(Result<Grant, Denied>),
    /// The server did not answer.
    Failed(StoreError),
    /// The caller is to carry the next request to the server, and waits on for its own answer.
    Lead(Flight, oneshot::Receiver<Told>),
}

/// A caller that waits, as those who answer it see it.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) ask: Ask,
    answer: oneshot::Sender<Told>,
}

impl Waiter {
    pub(super) fn new(ask: Ask) -> (Waiter, oneshot::Receiver<Told>) {
        let (answer, receiver) = oneshot::channel();
        (Waiter { ask, answer }, receiver)
    }

    /// Tells the caller; returns the message if the caller has gone.
    pub(super) fn tell(self, told: Told) -> Result<(), Told> {
        self.answer.send(told).map_err(oneshot::SendError::into_inner)
    }
}
