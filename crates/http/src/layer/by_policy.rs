//! Limits of a registry whose policies say how long requests wait.

use sluicegate::{AcquireError, Clock};
use sluicegate_policy::{KeyedHandle, LimiterHandle, Pass, WaitError};

use super::refusal::RefusalReason;
use super::take::{All, Later, Take, Taken, Turn, looked};
use super::timer::SharedTimer;
use super::wait_up_to::comes_later;
use crate::fields::PolicyState;

/// A handle of a registry. Requests wait for it in its fair line, for as long as its policy says: `wait = "2 s"`.
///
/// Without it, a handle is a limiter like any other: what it denies is refused, whatever `wait` says. A policy
/// that is changed live is in force at once, also for requests that wait. `shadow` lets requests pass; how many
/// would have been denied is told by the handle's `shadow_counts`. The `cost` of the policy is not applied: set
/// the [cost](super::Limit::cost) of the limit.
///
/// # Examples
///
/// ```
/// use sluicegate_http::layer::{ByPolicy, Limit};
/// use sluicegate_policy::{Policies, Registry};
///
/// let registry = Registry::new(Policies::from_toml("limits.toml", r#"
/// [limiters.calls]
/// policy = "token_bucket"
/// key = "client"
/// limit = 10
/// rate = { amount = 5, interval = "1 s" }
/// wait = "2 s"
/// "#)?)?;
/// let limit = Limit::per_client_text(ByPolicy::new(registry.keyed("calls")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByPolicy<H> {
    handle: H,
}

impl<H> ByPolicy<H> {
    /// Applies the `wait` of the handle's policy.
    #[must_use]
    pub fn new(handle: H) -> ByPolicy<H> {
        ByPolicy { handle }
    }
}

fn answer<'l>(answer: &Result<Pass, WaitError>) -> Result<Taken<'l>, RefusalReason> {
    match answer {
        Ok(pass) => Ok(Taken::spent(&pass.grant())),
        Err(WaitError::Denied(denied)) => Err(RefusalReason::Denied(*denied)),
        Err(WaitError::Line(error)) => Err(RefusalReason::Line(*error)),
        // The name was removed from the file, and nobody waits for it any more.
        Err(_) => Err(RefusalReason::Line(AcquireError::Closed)),
    }
}

impl<C, U> Take<All> for ByPolicy<LimiterHandle<C, U>>
where
    C: Clock + Clone + Send + Sync + 'static,
    U: Clock + Clone + Send + Sync + 'static,
{
    fn try_take(&self, key: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        self.handle.try_take(key, permits)
    }

    fn is_spent_at_once(&self) -> bool {
        true
    }

    fn try_take_revocable(&self, key: &All, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        self.handle.try_take_revocable(key, permits)
    }

    fn look(&self, _: &All, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        looked(self.handle.peek(permits))
    }

    fn turn(&self) -> Turn {
        Turn::Line
    }

    fn may_wait(&self, refused: &RefusalReason) -> bool {
        comes_later(refused) && self.handle.policy().wait.is_some()
    }

    fn take_later<'a>(&'a self, _: &'a All, permits: u64, _: &'a SharedTimer) -> Later<'a> {
        Box::pin(async move { answer(&self.handle.acquire_async_with(permits).await) })
    }
}

impl<C, U> Take<str> for ByPolicy<KeyedHandle<C, U>>
where
    C: Clock + Clone + Send + Sync + 'static,
    U: Clock + Clone + Send + Sync + 'static,
{
    fn try_take(&self, key: &str, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        self.handle.try_take(key, permits)
    }

    fn is_spent_at_once(&self) -> bool {
        true
    }

    fn try_take_revocable(&self, key: &str, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        self.handle.try_take_revocable(key, permits)
    }

    fn look(&self, key: &str, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        looked(self.handle.peek(key, permits))
    }

    fn turn(&self) -> Turn {
        Turn::Line
    }

    fn may_wait(&self, refused: &RefusalReason) -> bool {
        comes_later(refused) && self.handle.policy().wait.is_some()
    }

    fn take_later<'a>(&'a self, key: &'a str, permits: u64, _: &'a SharedTimer) -> Later<'a> {
        Box::pin(async move { answer(&self.handle.acquire_async_with(key, permits).await) })
    }
}
