//! Functions that are told of each event.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Registry;
use super::event::Event;

type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

#[derive(Default)]
pub(super) struct Observers(Mutex<Vec<Observer>>);

impl Observers {
    fn lock(&self) -> MutexGuard<'_, Vec<Observer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// Calls `observer` with each event from now on, in the thread that makes the change, when the
    /// change is in force. It may use the registry. For a channel, send a clone of the event.
    ///
    /// Events of two concurrent changes may come in either order.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_policy::{Policies, Registry};
    /// use std::sync::mpsc;
    ///
    /// let policies = |limit: u64| {
    ///     let text = format!("limiters: {{ a: {{ policy: gcra, key: all, interval: {limit} s, tolerance: 9 s }} }}");
    ///     Policies::from_yaml("p.yaml", &text)
    /// };
    /// let registry = Registry::new(policies(1)?)?;
    /// let (sender, events) = mpsc::channel();
    /// registry.on_event(move |event| drop(sender.send(event.to_string())));
    /// registry.reload(policies(3)?)?;
    /// let event = "limiter \"a\" changed: gcra: every 3s, up to 9s early, before: gcra: every 1s, up to 9s early";
    /// assert_eq!(events.recv()?, event);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_event(&self, observer: impl Fn(&Event) + Send + Sync + 'static) {
        self.shared.observers.lock().push(Arc::new(observer));
    }

    pub(super) fn tell(&self, event: &Event) {
        // Not under the lock: an observer may use the registry.
        let observers = self.shared.observers.lock().clone();
        for observer in observers {
            observer(event);
        }
    }
}
