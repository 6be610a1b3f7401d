//! Retries: which requests are sent again, when, and how many in all.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use sluicegate::clock::TokioClock;
use sluicegate::wait::Jitter;
use sluicegate::{Quota, Rate, TokenBucket, quota, rate};

use super::request::OutgoingRequest;

/// The permits of the budget that a retry takes. A request adds its share of them.
const PERMITS_PER_RETRY: u64 = 100;

type CopyRequest<Q> = Arc<dyn Fn(&Q) -> Option<Q> + Send + Sync>;

/// The retries of an [`OutgoingLayer`](super::OutgoingLayer).
///
/// * **Which requests.** Those with an idempotent method (`GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT`,
///   `DELETE`) that can be copied.
/// * **After which responses.** 429 and 503, or the [`statuses`](Retries::statuses) that are set. After a
///   failure of the client itself (no connection, say), only requests with an idempotent method are sent again.
/// * **When.** After `Retry-After`, if the response tells it. Otherwise after a random time from zero to
///   [`backoff`](Retries::backoff), whose longest value doubles with each try ("full jitter"). A retry then
///   takes its turn as any other request does.
/// * **How many.** Each request at most [`tries`](Retries::tries) times. All requests to a server together:
///   in any span of time, at most 10, one more for each second, and one for each five requests; see
///   [`budget`](Retries::budget). A storm of failures so adds a fifth to the load, and does not multiply it.
///
/// If a request may not be sent again, the caller gets the response of the last try.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::quota;
/// use sluicegate_http::outgoing::{OutgoingLayer, Retries};
///
/// // At most 4 tries, with a tenth of the requests as retries, and one each 10 s for rare requests.
/// let retries = Retries::of_clones()
///     .tries(4)
///     .budget(10, quota!(1 / 10 seconds, burst 5))
///     .backoff(Duration::from_millis(200), Duration::from_secs(10));
/// let layer: OutgoingLayer<http::Request<String>> = OutgoingLayer::new().retries(retries);
/// ```
pub struct Retries<Q> {
    copy: CopyRequest<Q>,
    tries: u32,
    has_any_method: bool,
    statuses: Arc<[StatusCode]>,
    shortest_backoff: Duration,
    longest_backoff: Duration,
    share: u64,
    /// In permits.
    floor: Quota,
}

impl<Q> Retries<Q> {
    /// Returns retries of requests that `copy` can copy: those for which it returns `None` are sent once.
    /// For reqwest, that is `Retries::new(reqwest::Request::try_clone)`.
    #[must_use]
    pub fn new(copy: impl Fn(&Q) -> Option<Q> + Send + Sync + 'static) -> Retries<Q> {
        Retries {
            copy: Arc::new(copy),
            tries: 3,
            has_any_method: false,
            statuses: Arc::new([StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE]),
            shortest_backoff: Duration::from_millis(100),
            longest_backoff: Duration::from_secs(20),
            share: 20,
            floor: quota!(100 / second, burst 1_000),
        }
    }

    /// Returns retries of requests that are `Clone`, as an `http::Request` is if its body is.
    #[must_use]
    pub fn of_clones() -> Retries<Q>
    where
        Q: Clone,
    {
        Retries::new(|request: &Q| Some(request.clone()))
    }

    /// Sets how often a request is sent at most, the first time included. The default is 3; 0 counts
    /// as 1.
    #[must_use]
    pub fn tries(self, tries: u32) -> Retries<Q> {
        Retries { tries: tries.max(1), ..self }
    }

    /// Retries requests with any method after the [`statuses`](Retries::statuses): for servers that did
    /// nothing when they answer so. Failures of the client are still retried for idempotent methods only.
    #[must_use]
    pub fn any_method(self) -> Retries<Q> {
        Retries { has_any_method: true, ..self }
    }

    /// Sets the statuses after which requests are sent again. The default is 429 and 503.
    #[must_use]
    pub fn statuses(self, statuses: impl IntoIterator<Item = StatusCode>) -> Retries<Q> {
        Retries { statuses: statuses.into_iter().collect(), ..self }
    }

