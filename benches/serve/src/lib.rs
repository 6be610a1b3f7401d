//! Servers and clients of the measurements of the service.

pub mod client;
pub mod process;
pub mod server;
pub mod turn;
