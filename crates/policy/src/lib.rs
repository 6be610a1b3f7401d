//! Policies as data: named limiters from a file in TOML, YAML or JSON, checked, and described by
//! types.
//!
//! The three formats have the same fields. Nothing is limited here: a [`LimiterPolicy`] says what to
//! limit, and its [`Kind`] makes limiters of the engine.
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

mod check;
mod error_snippet;
mod explain;
mod fields;
mod hierarchy;
mod kind;
mod limiter;
mod policies;
mod problem;
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
pub use self::schema::json_schema;
pub use self::store::{Room, Size, Store};

#[cfg(test)]
mod tests;
