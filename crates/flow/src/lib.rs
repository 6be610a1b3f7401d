//! Limits on something else than permits in a span of time, by sluicegate.
//!
//! | for | take | module |
//! |---|---|---|
//! | a number, or weight, of calls in flight | [`ConcurrencyLimit`]; for each key [`KeyedConcurrency`] | [`concurrency`] |
//! | a number of calls in flight that an algorithm finds | [`Adaptive`] | [`concurrency`] |
//! | the time for which a caller waits for a future or a closure | [`TimeLimiter`] | [`time_limit`] |
//! | a rate, a number in flight and a time for one call | [`Admission`] | [`admission`] |
//! | requests that leave a bounded queue at a fixed rate | [`Shaper`] | [`shaper`] |
//! | a rate that rises to its full height after idle time | [`WarmUp`] | [`warm_up`] |
//! | bytes of readers and writers, items of streams and sinks | [`RateLimitedReader`], [`RateLimitedWriter`] | [`rate_limited`] |
//!
//! None of these is a [`Limiter`](sluicegate::Limiter). Callers wait as they do for a limiter: threads and tasks in one fair line,
//! with a [`Timer`](sluicegate::wait::Timer) for tasks.
//!
//! ```
//! use std::time::Duration;
//! use sluicegate::{ManualClock, rate};
//! use sluicegate_flow::{ConcurrencyLimit, Shaper};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // At most two calls at a time; others wait in line, for a millisecond.
//! let limit = ConcurrencyLimit::new(2);
//! let _two = limit.try_acquire(2)?;
//! assert!(limit.acquire(1).timeout(Duration::from_millis(1)).wait_blocking().is_err());
//!
//! // Ten requests a second leave a queue of at most 50.
//! let shaper = Shaper::with_clock(rate!(10 / second), 50, ManualClock::new());
//! assert_eq!(shaper.shape(1)?.ready_after(), Duration::from_millis(100));
//! assert_eq!(shaper.shape(1)?.ready_after(), Duration::from_millis(200));
//! # Ok(())
//! # }
//! ```

pub mod admission;
mod block_on;
pub mod concurrency;
mod config_error;
mod latest;
pub mod rate_limited;
mod scheduled;
pub mod shaper;
mod sleep;
mod sync;
pub mod time_limit;
mod units;
pub mod warm_up;
mod wide;

pub use self::admission::Admission;
pub use self::concurrency::{Adaptive, ConcurrencyLimit, KeyedConcurrency};
pub use self::config_error::ConfigError;
pub use self::rate_limited::{RateLimitedReader, RateLimitedWriter};
pub use self::scheduled::Scheduled;
pub use self::shaper::Shaper;
pub use self::time_limit::TimeLimiter;
pub use self::warm_up::WarmUp;
