//! The time that a thread had to wait for a processor, as the scheduler reports it.

use std::fs::File;
use std::io::Read as _;
use std::str;
use std::time::Duration;

/// Returns the time for which the calling thread ran, up to the scheduler's last update:
/// at the latest when the thread last yielded. `None` if the system does not report it;
/// Linux does.
pub(crate) fn ran() -> Option<Duration> {
    figure(0)
}

/// Returns the time for which the calling thread could have run, and others ran in its
/// place. `None` if the system does not report it; Linux does.
pub(crate) fn waited() -> Option<Duration> {
    figure(1)
}

/// Returns the time that the thread has waited since it had waited `before`.
pub(crate) fn waited_since(before: Option<Duration>) -> Duration {
    let since = waited().zip(before).map(|(after, before)| after.saturating_sub(before));
    since.unwrap_or_default()
}

/// Reads one figure. Allocates nothing, because it is also called where memory is measured.
fn figure(index: usize) -> Option<Duration> {
    let mut text = [0; 80];
    let count = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    let text = str::from_utf8(&text[..count]).ok()?;
    let nanos = text.split_whitespace().nth(index)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}