    /// Sets the longest wait before the first retry, which doubles with each further one, and its
    /// maximum. The default is 100 ms and 20 s. A response that tells a wait is obeyed instead.
    #[must_use]
    pub fn backoff(self, first: Duration, maximum: Duration) -> Retries<Q> {
        Retries { shortest_backoff: first, longest_backoff: maximum, ..self }
    }

    /// Sets the budget of retries to one server: so many for each hundred requests, and the floor, for
    /// clients that send little. In any span of time, there are at most as many as the floor's burst, what
    /// it earns in that time, and the share of the requests of that time. What is not used is kept up to
    /// the burst. The default is 20, and `1 / second, burst 10`. A floor above 20 million retries a second, or
    /// with a burst above 40 million, counts as that.
    #[must_use]
    pub fn budget(self, share_percent: u32, floor: impl Into<Quota>) -> Retries<Q> {
        let floor = floor.into();
        let permits = floor.rate().permits().saturating_mul(PERMITS_PER_RETRY);
        let rate =
            Rate::new(permits, floor.rate().period()).unwrap_or(rate!(2_000_000_000 / second));
        let burst = floor.burst().saturating_mul(PERMITS_PER_RETRY).min(Quota::MAX_BURST);
        let floor = Quota::new(rate).with_burst(burst).unwrap_or(Quota::new(rate));
        Retries { share: u64::from(share_percent), floor, ..self }
    }

    /// Returns the budget of retries to one more server.
    pub(super) fn new_budget(&self) -> RetryBudget {
        let bucket = TokenBucket::with_clock(self.floor, TokioClock::new());
        RetryBudget { bucket, share: self.share }
    }

    /// Returns a copy of a request that is sent for the nth time, if it may be sent again.
    pub(super) fn copy(&self, tries: u32, request: &Q) -> Option<Q>
    where
        Q: OutgoingRequest,
    {
        let may_repeat = self.has_any_method || is_idempotent(request.method());
        if tries < self.tries && may_repeat { (self.copy)(request) } else { None }
    }

    /// Returns whether requests are sent again after a response with this status.
    pub(super) fn is_after(&self, status: StatusCode) -> bool {
        self.statuses.contains(&status)
    }

    /// Returns a random wait before the next try.
    pub(super) fn random_backoff(&self, tries: u32) -> Duration {
        let factor = 1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX);
        let longest = self.shortest_backoff.saturating_mul(factor).min(self.longest_backoff);
        Jitter::up_to(longest).delay()
    }
}

/// Returns whether to do it twice is the same as once (RFC 9110, section 9.2.2).
pub(super) fn is_idempotent(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE, Method::PUT, Method::DELETE]
        .contains(method)
}

/// Clones share what copies requests.
impl<Q> Clone for Retries<Q> {
    fn clone(&self) -> Retries<Q> {
        Retries { copy: Arc::clone(&self.copy), statuses: Arc::clone(&self.statuses), ..*self }
    }
}

impl<Q> fmt::Debug for Retries<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retries")
            .field("tries", &self.tries)
            .field("statuses", &self.statuses)
            .field("share_percent", &self.share)
            .finish_non_exhaustive()
    }
}

/// The retries that all requests to one server have together.
///
/// A bucket that the floor fills and each request adds to: `credit` fills it to the burst at most. (The
/// budget of the crate tower panics on settings that it does not like, and adds for successes alone.)
#[derive(Debug)]
pub(super) struct RetryBudget {
    bucket: TokenBucket<TokioClock>,
    share: u64,
}

impl RetryBudget {
    /// Adds the share of a request.
    pub(super) fn add_request(&self) {
        self.bucket.credit(self.share);
    }

    /// Takes a retry, if there is one left.
    pub(super) fn take(&self) -> bool {
        self.bucket.try_acquire(PERMITS_PER_RETRY).is_ok()
    }
}
