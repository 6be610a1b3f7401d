//! The pages of `docs/`, as documentation.

#[doc = include_str!("../docs/algorithms.md")]
pub mod algorithms {}

#[doc = include_str!("../docs/benchmarks.md")]
pub mod benchmarks {}

#[doc = include_str!("../docs/compare.md")]
pub mod compare {}

#[doc = include_str!("../docs/conformance.md")]
pub mod conformance {}

#[doc = include_str!("../docs/design.md")]
pub mod design {}

#[doc = include_str!("../docs/keyed.md")]
pub mod keyed {}

#[doc = include_str!("../docs/memory-ordering.md")]
pub mod memory_ordering {}

#[doc = include_str!("../docs/scaling.md")]
pub mod scaling {}

#[doc = include_str!("../docs/verification.md")]
pub mod verification {}

#[doc = include_str!("../docs/windows.md")]
pub mod windows {}
