//! The counts of the service, and the page on which Prometheus reads them.
//!
//! | file | |
//! |---|---|
//! | `requests` | requests by route and status, and their times |
//! | `connections` | connections |
//! | `levels` | decisions of the levels of a hierarchy |
//! | `policy_events` | changes of the policy |

mod connections;
mod levels;
mod policy_events;
mod requests;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry as Page;
use sluicegate_metrics::Publisher;
use sluicegate_policy::Registry;

pub use self::connections::ConnectionCounts;
pub use self::levels::LevelCounts;
pub use self::requests::MeasureRequests;
pub(crate) use self::requests::{OpenRequest, RouteCounts};

use self::policy_events::PolicyEvents;

/// The counts of a server. A clone is the same counts.
///
/// The page is written when it is asked for. A decision adds to the counts of its limiter, which are on cache
/// lines of each thread's own, and a request to those of its route. Labels are names of limiters, templates of
/// routes and a fixed set of words, so the number of series does not depend on what clients send.
#[derive(Clone)]
pub struct Metrics {
    page: Arc<Mutex<Page>>,
    requests: MeasureRequests,
    connections: ConnectionCounts,
    levels: LevelCounts,
}

impl Metrics {
    /// Media type of the page.
    pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// Returns the counts of a server that has answered nothing yet.
    #[must_use]
    pub fn new() -> Metrics {
        let mut page = Page::default();
        let requests = MeasureRequests::registered(&mut page);
        let connections = ConnectionCounts::registered(&mut page);
        let levels = LevelCounts::registered(&mut page);
        Metrics { page: Arc::new(Mutex::new(page)), requests, connections, levels }
    }

    /// Puts the limiters of a registry on the page, and counts the changes of its policy. Their answers are there if
    /// it is [counted](Registry::counted). To be called once.
    #[must_use]
    pub fn limiters(self, limiters: &Registry) -> Metrics {
        self.register(|page| {
            page.register_collector(Box::new(Publisher::new().registry(limiters)));
            let events = PolicyEvents::registered(page);
            limiters.on_event(move |event| events.count(event));
        });
        self
    }

    /// Writes the page, in the text format of `OpenMetrics`. Allocates, and reads the counts and states of all
    /// limiters; never on the path of a decision.
    #[must_use]
    pub fn page(&self) -> String {
        let page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        // A text can be written to.
        let _ = encode(&mut text, &page);
        text
    }

    /// Puts a number on the page that is read for each page, such as that of the sessions of a part of the server.
    /// Each name to be used once.
    pub fn gauge(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        let number = Number { name, help, read: Box::new(read) };
        self.register(|page| page.register_collector(Box::new(number)));
    }

    pub(crate) fn register(&self, register: impl FnOnce(&mut Page)) {
        register(&mut self.page.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the layer that counts the requests of routes.
    #[must_use]
    pub fn requests(&self) -> &MeasureRequests {
        &self.requests
    }

    pub(crate) fn levels(&self) -> &LevelCounts {
        &self.levels
    }

    /// Returns the counts of connections.
    #[must_use]
    pub fn connections(&self) -> &ConnectionCounts {
        &self.connections
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

/// A number that is read for each page.
struct Number {
    name: &'static str,
    help: &'static str,
    read: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Collector for Number {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let number = ConstGauge::new((self.read)());
        let metric = encoder.encode_descriptor(self.name, self.help, None, number.metric_type())?;
        number.encode(metric)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Number").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Shows no counts: [`page`](Metrics::page) does.
impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
