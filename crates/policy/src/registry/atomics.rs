//! The atomics of the registry. (`loom-tests` compiles `generation.rs` with those of loom.)

pub(super) use std::sync::atomic::{AtomicU64, Ordering, compiler_fence, fence};
