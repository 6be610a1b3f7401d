//! The tests of the examples. As programs of their own they would take longer to build than all other tests of the
//! crate.

#![allow(dead_code, reason = "`main` is for those who run an example")]
#![allow(clippy::duplicate_mod, reason = "an example has its own helpers")]

#[path = "../../examples/axum.rs"]
mod axum;
#[path = "../../examples/hyper.rs"]
mod hyper;
#[path = "../../examples/hyper_client.rs"]
mod hyper_client;
#[path = "../../examples/proxy_protocol.rs"]
mod proxy_protocol;
#[path = "../../examples/reqwest.rs"]
mod reqwest;
#[path = "../../examples/tonic.rs"]
mod tonic;
