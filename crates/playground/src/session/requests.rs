//! Requests that are sent, once or by streams.

use std::sync::Arc;

use super::Session;
use super::events::Event;
use super::side::Request;
use super::streams::Running;
use crate::bounds;
use crate::command::{CheckedSend, CheckedStream};
use crate::wire::FieldProblem;

impl Session {
    /// Sends requests to all sides, at this instant.
    ///
    /// # Errors
    ///
    /// If the key is new, and there are too many keys.
    pub(crate) fn send(&mut self, send: &CheckedSend) -> Result<(), FieldProblem> {
        self.learn_keys([&send.key])?;
        for _ in 0..send.count {
            self.request(&send.key, send.cost, send.hold_nanos);
        }
        Ok(())
    }

    /// Replaces the streams.
    ///
    /// # Errors
    ///
    /// If keys are new, and there are too many keys. The streams are then as they were.
    pub(crate) fn set_streams(&mut self, streams: Vec<CheckedStream>) -> Result<(), FieldProblem> {
        self.learn_keys(streams.iter().map(|stream| &stream.key))?;
        self.version += 1;
        self.events.retain(|event| !matches!(event, Event::Stream(_)));
        let (seed, now_nanos) = (self.setup.seed, self.now_nanos());
        let streams = streams.into_iter().enumerate().map(|(place, stream)| {
            let running = Running::start(stream, seed, place, now_nanos);
            self.events.add(running.next_nanos(), Event::Stream(place));
            running
        });
        self.streams = streams.collect();
        Ok(())
    }

    fn learn_keys<'k>(
        &mut self,
        keys: impl IntoIterator<Item = &'k Arc<str>>,
    ) -> Result<(), FieldProblem> {
        let mut known = self.keys.clone();
        known.extend(keys.into_iter().map(Arc::clone));
        if known.len() > bounds::KEYS {
            let most = bounds::KEYS;
            let message = format!(
                "key is one more than the {most} of a session: send to one of those, or reset it"
            );
            return Err(FieldProblem { side: None, parameter: "key".to_owned(), message });
        }
        self.keys = known;
        Ok(())
    }

    /// Makes a request to each side.
    pub(super) fn request(&mut self, key: &Arc<str>, cost: u64, hold_nanos: u64) {
        self.version += 1;
        self.last_n += 1;
        for side in &mut self.sides {
            let request = Request { n: self.last_n, key: Arc::clone(key), cost, hold_nanos };
            side.arrive(request, &mut self.events);
        }
    }
}
