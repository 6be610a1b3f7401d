//! Limiters on a server, as a registry asks them.

use std::sync::Arc;

use sluicegate_policy::{
    LeaseStatistics, Overrides, RemoteAnswer, RemoteFailure, RemoteFuture, RemoteLimits, RemoteVerb,
};
use tokio::runtime::Handle;

use super::names::KeyNames;
use super::servers::Server;
use crate::guarded::Causes;
use crate::{Decision, LeasedLimiter, RedisLimiter, TryAcquireError, Verb};

/// The limiters of all keys of a policy.
pub(super) struct OnServer {
    /// The URL without a user and a password.
    pub(super) server: String,
    /// The beginning of the names there.
    pub(super) prefix: String,
    pub(super) names: KeyNames,
    pub(super) limits: Limits,
    pub(super) overrides: Overrides<Limits>,
}

/// The limiters of keys with the same numbers.
pub(super) enum Limits {
    Plain(RedisLimiter<Server>),
    Leased(Arc<LeasedLimiter<Server>>, Handle),
}

impl Drop for Limits {
    fn drop(&mut self) {
        // Other terms have taken the place: what is leased goes back, for the others.
        if let Limits::Leased(limiter, runtime) = self {
            let limiter = Arc::clone(limiter);
            runtime.spawn(async move { limiter.shutdown().await });
        }
    }
}

impl Limits {
    /// Returns the word for the kind in names, with what the meaning of a state depends on.
    fn kind(&self) -> &str {
        match self {
            Limits::Plain(limiter) => limiter.limit().kind(),
            Limits::Leased(limiter, _) => limiter.limit().kind(),
        }
    }
}

impl OnServer {
    fn of(&self, key: &str) -> &Limits {
        self.overrides.of(key.as_bytes()).unwrap_or(&self.limits)
    }
}

impl RemoteLimits for OnServer {
    fn decide<'a>(
        &'a self,
        verb: RemoteVerb,
        key: &'a str,
        permits: u64,
    ) -> RemoteFuture<'a, RemoteAnswer> {
        let verb = match verb {
            RemoteVerb::Take => Verb::Take,
            RemoteVerb::Peek => Verb::Peek,
        };
        Box::pin(async move {
            let name = self.names.name(key);
            let decision = match self.of(key) {
                Limits::Plain(limiter) => limiter.decide(verb, &name, permits).await,
                Limits::Leased(limiter, _) => limiter.decide(verb, &name, permits).await,
            };
            answer(decision)
        })
    }

    fn leases(&self) -> Option<LeaseStatistics> {
        let limits = std::iter::once(&self.limits).chain(self.overrides.values());
        let counts = limits.filter_map(|limits| match limits {
            Limits::Leased(limiter, _) => Some(limiter.counts()),
            Limits::Plain(_) => None,
        });
        counts
            .map(|counts| LeaseStatistics {
                keys: counts.keys,
                permits: counts.permits,
                requests: counts.requests,
                given_back: counts.given_back,
            })
            .reduce(|one, other| LeaseStatistics {
                keys: one.keys + other.keys,
                permits: one.permits.saturating_add(other.permits),
                // Those of all limiters of a policy.
                ..one
            })
    }

    fn held(&self, key: &str) -> Option<u64> {
        match self.of(key) {
            Limits::Plain(_) => None,
            Limits::Leased(limiter, _) => limiter.held(&self.names.name(key)),
        }
    }

    fn name_of(&self, key: &str) -> String {
        let name = self.names.name(key);
        let keyed = match self.of(key) {
            Limits::Plain(limiter) => limiter.name(&name),
            Limits::Leased(limiter, _) => limiter.name(&name),
        };
        keyed.map_or_else(|error| error.to_string(), |name| format!("{name} on {}", self.server))
    }

    fn reset<'a>(&'a self, key: &'a str) -> RemoteFuture<'a, ()> {
        Box::pin(async move {
            let name = self.names.name(key);
            let reset = match self.of(key) {
                Limits::Plain(limiter) => limiter.reset(&name).await,
                Limits::Leased(limiter, _) => limiter.reset(&name).await,
            };
            reset.map_err(|error| failure(&error))
        })
    }

    fn places(&self) -> Vec<String> {
        let kind = self.limits.kind();
        let others = self.overrides.iter().filter(|(_, own)| own.kind() != kind);
        let mut places: Vec<_> =
            others.map(|(key, own)| format!("{}: {key}", own.kind())).collect();
        places.sort_unstable();
        places.insert(0, format!("{} {} {kind}", self.server, self.prefix));
        places
    }
}

fn answer(decision: Result<Decision, TryAcquireError>) -> Result<RemoteAnswer, RemoteFailure> {
    match decision {
        Ok(decision) => {
            let is_fallback = decision.failure().is_some();
            Ok(RemoteAnswer { answer: decision.answer(), source: None, is_fallback })
        }
        Err(TryAcquireError::Denied(denied)) => {
            Ok(RemoteAnswer { answer: Err(denied), source: None, is_fallback: false })
        }
        Err(error) => Err(failure(&error)),
    }
}

pub(super) fn failure(error: &TryAcquireError) -> RemoteFailure {
    match error {
        TryAcquireError::Key(error) => RemoteFailure::Key(error.to_string()),
        TryAcquireError::Store(error) => RemoteFailure::Unavailable(Causes(error).to_string()),
        error => RemoteFailure::Unavailable(error.to_string()),
    }
}
