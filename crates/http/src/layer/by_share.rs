//! Limits of which each tenant has a share, and limits that refuse some classes of requests before others.

use std::fmt;
use std::sync::Arc;

use sluicegate::Clock;
use sluicegate::clock::DefaultClock;
use sluicegate::share::{Leaving, Priorities, ShareGrant, Shares};

use super::refusal::RefusalReason;
use super::request_class::RequestClass;
use super::take::{Take, Taken, looked};
use crate::fields::PolicyState;

/// A limit of which each tenant has a share: for [`Limit::per_key`](super::Limit::per_key), whose function finds the tenant
/// of a request.
///
/// A request that passes has the [`ShareGrant`] among its extensions, by which the service learns whether the permits are the
/// tenant's own.
///
/// The function has to find the tenant in something that a client cannot write: a user who has signed in, the owner of an
/// API key that was checked, or a field that the gateway sets and takes from clients. A client that chooses its tenant chooses
/// its share; one that makes a tenant up takes one of the places of a group, or has none and can only borrow.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::quota;
/// use sluicegate::share::{Share, Shares};
/// use sluicegate_http::layer::{ByShare, Limit};
///
/// const PAID: usize = 0;
/// const FREE: usize = 1;
///
/// /// The tenant that a layer around this one has found.
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// let shares = Arc::new(Shares::new(quota!(1_000 / second, burst 400), [
///     Share::new(quota!(150 / second, burst 30)).with_tenants(4),
///     Share::new(quota!(10 / second, burst 2)).with_tenants(40),
/// ])?);
/// let group = |tenant: &str| if tenant.starts_with("paid-") { PAID } else { FREE };
/// let limit = Limit::per_key(ByShare::new(shares, group), |request| {
///     request.extensions.get().map(|Tenant(tenant)| tenant.as_str()).into()
/// });
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct ByShare<C: Clock = DefaultClock> {
    shares: Arc<Shares<String, C>>,
    group: Box<dyn Fn(&str) -> usize + Send + Sync>,
}

/// A limit that refuses some classes of requests before others: for [`Limit::per_key`](super::Limit::per_key), whose function
/// finds the name of the class.
///
/// A name that no class has is that of the last class. A client that could choose its class would choose the first one: so
/// the function has to find it by the route, by a user who has signed in, or by a field that the gateway sets and takes from
/// clients.
///
/// The service finds the [`RequestClass`] among the extensions of a request that passes, and an
/// [observer](super::RateLimitLayer::observe) in a [refusal](super::Refusal::class). Clients are told it only with
/// [`Limit::tell_class`](super::Limit::tell_class).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::share::Priorities;
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate_http::layer::{ByPriority, Limit};
///
/// let bucket = TokenBucket::new(quota!(100 / second));
/// let classes = [("payments", 0), ("pages", 20), ("exports", 50)];
/// let priorities = Arc::new(Priorities::by_percent(bucket, classes)?);
/// let limit = Limit::per_key(ByPriority::new(priorities), |request| {
///     match request.uri.path().split('/').nth(1) {
///         Some("pay") => "payments",
///         Some("export") => "exports",
///         _ => "pages",
///     }
///     .into()
/// });
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct ByPriority<L> {
    priorities: Arc<Priorities<L>>,
    /// In the order of the classes.
    classes: Box<[RequestClass]>,
}

impl<C: Clock> ByShare<C> {
    /// Limits tenants by their shares. `group` returns the number of the group that a tenant is in; tenants of a group that
    /// there is not can only borrow.
    #[must_use]
    pub fn new(
        shares: Arc<Shares<String, C>>,
        group: impl Fn(&str) -> usize + Send + Sync + 'static,
    ) -> ByShare<C> {
        ByShare { shares, group: Box::new(group) }
    }
}

impl<L: Leaving> ByPriority<L> {
    /// Limits classes of requests by their reserves.
    #[must_use]
    pub fn new(priorities: Arc<Priorities<L>>) -> ByPriority<L> {
        let classes = priorities.classes().iter();
        let classes = classes.map(|class| RequestClass::new(&class.name)).collect();
        ByPriority { priorities, classes }
    }

    /// Returns the index of the class of this name, or of the last class.
    fn index(&self, name: &str) -> usize {
        let found = self.classes.iter().position(|class| class.as_str() == name);
        found.unwrap_or(self.classes.len() - 1)
    }
}

impl<C: Clock + Send + Sync + 'static> Take<str> for ByShare<C> {
    fn try_take(&self, tenant: &str, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let granted = self.shares.try_acquire((self.group)(tenant), tenant, permits);
        granted.map(Taken::shared).map_err(RefusalReason::Denied)
    }

    fn is_spent_at_once(&self) -> bool {
        true
    }

    fn look(&self, tenant: &str, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        let granted = self.shares.peek((self.group)(tenant), tenant, permits);
        looked(granted.map(ShareGrant::grant))
    }

    fn note_refused_look(&self, _: &str, permits: u64, refused: &RefusalReason) {
        if let RefusalReason::Denied(denied) = refused
            && let Some(answers) = self.shares.answers()
        {
            answers.borrowed.count(permits, Err(denied));
        }
    }
}

impl<L: Leaving + 'static> Take<str> for ByPriority<L> {
    fn try_take(&self, class: &str, permits: u64) -> Result<Taken<'_>, RefusalReason> {
        let granted = self.priorities.try_acquire(self.index(class), permits);
        granted
            .map(|grant| Taken::spent(&grant))
            .map_err(|refused| RefusalReason::Denied(refused.denied))
    }

    fn is_spent_at_once(&self) -> bool {
        true
    }

    fn look(&self, class: &str, permits: u64) -> Result<PolicyState<'static>, RefusalReason> {
        looked(self.priorities.peek(self.index(class), permits).map_err(|refused| refused.denied))
    }

    fn note_refused_look(&self, class: &str, permits: u64, refused: &RefusalReason) {
        if let RefusalReason::Denied(denied) = refused
            && let Some(answers) = self.priorities.answers(self.index(class))
        {
            answers.count(permits, Err(denied));
        }
    }

    fn class(&self, class: &str) -> Option<RequestClass> {
        self.classes.get(self.index(class)).cloned()
    }
}

/// Shows the shares.
impl<C: Clock> fmt::Debug for ByShare<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByShare").field(&self.shares).finish()
    }
}

/// Shows the classes.
impl<L: Leaving> fmt::Debug for ByPriority<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByPriority").field(&self.priorities.classes()).finish()
    }
}
