//! Events of a session.

use serde::{Deserialize, Serialize};

use super::Stream;

/// The events of a session since the frame before, and its state.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Frame {
    /// The number of times that the clock has begun at 0. When it changes, what came before is gone.
    pub run: u64,
    /// The instant of the session's clock.
    pub at: f64,
    /// The speed that was asked for.
    pub speed: f64,
    /// True if the clock goes slower than that, because there is too much to do.
    pub slowed: bool,
    /// The streams that are running.
    pub streams: Vec<Stream>,
    /// The scenario that is played, or has been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Progress>,
    /// The sides, in the order of the set-up.
    pub sides: Vec<SideFrame>,
    /// Decisions that this frame has no room for. The totals count them.
    pub dropped: u64,
}

/// The step that a scenario has reached.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The scenario.
    pub id: String,
    /// Steps that have been taken.
    pub step: usize,
    /// Steps that there are.
    pub of: usize,
    /// The caption; empty before the first.
    pub say: String,
}

/// The decisions of a side since the frame before, and its state.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SideFrame {
    /// Decisions since the frame before, in the order in which they were made.
    pub decisions: Vec<Decision>,
    /// The outcomes of all requests of this run.
    pub totals: Totals,
    /// The state of each limiter: one, or one for each key.
    pub states: Vec<KeyState>,
    /// The fields of a response to the last request that was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Fields>,
}

/// Numbers of requests by outcome. A request counts once: it is granted, refused, or waits.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Requests that were granted, at once or after a wait.
    pub granted: u64,
    /// Requests that were refused, at once or after a wait.
    pub refused: u64,
    /// Requests that wait.
    pub waiting: u64,
}

/// The answer to a request. A request that waits has a second one, with its end.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Decision {
    /// The number of the request, the same on both sides.
    pub n: u64,
    /// The instant of the decision.
    pub at: f64,
    /// The key of the request.
    pub key: String,
    /// The permits of the request.
    pub cost: u64,
    /// The answer.
    pub outcome: Outcome,
    /// Seconds for which the request has waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
    /// Permits that are left, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// Seconds until a refused request may be granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<f64>,
    /// Seconds until the limiter is full again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_after: Option<f64>,
    /// Why it was refused, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if the permits are lent, of another key's share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub borrowed: bool,
    /// The index of the window that refused, if the limiter has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub which: Option<usize>,
}

/// The outcome of a request, or of a wait.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Granted at once.
    Granted,
    /// Refused at once.
    Refused,
    /// In line.
    Waiting,
    /// Granted after a wait.
    GrantedLate,
    /// Refused after a wait.
    GaveUp,
}

/// The status and the fields of a response, as the HTTP layer writes them.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Fields {
    /// 200 or 429.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
}

/// The state of the limiter of a key, or of all keys.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct KeyState {
    /// The key; none if all keys share the limiter.
    pub key: Option<String>,
    /// The state.
    pub state: State,
}

/// The state of a limiter, as the engine tells it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct State {
    /// The parts of the limiter.
    #[serde(flatten)]
    pub shape: Shape,
    /// The requests that wait, in the order of their turns.
    pub line: Vec<InLine>,
}

/// The parts of a limiter, with their values.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shape {
    /// A bucket that earns tokens continuously.
    Bucket {
        /// Tokens, with a fraction; negative in debt.
        level: f64,
        /// The most tokens.
        capacity: f64,
        /// Permits, and the seconds in which they are earned.
        rate: (u64, f64),
        /// Tokens that are owed.
        debt: f64,
        /// The instant at which it is full.
        full_at: f64,
    },
    /// A bucket that earns its tokens in steps.
    IntervalBucket {
        /// Tokens.
        level: f64,
        /// The most tokens.
        capacity: f64,
        /// The instant of the next step; none if it is full.
        next_refill_at: Option<f64>,
        /// Tokens of a step, and the seconds between two.
        refill: (u64, f64),
    },
    /// A leaky bucket: a queue from which requests leave at a fixed rate.
    Queue {
        /// Permits in the queue.
        queued: u64,
        /// The most permits in the queue.
        size: u64,
        /// Permits that leave, and the seconds in which they do.
        rate: (u64, f64),
    },
    /// Counts in windows, or in the slots of a sliding window.
    Windows {
        /// The windows, oldest first; for several windows, those of each.
        windows: Vec<WindowState>,
    },
    /// The times of requests.
    Log {
        /// The requests that count, oldest first.
        entries: Vec<LogEntry>,
        /// Seconds for which a request counts.
        window: f64,
        /// The most permits in a window.
        limit: u64,
    },
    /// Permits in flight.
    Concurrency {
        /// The requests in flight.
        in_use: Vec<InUse>,
        /// The most permits in flight.
        limit: u64,
    },
}

impl Shape {
    /// Returns the state of a limiter that tells nothing.
    pub(crate) fn empty() -> Shape {
        Shape::Windows { windows: Vec::new() }
    }
}

/// Permits that count in a span of time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct WindowState {
    /// The start of the span.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Permits in it.
    pub count: u64,
    /// The most permits in a window.
    pub limit: u64,
    /// The share of the count that counts now, if that is not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Length of the window that the limit is for, in seconds. A slot is shorter.
    pub window: f64,
}

/// Permits and the instant at which they were granted.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct LogEntry {
    /// The instant.
    pub at: f64,
    /// The permits.
    pub cost: u64,
}

/// A request in flight.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct InUse {
    /// The key.
    pub key: String,
    /// The instant at which it was granted.
    pub since: f64,
    /// The instant at which it ends.
    pub until: f64,
    /// The permits.
    pub cost: u64,
}

/// A request that waits.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct InLine {
    /// The number of the request.
    pub n: u64,
    /// The key.
    pub key: String,
    /// The permits.
    pub cost: u64,
    /// The instant at which it came.
    pub since: f64,
    /// The instant of its turn, if the engine knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_at: Option<f64>,
}
