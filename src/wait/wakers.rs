//! The wakers of callers that have been told something. A waker is a user's code, and may panic.

use alloc::vec::Vec;
use core::task::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// Wakes all when dropped, because a user's clock runs while they are collected, and may panic. If
/// a waker panics, the others are called all the same.
#[derive(Default)]
pub(super) struct Wakers(pub(super) Vec<Waker>);

impl Drop for Wakers {
    fn drop(&mut self) {
        let mut panic = None;
        for waker in self.0.drain(..) {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                panic.get_or_insert(payload);
            }
        }
        if let Some(payload) = panic
            && !thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}
