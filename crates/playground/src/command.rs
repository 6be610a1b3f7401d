//! Requests to send that were checked.

use std::sync::Arc;

use crate::bounds;
use crate::setup::seconds;
use crate::wire::{FieldProblem, Send, Stream, Streams};

/// Requests at one instant.
#[derive(Clone, Debug)]
pub(crate) struct CheckedSend {
    pub(crate) key: Arc<str>,
    pub(crate) cost: u64,
    pub(crate) count: u64,
    pub(crate) hold_nanos: u64,
}

/// Requests at a rate.
#[derive(Clone, Debug)]
pub(crate) struct CheckedStream {
    pub(crate) key: Arc<str>,
    pub(crate) hold_nanos: u64,
    pub(crate) shown: Stream,
}

impl CheckedSend {
    /// Checks every field.
    ///
    /// # Errors
    ///
    /// All fields that are wrong.
    pub(crate) fn new(send: &Send) -> Result<CheckedSend, Vec<FieldProblem>> {
        let mut problems = Problems::in_field("");
        problems.check_request(&send.key, send.cost);
        let hold_nanos = problems.hold_nanos(send.hold);
        if !(1..=bounds::COUNT).contains(&send.count) {
            let range = format!("must be from 1 to {}", bounds::COUNT);
            problems.add("count", format!("count is {}: {range}", send.count));
        }
        let Send { ref key, cost, count, .. } = *send;
        problems.none_or(CheckedSend { key: key.as_str().into(), cost, count, hold_nanos })
    }
}

impl CheckedStream {
    /// Checks every field of every stream.
    ///
    /// # Errors
    ///
    /// All fields that are wrong.
    pub(crate) fn all(streams: &Streams) -> Result<Vec<CheckedStream>, Vec<FieldProblem>> {
        let count = streams.streams.len();
        if count > bounds::STREAMS {
            let mut problems = Problems::in_field("");
            let most = bounds::STREAMS;
            problems
                .add("streams", format!("streams has {count} entries: must have at most {most}"));
            return Err(problems.found);
        }
        let mut problems = Vec::new();
        let mut checked = Vec::new();
        for (place, stream) in streams.streams.iter().enumerate() {
            match CheckedStream::new(stream, place) {
                Ok(stream) => checked.push(stream),
                Err(wrong) => problems.extend(wrong),
            }
        }
        if problems.is_empty() { Ok(checked) } else { Err(problems) }
    }

    fn new(stream: &Stream, place: usize) -> Result<CheckedStream, Vec<FieldProblem>> {
        let mut problems = Problems::in_field(&format!("streams[{place}]."));
        problems.check_request(&stream.key, stream.cost);
        let hold_nanos = problems.hold_nanos(stream.hold);
        let (slowest, fastest) = bounds::PER_SECOND;
        if !(slowest..=fastest).contains(&stream.per_second) {
            let range = format!("must be from {slowest} to {fastest}");
            problems.add("per_second", format!("per_second is {}: {range}", stream.per_second));
        }
        let key = stream.key.as_str().into();
        problems.none_or(CheckedStream { key, hold_nanos, shown: stream.clone() })
    }
}

/// Problems of the fields of a request.
struct Problems {
    prefix: String,
    found: Vec<FieldProblem>,
}

impl Problems {
    fn in_field(prefix: &str) -> Problems {
        Problems { prefix: prefix.to_owned(), found: Vec::new() }
    }

    fn add(&mut self, field: &str, message: String) {
        let parameter = format!("{}{field}", self.prefix);
        self.found.push(FieldProblem { side: None, parameter, message });
    }

    fn check_request(&mut self, key: &str, cost: u64) {
        let length = key.chars().count();
        if !(1..=bounds::KEY_LENGTH).contains(&length) {
            let range = format!("must have from 1 to {}", bounds::KEY_LENGTH);
            self.add("key", format!("key has {length} characters: {range}"));
        } else if key.chars().any(char::is_control) {
            self.add("key", format!("key is {key:?}: must have no control characters"));
        }
        if !(1..=bounds::COST).contains(&cost) {
            let range = format!("must be from 1 to {}", bounds::COST);
            self.add("cost", format!("cost is {cost}: {range}"));
        }
    }

    fn hold_nanos(&mut self, hold: Option<f64>) -> u64 {
        let hold = hold.map_or(Ok(bounds::HOLD), |hold| seconds("hold", hold));
        let hold = hold.unwrap_or_else(|message| {
            self.add("hold", message);
            bounds::HOLD
        });
        u64::try_from(hold.as_nanos()).unwrap_or(u64::MAX)
    }

    fn none_or<T>(self, checked: T) -> Result<T, Vec<FieldProblem>> {
        if self.found.is_empty() { Ok(checked) } else { Err(self.found) }
    }
}
