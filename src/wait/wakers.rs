//! The wakers of callers that have been told something. A waker is a user's code, and may panic.

use alloc::vec::Vec;
use core::task::Waker;

use crate::first_panic::FirstPanic;

/// Wakes all when dropped, because a user's clock runs while they are collected, and may panic. If
/// a waker panics, the others are called all the same.
#[derive(Default)]
pub(super) struct Wakers(pub(super) Vec<Waker>);

impl Drop for Wakers {
    fn drop(&mut self) {
        let mut panic = FirstPanic::default();
        for waker in self.0.drain(..) {
            panic.call(|| waker.wake());
        }
        panic.go_on();
    }
}
