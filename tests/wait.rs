//! Waiting for permits, on a clock that the test sets.
#![cfg(feature = "wait")]

#[path = "support/cases.rs"]
mod cases;
#[path = "support/reference.rs"]
mod reference;
#[path = "wait/support.rs"]
mod support;

#[path = "wait/anew.rs"]
mod anew;
#[path = "wait/as_elsewhere.rs"]
mod as_elsewhere;
#[cfg(feature = "calendar")]
#[path = "wait/calendars.rs"]
mod calendars;
#[path = "wait/changes.rs"]
mod changes;
#[path = "wait/estimates.rs"]
mod estimates;
#[path = "wait/faults.rs"]
mod faults;
#[path = "wait/gate.rs"]
mod gate;
#[path = "wait/jitter.rs"]
mod jitter;
#[path = "wait/jitter_elsewhere.rs"]
mod jitter_elsewhere;
#[path = "wait/laws.rs"]
mod laws;
#[path = "wait/least.rs"]
mod least;
#[path = "wait/leaving.rs"]
mod leaving;
#[path = "wait/limits.rs"]
mod limits;
#[path = "wait/order.rs"]
mod order;
#[path = "wait/queued.rs"]
mod queued;
#[cfg(feature = "keyed")]
#[path = "wait/queued_crowds.rs"]
mod queued_crowds;
#[path = "wait/queued_deadlines.rs"]
mod queued_deadlines;
#[path = "wait/queued_faults.rs"]
mod queued_faults;
#[cfg(feature = "keyed")]
#[path = "wait/queued_keys.rs"]
mod queued_keys;
#[path = "wait/random.rs"]
mod random;
#[path = "wait/random_queued.rs"]
mod random_queued;
#[path = "wait/random_windows.rs"]
mod random_windows;
#[path = "wait/reserve.rs"]
mod reserve;
#[path = "wait/reserve_in_line.rs"]
mod reserve_in_line;
#[path = "wait/rings.rs"]
mod rings;
#[path = "wait/saturated.rs"]
mod saturated;
#[path = "wait/sendable.rs"]
mod sendable;
#[path = "wait/storm.rs"]
mod storm;
#[path = "wait/storm_queued.rs"]
mod storm_queued;
#[path = "wait/threads.rs"]
mod threads;
#[path = "wait/windows.rs"]
mod windows;
#[path = "wait/wrapped.rs"]
mod wrapped;
