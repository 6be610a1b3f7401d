//! Policies as data: named limiters from a file in TOML, YAML or JSON, checked, and described by
//! types.
//!
//! The three formats have the same fields. A [`LimiterPolicy`] names the limited requests, and its [`Kind`] makes
//! limiters of the engine; a [`Hierarchy`] limits at several levels at once.
//!
//! ```
//! use sluicegate::ManualClock;
//! use sluicegate_policy::Policies;
//! use std::sync::Arc;
//!
//! let policies = Policies::from_toml("policy.toml", r#"
//! [limiters.pages]
//! policy = "fixed_window"
//! limit = 100
//! interval = "60 minutes"
//! "#)?;
//! let pages = &policies.limiters()[0].kind;
//! let limiter = pages.limiter(Arc::new(ManualClock::new()))?;
//! assert_eq!(limiter.try_acquire(1)?.remaining(), 99);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An error shows its place, and all errors of a file are found at once:
//!
//! ```
//! # use sluicegate_policy::Policies;
//! let text = "limiters:\n  pages: { policy: gcra, interval: 1 s, tolerence: 2 s }\n";
//! let errors = Policies::from_yaml("limits.yaml", text).unwrap_err();
//! let places: Vec<_> = errors.as_slice().iter().map(|e| (e.line(), e.column())).collect();
//! assert_eq!(places, [(2, 20), (2, 41)]);
//! assert_eq!(errors.as_slice()[0].message(), "limiter \"pages\" lacks `tolerance`");
//! assert_eq!(errors.as_slice()[1].did_you_mean(), Some("tolerance"));
//! ```
//!
//! # Keys, filters and costs
//!
//! Requests that agree in the `key` share one limiter. It is a field by its name (`client`, `path`,
//! `method`, `status`, `status_class`, `user`, `referer`, `agent`, or `all`), one of these tables, or a list
//! of both:
//!
//! | `key` | the key of a request |
//! |---|---|
//! | `{ client = { ipv4 = 24, ipv6 = 64 } }` | the network of its address, such as `203.0.113.0/24` |
//! | `{ header = "x-api-key" }` | a header |
//! | `{ column = "org.id" }` | a column of the log, in JSON a path; in programs any name that they give it |
//! | `{ field = "user", missing = "deny" }` | a field, with an answer for requests that lack it |
//! | `{ path = ["/users/{id}", "/search"] }` | the template that its path matches: [`PathTemplates`] |
//! | `{ path = { segments = 2 } }` | the first segments of its path |
//!
//! * `"client"` is an IPv4 address, or the /64 of an IPv6 address, since a client is given that at least; lengths that
//!   are left out are these. [`AddressPrefix`] has the whole rule.
//! * A request that lacks a header, a column or a field of a table is denied, unless `missing` says
//!   `admit` or `shared`. Denied, because it cannot be held to a limit of its own: to admit it would let
//!   every caller avoid the limit by leaving the header out, and one limiter for all of them would let a
//!   stranger use up the others' permits. And a policy that is wrong about a name is noticed at once. A field by
//!   its name alone is shared as the key `-`; where that is the whole key, a warning says so.
//! * A path that matches no template is its own key. `otherwise` may say `shared`, for one key of all
//!   such paths, or `admit`, for no limit.
//!
//! `match` has the requests that a limiter judges, and `except` the others, in one table or in
//! a list of tables. A request is in the set of a table if it has one of the values of each field:
//!
//! ```toml
//! match = { method = ["POST", "PUT"], path = "/users/{id}", header = { x-plan = ["free", "trial"] } }
//! except = [{ path = "/health" }, { client = ["10.0.0.0/8", "2001:db8::/32"] }, { agent_contains = "probe" }]
//! ```
//!
//! The fields are `method`, `path_prefix`, `path`, `status`, `status_class`, `client`, `agent_contains`, `header`
//! and `column`.
//!
//! `cost` is the permits that a request takes: a number; `"bytes"` of the response; a number of the request,
//! such as `{ column = "tokens", per = 1000, missing = 5 }` or `{ header = "x-seconds", times = 1000 }`, which is
//! multiplied, divided and then rounded up; or rules, of which the first that matches counts, as in
//! `[{ match = { method = "POST" }, permits = 5 }, { permits = 2 }]`. A request without the number takes
//! `missing` permits, and 1 if that is left out: as much as a request takes of which nothing is said.
//!
//! `penalty` refuses a key for a time once it has offended a number of times, whatever its limit still has:
//!
//! ```toml
//! penalty = { offences = 5, within = "10 minutes", refuse_for = "1 hour", by = ["refusals", { status = 401 }] }
//! ```
//!
//! An offence is a request that the limit refuses, one that it grants and whose answer is in a set, or either.
//! [`Penalty::is_offence`] tells which answers are, and [`KeyedHandle::offend`] reports them.
//!
//! [`LimiterPolicy::subject`] does all of this for the requests of a program.
//!
//! # Tenants and classes
//!
//! The kinds `shares` and `priorities` have one limiter for all keys, a [`CommonLimiter`]: a key is a tenant with an assured
//! part of the limit, which may borrow what others leave idle, or is of a class, which leaves a reserve to others.
//!
//! ```
//! use sluicegate_policy::{PermitSource, Policies, Registry};
//!
//! let registry = Registry::new(Policies::from_toml("p.toml", r#"
//! [limiters.api]
//! key = { header = "x-tenant" }
//! policy = "shares"
//! limit = 500
//! rate = { amount = 1_000, interval = "1 second" }
//! shares = [
//!     { tenants = ["acme"], assured = { limit = 50, rate = { amount = 150, interval = "1 second" } } },
//!     { tenants = 40, assured = { limit = 5, rate = { amount = 10, interval = "1 second" } } },
//! ]
//! "#)?)?;
//! let api = registry.keyed("api")?;
//! assert_eq!(api.try_pass_with("acme", 50)?.source(), Some(PermitSource::Assured));
//! assert_eq!(api.try_pass_with("acme", 50)?.source(), Some(PermitSource::Borrowed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Budgets at several levels
//!
//! A [`Hierarchy`] has budgets for organisations, teams and users, or per model and kind of token, as
//! gateways before an API or a language model have: a request passes all levels, or takes nothing from
//! any. Each level is an entry of `[[hierarchy]]`:
//!
//! ```toml
//! [[hierarchy]]
//! name = "team"
//! key = ["org", "team"]                   # fields of the request, as the program names them
//! counts = ["input", "output"]            # amounts of the request; each request is 1 if left out
//! policy = "token_bucket"
//! limit = 50_000
//! rate = { amount = 50_000, interval = "1 minute" }
//! max_keys = 10_000
//! overrides = { "acme/*" = { limit = 500_000 } }
//! ```
//!
//! * The kinds are `token_bucket` (which starts full and refills smoothly), all
//!   windows but logs, `budget`, and `all` of these: they can be settled.
//! * The key of a request is the values of its fields with `/` between them, such as `acme/search`.
//!   [`overrides`](LevelOverride) match it by patterns, of which the most specific counts.
//! * A request is charged with an estimate, and [settled](Admitted::settle) at all levels when its use is
//!   known. A [refusal](Refused) names the level that has to be waited for longest.
//!
//! `sluicegate replay` puts the lines of a log to the levels. A name in `key` is a field, such as
//! `client` or `user`, or else a column of the log; one in `counts` is a column, or `bytes`.
//!
//! The example `gateway` limits the input, output and total tokens of calls to language models.

