//! Requests of a connection, so that one that is idle can be told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::sleep;

/// The requests of one connection. A clone is those of the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    begun: AtomicU64,
    ended: AtomicU64,
    is_http_1: AtomicBool,
}

/// A request that is being answered until this is dropped.
pub(super) struct Busy(Activity);

impl Activity {
    /// Notes that a request has come.
    pub(super) fn begin(&self, version: http::Version) -> Busy {
        if version < http::Version::HTTP_2 {
            self.shared.is_http_1.store(true, Relaxed);
        }
        self.shared.begun.fetch_add(1, Relaxed);
        Busy(self.clone())
    }

    /// Waits until the connection has had no request for `longest`, and at most for twice as long. Never ends for
    /// HTTP/1.1, whose server has a bound of its own on the time between two requests.
    pub(super) async fn idle(&self, longest: Duration) {
        let shared = &self.shared;
        loop {
            let before = shared.begun.load(Relaxed);
            sleep(longest).await;
            if shared.is_http_1.load(Relaxed) {
                return std::future::pending().await;
            }
            // All that had begun have ended, and none has begun since.
            if shared.ended.load(Relaxed) == before && shared.begun.load(Relaxed) == before {
                return;
            }
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.shared.ended.fetch_add(1, Relaxed);
    }
}
