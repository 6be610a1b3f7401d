//! Limiters whose keys are on a server that several machines share.
//!
//! The registry knows their names and policies, and follows reloads. The decisions are made by a client of the
//! server, which a [`Connector`] makes of each policy: this crate has none.

mod counted;
mod in_force;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use sluicegate::compose::AnswerCounters;
use sluicegate::penalty::Standing;
use sluicegate::{Denied, Grant};

use self::in_force::RemoteInForce;
use super::remote_failure::RemoteFailure;
use super::servers::{Fallbacks, LeaseStatistics, ServerStatistics};
use super::shadow::{Pass, Shadow, ShadowCounts};
use super::terms::Terms;
use super::unasked::Unasked;
use crate::common_limiter::ShareCounters;
use crate::{ClassCounts, KeyField, Kind, LimiterPolicy, PermitSource, ShareCounts};

/// A client of a server, which makes the limiters of policies there.
///
/// For Redis and Valkey: `RedisConnector` of the crate `sluicegate-redis`, with its feature `policy`.
pub trait Connector: Send + Sync {
    /// Returns the limiter of a policy on its server; `None` if it is to be in the memory of the process.
    ///
    /// Is called for each limiter of a file before any of them is in force, on the thread that reloads. Should not
    /// wait for the server: connections are made at the first decision.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] if no server can keep such a limiter. Then the file is refused as a whole.
    fn connect(
        &self,
        policy: &LimiterPolicy,
    ) -> Result<Option<Arc<dyn RemoteLimits>>, ConnectError>;

    /// Returns the counts of the servers of its limiters. Asks none of them.
    fn servers(&self) -> Vec<ServerStatistics>;

    /// Asks each server of its limiters for a sign of life, in a bounded time.
    fn probe(&self) -> RemoteFuture<'_, ()>;
}

/// The reason for which a limiter cannot be kept on a server, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

/// The future of a decision.
pub type RemoteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, RemoteFailure>> + Send + 'a>>;

/// The limiters of all keys of a policy, on a server.
pub trait RemoteLimits: Send + Sync {
    /// Does what `verb` says for a key, in a bounded time.
    fn decide<'a>(
        &'a self,
        verb: RemoteVerb,
        key: &'a str,
        permits: u64,
    ) -> RemoteFuture<'a, RemoteAnswer>;

    /// Makes the limiter of a key full.
    fn reset<'a>(&'a self, key: &'a str) -> RemoteFuture<'a, ()>;

    /// Returns the place of what was used, with what its meaning depends on: first that of most keys, then those of
    /// overrides that have another one. Limiters with the same places go on with what was used.
    fn places(&self) -> Vec<String>;

    /// Returns the numbers of leases; `None` if each decision asks the server.
    fn leases(&self) -> Option<LeaseStatistics>;

    /// Returns the permits that are left in the lease of a key; `None` if it has none.
    fn held(&self, key: &str) -> Option<u64>;

    /// Returns the server and the name of a key there, for people.
    fn name_of(&self, key: &str) -> String;
}

/// The ways to ask a limiter on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteVerb {
    /// Takes all permits or none.
    Take,
    /// Takes nothing.
    Peek,
}

/// An answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct RemoteAnswer {
    /// The grant, or the denial.
    pub answer: Result<Grant, Denied>,
    /// The source of a tenant's permits, if they were granted by shares.
    pub source: Option<PermitSource>,
    /// True if the server gave no answer, so that the policy's `on_failure` has.
    pub is_fallback: bool,
}

/// A request that may go on, by a decision of a server.
#[derive(Clone, Copy, Debug)]
pub struct RemotePass {
    /// The grant, or the denial that `shadow` has overruled.
    pub pass: Pass,
    /// True if the server gave no answer, so that the policy's `on_failure` has.
    pub is_fallback: bool,
}

