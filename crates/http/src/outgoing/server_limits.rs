//! The limits of one server, and the line of requests that wait for their turn.

mod sending;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use sluicegate::clock::TokioClock;
use sluicegate::wait::{LineLimits, TokioTimer};
use sluicegate::{Clock, TokenBucket};
use sluicegate_flow::concurrency::ConcurrencyLimit;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::fields::ResponseFields;

use super::bounds::Bounds;
use super::error::NoTurn;
use super::in_flight::Ticket;
use super::nanos;
use super::server_state::{Closed, ServerState};

pub use self::sending::Sending;

/// The limits of one server as its responses tell them, for a client that keeps to them.
///
/// A client takes its [`turn`](ServerLimits::turn) before each request, and hands the response to
/// [`Sending::sync_with`]. [`OutgoingLayer`](super::OutgoingLayer) does that for clients that are services
/// of tower, with one of these for each server.
///
/// * **What was told.** `RateLimit` and `X-RateLimit-*` of every version, several limits in one
///   response, partitions, and `Retry-After`: see [`ResponseFields`](crate::fields::ResponseFields).
///   Limits that count something else than requests only pause it when nothing is left.
/// * **Until the server has more**, at most as many requests are let through as it said are left, less
///   those on their way that it may not have counted.
/// * **Once it has more**, one request is sent to find out how many. If the server tells its limits only
///   when it refuses, requests then leave one by one, at the distance of the quota in its window.
/// * **A server that has told nothing** gets [few requests at first](Bounds::start), and one more for
///   each that passes.
/// * **After a refusal** (429 or 503; 403 as well if it has a `Retry-After`), no request is sent until the
///   time of `Retry-After`, whatever the other fields say. A 429 that tells no wait pauses for [`shortest_pause`](Bounds::shortest_pause), and longer each
///   time.
/// * **Partitions.** Limits with different partition keys are kept apart. A client cannot know to which
///   partition a request will belong, so a request has to pass all of them: use another `ServerLimits`
///   for each, if the program knows.
///
/// # Accuracy
///
/// If nobody else uses the limit and each request costs one of it, no more requests are let through
/// than the server has left, in whatever order responses arrive. If others use it too, or a request
/// costs more, the server may refuse some; the next response tells. A request is believed to have been
/// counted by the server when it has ended, and [some seconds](Bounds::decided_within) after it was sent.
///
/// Waits count from the arrival of a response, and times are compared with its `Date`, so it does not
/// matter whether the client's clock is right. Only times in a response without a `Date` depend on it; the
/// [`Bounds`] hold for them as well.
///
/// # Fairness
///
/// Requests leave in the order in which they came. A request that gives up leaves the line, and holds up
/// nobody.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::time::{Duration, SystemTime};
/// use http::{HeaderMap, StatusCode};
/// use sluicegate::ManualClock;
/// use sluicegate_http::fields::ResponseFields;
/// use sluicegate_http::outgoing::{Bounds, ServerLimits};
///
/// let clock = Arc::new(ManualClock::new());
/// let limits = ServerLimits::with_clock(Bounds::new(), Arc::clone(&clock));
/// let sending = limits.try_send().unwrap();
///
/// // The response to the request has arrived: nothing is left for half a minute.
/// let mut headers = HeaderMap::new();
/// headers.insert("ratelimit-policy", r#""default";q=60;w=60"#.parse().unwrap());
/// headers.insert("ratelimit", r#""default";r=0;t=30"#.parse().unwrap());
/// sending.sync_with(StatusCode::OK, &ResponseFields::parse(&headers, SystemTime::now()));
///
/// assert_eq!(limits.try_send().unwrap_err().retry_after, Some(Duration::from_secs(30)));
/// clock.advance(Duration::from_secs(30));
/// assert!(limits.try_send().is_ok());
/// ```
pub struct ServerLimits<C = TokioClock> {
    clock: Arc<C>,
    bounds: Bounds,
    /// The client's own quota.
    own: Option<TokenBucket<Arc<C>>>,
    state: Mutex<ServerState>,
    /// The line: its one permit is held by the request whose turn is next.
    line: ConcurrencyLimit,
    /// Wakes that request when there is news.
    news: Notify,
}

impl ServerLimits {
    /// Creates the limits of a server that has told nothing yet, on [tokio's time](TokioClock).
    #[must_use]
    pub fn new(bounds: Bounds) -> ServerLimits {
        ServerLimits::with_clock(bounds, TokioClock::new())
    }
}

impl<C: Clock> ServerLimits<C> {
    /// Creates the limits of a server that has told nothing yet, on `clock`. A caller that takes its
    /// [`turn`](ServerLimits::turn) sleeps by tokio's time, which should advance as that clock does.
    #[must_use]
    pub fn with_clock(bounds: Bounds, clock: C) -> ServerLimits<C> {
        let clock = Arc::new(clock);
        let own = bounds.at_most.map(|quota| TokenBucket::with_clock(quota, Arc::clone(&clock)));
        let line = ConcurrencyLimit::new(1);
        // Another one waits as the first.
        line.line().set_limits(LineLimits::new().max_waiters(bounds.max_waiting - 1));
        let state = Mutex::new(ServerState::new(&bounds));
        ServerLimits { clock, bounds, own, state, line, news: Notify::new() }
    }

