//! The page of `docs/` on this crate, whose programs are tested as its documentation is.

#[doc = include_str!("../../../docs/metrics.md")]
mod metrics {}
