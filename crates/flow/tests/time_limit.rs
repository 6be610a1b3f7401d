//! Time limits. What is checked:
//!
//! * a future that ends in time gives its result; one that does not is dropped at its time-out, or
//!   finishes elsewhere with its result for the hook, and the caller gets an error that says which;
//! * the same of a closure on a thread, which is asked to stop, or is not;
//! * dropping a call is like its time-out; before its first poll nothing has begun;
//! * panics reach the caller, and nobody else; a spawner that does not spawn is noticed;
//! * each call is counted once, and each operation that goes on alone once more, in every order of
//!   the operation's end, the time-out and the drop of the call;
//! * a registry makes each limiter once, and keeps configurations by name.
//!
//! Futures run in tokio's paused time, so no test waits for it, and none measures any.

mod closures;
mod ends;
mod futures;
mod registry;
mod watched;