    /// Lets one request through now, if the server has that much left and nobody waits in line. Never
    /// sleeps; takes a lock for a moment; reads the clock.
    ///
    /// # Errors
    ///
    /// [`NoTurn`], with the wait if it is known.
    pub fn try_send(&self) -> Result<Sending<'_, C>, NoTurn> {
        if self.line.in_flight() > 0 {
            return Err(NoTurn { retry_after: None, longest_wait: Duration::ZERO });
        }
        self.send().map_err(|closed| self.no_turn(closed, Duration::ZERO))
    }

    /// Waits until a request may be sent, for no longer than `longest`, in one line, first come, first
    /// served. Sleeps by tokio's time. If it is known that the turn comes too late, it does not wait at
    /// all.
    ///
    /// # Errors
    ///
    /// [`NoTurn`], with the wait if it is known.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime whose time is enabled, as tokio's own sleep does.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time. A caller that stands in line leaves it, and has taken nothing.
    pub async fn turn(&self, longest: Duration) -> Result<Sending<'_, C>, NoTurn> {
        let came = Instant::now();
        self.unless_too_late(longest)?;
        let waiting = self.line.acquire(1).timeout(longest).timer(TokioTimer);
        let Ok(_first) = waiting.await else {
            let retry_after = self.check().err().map(|closed| self.wait(closed));
            return Err(NoTurn { retry_after, longest_wait: longest });
        };
        loop {
            let closed = match self.send() {
                Ok(sending) => return Ok(sending),
                Err(closed) => closed,
            };
            let left = longest.saturating_sub(came.elapsed());
            if left.is_zero() || self.is_too_late(closed, left) {
                return Err(self.no_turn(closed, longest));
            }
            // Over, or woken: it looks again either way.
            let _ = timeout(self.wait(closed).min(left), self.news.notified()).await;
        }
    }

    /// Returns the number of requests on their way: let through, and neither answered nor given up.
    /// Takes a lock for a moment.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.lock().in_flight()
    }

    /// Returns the number of callers that wait in line. Takes the line's lock.
    #[must_use]
    pub fn waiters(&self) -> usize {
        // The first one holds the permit, and does not stand before the line any more.
        self.line.line().waiters() + usize::from(self.line.in_flight() > 0)
    }

    /// Returns whether there is nothing to remember: limits made anew would let the same through.
    pub(super) fn is_at_rest(&self) -> bool {
        self.lock().is_at_rest(self.clock.now_nanos(), &self.bounds)
    }

    /// Counts a request that was given up, or failed.
    pub(super) fn give_up(&self, ticket: Ticket) {
        self.lock().give_up(ticket);
        self.news.notify_one();
    }

    /// Counts a request that was answered, and takes up what its response tells.
    pub(super) fn learn(&self, ticket: Ticket, status: StatusCode, fields: &ResponseFields) {
        let now = self.clock.now_nanos();
        self.lock().learn(ticket, status, fields, now, &self.bounds);
        self.news.notify_one();
    }

    fn send(&self) -> Result<Sending<'_, C>, Closed> {
        let mut state = self.lock();
        let now = self.clock.now_nanos();
        state.check(now, &self.bounds)?;
        if let Some(own) = &self.own {
            own.try_acquire(1).map_err(|denied| {
                Closed::Until(now.saturating_add(nanos(denied.retry_after().unwrap_or_default())))
            })?;
        }
        Ok(Sending::new(self, state.send(now, &self.bounds)))
    }

    /// Decides whether a request may be sent, as far as the server is concerned.
    fn check(&self) -> Result<(), Closed> {
        self.lock().check(self.clock.now_nanos(), &self.bounds)
    }

    fn unless_too_late(&self, longest: Duration) -> Result<(), NoTurn> {
        match self.check() {
            Err(closed) if self.is_too_late(closed, longest) => Err(self.no_turn(closed, longest)),
            _ => Ok(()),
        }
    }

    /// Returns whether no news can let the request through within `left`.
    fn is_too_late(&self, closed: Closed, left: Duration) -> bool {
        matches!(closed, Closed::Until(_)) && self.wait(closed) > left
    }

    fn wait(&self, closed: Closed) -> Duration {
        let (Closed::Until(at) | Closed::UntilOrNews(at)) = closed;
        Duration::from_nanos(at.saturating_sub(self.clock.now_nanos()))
    }

    fn no_turn(&self, closed: Closed, longest: Duration) -> NoTurn {
        NoTurn { retry_after: Some(self.wait(closed)), longest_wait: longest }
    }

    fn lock(&self) -> MutexGuard<'_, ServerState> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Clock> fmt::Debug for ServerLimits<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLimits")
            .field("in_flight", &self.in_flight())
            .field("waiters", &self.waiters())
            .finish_non_exhaustive()
    }
}
