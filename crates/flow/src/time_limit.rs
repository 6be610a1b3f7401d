//! Time limits: how long a caller waits for an operation, and whether the operation then goes on.
//!
//! [`TimeLimiter`] runs futures and closures with a [`TimeLimit`]; a [`TimeLimiterRegistry`] has one for each name.

// Time limits: how long a caller waits for an operation, and what becomes of the operation then.
//
// ```text
// TimeLimiterRegistry --by name--> TimeLimiter { TimeLimit, timer } --> CallRecord
//                                    | execute: a future              { name, counts, observer,
//                                    | run:     a closure               where to run (Spawn) }
// ```
//
// Futures sleep on a [`Timer`](sluicegate::wait::Timer); threads that wait for a closure park, by the
// system's clock. A caller's end and an operation's end are decided in one place each: a future is
// polled by one task, and a closure's end goes through the lock of its `CallSlot`. So each result
// reaches the caller or the hook for late results, never both, and each call is counted once.

mod block;
mod cancel_token;
mod counts;
mod error;
mod events;
mod execute;
mod future;
mod late;
mod limit;
mod limiter;
mod record;
mod registry;
mod slot;
mod spawn;

pub use self::block::Call;
pub use self::cancel_token::CancelToken;
pub use self::counts::CallCounts;
pub use self::error::{CallError, TimedOut, UnknownConfiguration};
pub use self::events::{CallEvent, ObserveCalls};
pub use self::future::TimeLimited;
pub use self::limit::{OnTimeout, TimeLimit};
pub use self::limiter::TimeLimiter;
pub use self::limiter::builder::TimeLimiterBuilder;
pub use self::registry::TimeLimiterRegistry;
pub use self::spawn::{Spawn, SpawnedJob, SpawnedTask, ThreadSpawner};
