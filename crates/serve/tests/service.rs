//! The protocol of the service itself.

mod admin;
mod auth;
mod batch;
mod bounds;
mod check;
mod common;
mod connections;
mod deciding;
mod description;
mod hostile;
mod keys;
mod levels;
mod metrics;
#[path = "../../http/tests/http/support/nginx.rs"]
mod nginx;
mod offences;
mod proxies;
#[path = "../../http/tests/http/support/proxy.rs"]
pub(crate) mod proxy;
#[path = "../../redis/src/tests/server.rs"]
#[allow(dead_code, reason = "the tests of the crate that it is of use more of it")]
mod redis_server;
mod running;
mod shared;
pub(crate) mod silent_server;
mod sites;
mod waits;
