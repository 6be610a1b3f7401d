//! The names of all metrics, their units, and what they mean.

use metrics::Unit;

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A count that only grows.
    Counter,
    /// A state that can be anything.
    Gauge,
    /// A distribution.
    Histogram,
}

/// A metric of this crate, as a recorder is told of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its unit; `None` if it counts things that the name tells.
    pub unit: Option<Unit>,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// Its description.
    pub description: &'static str,
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    description: &'static str,
) -> Metric {
    Metric { name, kind: Kind::Counter, unit: None, labels, description }
}

const fn gauge(name: &'static str, description: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, unit: None, labels: LIMITER, description }
}

const LIMITER: &[&str] = &["limiter"];

pub(crate) const GRANTS: &str = "sluicegate_grants_total";
pub(crate) const GRANTED_PERMITS: &str = "sluicegate_granted_permits_total";
pub(crate) const DENIALS: &str = "sluicegate_denials_total";
pub(crate) const DENIED_PERMITS: &str = "sluicegate_denied_permits_total";
pub(crate) const SETTLED_PERMITS: &str = "sluicegate_settled_permits_total";
pub(crate) const WAITS: &str = "sluicegate_wait_seconds";
pub(crate) const AVAILABLE: &str = "sluicegate_available_permits";
pub(crate) const LIMIT: &str = "sluicegate_limit_permits";
pub(crate) const WAITING: &str = "sluicegate_waiting";
pub(crate) const WAITING_PERMITS: &str = "sluicegate_waiting_permits";
pub(crate) const KEYS: &str = "sluicegate_keys";
pub(crate) const STORE_BYTES: &str = "sluicegate_store_bytes";
pub(crate) const HEALED: &str = "sluicegate_healed_total";
pub(crate) const SHADOW_DECISIONS: &str = "sluicegate_shadow_decisions_total";
pub(crate) const SHADOW_DENIALS: &str = "sluicegate_shadow_denials_total";
pub(crate) const CALLS: &str = "sluicegate_timed_calls_total";
pub(crate) const HTTP_REQUESTS: &str = "sluicegate_http_requests_total";
pub(crate) const HTTP_REFUSALS: &str = "sluicegate_http_refusals_total";
pub(crate) const REDIS_REQUESTS: &str = "sluicegate_redis_requests_total";
pub(crate) const REDIS_FAILURES: &str = "sluicegate_redis_failures_total";
pub(crate) const REDIS_OPENED: &str = "sluicegate_redis_breaker_opened_total";
pub(crate) const REDIS_OPEN: &str = "sluicegate_redis_breaker_open";

pub(crate) const LEASED_KEYS: &str = "sluicegate_leased_keys";
pub(crate) const LEASED_PERMITS: &str = "sluicegate_leased_permits";
pub(crate) const LEASES: &str = "sluicegate_lease_requests_total";
pub(crate) const LEASES_BACK: &str = "sluicegate_lease_returned_permits_total";
pub(crate) const SHARE_PERMITS: &str = "sluicegate_share_permits_total";
pub(crate) const CLASS_PERMITS: &str = "sluicegate_class_permits_total";
pub(crate) const CLASS_DENIALS: &str = "sluicegate_class_denials_total";
pub(crate) const FALLBACKS: &str = "sluicegate_fallbacks_total";

/// All metrics that this crate publishes.
pub const METRICS: &[Metric] = &[
    counter(GRANTS, LIMITER, "Calls that were granted."),
    counter(GRANTED_PERMITS, LIMITER, "Permits that were granted."),
    counter(DENIALS, &["limiter", "reason"], "Calls that were denied, by reason."),
    counter(DENIED_PERMITS, LIMITER, "Permits that were asked for in vain."),
    counter(
        SETTLED_PERMITS,
        &["limiter", "outcome"],
        "Permits that settlements of estimates have moved, by outcome.",
    ),
    Metric {
        name: WAITS,
        kind: Kind::Histogram,
        unit: Some(Unit::Seconds),
        labels: LIMITER,
        description: "Time for which callers stood in line, whatever they were told.",
    },
    gauge(AVAILABLE, "Whole permits that are available now."),
    gauge(
        LIMIT,
        "The most permits that can be granted at once: the burst, or the limit of the window.",
    ),
    gauge(WAITING, "Callers in line; for limiters with keys, the keys that are waited for."),
    gauge(WAITING_PERMITS, "Permits that callers in line wait for."),
    gauge(KEYS, "Keys for which a store keeps a state."),
    Metric {
        name: STORE_BYTES,
        kind: Kind::Gauge,
        unit: Some(Unit::Bytes),
        labels: LIMITER,
        description: "Memory of the slots for keys.",
    },
    counter(HEALED, LIMITER, "States that were started again because the clock had gone back."),
    counter(SHADOW_DECISIONS, LIMITER, "Decisions while the limiter only counts (shadow)."),
    counter(SHADOW_DENIALS, LIMITER, "Decisions that would have been denials but for shadow."),
    counter(
        FALLBACKS,
        &["limiter", "answer"],
        "Requests to which the server of a limiter gave no answer, by the one that they got.",
    ),
    counter(
        SHARE_PERMITS,
        &["limiter", "source"],
        "Permits that tenants with shares were granted, by their source: assured or borrowed.",
    ),
    counter(
        CLASS_PERMITS,
        &["limiter", "class"],
        "Permits that requests of a class were granted, of limiters with classes.",
    ),
    counter(
        CLASS_DENIALS,
        &["limiter", "class"],
        "Calls of a class that were denied, of limiters with classes.",
    ),
    gauge(LEASED_KEYS, "Keys of which this process holds leased permits."),
    gauge(LEASED_PERMITS, "Permits that are left in the leases of this process."),
    counter(LEASES, LIMITER, "Requests to a Redis server for leases."),
    counter(LEASES_BACK, LIMITER, "Leased permits that were given back unused."),
    counter(CALLS, &["time_limiter", "outcome"], "Calls of time limiters, by outcome."),
    counter(HTTP_REQUESTS, &["layer", "outcome"], "Requests that a layer has decided, by outcome."),
    counter(
        HTTP_REFUSALS,
        &["layer", "limit", "reason"],
        "Requests that a limit has refused, or would have in a shadow, by reason.",
    ),
    counter(
        REDIS_REQUESTS,
        &["server", "outcome"],
        "Requests of limiters to a Redis server, by outcome.",
    ),
    counter(
        REDIS_FAILURES,
        &["server", "reason"],
        "Requests of limiters to a Redis server that failed, by reason.",
    ),
    counter(REDIS_OPENED, &["server"], "Times that requests to a Redis server were stopped."),
    Metric {
        name: REDIS_OPEN,
        kind: Kind::Gauge,
        unit: None,
        labels: &["server"],
        description: "Whether a failure is the last that was heard of a Redis server: 1 if so, and 0 if not.",
    },
];
