//! Waiting for permits, on a clock that the test sets.
#![cfg(feature = "wait")]

#[path = "wait/support.rs"]
mod support;

#[path = "wait/changes.rs"]
mod changes;
#[path = "wait/gate.rs"]
mod gate;
#[path = "wait/leaving.rs"]
mod leaving;
#[path = "wait/limits.rs"]
mod limits;
#[path = "wait/order.rs"]
mod order;
#[path = "wait/reserve.rs"]
mod reserve;
#[path = "wait/threads.rs"]
mod threads;
