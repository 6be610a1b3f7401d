//! Decisions of the levels of a hierarchy.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry as Page;

/// The decisions on requests to all levels: granted, or denied by a level. A clone is the same counts.
#[derive(Clone, Debug, Default)]
pub struct LevelCounts {
    granted: Counter,
    /// By the name of the level, which is one of the policy file.
    denied: Family<[(&'static str, String); 1], Counter>,
}

impl LevelCounts {
    pub(super) fn registered(page: &mut Page) -> LevelCounts {
        let counts = LevelCounts::default();
        let help = "Requests that all levels of the hierarchy have granted";
        page.register("sluicegate_serve_levels_granted", help, counts.granted.clone());
        let help = "Requests that a level of the hierarchy has denied";
        page.register("sluicegate_serve_levels_denied", help, counts.denied.clone());
        counts
    }

    /// Counts a decision by the level that denied, if one did.
    pub(crate) fn count(&self, denied_by: Option<&str>) {
        match denied_by {
            None => self.granted.inc(),
            Some(level) => self.denied.get_or_create_owned(&[("level", level.to_owned())]).inc(),
        };
    }
}
