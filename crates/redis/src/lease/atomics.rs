//! The atomics of a lease's word. (`loom-tests` compiles `word.rs` with those of loom.)

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
