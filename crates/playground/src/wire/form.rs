//! Descriptions of algorithms and their parameters, and of scenarios.

use serde::{Deserialize, Serialize};

use super::{Send, Setup, Stream};

/// An algorithm, and the parameters that a form asks for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct AlgorithmForm {
    /// The name in a set-up.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// A sentence that says what it does.
    pub summary: String,
    /// The use that it suits.
    pub good_for: String,
    /// The use that it does not suit.
    pub bad_for: String,
    /// True if all keys have one limiter, with a share for each of them. No request waits for it: `per_key` and `wait` of a
    /// set-up are dropped.
    pub shares: bool,
    /// True if it limits requests in flight, which have a `hold`.
    pub holds: bool,
    /// The parameters, in the order of a form.
    pub parameters: Vec<ParameterForm>,
}

/// A parameter of an algorithm.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ParameterForm {
    /// The name in a set-up.
    pub id: String,
    /// The name for people.
    pub label: String,
    /// The unit: `permits`, `seconds`, `slots`, or empty.
    pub unit: String,
    /// The kind of value.
    pub kind: ParameterKind,
    /// The smallest value.
    pub minimum: f64,
    /// The largest value.
    pub maximum: f64,
    /// The value if a set-up has none.
    pub default: f64,
    /// A sentence that says what it means.
    pub help: String,
}

/// The kind of a parameter's value.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// A whole number.
    Integer,
    /// A number of seconds, with a fraction.
    Duration,
}

/// A set-up and what is sent to it, which show what tells algorithms apart.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name in requests.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// A sentence that says what is sent.
    pub summary: String,
    /// A text that says what to look at.
    pub watch: String,
    /// The limiters.
    pub setup: Setup,
    /// The steps, in the order of time.
    pub actions: Vec<Action>,
}

/// A step of a scenario.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// The instant on the session's clock, which begins at 0.
    pub at: f64,
    /// The caption from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// Requests at this instant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub send: Vec<Send>,
    /// The streams from then on; those before it stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Vec<Stream>>,
}
