//! Refusals, and the reasons for them.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use sluicegate::Denied;
use sluicegate::wait::AcquireError;
use sluicegate_flow::concurrency::{ConcurrencyDenied, InFlightError};

use crate::client_address::UnknownClient;
use crate::fields::{PolicyState, Problem, ProblemType};

/// A request that is refused, or would be.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'l> {
    pub(super) reason: RefusalReason,
    pub(super) which: Option<usize>,
    pub(super) policy: Option<&'l str>,
    /// True if all requests share the limit that refuses.
    pub(super) is_of_all: bool,
    pub(super) is_shadow: bool,
    pub(super) class: Option<&'l str>,
    /// True if the client is told the class.
    pub(super) tells_class: bool,
}

/// The reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// A limiter has denied it: status 429. If its store has no space for the key
    /// ([`Denied::Full`]), that is not the fault of the client: status 503.
    Denied(Denied),
    /// The request wanted to wait for a limiter, and was refused by its line: status 429, and 503 if the
    /// line was closed. `Retry-After` tells the wait that would have sufficed.
    Line(AcquireError),
    /// Too much is in flight: status 503 if it is a limit of all requests, and 429 if it is one of a client
    /// or a key.
    InFlight(ConcurrencyDenied),
    /// Too much is in flight, and the request wanted to wait. The same status.
    InFlightLine(InFlightError),
    /// A [`RemoteLimiter`](super::RemoteLimiter) has not decided, and fails closed: status 503.
    Unavailable,
    /// The service has taken longer than the [time limit](super::RateLimitLayer::time_limit): status 503.
    TimedOut {
        /// The time limit.
        timeout: Duration,
    },
    /// The client or the key is penalized for its offences: status 429. `Retry-After` tells the end.
    Penalized {
        /// The time until the end of the penalty.
        retry_after: Duration,
    },
    /// The address of the client is not known. If the server or its proxy does not tell any, status 500,
    /// because it is set up wrongly. Else status 400.
    UnknownClient(UnknownClient),
    /// The request has no key to limit it by: status 400.
    MissingKey,
    /// The cost of the policy is `"bytes"` of the response, which nobody knows before there is one: status 500,
    /// because the server is set up wrongly. Set a [cost](super::Limit::cost).
    UnknownCost,
}

