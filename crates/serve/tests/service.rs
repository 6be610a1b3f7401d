//! The service over real connections on loopback.

#[path = "service/admin.rs"]
mod admin;
#[path = "service/auth.rs"]
mod auth;
#[path = "service/batch.rs"]
mod batch;
#[path = "service/bounds.rs"]
mod bounds;
#[path = "service/check.rs"]
mod check;
#[path = "service/connections.rs"]
mod connections;
#[path = "service/deciding.rs"]
mod deciding;
#[path = "service/description.rs"]
mod description;
#[path = "service/hostile.rs"]
mod hostile;
#[path = "service/keys.rs"]
mod keys;
#[path = "service/levels.rs"]
mod levels;
#[path = "service/metrics.rs"]
mod metrics;
#[path = "../../http/tests/http/support/nginx.rs"]
mod nginx;
#[path = "service/offences.rs"]
mod offences;
#[path = "service/proxies.rs"]
mod proxies;
#[path = "../../http/tests/http/support/proxy.rs"]
mod proxy;
#[path = "../../redis/src/tests/server.rs"]
#[allow(dead_code, reason = "the tests of the crate that it is of use more of it")]
mod redis_server;
#[path = "service/running.rs"]
mod running;
#[path = "service/shared.rs"]
mod shared;
#[path = "service/sites.rs"]
mod sites;
#[path = "service/waits.rs"]
mod waits;
