//! Requests in flight.

use std::sync::Arc;

use sluicegate_flow::concurrency::ConcurrencyLimit;
use sluicegate_http::fields::{QuotaPolicy, QuotaUnit};

use super::parameter::*;
use super::{Algorithm, AnyLimiter};

pub(super) static IN_FLIGHT_LIMITS: [Algorithm; 1] = [Algorithm {
    id: "concurrency",
    name: "Requests in flight",
    summary: "Limits how many requests run at a time. Each holds its permits until it ends.",
    good_for: "slow or uneven work, such as queries",
    bad_for: "rates: quick requests pass as often as they come",
    parameters: &[IN_FLIGHT],
    limiter: |numbers, _| {
        Ok(AnyLimiter::InFlight(Arc::new(ConcurrencyLimit::new(numbers.permits("limit")))))
    },
    policies: |numbers| {
        let limit = QuotaPolicy::new(numbers.permits("limit"));
        vec![limit.counting(QuotaUnit::ConcurrentRequests)]
    },
}];
