//! One limit of a layer.

use std::fmt;

use http::HeaderName;
use http::request::Parts;

use super::limit_by::LimitBy;
use super::request_key::RequestKey;
use super::take::{All, Take};
use crate::client_address::{ClientAddress, ClientKey};
use crate::fields::QuotaPolicy;

/// A limiter of the engine, and what it limits.
///
/// | limits | |
/// |---|---|
/// | all requests together | [`of_all`](Limit::of_all) |
/// | each client | [`per_client`](Limit::per_client), [`per_client_text`](Limit::per_client_text) |
/// | each key that a function finds | [`per_key`](Limit::per_key) |
/// | each value of a header, and each client without one | [`per_key_or_client`](Limit::per_key_or_client) |
///
/// Any [`Limiter`](sluicegate::Limiter) will do, and any [`KeyedLimiter`](sluicegate::KeyedLimiter): also an
/// `Arc` of one, which the program keeps, and a handle of a registry (`sluicegate-policy`), whose limits
/// change live. [`LimitBy`] lists what else: limits that requests wait for, that are settled when the
/// response is known, or that count what is in flight.
///
/// # Several limits
///
/// If a layer has several limits, all are asked first, and if one refuses and lets nobody wait, nothing is
/// taken. Then the permits are taken from one after the other. If another request was faster at one of
/// them, those before are given back:
///
/// | taken from | is given back |
/// |---|---|
/// | a [`Concurrency`](super::Concurrency) | exactly |
/// | a [`Settled`](super::Settled) | as an estimate that has used nothing: for most limiters exactly |
/// | a [`WaitUpTo`](super::WaitUpTo) that was waited for | not at all |
/// | a [`Remote`](super::Remote) | not at all |
/// | a [`Penalized`](super::Penalized) | it takes nothing |
/// | any other | as far as its limiter can: see [`Limiter::try_acquire_revocable`](sluicegate::Limiter::try_acquire_revocable) |
///
/// Permits that cannot be given back stay spent; no limit is ever exceeded.
///
/// If the request has to wait for any of them, it first takes its places in flight, then what needs no line,
/// and then from the limits with a line, in the order of the layer. So it waits for one at a time, while it
/// holds what it has. A line that refuses it at once, since its turn would come too late, does so before the request
/// takes anything but places in flight. With at most one [`WaitUpTo`](super::WaitUpTo), and no other limit than places in flight and
/// [`Settled`](super::Settled) ones, all or none is exact, also if the client goes away.
pub struct Limit {
    pub(super) target: Target,
    policy: Option<QuotaPolicy>,
    pub(super) cost: Option<Cost>,
    /// True if clients are told the classes of their requests.
    pub(super) tells_class: bool,
}

type Cost = Box<dyn Fn(&Parts) -> u64 + Send + Sync>;
type KeyOf = Box<dyn for<'r> Fn(&'r Parts) -> RequestKey<'r> + Send + Sync>;

/// The limiter, and how it finds the key of a request.
pub(super) enum Target {
    All(Box<dyn Take<All>>),
    Client(Box<dyn Take<ClientKey>>, ClientAddress),
    ClientText(Box<dyn Take<str>>, ClientAddress),
    Key(Box<dyn Take<str>>, KeyOf),
    KeyOrClient(Box<dyn Take<str>>, HeaderName, ClientAddress),
}

impl Limit {
    /// Limits all requests together.
    #[must_use]
    pub fn of_all(limiter: impl LimitBy<All>) -> Limit {
        Limit::with(Target::All(Box::new(limiter)))
    }

    /// Limits each client, by the address of its connection. Behind a proxy, use
    /// [`addresses`](Limit::addresses) besides.
    ///
    /// A [`KeyTable`](sluicegate::KeyTable) of [`ClientKey`] has memory of a fixed size, however many
    /// addresses an attacker has.
    #[must_use]
    pub fn per_client(store: impl LimitBy<ClientKey>) -> Limit {
        Limit::with(Target::Client(Box::new(store), ClientAddress::of_peer()))
    }

    /// Limits each client by the text of its address, for stores whose keys are texts: a handle of a
    /// registry whose policy has `key = "client"`.
    ///
    /// An IPv4 address is written as `192.0.2.1`, and an IPv6 network as `2001:db8:1:2::/64`: as the policy of a registry
    /// writes them. All clients that are to share a key have the key `unknown`.
    #[must_use]
    pub fn per_client_text(store: impl LimitBy<str>) -> Limit {
        Limit::with(Target::ClientText(Box::new(store), ClientAddress::of_peer()))
    }

