//! The answer to a request.

use std::time::Duration;

use sluicegate::{Denied, Estimate, Grant};
use sluicegate_policy::SharedClock;
use tonic::Status;

use super::counters::Counters;
use super::domains::Domains;
use super::parts::{Counted, Part, parts};
use super::protocol::envoy::config::core::v3::HeaderValue;
use super::protocol::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus, RateLimit,
};
use super::protocol::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};

/// Decides a request: every descriptor is within its limit, and the hits of all are counted; or one is not,
/// and nothing is counted. Limits in shadow mode are asked by themselves, once each. The fields of the client's
/// response are told if asked for.
pub(super) fn answer<C: SharedClock>(
    domains: &Domains,
    counters: &Counters<C>,
    request: &RateLimitRequest,
    with_fields: bool,
) -> Result<RateLimitResponse, Status> {
    let parts = parts(domains, request)?;
    let answers = Answers { counters };
    let enforced: Vec<&Counted> =
        parts.iter().filter_map(Part::counted).filter(|counted| !counted.is_shadow).collect();
    let mut of_enforced = match answers.take_all(&enforced)? {
        Ok(statuses) => statuses,
        Err(over) => answers.look_at_all(&enforced, over)?,
    }
    .into_iter();
    let status = |part: &Part| match part {
        Part::Free { remaining } => Some(free(*remaining)),
        Part::Counted(counted) if counted.is_shadow => Some(answers.ask(counted)),
        // As many as there are.
        Part::Counted(_) => of_enforced.next(),
    };
    let statuses: Vec<DescriptorStatus> = parts.iter().filter_map(status).collect();
    let is_over = statuses.iter().any(|status| status.code == Code::OverLimit as i32);
    let overall_code = if is_over { Code::OverLimit } else { Code::Ok } as i32;
    let response_headers_to_add = if with_fields { fields(&statuses) } else { Vec::new() };
    Ok(RateLimitResponse { overall_code, statuses, response_headers_to_add })
}

/// Returns the fields that tell a client the limit that is nearest: one that it is over, or else the one that has
/// least left.
fn fields(statuses: &[DescriptorStatus]) -> Vec<HeaderValue> {
    let limits =
        statuses.iter().filter_map(|status| Some((status, status.current_limit.as_ref()?)));
    let nearest = limits
        .min_by_key(|(status, _)| (status.code != Code::OverLimit as i32, status.limit_remaining));
    let Some((status, limit)) = nearest else { return Vec::new() };
    let until_reset = status.duration_until_reset.unwrap_or_default();
    // A client that comes earlier is refused.
    let seconds = until_reset.seconds + i64::from(until_reset.nanos > 0);
    let field = |key: &str, value: String| HeaderValue { key: key.to_owned(), value };
    vec![
        field("RateLimit-Limit", limit.requests_per_unit.to_string()),
        field("RateLimit-Remaining", status.limit_remaining.to_string()),
        field("RateLimit-Reset", seconds.to_string()),
    ]
}

fn full(_: Denied) -> Status {
    // Envoy then does what its `failure_mode_deny` says.
    Status::unavailable("there is no space for the count of another descriptor")
}

struct Answers<'a, C: SharedClock> {
    counters: &'a Counters<C>,
}

