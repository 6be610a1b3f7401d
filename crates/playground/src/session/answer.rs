//! Answers of limiters, as decisions and as the state that response fields tell.

use std::time::Duration;

use sluicegate::share::ShareGrant;
use sluicegate::wait::AcquireError;
use sluicegate::{Denied, Grant};
use sluicegate_flow::concurrency::{ConcurrencyDenied, InFlightError};
use sluicegate_http::fields::PolicyState;

/// An answer: what a decision shows of it, and what response fields tell.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) is_granted: bool,
    pub(super) state: PolicyState<'static>,
    pub(super) is_borrowed: bool,
    /// The reason of a refusal, for people.
    pub(super) reason: Option<String>,
    /// The index of the window that refused.
    pub(super) which: Option<usize>,
}

const NOTHING_KNOWN: PolicyState<'static> = PolicyState {
    which: 0,
    limit: None,
    remaining: None,
    next_permit_after: None,
    reset_after: None,
    is_denied: false,
    retry_after: None,
    partition: None,
};

impl Answer {
    /// Returns the answer to a request that was granted, and left so many permits.
    pub(super) fn granted_with(remaining: Option<u64>) -> Answer {
        let state = PolicyState { remaining, ..NOTHING_KNOWN };
        Answer { is_granted: true, state, is_borrowed: false, reason: None, which: None }
    }

    pub(super) fn refused_because(reason: &impl ToString, retry_after: Option<Duration>) -> Answer {
        let state = PolicyState { is_denied: true, retry_after, ..NOTHING_KNOWN };
        let reason = Some(reason.to_string());
        Answer { is_granted: false, state, is_borrowed: false, reason, which: None }
    }

    /// Returns the same answer, told by the policy at an index.
    pub(super) fn of_policy(self, which: usize) -> Answer {
        Answer { state: self.state.of_policy(which), ..self }
    }

    fn leaving(self, remaining: u64) -> Answer {
        let state = PolicyState { remaining: Some(remaining), ..self.state };
        Answer { state, ..self }
    }
}

impl From<Grant> for Answer {
    fn from(grant: Grant) -> Answer {
        Answer {
            is_granted: true,
            state: PolicyState::granted(&grant),
            is_borrowed: false,
            reason: None,
            which: None,
        }
    }
}

impl From<ShareGrant> for Answer {
    fn from(grant: ShareGrant) -> Answer {
        Answer { is_borrowed: grant.is_borrowed(), ..grant.grant().into() }
    }
}

impl From<Denied> for Answer {
    fn from(denied: Denied) -> Answer {
        Answer {
            is_granted: false,
            state: PolicyState::denied(&denied).of_policy(denied.which()),
            is_borrowed: false,
            reason: Some(denied.to_string()),
            which: Some(denied.which()),
        }
    }
}

impl From<AcquireError> for Answer {
    fn from(error: AcquireError) -> Answer {
        match error {
            AcquireError::TimedOut { retry_after } | AcquireError::LineFull { retry_after } => {
                // What is there is for those in line. The longest wait is one that nobody knows.
                let retry_after = (retry_after < Duration::MAX).then_some(retry_after);
                Answer::refused_because(&error, retry_after).leaving(0)
            }
            _ => Answer::refused_because(&error, None),
        }
    }
}

impl From<ConcurrencyDenied> for Answer {
    fn from(denied: ConcurrencyDenied) -> Answer {
        Answer::refused_because(&denied, None).leaving(denied.available())
    }
}

impl From<InFlightError> for Answer {
    fn from(error: InFlightError) -> Answer {
        Answer::refused_because(&error, None)
    }
}

impl<G: Into<Answer>, D: Into<Answer>> From<Result<G, D>> for Answer {
    fn from(answer: Result<G, D>) -> Answer {
        answer.map_or_else(Into::into, Into::into)
    }
}
