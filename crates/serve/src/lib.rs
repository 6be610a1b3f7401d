//! The limiters of a policy file as a service: decisions over HTTP, for gateways and programs that do
//! not link Rust.
//!
//! * [`Limiters`]: the limiters of a registry by name.
//! * [`decision`]: questions and answers, without HTTP.
//! * [`api`]: the routes, and their description.
//! * [`envoy`]: the rate-limit protocol of Envoy.
//! * [`metrics`]: the page for Prometheus.
//! * [`Server`]: connections, their bounds, and an end that loses no answer.
//!
//! # Examples
//!
//! ```
//! use sluicegate_policy::{Policies, Registry};
//! use sluicegate_serve::{Limiters, Service, api};
//!
//! let registry = Registry::new(Policies::from_toml("limits.toml", r#"
//! limiters.pages = { policy = "gcra", key = "client", interval = "1 second", tolerance = "9 seconds" }
//! "#)?)?;
//! let routes = api::routes(Service::new(Limiters::new(registry)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer_body;
pub mod api;
mod body_share;
mod bounded_body;
mod bounded_key;
pub mod decision;
pub mod envoy;
mod limiters;
pub mod metrics;
mod server;
mod service;

pub use self::limiters::{Handle, InForce, Limiters, NamedLimiter};
pub use self::server::{Bounds, Server};
pub use self::service::{AdminToken, Service, TokenError};
