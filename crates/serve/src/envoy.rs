//! Envoy's rate-limit protocol, `envoy.service.ratelimit.v3`, by the configuration of envoyproxy/ratelimit.
//!
//! | file | |
//! |---|---|
//! | `config` | the YAML of a domain, and its mistakes |
//! | `domains` | the limit of a descriptor |
//! | `fields` | a descriptor as a request that policies look at |
//! | `unit` | spans of time |
//! | `parts` | the limits of a request's descriptors |
//! | `counters` | the counts of each descriptor |
//! | `answer` | the decision on a request's descriptors |
//! | `verdict` | the status of one descriptor |
//! | `response` | the codes, the fields for the client, and the metadata |
//! | `codec` | reads questions whose fields are all known |
//! | `counts` | requests by domain and answer |
//! | `service` | the service of gRPC, and its limits, which can be read again |
//! | `protocol` | the messages |

mod answer;
mod codec;
mod config;
mod counters;
mod counts;
mod domains;
mod fields;
mod parts;
#[allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "it is generated")]
pub mod protocol {
    //! The messages, their client and their server, as they are generated from the files in `proto`.
    include!("envoy/protocol/protocol.rs");
}
mod response;
mod service;
mod unit;
mod verdict;

pub use self::config::{EnvoyError, EnvoyMistake};
pub use self::service::EnvoyLimits;
