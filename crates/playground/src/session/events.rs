//! The events to come, in the order of their instants.

use std::collections::BTreeMap;

/// Something that happens at an instant of the session's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The stream at this index makes a request.
    Stream(usize),
    /// The scenario takes its next step.
    Step,
    /// A request that waits on a side looks again.
    Look { side: usize, n: u64 },
    /// A request on a side leaves a queue, or ends.
    End { side: usize, n: u64 },
}

/// The place of an event, by which it can be removed.
pub(super) type EventKey = (u64, u64);

/// Events in the order of their instants; those of one instant in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    events: BTreeMap<EventKey, Event>,
    added: u64,
}

impl EventQueue {
    pub(super) fn add(&mut self, at_nanos: u64, event: Event) -> EventKey {
        self.added += 1;
        let key = (at_nanos, self.added);
        self.events.insert(key, event);
        key
    }

    /// Removes an event, if there is one.
    pub(super) fn remove(&mut self, key: Option<EventKey>) {
        if let Some(key) = key {
            self.events.remove(&key);
        }
    }

    /// Keeps the events for which `keep` returns true.
    pub(super) fn retain(&mut self, keep: impl Fn(Event) -> bool) {
        self.events.retain(|_, event| keep(*event));
    }

    /// Returns true if there is an event no later than `until_nanos`.
    pub(super) fn has_any(&self, until_nanos: u64) -> bool {
        self.events.first_key_value().is_some_and(|((at_nanos, _), _)| *at_nanos <= until_nanos)
    }

    /// Takes the next event, with its instant.
    pub(super) fn take(&mut self) -> Option<(u64, Event)> {
        self.events.pop_first().map(|((at_nanos, _), event)| (at_nanos, event))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }
}
