//! Verbs, and the answers to them.

use sluicegate::{Denied, Grant};

use crate::error::{StoreError, TryAcquireError};

/// The ways to ask for permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Takes all permits or none.
    Take,
    /// Takes as many as there are, at least one.
    UpTo,
    /// Takes nothing.
    Peek,
}

/// An answer, and whether it is the server's.
#[derive(Debug)]
#[must_use = "it may be a denial"]
pub struct Decision {
    answer: Result<Grant, Denied>,
    failure: Option<StoreError>,
}

impl Decision {
    pub(crate) fn of_server(answer: Result<Grant, Denied>) -> Decision {
        Decision { answer, failure: None }
    }

    pub(crate) fn of_fallback(answer: Result<Grant, Denied>, failure: StoreError) -> Decision {
        Decision { answer, failure: Some(failure) }
    }

    /// Returns the answer.
    ///
    /// # Errors
    ///
    /// The denial, if it is one.
    pub fn answer(&self) -> Result<Grant, Denied> {
        self.answer
    }

    /// Returns the failure because of which the [`Fallback`](crate::Fallback) has answered; nothing if the server has.
    #[must_use]
    pub fn failure(&self) -> Option<&StoreError> {
        self.failure.as_ref()
    }

    /// Returns the answer with the error type of the verbs.
    pub(crate) fn result(self) -> Result<Grant, TryAcquireError> {
        Ok(self.answer?)
    }
}
