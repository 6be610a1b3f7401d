//! Policies as data: named limiters from a file in TOML, YAML or JSON, checked, and described by
//! types.
//!
//! The three formats have the same fields. A [`LimiterPolicy`] says what to limit, and its [`Kind`] makes
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
//! * The kinds are those that can be settled: `token_bucket` (which starts full and refills smoothly), all
//!   windows but logs, `budget`, and `all` of these.
//! * The key of a request is the values of its fields with `/` between them, such as `acme/search`.
//!   [`overrides`](LevelOverride) match it by patterns, of which the most specific counts.
//! * A request is charged with an estimate, and [settled](Admitted::settle) at all levels when it is
//!   known what it used. A [refusal](Refused) names the level that has to be waited for longest.
//!
//! The example `gateway` limits the input, output and total tokens of calls to language models.

mod check;
mod error_snippet;
mod explain;
mod fields;
mod hierarchy;
mod kind;
mod limiter;
mod policies;
mod problem;
mod registry;
mod schema;
mod store;
mod tree;

pub use self::error_snippet::{PolicyError, PolicyErrors};
pub use self::hierarchy::{
    Admitted, BoxedSettle, Hierarchy, HierarchyError, LevelOverride, LevelPolicy, Refused, Request,
};
pub use self::kind::{BoxedLimiter, Kind, Unbuildable};
pub use self::limiter::{Cost, Filter, KeyField, LimiterPolicy, Override};
pub use self::policies::{Format, LoadError, MAX_BYTES, Policies};
pub use self::problem::escaped;
pub use self::registry::Registry;
pub use self::registry::algorithm::Algorithm;
pub use self::registry::clocks::SharedClock;
pub use self::registry::event::{Event, RegistryError, ReloadError};
pub use self::registry::handle::LimiterHandle;
pub use self::registry::keyed_handle::KeyedHandle;
#[cfg(feature = "watch")]
pub use self::registry::watch::Watch;
pub use self::schema::json_schema;
pub use self::store::{Room, Size, Store};

#[cfg(test)]
mod tests;
