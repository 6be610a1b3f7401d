//! Bodies of requests that change a session.

use serde::{Deserialize, Serialize};

/// Requests at one instant.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The key of the requests.
    pub key: String,
    /// Permits of each request.
    #[serde(default = "one")]
    pub cost: u64,
    /// Number of requests.
    #[serde(default = "one")]
    pub count: u64,
    /// Seconds for which permits in flight are held. Only a concurrency limit holds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<f64>,
}

fn one() -> u64 {
    1
}

/// Requests at a rate.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// The key of the requests.
    pub key: String,
    /// Permits of each request.
    #[serde(default = "one")]
    pub cost: u64,
    /// Requests per second of the session's clock.
    pub per_second: f64,
    /// The time between two requests.
    #[serde(default)]
    pub spacing: Spacing,
    /// Seconds for which permits in flight are held. Only a concurrency limit holds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<f64>,
}

/// The time between two requests of a stream.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Always the same.
    #[default]
    Even,
    /// Random, with the same mean: exponentially distributed, as for independent clients.
    Random,
}

/// All streams of a session.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Streams {
    /// The streams. Those that are not among them stop.
    pub streams: Vec<Stream>,
}

/// Another speed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SpeedChange {
    /// Seconds of the session's clock in a second; 0 is a pause.
    pub speed: f64,
}

/// A scenario to play.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// The `id` of the scenario.
    pub id: String,
}
