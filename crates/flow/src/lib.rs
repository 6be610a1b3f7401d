//! Requests at a pace, and how long they take, by sluicegate.
//!
//! | for | take |
//! |---|---|
//! | requests that leave a bounded queue at a fixed rate | [`Shaper`] |
//! | a rate that rises to its full height after idle time | [`WarmUp`] |
//! | the time for which a caller waits for a future or a closure | [`TimeLimiter`] |
//! | a rate, a number in flight and a time for one call | [`Admission`] |
//! | the bytes of a reader or a writer, the items of a stream or a sink, through any limiter that can be waited for | [`rate_limited`] |
//!
//! The first two tell each request the instant from which it may go, [`Scheduled`].
//!
//! ```
//! use std::time::Duration;
//! use sluicegate::{ManualClock, rate};
//! use sluicegate_flow::Shaper;
//!
//! // Ten requests a second leave a queue of at most 50.
//! let shaper = Shaper::with_clock(rate!(10 / second), 50, ManualClock::new());
//! assert_eq!(shaper.shape(1)?.ready_after(), Duration::from_millis(100));
//! assert_eq!(shaper.shape(1)?.ready_after(), Duration::from_millis(200));
//! # Ok::<(), sluicegate_flow::shaper::ShaperError>(())
//! ```

pub mod admission;
mod block_on;
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
pub use self::config_error::ConfigError;
pub use self::rate_limited::{RateLimitedReader, RateLimitedWriter};
pub use self::scheduled::Scheduled;
pub use self::shaper::Shaper;
pub use self::time_limit::TimeLimiter;
pub use self::warm_up::WarmUp;