impl RefusalReason {
    /// Returns the wait until the request will be granted; `None` if waiting does not help, or nobody knows.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            RefusalReason::Denied(denied) => denied.retry_after(),
            RefusalReason::Line(
                AcquireError::TimedOut { retry_after } | AcquireError::LineFull { retry_after },
            )
            | RefusalReason::Penalized { retry_after } => Some(*retry_after),
            _ => None,
        }
    }

    /// Returns a word for the reason, for a metric or a log: one of `rate`, `too_large`, `leased`, `no_space`
    /// (those of [`Denied`]), `timed_out`, `line_full`, `evicted`, `closed` (those of the line),
    /// `in_flight`, `unavailable`, `service_timed_out`, `penalized`, `unknown_client`, `missing_key`,
    /// `unknown_cost`, and `other`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            RefusalReason::Denied(Denied::Wait(_)) => "rate",
            RefusalReason::Denied(Denied::Leased { .. }) => "leased",
            RefusalReason::Denied(Denied::Full { .. }) => "no_space",
            RefusalReason::Denied(Denied::TooLarge { .. })
            | RefusalReason::Line(AcquireError::TooLarge { .. })
            | RefusalReason::InFlightLine(InFlightError::TooLarge { .. }) => "too_large",
            RefusalReason::Line(AcquireError::TimedOut { .. })
            | RefusalReason::InFlightLine(InFlightError::TimedOut) => "timed_out",
            RefusalReason::Line(AcquireError::LineFull { .. })
            | RefusalReason::InFlightLine(InFlightError::LineFull) => "line_full",
            RefusalReason::Line(AcquireError::Evicted)
            | RefusalReason::InFlightLine(InFlightError::Evicted) => "evicted",
            RefusalReason::Line(AcquireError::Closed)
            | RefusalReason::InFlightLine(InFlightError::Closed) => "closed",
            RefusalReason::InFlight(_) => "in_flight",
            RefusalReason::Unavailable => "unavailable",
            RefusalReason::TimedOut { .. } => "service_timed_out",
            RefusalReason::Penalized { .. } => "penalized",
            RefusalReason::UnknownClient(_) => "unknown_client",
            RefusalReason::MissingKey => "missing_key",
            RefusalReason::UnknownCost => "unknown_cost",
            // None that the engine has today.
            RefusalReason::Denied(_) | RefusalReason::Line(_) | RefusalReason::InFlightLine(_) => {
                "other"
            }
        }
    }

    /// Returns true if the limit will never grant the request, however long it waits.
    pub(super) fn is_for_good(&self) -> bool {
        match self {
            RefusalReason::Denied(denied) => denied.retry_after().is_none(),
            RefusalReason::Line(error) => {
                matches!(error, AcquireError::TooLarge { .. } | AcquireError::Closed)
            }
            RefusalReason::InFlight(denied) => denied.is_too_large(),
            RefusalReason::InFlightLine(error) => {
                matches!(error, InFlightError::TooLarge { .. } | InFlightError::Closed)
            }
            RefusalReason::Unavailable
            | RefusalReason::TimedOut { .. }
            | RefusalReason::Penalized { .. } => false,
            RefusalReason::UnknownClient(_)
            | RefusalReason::MissingKey
            | RefusalReason::UnknownCost => true,
        }
    }

    /// Returns true if the client has asked for too much. No fault of the server is an offence.
    pub(super) fn is_offence(&self) -> bool {
        match self {
            RefusalReason::Denied(denied) => !matches!(denied, Denied::Full { .. }),
            RefusalReason::Line(error) => !matches!(error, AcquireError::Closed),
            RefusalReason::InFlightLine(error) => !matches!(error, InFlightError::Closed),
            RefusalReason::InFlight(_) => true,
            RefusalReason::Penalized { .. }
            | RefusalReason::Unavailable
            | RefusalReason::TimedOut { .. }
            | RefusalReason::UnknownClient(_)
            | RefusalReason::MissingKey
            | RefusalReason::UnknownCost => false,
        }
    }

    /// Returns the state of the limit after this refusal. `standing` returns how it stands.
    pub(super) fn state(
        &self,
        standing: impl FnOnce() -> Option<PolicyState<'static>>,
    ) -> PolicyState<'static> {
        let state = match self {
            RefusalReason::Denied(denied) => {
                let limit = denied.limit();
                return PolicyState { limit, ..PolicyState::denied(denied) };
            }
            // What is there is for those in line, or for those who are not penalized.
            RefusalReason::Line(_) | RefusalReason::Penalized { .. } => {
                standing().map(|state| PolicyState { remaining: Some(0), ..state })
            }
            _ => standing(),
        };
        PolicyState {
            next_permit_after: None,
            is_denied: true,
            retry_after: self.retry_after(),
            ..state.unwrap_or(PolicyState::UNKNOWN)
        }
    }
}

