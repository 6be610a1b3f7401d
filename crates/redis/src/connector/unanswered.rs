//! The answers to callers of tenants and classes while the server gives none.

use sluicegate_policy::{CommonLimiter, ConnectError, OnFailure, RemoteAnswer, RemoteVerb};

use crate::{Fallback, Verb};

/// The answers while the server gives none.
pub(super) enum Unanswered {
    /// The failure.
    Closed,
    /// A grant of everything up to the limit.
    Open { limit: u64 },
    /// Those of this machine's share of the limit, in which each tenant has its own.
    Local(Box<CommonLimiter>),
}

impl Unanswered {
    /// Returns the answers that a policy wants: those of `share` are by a number of machines, and `limit` is the most that is
    /// granted at once.
    pub(super) fn new(
        on_failure: OnFailure,
        limit: u64,
        share: impl FnOnce(u32) -> Result<CommonLimiter, ConnectError>,
    ) -> Result<Unanswered, ConnectError> {
        Ok(match on_failure {
            OnFailure::Closed => Unanswered::Closed,
            OnFailure::Open => Unanswered::Open { limit },
            OnFailure::Share { machines } => Unanswered::Local(Box::new(share(machines)?)),
        })
    }

    /// Returns the answer; nothing if it is closed.
    pub(super) fn answer(&self, verb: RemoteVerb, key: &str, permits: u64) -> Option<RemoteAnswer> {
        let (answer, source) = match self {
            Unanswered::Closed => return None,
            Unanswered::Open { limit } => {
                (Fallback::Open.answer(Verb::Take, key, permits, *limit)?, None)
            }
            Unanswered::Local(limiter) => {
                let answer = match verb {
                    RemoteVerb::Take => limiter.decide(key.as_bytes(), permits),
                    RemoteVerb::Peek => limiter.look(key.as_bytes(), permits),
                };
                match answer {
                    Ok((grant, source)) => (Ok(grant), source),
                    Err(denied) => (Err(denied), None),
                }
            }
        };
        Some(RemoteAnswer { answer, source, is_fallback: true })
    }
}