impl<C: SharedClock> Answers<'_, C> {
    /// Counts the hits of all and returns their statuses, or counts nothing and returns the index of one that
    /// is over its limit.
    fn take_all(
        &self,
        enforced: &[&Counted],
    ) -> Result<Result<Vec<DescriptorStatus>, usize>, Status> {
        for (index, counted) in enforced.iter().enumerate() {
            if self.look_at(counted)?.is_err() {
                return Ok(Err(index));
            }
        }
        let mut taken: Vec<Estimate<'static>> = Vec::with_capacity(enforced.len());
        for (index, counted) in enforced.iter().enumerate() {
            let Ok(estimate) = self.take(counted) else {
                // Another request was faster since, or this one has the descriptor twice.
                for estimate in taken {
                    // What it cannot take back stays counted; no limit is exceeded.
                    let _ = estimate.settle(0);
                }
                return Ok(Err(index));
            };
            taken.push(estimate);
        }
        // Estimates that are dropped keep what was counted.
        let granted = enforced.iter().zip(&taken);
        Ok(Ok(granted
            .map(|(counted, estimate)| self.granted(counted, &estimate.grant()))
            .collect()))
    }

    fn take(&self, counted: &Counted) -> Result<Estimate<'static>, Denied> {
        self.counters.take(&counted.key, counted.requests, counted.hits)
    }

    fn peek(&self, counted: &Counted, hits: u64) -> Result<Grant, Denied> {
        self.counters.peek(&counted.key, counted.requests, hits)
    }

    /// Returns the statuses of all, of which the one at index `over` is over its limit. Counts nothing.
    fn look_at_all(
        &self,
        enforced: &[&Counted],
        over: usize,
    ) -> Result<Vec<DescriptorStatus>, Status> {
        let mut statuses = Vec::with_capacity(enforced.len());
        for (index, counted) in enforced.iter().enumerate() {
            statuses.push(match self.look_at(counted)? {
                // By itself it would be granted by now.
                Ok(_) if index == over => counted.over(self.until_reset(counted)),
                Ok(_) => self.granted(counted, &self.peek(counted, 0).map_err(full)?),
                Err(until_reset) => counted.over(until_reset),
            });
        }
        Ok(statuses)
    }

    /// Asks a limit in shadow mode, which denies nothing.
    fn ask(&self, counted: &Counted) -> DescriptorStatus {
        if counted.requests == 0 {
            return counted.over(self.until_reset(counted));
        }
        match self.take(counted) {
            Ok(estimate) => self.granted(counted, &estimate.grant()),
            Err(denied) => counted.over(self.denied(counted, &denied)),
        }
    }

    /// Returns the answer to a descriptor's hits, or the wait until its window ends.
    fn look_at(&self, counted: &Counted) -> Result<Result<Grant, Duration>, Status> {
        if counted.requests == 0 {
            return Ok(Err(self.until_reset(counted)));
        }
        match self.peek(counted, counted.hits) {
            Ok(grant) => Ok(Ok(grant)),
            Err(denied @ Denied::Full { .. }) => Err(full(denied)),
            Err(denied) => Ok(Err(self.denied(counted, &denied))),
        }
    }

    fn granted(&self, counted: &Counted, grant: &Grant) -> DescriptorStatus {
        let remaining = u32::try_from(grant.remaining()).unwrap_or(u32::MAX);
        // A window that has counted nothing is full already.
        let until_reset = match grant.reset_after() {
            Duration::ZERO => self.until_reset(counted),
            until_reset => until_reset,
        };
        counted.status(Code::Ok, remaining, until_reset)
    }

    fn denied(&self, counted: &Counted, denied: &Denied) -> Duration {
        denied.reset_after().unwrap_or_else(|| self.until_reset(counted))
    }

    /// Returns the wait until the window of a descriptor ends.
    fn until_reset(&self, counted: &Counted) -> Duration {
        let length = counted.unit.length().as_nanos() as u64;
        Duration::from_nanos(length - self.counters.clock().now_nanos() % length)
    }
}

fn free(remaining: u32) -> DescriptorStatus {
    DescriptorStatus {
        code: Code::Ok as i32,
        limit_remaining: remaining,
        ..DescriptorStatus::default()
    }
}

impl Counted {
    /// Returns the status beyond the limit. In shadow mode it is within it nevertheless.
    fn over(&self, until_reset: Duration) -> DescriptorStatus {
        let code = if self.is_shadow { Code::Ok } else { Code::OverLimit };
        self.status(code, 0, until_reset)
    }

    fn status(&self, code: Code, limit_remaining: u32, until_reset: Duration) -> DescriptorStatus {
        let current_limit = RateLimit {
            requests_per_unit: self.requests,
            unit: self.unit.number(),
            name: self.name.clone(),
        };
        DescriptorStatus {
            code: code as i32,
            current_limit: Some(current_limit),
            limit_remaining,
            // At most a year.
            duration_until_reset: prost_types::Duration::try_from(until_reset).ok(),
        }
    }
}
