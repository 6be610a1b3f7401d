//! Set-ups, which a link reproduces.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The limiters of one to four sides, the speed of the clock, and the seed of what is random.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// One side or two. Every request is made to each.
    pub sides: Vec<SideSetup>,
    /// Seconds of the session's clock in a second; 0 is a pause.
    #[serde(default = "real_time")]
    pub speed: f64,
    /// The seed of streams with random spacing: the same requests for the same seed.
    #[serde(default)]
    pub seed: u64,
}

fn real_time() -> f64 {
    1.0
}

/// The limiter of a side.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SideSetup {
    /// The `id` of an algorithm.
    pub algorithm: String,
    /// Values by the `id` of a parameter: a number, or the text of a choice. Those that are left out have
    /// their default.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// True if each key has a limiter of its own.
    #[serde(default)]
    pub per_key: bool,
    /// The longest time that a request waits in line, in seconds; without it, requests do not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<f64>,
}

/// The answer to a new session.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Created {
    /// The name of the session in paths.
    pub session: String,
    /// The set-up, with the value of every parameter.
    pub setup: Setup,
}