/// A request that may not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteRefusal {
    /// The limiter has denied it.
    #[error("{denied}")]
    Denied {
        /// The denial.
        denied: Denied,
        /// True if the server gave no answer, so that the policy's `on_failure` has.
        is_fallback: bool,
    },
    /// There is no decision.
    #[error(transparent)]
    Failed(#[from] RemoteFailure),
}

/// A named limiter of a [`Registry`](super::Registry) whose keys are on a server.
///
/// The limiter of a policy with `key = "all"` has one key, the empty text.
///
/// A clone is the same. It obeys the policy in force: `cost`, `shadow`, and the `on_failure` of its store. Nobody waits
/// in line.
#[derive(Clone)]
pub struct RemoteHandle {
    name: Arc<str>,
    slot: Arc<RemoteSlot>,
}

/// The slot of a name.
pub(super) struct RemoteSlot {
    in_force: ArcSwap<RemoteInForce>,
    pub(super) shadow: Shadow,
    pub(super) fallbacks: Fallbacks,
    granted: ShareCounters,
    /// Set if the answers are counted.
    pub(super) answers: OnceLock<AnswerCounters>,
    pub(super) unasked: Unasked,
}

impl RemoteSlot {
    pub(super) fn new(policy: Arc<LimiterPolicy>, limits: Arc<dyn RemoteLimits>) -> RemoteSlot {
        RemoteSlot {
            in_force: ArcSwap::from_pointee(RemoteInForce::new(policy, limits)),
            shadow: Shadow::default(),
            fallbacks: Fallbacks::default(),
            granted: ShareCounters::default(),
            answers: OnceLock::new(),
            unasked: Unasked::default(),
        }
    }

    pub(super) fn policy(&self) -> Arc<LimiterPolicy> {
        Arc::clone(&self.in_force.load().policy)
    }

    /// Returns the places of what was used.
    pub(super) fn places(&self) -> Vec<String> {
        self.in_force.load().limits.places()
    }

    /// Returns the numbers of leases; `None` if each decision asks the server.
    pub(super) fn leases(&self) -> Option<LeaseStatistics> {
        self.in_force.load().limits.leases()
    }

    /// Returns the permits that tenants were granted, if keys are tenants.
    pub(super) fn share_counts(&self) -> Option<ShareCounts> {
        let is_of_shares = matches!(self.policy().kind, Kind::Shares { .. });
        is_of_shares.then(|| self.granted.counts())
    }

    /// Returns the answers to each class of requests since the policy is in force, if keys tell classes.
    pub(super) fn class_counts(&self) -> Vec<ClassCounts> {
        self.in_force.load().class_counts()
    }

    /// Puts a policy and its limiter in force. Decisions that are under way are made by the old one.
    pub(super) fn enforce(&self, policy: Arc<LimiterPolicy>, limits: Arc<dyn RemoteLimits>) {
        self.in_force.store(Arc::new(RemoteInForce::new(policy, limits)));
    }
}

impl RemoteHandle {
    pub(super) fn new(name: &Arc<str>, slot: &Arc<RemoteSlot>) -> RemoteHandle {
        RemoteHandle { name: Arc::clone(name), slot: Arc::clone(slot) }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the policy in force. Wait-free; does not allocate.
    #[must_use]
    pub fn policy(&self) -> Arc<LimiterPolicy> {
        self.slot.policy()
    }

    /// Returns true if it has a limiter for each key.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.policy().key != [KeyField::All]
    }

    /// Returns the counts of all keys while the policy has `shadow`. Wait-free; may be out of date.
    #[must_use]
    pub fn shadow_counts(&self) -> ShadowCounts {
        self.slot.shadow.counts()
    }

    /// Takes the permits of the policy's `cost` for the key, or none; see
    /// [`try_pass_with`](RemoteHandle::try_pass_with).
    ///
    /// # Errors
    ///
    /// Those of [`try_pass_with`](RemoteHandle::try_pass_with).
    pub async fn try_pass(&self, key: &str) -> Result<RemotePass, RemoteRefusal> {
        self.ask(RemoteVerb::Take, key, None).await
    }

