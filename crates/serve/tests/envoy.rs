//! Envoy's protocol, by a client of gRPC over loopback.

#[path = "envoy/cases.rs"]
mod cases;
#[path = "envoy/configuration.rs"]
mod configuration;
#[path = "envoy/generated.rs"]
mod generated;
#[path = "envoy/limits.rs"]
mod limits;
#[path = "envoy/served.rs"]
mod served;
