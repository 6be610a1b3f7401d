//! Changes of the policy.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry as Page;
use sluicegate_policy::Event;

/// The events of a policy that is read again, by their kind.
#[derive(Debug)]
pub(super) struct PolicyEvents(Family<[(&'static str, &'static str); 1], Counter>);

impl PolicyEvents {
    pub(super) fn registered(page: &mut Page) -> PolicyEvents {
        let events = PolicyEvents(Family::default());
        // So that they are on the page before they have happened: a rate needs a value to start from.
        for kind in ["added", "changed", "replaced", "removed", "refused", "not_watched"] {
            events.of(kind);
        }
        let help = "Limiters that were added, changed, replaced or removed by files that were read again, and files that were refused or cannot be watched";
        page.register("sluicegate_serve_policy_events", help, events.0.clone());
        events
    }

    pub(super) fn count(&self, event: &Event) {
        self.of(match event {
            Event::Added { .. } => "added",
            Event::Changed { .. } | Event::Levels { .. } => "changed",
            Event::Replaced { .. } => "replaced",
            Event::Removed { .. } => "removed",
            Event::Refused { .. } => "refused",
            Event::NotWatched { .. } => "not_watched",
            _ => "other",
        })
        .inc();
    }

    fn of(&self, kind: &'static str) -> Counter {
        self.0.get_or_create_owned(&[("event", kind)])
    }
}
