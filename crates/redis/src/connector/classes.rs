//! Classes of requests on a server, as a registry asks them.

use sluicegate_policy::{
    Kind, LeaseStatistics, RemoteAnswer, RemoteFuture, RemoteLimits, RemoteVerb,
};

use super::on_server::failure;
use super::servers::Server;
use super::unanswered::Unanswered;
use crate::priorities::ALL;
use crate::{RedisLimiter, TryAcquireError};

/// The classes of a policy, which all count against one key.
pub(super) struct Classes {
    /// The URL without a user and a password.
    pub(super) server: String,
    /// The beginning of the names there.
    pub(super) prefix: String,
    pub(super) limiter: RedisLimiter<Server>,
    /// The kind, which tells the class of a key.
    pub(super) kind: Kind,
    pub(super) fallback: Unanswered,
}

impl RemoteLimits for Classes {
    fn decide<'a>(
        &'a self,
        verb: RemoteVerb,
        key: &'a str,
        permits: u64,
    ) -> RemoteFuture<'a, RemoteAnswer> {
        let reserve = self.kind.class_of(key.as_bytes()).map_or(0, |class| class.reserve);
        Box::pin(async move {
            let answer = match verb {
                RemoteVerb::Take => self.limiter.try_acquire_leaving(ALL, permits, reserve).await,
                RemoteVerb::Peek => self.limiter.peek_leaving(ALL, permits, reserve).await,
            };
            let answer = match answer {
                Ok(grant) => Ok(grant.above(reserve)),
                Err(TryAcquireError::Denied(denied)) => Err(denied.above(reserve)),
                Err(error) => {
                    let answer = self.fallback.answer(verb, key, permits);
                    return answer.ok_or_else(|| failure(&error));
                }
            };
            Ok(RemoteAnswer { answer, source: None, is_fallback: false })
        })
    }

    fn leases(&self) -> Option<LeaseStatistics> {
        None
    }

    fn held(&self, _: &str) -> Option<u64> {
        None
    }

    fn name_of(&self, _: &str) -> String {
        let name = self.limiter.name(ALL);
        name.map_or_else(|error| error.to_string(), |name| format!("{name} on {}", self.server))
    }

    /// Makes the bucket of all classes full.
    fn reset<'a>(&'a self, _: &'a str) -> RemoteFuture<'a, ()> {
        Box::pin(async move { self.limiter.reset(ALL).await.map_err(|error| failure(&error)) })
    }

    /// Returns the same for all classes and numbers: what is left for all stays.
    fn places(&self) -> Vec<String> {
        vec![format!("{} {} {} of classes", self.server, self.prefix, self.limiter.limit().kind())]
    }
}
