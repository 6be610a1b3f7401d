//! Requests by domain and answer, for the page of Prometheus.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry as Page;
use tonic::Code as Grpc;

use super::protocol::envoy::service::ratelimit::v3::rate_limit_response::Code;

type Labels = [(&'static str, String); 2];
type StatusLabel = [(&'static str, &'static str); 1];

/// The counts of all domains that are configured, or were. A clone is the same counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    requests: Family<Labels, Counter>,
    shadowed: Family<Labels, Counter>,
    refused: Family<StatusLabel, Counter>,
}

/// The counts of a domain.
#[derive(Debug, Default)]
pub(super) struct DomainCounts {
    within: Counter,
    over: Counter,
}

impl Counts {
    pub(super) fn register(&self, page: &mut Page) {
        let help = "Requests of Envoy for domains that are configured, by their answer";
        page.register("sluicegate_envoy_requests", help, self.requests.clone());
        let help = "Descriptors that a limit in shadow mode would have refused";
        page.register("sluicegate_envoy_shadowed", help, self.shadowed.clone());
        let help = "Requests of Envoy that got an error in place of an answer, so that its failure_mode_deny decided";
        page.register("sluicegate_envoy_refused", help, self.refused.clone());
    }

    /// Returns the counts of a domain, which are those that it had before.
    pub(super) fn of(&self, domain: &str) -> DomainCounts {
        let count = |code: &str| {
            let labels = [("domain", domain.to_owned()), ("code", code.to_owned())];
            self.requests.get_or_create_owned(&labels)
        };
        DomainCounts { within: count("ok"), over: count("over_limit") }
    }

    /// Counts a request that is answered by an error: it has no domain if it could not be read.
    pub(super) fn refuse(&self, status: Grpc) {
        let status = match status {
            Grpc::InvalidArgument => "invalid_argument",
            Grpc::Unimplemented => "unimplemented",
            Grpc::Unavailable => "unavailable",
            Grpc::OutOfRange => "out_of_range",
            Grpc::Internal => "internal",
            _ => "other",
        };
        self.refused.get_or_create_owned(&[("status", status)]).inc();
    }

    /// Returns the count of the refusals that a limit in shadow mode has not made.
    pub(super) fn shadowed(&self, domain: &str, limit: &str) -> Counter {
        let labels = [("domain", domain.to_owned()), ("limit", limit.to_owned())];
        self.shadowed.get_or_create_owned(&labels)
    }
}

impl DomainCounts {
    /// Counts a request with this answer.
    pub(super) fn count(&self, overall_code: i32) {
        let is_over = overall_code == Code::OverLimit as i32;
        if is_over { &self.over } else { &self.within }.inc();
    }
}
