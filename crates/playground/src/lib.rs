//! The playground: a page on which the limiters of sluicegate can be tried, for `sluicegate serve`.
//!
//! A session has the real limiters of the engine on a virtual clock, which can be slowed, sped up and
//! stopped. The page shows their answers: nothing is computed twice.
//!
//! * [`Playground`]: the routes and the sessions of a server.
//! * [`wire`]: the JSON of the routes.
//!
//! # Examples
//!
//! ```
//! use std::net::SocketAddr;
//! use sluicegate_playground::{Playground, PlaygroundOptions};
//!
//! let playground = Playground::new(PlaygroundOptions::default())?;
//! let service = playground.routes().into_make_service_with_connect_info::<SocketAddr>();
//! # let _ = service;
//! # Ok::<(), sluicegate::ConfigError>(())
//! ```

mod algorithm;
mod bounds;
mod command;
mod live;
mod offer;
mod page;
mod playground;
mod routes;
mod scenario;
mod session;
mod sessions;
mod setup;
mod shared;
mod units;
pub mod wire;
mod work_time;

pub use self::playground::{Playground, PlaygroundOptions};
