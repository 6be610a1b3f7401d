//! Bounds of a session: of memory, and of the work of a request.

use std::time::Duration;

/// Most sides of a set-up.
pub(crate) const SIDES: usize = 4;
/// Most keys of a session.
pub(crate) const KEYS: usize = 16;
/// Most characters of a key.
pub(crate) const KEY_LENGTH: usize = 64;
/// Largest limit or burst.
pub(crate) const LIMIT: f64 = 1_000_000.0;
/// Largest limit of a log, and largest queue: each permit of them takes memory.
pub(crate) const REMEMBERED: f64 = 1_000.0;
/// Longest window or period in seconds: 31 days.
pub(crate) const LONGEST_PERIOD: f64 = 2_678_400.0;
/// Most permits of a request.
pub(crate) const COST: u64 = 1_000_000;
/// Most requests that are sent at once.
pub(crate) const COUNT: u64 = 1_000;
/// Most streams.
pub(crate) const STREAMS: usize = 8;
/// Slowest and fastest stream, in requests per second of the session's clock.
pub(crate) const PER_SECOND: (f64, f64) = (0.01, 1_000.0);
/// Slowest and fastest clock. 0 is a pause.
pub(crate) const SPEED: (f64, f64) = (0.1, 600.0);
/// Longest time that a request waits, or is in flight.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
/// Most requests in the line before a limiter that all keys share.
pub(crate) const LINE: usize = 200;
/// Most requests in the line before the limiter of a key.
pub(crate) const LINE_OF_KEY: usize = 25;
/// Largest limit of permits in flight.
pub(crate) const IN_FLIGHT: f64 = 50.0;
/// Most entries of a log in a frame.
pub(crate) const ENTRIES: usize = 200;
/// The largest seed: the largest integer that a number in JavaScript holds exactly.
pub(crate) const SEED: u64 = (1 << 53) - 1;
/// Most decisions in a frame.
pub(crate) const DECISIONS: usize = 500;
/// The time for which a request is in flight if it does not say.
pub(crate) const HOLD: Duration = Duration::from_secs(1);
