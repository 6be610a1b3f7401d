//! The denial of a call that is made before a wait.

use sluicegate::Denied;

use super::terms::Terms;

/// A denial of a call that is made before a wait: see [`LimiterHandle::try_before_wait`](crate::LimiterHandle::try_before_wait).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeforeWait {
    /// The permits may come later, and the policy lets callers wait for them. The denial is neither counted nor
    /// noted: a caller that does not wait is to tell it by [`note_denial`](crate::LimiterHandle::note_denial).
    #[error(transparent)]
    Later(Denied),
    /// No wait is to help: the policy lets nobody wait, a penalty runs, or the permits are more than the limit. The
    /// denial is counted, and noted if it is an offence.
    #[error(transparent)]
    Refused(Denied),
}

impl BeforeWait {
    /// Returns the denial of a call that no penalty refuses, and whether it is the caller's answer.
    pub(super) fn of(terms: Terms, denied: Denied) -> BeforeWait {
        if terms.may_wait(&denied) {
            BeforeWait::Later(denied)
        } else {
            BeforeWait::Refused(denied)
        }
    }
}
