//! The part that one request has in a limiter.

use crate::key::KeyOutcome;
use crate::key_field::KeyField;
use crate::limiter::LimiterPolicy;
use crate::request::RequestFields;

/// The part that one request has in a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The limiter does not judge it: `match` or `except` leaves it out.
    NotJudged,
    /// It is admitted without a limit, because a value of its key is missing and the policy says
    /// `admit`.
    Admitted,
    /// It is denied, because a value of its key is missing and the policy says `deny`.
    Denied,
    /// It is to be put to the limiter of the key.
    Key {
        /// The permits that it takes.
        permits: u64,
    },
}

impl LimiterPolicy {
    /// Returns what is to be done with a request, and writes its key in place of what `key` holds.
    ///
    /// The key goes to [`KeyedHandle`](crate::KeyedHandle), and is the one that a replay of the policy
    /// has for a line with the same parts. Reads no clock; allocates only where `key` is too small, and
    /// for path templates with more than four parameters.
    #[must_use]
    pub fn subject(&self, request: &impl RequestFields, key: &mut Vec<u8>) -> Subject {
        if !self.judges(request) {
            return Subject::NotJudged;
        }
        match crate::key::write(&self.key, request, key).outcome {
            KeyOutcome::Limited => Subject::Key { permits: self.cost.of(request).permits },
            KeyOutcome::Admitted => Subject::Admitted,
            KeyOutcome::Denied => Subject::Denied,
        }
    }

    /// Writes a key that a caller gives as text in place of what `key` holds: as [`subject`](LimiterPolicy::subject)
    /// writes that of a request with these values. Parts have a line end between them, and an empty one is missing.
    ///
    /// So the spellings of an address are one key, a path is its template, and a key that is already in this form is
    /// itself. A part for which there is no text is left out. Reads no clock; allocates as `subject` does.
    #[must_use]
    pub fn given_key(&self, given: &[u8], key: &mut Vec<u8>) -> KeyOutcome {
        crate::key::write_given(&self.key, given, key).outcome
    }

    /// Returns true if the limiter judges a request: if [`filter`](LimiterPolicy::filter) lets it
    /// through, and none of [`except`](LimiterPolicy::except) does.
    #[must_use]
    pub fn judges(&self, request: &impl RequestFields) -> bool {
        self.filter.matches(request) && !self.except.iter().any(|except| except.matches(request))
    }

    /// Returns false if a request of which only some values are known cannot be one that the limiter
    /// [judges](LimiterPolicy::judges): `match` does not have one of these values, or `except` has a request with them.
    #[must_use]
    pub fn may_judge(&self, known: &impl RequestFields) -> bool {
        self.filter.may_match(known) && !self.except.iter().any(|except| except.matches(known))
    }

    /// Returns true if `match` or `except` depends on a field of the request.
    #[must_use]
    pub fn filters_by(&self, field: KeyField) -> bool {
        std::iter::once(&self.filter).chain(&self.except).any(|filter| filter.depends_on(field))
    }
}
