//! The status of a descriptor.

use std::time::Duration;

use super::parts::Counted;
use super::protocol::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus, RateLimit,
};
use crate::decision::Answer;

/// The answer to a descriptor.
pub(super) struct Verdict {
    pub(super) status: DescriptorStatus,
    /// True if it is beyond its limit, whatever that means for the request.
    pub(super) is_over: bool,
    /// True if it was let through in spite of that.
    pub(super) is_shadowed: bool,
}

/// The limit that a status tells, and its rest.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) requests: u32,
    /// A number of the protocol; 0 for a limit that has no such unit.
    pub(super) unit: i32,
    pub(super) remaining: u32,
    pub(super) until_reset: Duration,
}

impl Verdict {
    /// Returns the status of a descriptor without a limit.
    pub(super) fn free(limit_remaining: u32) -> Verdict {
        let code = Code::Ok as i32;
        let status = DescriptorStatus { code, limit_remaining, ..DescriptorStatus::default() };
        Verdict { status, is_over: false, is_shadowed: false }
    }

    /// Returns the status of a descriptor within its limit or, if it `is_over`, beyond it. In shadow mode it is
    /// within it nevertheless.
    pub(super) fn of(counted: &Counted<'_>, told: Option<Told>, is_over: bool) -> Verdict {
        let is_shadowed = is_over && counted.is_shadow();
        let code = if is_over && !is_shadowed { Code::OverLimit } else { Code::Ok };
        let mut status = DescriptorStatus { code: code as i32, ..DescriptorStatus::default() };
        if let Some(Told { requests, unit, remaining, until_reset }) = told {
            let name = counted.name().to_owned();
            status.current_limit = Some(RateLimit { requests_per_unit: requests, unit, name });
            status.limit_remaining = if is_over { 0 } else { remaining };
            // At most 100 years.
            status.duration_until_reset = prost_types::Duration::try_from(until_reset).ok();
        }
        Verdict { status, is_over, is_shadowed }
    }

    /// Returns the status that a limiter of the policy gives.
    pub(super) fn of_limiter(counted: &Counted<'_>, answer: &Answer<'_>) -> Verdict {
        let saturated = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let wait = answer.retry_after.or(answer.reset_after);
        let told = answer.limit.map(|limit| Told {
            requests: saturated(limit),
            unit: 0,
            remaining: saturated(answer.remaining.unwrap_or_default()),
            until_reset: wait.map(|wait| wait.0).unwrap_or_default(),
        });
        let verdict = Verdict::of(counted, told, !answer.is_granted());
        Verdict { is_shadowed: verdict.is_shadowed || answer.would_deny, ..verdict }
    }
}
