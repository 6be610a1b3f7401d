//! Passes: grants, and denials of a limiter that only counts them.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use sluicegate::{Denied, Grant};

use super::terms::Terms;
use crate::{CommonGrant, PermitSource};

/// The answer to a call that may go on: it was granted its permits, or denied by a limiter with `shadow`,
/// which only counts what it would deny.
///
/// # Examples
///
/// ```
/// use sluicegate_policy::{Policies, Registry};
///
/// let registry = Registry::new(Policies::from_toml("p.toml", r#"
/// [limiters.uploads]
/// policy = "fixed_window"
/// key = "all"
/// limit = 10
/// interval = "1 day"
/// cost = 6
/// shadow = true
/// "#)?)?;
/// let uploads = registry.limiter("uploads")?;
/// assert!(!uploads.try_pass()?.would_deny());
/// let pass = uploads.try_pass()?;
/// assert_eq!(pass.denied().unwrap().remaining(), Some(4));
/// assert_eq!(uploads.shadow_counts().would_deny, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    grant: Grant,
    denied: Option<Denied>,
    source: Option<PermitSource>,
}

impl Pass {
    pub(super) fn granted(grant: Grant) -> Pass {
        Pass { grant, denied: None, source: None }
    }

    /// Notes the source of the permits, if they were granted.
    pub(super) fn of(self, source: Option<PermitSource>) -> Pass {
        Pass { source: source.filter(|_| !self.would_deny()), ..self }
    }

    /// Returns the grant. That of a call that would have been denied has charged nothing:
    /// see [`Denied::overruled`].
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Returns the source of the permits of a tenant: its own share, or permits that are lent. `None` unless the policy is of
    /// shares.
    #[must_use]
    pub fn source(&self) -> Option<PermitSource> {
        self.source
    }

    /// Returns true if the limiter would have denied the call, were it not for `shadow`.
    #[must_use]
    pub fn would_deny(&self) -> bool {
        self.denied.is_some()
    }

    /// Returns the denial, if the limiter would have denied the call.
    #[must_use]
    pub fn denied(&self) -> Option<Denied> {
        self.denied
    }
}

/// The counts of a limiter while its policy has `shadow`, since it was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShadowCounts {
    /// Calls that it has decided.
    pub decided: u64,
    /// Those that it would have denied, of all that it has decided.
    pub would_deny: u64,
}

/// The counters of a limiter with `shadow`.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    decided: AtomicU64,
    would_deny: AtomicU64,
}

impl Shadow {
    pub(super) fn counts(&self) -> ShadowCounts {
        // ORDERING: Relaxed, here and below. Statistics; nothing is decided by them.
        // MODEL: none; no decision depends on them.
        let would_deny = self.would_deny.load(Relaxed);
        // ORDERING: Relaxed, as above.
        // MODEL: none, as above.
        ShadowCounts { decided: self.decided.load(Relaxed).max(would_deny), would_deny }
    }

    /// Lets a call through that was denied, if the terms say so, and counts it.
    pub(super) fn judge(
        &self,
        terms: Terms,
        permits: u64,
        answer: Result<Grant, Denied>,
    ) -> Result<Pass, Denied> {
        if terms.is_shadow {
            // ORDERING: Relaxed, as in `counts`.
            // MODEL: none, as there.
            self.decided.fetch_add(1, Relaxed);
            if answer.is_err() {
                // ORDERING: Relaxed, as in `counts`.
                // MODEL: none, as there.
                self.would_deny.fetch_add(1, Relaxed);
            }
        }
        shown(terms, permits, answer)
    }
}

/// Returns the answer that a caller is given, without counting it.
pub(super) fn shown(
    terms: Terms,
    permits: u64,
    answer: Result<Grant, Denied>,
) -> Result<Pass, Denied> {
    match answer {
        Ok(grant) => Ok(Pass::granted(grant)),
        Err(denied) if terms.is_shadow => {
            Ok(Pass { grant: denied.overruled(permits), denied: Some(denied), source: None })
        }
        Err(denied) => Err(denied),
    }
}

/// Returns the answer, and notes the source of its permits.
pub(super) fn noted(
    answer: Result<CommonGrant, Denied>,
    source: &mut Option<PermitSource>,
) -> Result<Grant, Denied> {
    let (grant, of) = answer?;
    *source = of;
    Ok(grant)
}
