//! Rate limits of sluicegate for HTTP.
//!
//! * [`fields`]: the response fields that tell a client its limits, written and parsed, in every version
//!   that is in use; `Retry-After`; and the bodies of refusals.
//! * [`client_address`]: the address of a client as a key, also behind proxies. No field is believed
//!   unless the configuration says which proxies set it.

pub mod client_address;
pub mod fields;
