//! Refusals.

use serde::{Deserialize, Serialize};

/// Problem details (RFC 9457) with the fields that are wrong.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The phrase of the status.
    pub title: String,
    /// The status of the response.
    pub status: u16,
    /// A text that says what is wrong, and what to do.
    pub detail: String,
    /// The fields that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
}

/// A field with a wrong value.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct FieldProblem {
    /// The index of the side; none if the field belongs to no side.
    pub side: Option<usize>,
    /// The parameter, or another field of the body, such as `speed` or `streams[0].cost`.
    pub parameter: String,
    /// The value and the allowed range, for people.
    pub message: String,
}
