//! The bounds of what a server's word can do to its clients.

use std::time::Duration;

use sluicegate::Quota;

/// The bounds within which [`ServerLimits`](super::ServerLimits) believes a server.
///
/// A server cannot make a client wait for ever, nor make it run free, whatever the fields say. A pause takes no
/// longer than [`longest_pause`](Bounds::longest_pause), and if the server tells no wait, at least
/// [`shortest_pause`](Bounds::shortest_pause). Requests to a server that has told nothing yet begin with
/// [`start`](Bounds::start) at once. No response lets more through than [`at_most`](Bounds::at_most).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::quota;
/// use sluicegate_http::outgoing::Bounds;
///
/// // Never more than 50 requests a second, even if the server lets us.
/// let bounds = Bounds::new().at_most(quota!(50 / second)).longest_pause(Duration::from_secs(600));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub(super) shortest_pause: Duration,
    pub(super) longest_pause: Duration,
    pub(super) start: u64,
    pub(super) decided_within: Duration,
    pub(super) at_most: Option<Quota>,
    pub(super) max_waiting: usize,
}

impl Bounds {
    /// Returns the defaults: pauses from a second to an hour, one request at first, and no quota.
    #[must_use]
    pub fn new() -> Bounds {
        Bounds {
            shortest_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(3_600),
            start: 1,
            decided_within: Duration::from_secs(5),
            at_most: None,
            max_waiting: usize::MAX,
        }
    }

    /// Sets the pause if the server has nothing left, or refuses, and tells no wait or one of zero. The
    /// default is a second. If it refuses again without a wait, the pause doubles each time. At least a
    /// millisecond.
    #[must_use]
    pub fn shortest_pause(self, pause: Duration) -> Bounds {
        let shortest_pause = pause.max(Duration::from_millis(1));
        Bounds { shortest_pause, longest_pause: self.longest_pause.max(shortest_pause), ..self }
    }

    /// Sets the longest pause, after which one request is sent whatever the server said. The default is
    /// an hour. At least the shortest pause.
    #[must_use]
    pub fn longest_pause(self, pause: Duration) -> Bounds {
        Bounds { longest_pause: pause.max(self.shortest_pause), ..self }
    }

    /// Sets how many requests may be in flight at first, before the server has told its limits, and
    /// again after each refusal. Each one that passes adds one more, so they double with each
    /// round trip; there is no such bound once limits are told. If responses take long, one request
    /// is sent each [`shortest_pause`](Bounds::shortest_pause) anyway. The default is 1; at least 1.
    #[must_use]
    pub fn start(self, requests: u64) -> Bounds {
        Bounds { start: requests.max(1), ..self }
    }

    /// Sets the time within which a server has decided on a request, although it may answer much later:
    /// until then, a request that is not answered may be missing in the numbers that the server tells.
    /// The default is 5 s.
    #[must_use]
    pub fn decided_within(self, time: Duration) -> Bounds {
        Bounds { decided_within: time, ..self }
    }

    /// Sets a quota of the client's own for each server, which no response changes. The default is none.
    #[must_use]
    pub fn at_most(self, quota: impl Into<Quota>) -> Bounds {
        Bounds { at_most: Some(quota.into()), ..self }
    }

    /// Sets how many requests to each server may wait in line. One more is refused at once. The default is
    /// no bound; at least 1.
    #[must_use]
    pub fn max_waiting(self, requests: usize) -> Bounds {
        Bounds { max_waiting: requests.max(1), ..self }
    }

    /// Returns the pause for a wait that the server tells.
    pub(super) fn pause(&self, told: Option<Duration>) -> Duration {
        let wait = told.filter(|wait| !wait.is_zero()).unwrap_or(self.shortest_pause);
        wait.min(self.longest_pause)
    }

    /// Returns the pause after so many refusals in a row that told no wait.
    pub(super) fn pause_after(&self, refusals: u32) -> Duration {
        let factor = 1_u32.checked_shl(refusals.saturating_sub(1)).unwrap_or(u32::MAX);
        self.shortest_pause.saturating_mul(factor).min(self.longest_pause)
    }
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds::new()
    }
}