mod check;
mod clock;
mod common_limiter;
mod cost;
mod error_snippet;
mod explain;
mod fields;
mod filter;
mod format;
mod hierarchy;
mod key;
mod key_field;
mod kind;
mod limiter;
mod overrides;
#[cfg(feature = "registry")]
mod past;
mod paste;
mod paths;
mod penalty;
mod policies;
mod problem;
mod redis_store;
#[cfg(feature = "registry")]
mod registry;
mod request;
mod schema;
mod store;
mod subject;
mod tree;

pub use self::clock::SharedClock;
pub use self::common_limiter::{
    ClassCounts, CommonGrant, CommonLimiter, PermitSource, ShareCounts,
};
pub use self::cost::{Charge, Cost, CostRule, NamedCost};
pub use self::error_snippet::{PolicyError, PolicyErrors};
pub use self::filter::{Filter, Networks, Texts};
pub use self::format::Format;
#[cfg(feature = "registry")]
pub use self::hierarchy::live::{HierarchyHandle, LevelAnswer, LevelAnswers, LevelRequestError};
pub use self::hierarchy::{
    Admitted, BoxedSettle, Hierarchy, HierarchyError, LevelOverride, LevelPolicy, Refused, Request,
};
pub use self::key::{
    AddressPrefix, KeyOutcome, KeyPart, MAX_KEY_BYTES, Missing, Otherwise, Written, client_address,
    write as write_key,
};
pub use self::key_field::KeyField;
pub use self::kind::common::{ClassPolicy, ShareGroup};
pub use self::kind::words::time_in_words;
pub use self::kind::{BoxedLimiter, Kind, Unbuildable};
pub use self::limiter::LimiterPolicy;
pub use self::overrides::Overrides;
pub use self::paste::{Change, NewValue, with_changes};
pub use self::paths::{BadTemplate, PathTemplates, normal_path, path_of_target};
pub use self::penalty::Penalty;
pub use self::policies::file::PolicyFile;
pub use self::policies::{LoadError, MAX_BYTES, Policies};
pub use self::problem::escaped;
pub use self::redis_store::{Lease, OnFailure, PasswordFrom, RedisStore};
#[cfg(feature = "watch")]
pub use self::registry::watch::Watch;
#[cfg(feature = "registry")]
pub use self::registry::{
    Registry,
    algorithm::Algorithm,
    before_wait::BeforeWait,
    event::{Event, RegistryError, ReloadError},
    handle::LimiterHandle,
    keyed_handle::KeyedHandle,
    offence::OffenceError,
    remote::{
        ConnectError, Connector, RemoteAnswer, RemoteFuture, RemoteHandle, RemoteLimits,
        RemotePass, RemoteRefusal, RemoteVerb,
    },
    remote_failure::RemoteFailure,
    servers::{FallbackCounts, LeaseStatistics, ServerStatistics},
    shadow::{Pass, ShadowCounts},
    statistics::LimiterStatistics,
    unasked::UnaskedCounts,
    waiting::WaitError,
};
pub use self::request::{Named, RequestFields};
pub use self::schema::json_schema;
pub use self::store::{Room, Size, Store};
pub use self::subject::Subject;

#[cfg(test)]
mod tests;