    /// Takes all of `permits` for the key, or none: one round trip to the server, unless the key has a lease.
    ///
    /// Takes no longer than the `time_limit` of the store.
    ///
    /// # Errors
    ///
    /// [`RemoteRefusal::Denied`] by the server or by `on_failure`, and [`RemoteRefusal::Failed`] if the server
    /// gives no answer and the policy grants nothing then; none of them with `shadow`.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may have been taken, or may yet be.
    pub async fn try_pass_with(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<RemotePass, RemoteRefusal> {
        self.ask(RemoteVerb::Take, key, Some(permits)).await
    }

    /// Returns the answer that [`try_pass_with`](RemoteHandle::try_pass_with) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`try_pass_with`](RemoteHandle::try_pass_with).
    pub async fn peek(&self, key: &str, permits: u64) -> Result<RemotePass, RemoteRefusal> {
        self.ask(RemoteVerb::Peek, key, Some(permits)).await
    }

    /// Returns the numbers of leases of this process; `None` if each decision asks the server.
    #[must_use]
    pub fn leases(&self) -> Option<LeaseStatistics> {
        self.slot.leases()
    }

    /// Returns the permits that this process holds of the key in a lease, and may spend without the server; `None` if it
    /// has none.
    #[must_use]
    pub fn held(&self, key: &str) -> Option<u64> {
        self.slot.in_force.load().limits.held(key)
    }

    /// Returns the server and the name of a key there, for people.
    #[must_use]
    pub fn name_of(&self, key: &str) -> String {
        self.slot.in_force.load_full().limits.name_of(key)
    }

    /// Makes the limiter of the key full.
    ///
    /// # Errors
    ///
    /// [`RemoteFailure`] if the server gives no answer.
    pub async fn reset(&self, key: &str) -> Result<(), RemoteFailure> {
        let in_force = self.slot.in_force.load_full();
        in_force.limits.reset(key).await
    }

    async fn ask(
        &self,
        verb: RemoteVerb,
        key: &str,
        permits: Option<u64>,
    ) -> Result<RemotePass, RemoteRefusal> {
        let in_force = self.slot.in_force.load_full();
        let terms = Terms::of(&in_force.policy);
        let permits = permits.unwrap_or(terms.cost);
        let answer = in_force.limits.decide(verb, key, permits).await;
        let is_asked = verb == RemoteVerb::Take;
        match answer {
            Ok(RemoteAnswer { answer, source, is_fallback }) => {
                if is_asked {
                    self.count(&in_force, (key, permits), answer.as_ref(), is_fallback);
                }
                if is_asked && let (Ok(_), Some(source)) = (&answer, source) {
                    self.slot.granted.count(source, permits);
                }
                let judged = if is_asked {
                    self.slot.shadow.judge(terms, permits, answer)
                } else {
                    super::shadow::shown(terms, permits, answer)
                };
                match judged {
                    Ok(pass) => Ok(RemotePass { pass: pass.of(source), is_fallback }),
                    Err(denied) => Err(RemoteRefusal::Denied { denied, is_fallback }),
                }
            }
            // With `shadow` nobody is refused.
            Err(RemoteFailure::Unavailable(_)) if terms.is_shadow => {
                if is_asked {
                    self.slot.fallbacks.answered(true);
                }
                let limit = in_force.policy.kind.most_at_once();
                let standing = Standing::new(limit, 0, Duration::ZERO);
                let pass = Pass::granted(standing.grant(permits));
                Ok(RemotePass { pass, is_fallback: true })
            }
            Err(failure) => {
                if is_asked {
                    self.count_failure(&failure);
                }
                Err(failure.into())
            }
        }
    }
}

/// Shows the name and the terms.
impl fmt::Debug for RemoteHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.policy().kind.to_string();
        f.debug_struct("RemoteHandle").field("name", &self.name).field("kind", &kind).finish()
    }
}