impl Refusal<'_> {
    /// Returns the reason.
    #[must_use]
    pub fn reason(&self) -> RefusalReason {
        self.reason
    }

    /// Returns the index of the limit that refuses, among those of the layer; `None` for the time limit. If
    /// several refuse, it is one that never grants the request, or else the one with the longest wait.
    #[must_use]
    pub fn which(&self) -> Option<usize> {
        self.which
    }

    /// Returns the name of the policy of that limit, or of the time limiter.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.policy
    }

    /// Returns the class of the request, if the limit that refuses has classes of requests.
    #[must_use]
    pub fn class(&self) -> Option<&str> {
        self.class
    }

    /// Returns the class, if the client is told it.
    pub(super) fn class_for_client(&self) -> Option<&str> {
        self.class.filter(|_| self.tells_class)
    }

    /// Returns the most permits that the limit grants at once, or has in flight; `None` if the refusal does not
    /// tell it.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        match self.reason {
            RefusalReason::Denied(denied) => denied.limit(),
            RefusalReason::InFlight(denied) => Some(denied.limit()),
            RefusalReason::Line(AcquireError::TooLarge { limit })
            | RefusalReason::InFlightLine(InFlightError::TooLarge { limit }) => Some(limit),
            _ => None,
        }
    }

    /// Returns true if the request passes nevertheless: the layer only counts.
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        self.is_shadow
    }

    /// Returns the wait until the request will be granted; `None` if waiting does not help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.reason.retry_after()
    }

    /// Returns the status of the response, as [`RefusalReason`] says.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self.reason {
            RefusalReason::Denied(Denied::Full { .. })
            | RefusalReason::Unavailable
            | RefusalReason::TimedOut { .. }
            | RefusalReason::Line(AcquireError::Closed)
            | RefusalReason::InFlightLine(InFlightError::Closed) => StatusCode::SERVICE_UNAVAILABLE,
            RefusalReason::InFlight(_) | RefusalReason::InFlightLine(_) if self.is_of_all => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            RefusalReason::Denied(_)
            | RefusalReason::Line(_)
            | RefusalReason::InFlight(_)
            | RefusalReason::InFlightLine(_)
            | RefusalReason::Penalized { .. } => StatusCode::TOO_MANY_REQUESTS,
            RefusalReason::UnknownClient(UnknownClient::NoPeer | UnknownClient::MissingField)
            | RefusalReason::UnknownCost => StatusCode::INTERNAL_SERVER_ERROR,
            RefusalReason::UnknownClient(_) | RefusalReason::MissingKey => StatusCode::BAD_REQUEST,
        }
    }

    /// Returns the problem details of the response.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let kind = self.kind();
        let is_denied = kind != ProblemType::Blank;
        let mut problem = Problem::new(kind).explained(self.to_string());
        if is_denied {
            problem.class = self.class_for_client().map(str::to_owned);
            return problem.violating([self.policy_or_default()]);
        }
        problem.status = Some(self.status());
        // The title of a problem that has no type is that of its status (RFC 9457, section 4.2.1).
        problem.title = self.status().canonical_reason().map(str::to_owned);
        problem
    }

    /// Returns the type of the problem, whose status is that of the response unless it is blank.
    pub(super) fn kind(&self) -> ProblemType {
        match self.status() {
            StatusCode::SERVICE_UNAVAILABLE => ProblemType::TemporaryReducedCapacity,
            StatusCode::TOO_MANY_REQUESTS => ProblemType::QuotaExceeded,
            _ => ProblemType::Blank,
        }
    }

    pub(super) fn policy_or_default(&self) -> &str {
        self.policy.unwrap_or("default")
    }
}

/// Says why, as the problem details explain it.
impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            RefusalReason::Denied(denied) => denied.fmt(f),
            RefusalReason::Line(error) => error.fmt(f),
            RefusalReason::InFlight(denied) => denied.fmt(f),
            RefusalReason::InFlightLine(error) => error.fmt(f),
            RefusalReason::Unavailable => {
                f.write_str("the limit cannot be asked at the moment: try again later")
            }
            RefusalReason::TimedOut { timeout } => {
                write!(
                    f,
                    "the service took longer than its time limit of {timeout:?}: try again later"
                )
            }
            RefusalReason::Penalized { retry_after } => {
                let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
                write!(f, "refused for repeated offences: try again in {seconds}s")
            }
            RefusalReason::UnknownClient(why) => why.fmt(f),
            RefusalReason::MissingKey => f.write_str("the request has no key to limit it by"),
            RefusalReason::UnknownCost => {
                f.write_str("the cost of the request is not known before its response")
            }
        }
    }
}
