//! Rate limits of sluicegate for HTTP.
//!
//! For axum it is one line, `.layer(RateLimitLayer::new(Limit::per_client(clients)))`:
//!
//! ```
//! use std::net::SocketAddr;
//! use axum::{Router, routing::get};
//! use sluicegate::{KeyTable, quota};
//! use sluicegate_http::layer::{Limit, RateLimitLayer};
//!
//! // 100 requests a second for each client, at most 20 at once; room for a million clients in 12 MB.
//! let clients = KeyTable::with_keys(quota!(100 / second, burst 20), 1_000_000)?;
//! let app: Router = Router::new()
//!     .route("/", get(|| async { "hello" }))
//!     .layer(RateLimitLayer::new(Limit::per_client(clients)));
//! let service = app.into_make_service_with_connect_info::<SocketAddr>(); // for `axum::serve(listener, service)`
//! # Ok::<(), sluicegate::ConfigError>(())
//! ```
//!
//! * [`layer`]: limits for a server, as a layer of tower. With the feature `axum`, it takes the address of
//!   the connection from axum's `ConnectInfo`, and with the feature `tonic` from tonic's server; others
//!   insert a [`Peer`](layer::Peer). Refusals are told in HTTP, and with the feature `grpc` in gRPC, too.
//! * [`fields`]: the response fields that tell a client its limits, written and parsed, in every version
//!   that is in use; `Retry-After`; and the bodies of refusals.
//! * [`client_address`]: the address of a client as a key, also behind proxies. No field is believed
//!   unless the configuration says which proxies set it.
//! * `outgoing` (feature `outgoing`): a layer for clients, of hyper-util or (feature `reqwest`)
//!   reqwest, that keep to the limits of servers.
//!
//! `docs/http.md` is a guide, with a table of settings behind nginx, a cloud's balancer or a CDN,
//! and `docs/http-coming-from.md` lists the options of other layers with their counterparts.

#[cfg(doctest)]
mod pages;

pub mod client_address;
pub mod fields;
pub mod layer;
#[cfg(feature = "outgoing")]
pub mod outgoing;
