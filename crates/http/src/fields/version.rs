//! Versions of the fields.

/// A version of the response fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldVersion {
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, which no standard defines.
    Legacy(ResetAs),
    /// The third draft: `RateLimit-Limit` with the policies, `RateLimit-Remaining`, `RateLimit-Reset`.
    Draft3,
    /// The sixth draft: `RateLimit-Policy`, `RateLimit-Limit`, `RateLimit-Remaining`,
    /// `RateLimit-Reset`.
    Draft6,
    /// The seventh draft: `RateLimit-Policy`, and `RateLimit` as a dictionary.
    Draft7,
    /// The drafts 8 to 10: `RateLimit-Policy` and `RateLimit` as lists of named items.
    Draft8,
}

impl FieldVersion {
    /// Returns true if the fields tell how every policy stands. The others tell one limit, that of the
    /// policy that will refuse first.
    #[must_use]
    pub fn tells_every_policy(self) -> bool {
        self == FieldVersion::Draft8
    }
}

/// The two meanings of `X-RateLimit-Reset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetAs {
    /// Seconds from the response on.
    SecondsLeft,
    /// Seconds since 1970.
    UnixTime,
}
