//! The answer to a question.

use std::time::Duration;

use serde::Serialize;
use sluicegate::{Denied, Grant};
use sluicegate_policy::PermitSource;
use utoipa::ToSchema;

use super::seconds::Seconds;

/// The answer to a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Answer<'l> {
    /// Name of the limiter.
    #[schema(example = "api")]
    pub limiter: &'l str,
    /// Granted or denied.
    pub decision: Decision,
    /// Permits that were asked for.
    pub cost: u64,
    /// Largest number of permits that can be granted at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Whole permits that are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// Wait until the limiter is full again, if nobody takes more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_after: Option<Seconds>,
    /// Wait until the same question would be granted, if nobody else takes permits. Absent if nothing
    /// stands against it, and if waiting does not help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Seconds>,
    /// Why it is denied, or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Index of the part that denied it, among those of a limiter with several parts or windows,
    /// counted from 0. 0 for any other limiter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<usize>,
    /// Source of the permits of a tenant that shares the limit, if they were granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Class of the key, of a limiter with priorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "batch")]
    pub class: Option<&'l str>,
    /// True if it would be denied, were it not for the `shadow` of the policy.
    #[serde(skip_serializing_if = "is_false")]
    pub would_deny: bool,
    /// True if the server of the limiter gave no answer, so that the policy's `on_failure` has.
    #[serde(skip_serializing_if = "is_false")]
    pub fallback: bool,
    /// Permits of the key that this process holds in a lease, and may grant without the server. Only in answers to a peek.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The permits were taken.
    Granted,
    /// Nothing was taken.
    Denied,
}

/// The source of the permits of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Its own share.
    Assured,
    /// Permits that others leave idle, and that are lent.
    Borrowed,
}

impl From<PermitSource> for Share {
    fn from(source: PermitSource) -> Share {
        match source {
            PermitSource::Assured => Share::Assured,
            PermitSource::Borrowed => Share::Borrowed,
        }
    }
}

/// The reason of a denial, by the word that the metrics have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// There are too few permits now. `retry_after` says when there will be enough.
    Rate,
    /// The cost is more than the limiter ever has: waiting does not help.
    TooLarge,
    /// There is no space for another key. `retry_after` says when there may be.
    NoSpace,
    /// The permits come later than the caller waits. `retry_after` says when they would be there.
    TimedOut,
    /// The line has no space for another caller that waits. `retry_after` says when the permits would be there.
    LineFull,
    /// The limiter was removed from the policy file while the caller waited.
    Closed,
    /// The request lacks a value of the limiter's key, and the policy says to deny it.
    MissingKey,
    /// The key has offended too often. `retry_after` says when its penalty ends.
    Penalized,
    /// The server of the limiter gives no answer, and the policy's `on_failure` is `closed`.
    Unavailable,
}

impl<'l> Answer<'l> {
    pub(super) fn granted(limiter: &'l str, cost: u64, grant: &Grant) -> Answer<'l> {
        Answer {
            limiter,
            decision: Decision::Granted,
            cost,
            limit: Some(grant.limit()),
            remaining: Some(grant.remaining()),
            reset_after: Some(Seconds(grant.reset_after())),
            retry_after: None,
            reason: None,
            which: None,
            share: None,
            class: None,
            would_deny: false,
            fallback: false,
            held: None,
        }
    }

    pub(super) fn denied(limiter: &'l str, cost: u64, denied: &Denied) -> Answer<'l> {
        let reason = match denied {
            Denied::TooLarge { .. } | Denied::Leased { .. } => Reason::TooLarge,
            Denied::Full { .. } => Reason::NoSpace,
            _ => Reason::Rate,
        };
        Answer {
            limiter,
            decision: Decision::Denied,
            cost,
            limit: denied.limit(),
            remaining: denied.remaining(),
            reset_after: denied.reset_after().map(Seconds),
            retry_after: denied.retry_after().map(Seconds),
            reason: Some(reason),
            which: Some(denied.which()),
            share: None,
            class: None,
            would_deny: false,
            fallback: false,
            held: None,
        }
    }

    /// Returns the denial of a request that has no key for the limiter.
    pub(super) fn without_key(limiter: &'l str) -> Answer<'l> {
        Answer::stateless(limiter, 0, Reason::MissingKey)
    }

    /// Returns the grant of a request that the policy does not limit, since it has no key.
    pub(super) fn unlimited(limiter: &'l str, cost: u64) -> Answer<'l> {
        let (decision, reason) = (Decision::Granted, None);
        Answer { decision, reason, ..Answer::stateless(limiter, cost, Reason::MissingKey) }
    }

    /// Returns the denial of a key whose penalty runs for so long.
    pub(super) fn penalized(limiter: &'l str, cost: u64, left: Duration) -> Answer<'l> {
        let retry_after = Some(Seconds(left));
        Answer { retry_after, ..Answer::stateless(limiter, cost, Reason::Penalized) }
    }

    /// Returns the denial by a limiter whose server gives no answer.
    pub(super) fn unavailable(limiter: &'l str, cost: u64) -> Answer<'l> {
        Answer { fallback: true, ..Answer::stateless(limiter, cost, Reason::Unavailable) }
    }

    /// Returns a denial that tells nothing of the limiter.
    fn stateless(limiter: &'l str, cost: u64, reason: Reason) -> Answer<'l> {
        Answer {
            limiter,
            decision: Decision::Denied,
            cost,
            limit: None,
            remaining: None,
            reset_after: None,
            retry_after: None,
            reason: Some(reason),
            which: None,
            share: None,
            class: None,
            would_deny: false,
            fallback: false,
            held: None,
        }
    }

    /// Turns the state of a limiter into the refusal of a caller that waited for `cost` permits, or wanted to.
    pub(super) fn refused(
        self,
        cost: u64,
        reason: Reason,
        retry_after: Option<Duration>,
    ) -> Answer<'l> {
        let (decision, retry_after) = (Decision::Denied, retry_after.map(Seconds));
        Answer { decision, cost, retry_after, reason: Some(reason), ..self }
    }

    /// Notes whether the limiter's server gave the answer, or the policy.
    pub(super) fn fallen_back(self, fallback: bool) -> Answer<'l> {
        Answer { fallback, ..self }
    }

    /// Turns a denial into the grant of a limiter with `shadow`, which has taken nothing.
    pub(super) fn overruled(self) -> Answer<'l> {
        Answer { decision: Decision::Granted, would_deny: true, ..self }
    }

    /// Returns true if it says nothing about the caller: the server of the limiter gives no answer.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.reason == Some(Reason::Unavailable)
    }

    /// Returns true if the caller may go on.
    #[must_use]
    pub fn is_granted(&self) -> bool {
        self.decision == Decision::Granted
    }
}
