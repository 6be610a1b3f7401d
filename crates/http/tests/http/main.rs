//! The layer for web servers, the fields of answers, client addresses, gRPC, and clients that keep to limits.

mod axum;
mod client_addresses;
mod examples;
mod field_parsing;
mod field_round_trip;
mod field_vectors;
mod field_writing;
mod grpc;
mod hostile;
mod layer;
mod layer_allocations;
#[path = "support/nginx.rs"]
mod nginx;
mod outgoing;
#[path = "support/proxy.rs"]
mod proxy;
mod readme;
