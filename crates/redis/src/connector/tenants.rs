//! Shares of tenants on a server, as a registry asks them.

use std::collections::HashMap;

use sluicegate_policy::{
    LeaseStatistics, RemoteAnswer, RemoteFuture, RemoteLimits, RemoteVerb, ShareGroup,
};

use super::names::KeyNames;
use super::on_server::failure;
use super::servers::Server;
use super::unanswered::Unanswered;
use crate::{RedisShares, TryAcquireError};

/// The tenants of a policy.
pub(super) struct Tenants {
    /// The URL without a user and a password.
    pub(super) server: String,
    /// The beginning of the names there.
    pub(super) prefix: String,
    pub(super) names: KeyNames,
    pub(super) shares: RedisShares<Server>,
    pub(super) groups: Groups,
    pub(super) fallback: Unanswered,
}

/// The index of the group of each tenant that has a name in the policy, and that of all others: of no group, if these have no
/// share.
pub(super) struct Groups {
    named: HashMap<String, usize>,
    others: usize,
}

/// Numbers the groups.
pub(super) fn numbered(groups: &[ShareGroup]) -> Groups {
    let tenants = groups.iter().enumerate();
    let tenants = tenants
        .flat_map(|(index, group)| group.tenants.iter().map(move |key| (key.clone(), index)));
    let others = groups.iter().position(|group| group.tenants.is_empty());
    Groups { named: tenants.collect(), others: others.unwrap_or(usize::MAX) }
}

impl Groups {
    fn of(&self, key: &str) -> usize {
        self.named.get(key).copied().unwrap_or(self.others)
    }
}

impl RemoteLimits for Tenants {
    fn decide<'a>(
        &'a self,
        verb: RemoteVerb,
        key: &'a str,
        permits: u64,
    ) -> RemoteFuture<'a, RemoteAnswer> {
        Box::pin(async move {
            let (group, name) = (self.groups.of(key), self.names.name(key));
            let answer = match verb {
                RemoteVerb::Take => self.shares.try_acquire(group, &name, permits).await,
                RemoteVerb::Peek => self.shares.peek(group, &name, permits).await,
            };
            let of_server =
                |answer, source| Ok(RemoteAnswer { answer, source, is_fallback: false });
            match answer {
                Ok(granted) => of_server(Ok(granted.grant()), Some(granted.into())),
                Err(TryAcquireError::Denied(denied)) => of_server(Err(denied), None),
                Err(error @ TryAcquireError::Key(_)) => Err(failure(&error)),
                Err(error) => {
                    self.fallback.answer(verb, key, permits).ok_or_else(|| failure(&error))
                }
            }
        })
    }

    fn leases(&self) -> Option<LeaseStatistics> {
        None
    }

    fn held(&self, _: &str) -> Option<u64> {
        None
    }

    fn name_of(&self, key: &str) -> String {
        let name = self.shares.name(self.groups.of(key), &self.names.name(key));
        name.map_or_else(|error| error.to_string(), |name| format!("{name} on {}", self.server))
    }

    fn reset<'a>(&'a self, key: &'a str) -> RemoteFuture<'a, ()> {
        Box::pin(async move {
            let (group, name) = (self.groups.of(key), self.names.name(key));
            self.shares.reset(group, &name).await.map_err(|error| failure(&error))
        })
    }

    /// Returns the same for all groups and numbers: what is left of the limit for all stays, and that of tenants.
    fn places(&self) -> Vec<String> {
        vec![format!("{} {} sh", self.server, self.prefix)]
    }
}
