//! The playground: a page on which the limiters of sluicegate can be tried.
//!
//! * [`wire`]: the JSON of the routes.

pub mod wire;
