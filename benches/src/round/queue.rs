//! How long a thread stood in the scheduler's queue.

use std::fs;
use std::time::Duration;

/// The time for which the calling thread could have run, and others ran in its
/// place. `None` where the system does not tell; Linux does.
pub(super) fn waited() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}
