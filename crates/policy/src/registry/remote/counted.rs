//! The counts of a limiter on a server.

use sluicegate::{Denied, Grant};

use super::in_force::RemoteInForce;
use super::{RemoteHandle, RemoteRefusal};
use crate::RemoteFailure;

impl RemoteHandle {
    /// Counts a refusal that [`peek`](RemoteHandle::peek) has told, as if the permits had been asked for: in the statistics of the
    /// limiter, its classes and its fallbacks. For callers that ask several limiters and look at all of them first. Asks no
    /// server.
    pub fn note_refusal(&self, key: &str, permits: u64, refusal: &RemoteRefusal) {
        match refusal {
            RemoteRefusal::Denied { denied, is_fallback } => {
                let in_force = self.slot.in_force.load_full();
                self.count(&in_force, (key, permits), Err(denied), *is_fallback);
            }
            RemoteRefusal::Failed(failure) => self.count_failure(failure),
        }
    }

    /// Counts a request that was denied since it has no value of the key: see
    /// [`KeyedHandle::count_missing_key`](crate::KeyedHandle::count_missing_key).
    pub fn count_missing_key(&self, permits: u64) {
        if self.slot.answers.get().is_some() {
            self.slot.unasked.count_missing_key(permits);
        }
    }

    /// Counts an answer to a call for permits.
    pub(super) fn count(
        &self,
        in_force: &RemoteInForce,
        (key, permits): (&str, u64),
        answer: Result<&Grant, &Denied>,
        is_fallback: bool,
    ) {
        if is_fallback {
            self.slot.fallbacks.answered(answer.is_ok());
        }
        in_force.count(key, permits, answer);
        if let Some(answers) = self.slot.answers.get()
            && (answer.is_ok() || !in_force.policy.shadow)
        {
            answers.count(permits, answer);
        }
    }

    /// Counts a call for permits that has no answer.
    pub(super) fn count_failure(&self, failure: &RemoteFailure) {
        if matches!(failure, RemoteFailure::Unavailable(_)) {
            self.slot.fallbacks.refused();
        }
    }
}