    /// Limits each key that a function finds in a request, such as an API key, a user, or a path.
    ///
    /// A [`Keyed`](sluicegate::Keyed) keeps a key whole, however long it is and whatever it tells, until its limiter
    /// is idle; a [`KeyTable`](sluicegate::KeyTable) keeps 24 bits of its hash. So a secret, such as a token, should
    /// have a table, or a hash of it be the key.
    ///
    /// Clients can make up keys that are not checked before. A request without a key is refused, unless
    /// the function returns another answer: see [`RequestKey`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Keyed, quota};
    /// use sluicegate_http::layer::{Limit, RequestKey};
    ///
    /// let users = Keyed::<String>::new(quota!(10 / second));
    /// let limit = Limit::per_key(users, |request| {
    ///     let key = request.headers.get("x-api-key").and_then(|key| key.to_str().ok());
    ///     key.into()
    /// });
    /// ```
    #[must_use]
    pub fn per_key(
        store: impl LimitBy<str>,
        key: impl for<'r> Fn(&'r Parts) -> RequestKey<'r> + Send + Sync + 'static,
    ) -> Limit {
        Limit::with(Target::Key(Box::new(store), Box::new(key)))
    }

    /// Limits each value of a header, such as an API key, and each client whose request has none, by its address.
    ///
    /// The key of a value is `key ` and the value, so that no value is the address of another client. A caller that may
    /// make up values has a limit for each, so a layer around this one should refuse values that are not known. Allocates
    /// for each request with a value.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderName;
    /// use sluicegate::{Keyed, quota};
    /// use sluicegate_http::layer::Limit;
    ///
    /// let callers = Keyed::<String>::new(quota!(10 / second));
    /// let limit = Limit::per_key_or_client(callers, HeaderName::from_static("x-api-key"));
    /// ```
    #[must_use]
    pub fn per_key_or_client(store: impl LimitBy<str>, header: HeaderName) -> Limit {
        Limit::with(Target::KeyOrClient(Box::new(store), header, ClientAddress::of_peer()))
    }

    fn with(target: Target) -> Limit {
        Limit { target, policy: None, cost: None, tells_class: false }
    }

    /// Sets how the addresses of clients are found. Without effect for a limit that is not per client.
    #[must_use]
    pub fn addresses(mut self, addresses: ClientAddress) -> Limit {
        if let Target::Client(_, own)
        | Target::ClientText(_, own)
        | Target::KeyOrClient(_, _, own) = &mut self.target
        {
            *own = addresses;
        }
        self
    }

    /// Sets the policy that responses tell. The default is one without a name and a window, whose quota is
    /// the limit that the limiter answers with; and none for a [`Penalized`](super::Penalized).
    #[must_use]
    pub fn policy(self, policy: QuotaPolicy) -> Limit {
        Limit { policy: Some(policy), ..self }
    }

    /// Tells clients the classes of their requests, of a [`ByPriority`](super::ByPriority) or a policy with classes: refusals as
    /// the member `class` of the problem details, in gRPC as a dimension of the quota, and the fields of
    /// [drafts 8 to 10](crate::fields::FieldVersion::Draft8) as the partition key, by which clients know for which of their
    /// requests the numbers are. Without it, only the service and [observers](super::RateLimitLayer::observe) learn the class.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::share::Priorities;
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate_http::layer::{ByPriority, Limit, RateLimitLayer};
    ///
    /// let bucket = TokenBucket::new(quota!(100 / second));
    /// let priorities = Arc::new(Priorities::by_percent(bucket, [("pages", 0), ("exports", 50)])?);
    /// let limit = Limit::per_key(ByPriority::new(priorities), |request| {
    ///     if request.uri.path().starts_with("/export") { "exports" } else { "pages" }.into()
    /// });
    /// let layer = RateLimitLayer::new(limit.tell_class());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[must_use]
    pub fn tell_class(self) -> Limit {
        Limit { tells_class: true, ..self }
    }

    /// Sets the permits that a request takes, as a function of it: by its method, its path, its
    /// `Content-Length` (see [`cost`](super::cost)). The default is 1, and for a `ByPolicy` what its policy says.
    /// A request of 0 permits always passes.
    #[must_use]
    pub fn cost(self, cost: impl Fn(&Parts) -> u64 + Send + Sync + 'static) -> Limit {
        Limit { cost: Some(Box::new(cost)), ..self }
    }

    /// Returns the policy for a writer of fields.
    pub(super) fn advertised(&self) -> QuotaPolicy {
        let is_told = match &self.target {
            Target::All(limiter) => limiter.is_told(),
            Target::Client(store, _) => store.is_told(),
            Target::ClientText(store, _)
            | Target::Key(store, _)
            | Target::KeyOrClient(store, ..) => store.is_told(),
        };
        // States tell the limit in its place.
        let unknown = || if is_told { QuotaPolicy::new(0) } else { QuotaPolicy::untold() };
        self.policy.clone().unwrap_or_else(unknown)
    }

    /// Returns the name of the policy.
    pub(super) fn name(&self) -> Option<&str> {
        self.policy.as_ref().and_then(QuotaPolicy::name)
    }

    /// Returns true if the limit has a policy of its own.
    pub(super) fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Returns true if all requests share the limit.
    pub(super) fn is_of_all(&self) -> bool {
        matches!(self.target, Target::All(_))
    }
}

/// Shows what is limited, and the policy.
impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = match &self.target {
            Target::All(_) => "all",
            Target::Client(..) | Target::ClientText(..) => "client",
            Target::Key(..) => "key",
            Target::KeyOrClient(..) => "key or client",
        };
        f.debug_struct("Limit")
            .field("per", &per)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
