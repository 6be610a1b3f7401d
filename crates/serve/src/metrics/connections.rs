//! Connections.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry as Page;

/// The numbers of connections that are open, and that there were. A clone is the same numbers.
#[derive(Clone, Debug, Default)]
pub struct ConnectionCounts {
    open: Gauge,
    accepted: Counter,
}

/// A connection that is counted as open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection(Gauge);

impl ConnectionCounts {
    pub(super) fn registered(page: &mut Page) -> ConnectionCounts {
        let counts = ConnectionCounts::default();
        let help = "Connections that are open";
        page.register("sluicegate_serve_open_connections", help, counts.open.clone());
        let help = "Connections that were accepted";
        page.register("sluicegate_serve_connections", help, counts.accepted.clone());
        counts
    }

    /// Counts a connection that was accepted.
    pub(crate) fn accept(&self) -> OpenConnection {
        self.accepted.inc();
        self.open.inc();
        OpenConnection(self.open.clone())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}
