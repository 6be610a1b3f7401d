//! Publishing at an interval.

use std::fmt;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The shortest interval: a shorter one would leave no time for anything else.
const SHORTEST: Duration = Duration::from_millis(1);

/// A thread that publishes at an interval: see [`Publisher::every`](crate::Publisher::every). It ends when this is dropped,
/// which waits for it.
#[must_use = "it ends when it is dropped"]
pub struct Publishing {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Publishing {
    /// Calls `publish` now, at each interval, and once more at the end.
    pub(crate) fn start(
        interval: Duration,
        publish: impl Fn() + Send + 'static,
    ) -> io::Result<Publishing> {
        if interval < SHORTEST {
            let message = format!(
                "the interval is {interval:?}: must be at least {SHORTEST:?}; collectors rarely look more than \
                 once a second"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (end, ended) = channel();
        let run = move || {
            loop {
                publish();
                if ended.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
                    return publish();
                }
            }
        };
        let thread = thread::Builder::new().name("sluicegate-metrics".into()).spawn(run)?;
        Ok(Publishing { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A recorder that has panicked has said so.
            _ = thread.join();
        }
    }
}

impl fmt::Debug for Publishing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publishing").finish_non_exhaustive()
    }
}
