//! Envoy's protocol, by a client of gRPC over loopback.

mod cases;
mod configuration;
mod fields;
mod generated;
mod health;
mod hostile;
mod limits;
mod policies;
mod proxies;
mod served;
mod told;
