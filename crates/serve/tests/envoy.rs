//! Envoy's protocol, by a client of gRPC over loopback.

#[path = "envoy/cases.rs"]
mod cases;
#[path = "envoy/configuration.rs"]
mod configuration;
#[path = "envoy/fields.rs"]
mod fields;
#[path = "envoy/generated.rs"]
mod generated;
#[path = "envoy/health.rs"]
mod health;
#[path = "envoy/hostile.rs"]
mod hostile;
#[path = "envoy/limits.rs"]
mod limits;
#[path = "envoy/policies.rs"]
mod policies;
#[path = "envoy/served.rs"]
mod served;
#[path = "envoy/told.rs"]
mod told;
