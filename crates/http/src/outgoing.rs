//! Clients that keep to the limits of the servers that they talk to.
//!
//! [`OutgoingLayer`] is a layer of tower for the clients of hyper-util and reqwest. Requests wait for their
//! turn, in a line for each server; `Retry-After` holds for all requests to that server; and what was
//! refused is sent again, within a budget. [`ServerLimits`] is what it keeps of each server, for clients
//! that are no services.
//!
//! | file | |
//! |---|---|
//! | `server_limits` | the limits of a server, the line before them, and requests on their way |
//! | `server_state`, `told_limit`, `in_flight` | what a client knows of a server, without a lock and a clock; why it is never more than the server has |
//! | `bounds` | the bounds within which a server is believed |
//! | `layer`, `shared`, `service` | the layer, and the loop of tries |
//! | `retries` | which requests are sent again, and their budget |
//! | `servers` | the servers of a client, in bounded memory |
//! | `request` | requests and responses of both crates |
//! | `error` | requests that were not sent |

mod bounds;
mod error;
mod in_flight;
mod layer;
mod request;
mod retries;
mod server_limits;
mod server_state;
mod servers;
mod service;
mod shared;
mod told_limit;

use std::time::Duration;

pub use self::bounds::Bounds;
pub use self::error::{NoTurn, OutgoingError};
pub use self::layer::OutgoingLayer;
pub use self::request::{OutgoingRequest, OutgoingResponse};
pub use self::retries::Retries;
pub use self::server_limits::{Sending, ServerLimits};
pub use self::service::Outgoing;

/// Returns a duration in nanoseconds, at most about 584 years.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
