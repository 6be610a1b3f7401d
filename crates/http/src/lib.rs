//! Rate limits of sluicegate for HTTP.
//!
//! * [`fields`]: the response fields that tell a client its limits, written and parsed, in every version
//!   that is in use; `Retry-After`; and the bodies of refusals.

pub mod fields;
