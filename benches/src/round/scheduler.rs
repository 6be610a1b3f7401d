//! The time that a thread had to wait for a processor, as the scheduler tells it.

use std::fs::File;
use std::io::Read as _;
use std::str;
use std::time::Duration;

/// The time for which the calling thread ran. Up to the last time that the
/// scheduler looked: at the latest when the thread last yielded. `None` where the
/// system does not tell; Linux does.
pub(crate) fn ran() -> Option<Duration> {
    figure(0)
}

/// The time for which the calling thread could have run, and others ran in its
/// place. `None` where the system does not tell; Linux does.
pub(crate) fn waited() -> Option<Duration> {
    figure(1)
}

/// The time that it waited since it had waited `before`.
pub(crate) fn waited_since(before: Option<Duration>) -> Duration {
    let since = waited().zip(before).map(|(after, before)| after.saturating_sub(before));
    since.unwrap_or_default()
}

/// Allocates nothing: it is also called where memory is measured.
fn figure(index: usize) -> Option<Duration> {
    let mut text = [0; 80];
    let count = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    let text = str::from_utf8(&text[..count]).ok()?;
    let nanos = text.split_whitespace().nth(index)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}
