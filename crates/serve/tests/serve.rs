//! The service over real connections on loopback.

mod envoy;
mod service;
