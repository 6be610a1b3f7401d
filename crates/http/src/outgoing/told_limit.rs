//! One limit of a server, as a response told it.
//!
//! ```text
//! told r, more after t    left = r, without the requests that r may not count; more_at = now + t
//! send, left > 0          left = left - 1
//! send, left = 0          from more_at on: a probe. Until it is answered, the next one is due after a window
//! probe answered          if its response tells the limit: as above; else the server tells it no more:
//!                         from now on one request each step
//! send from more_at on    next_at = max(next_at, now) + step
//! ```
//!
//! `step` is the window divided by the quota. At `more_at` the server has at least one more, so it does not
//! refuse the probe. Nobody knows how many more it has; the response tells. A server that tells its limit
//! only when it refuses gets requests at even distances, which are no more than its quota in any window.

use std::time::Duration;

use crate::fields::{QuotaPolicy, ServiceLimit};

use super::bounds::Bounds;
use super::in_flight::Uncounted;
use super::nanos;

/// The limit that a response tells: its name and its partition, or if it has no name its quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LimitId {
    name: Option<Box<str>>,
    partition: Option<Box<[u8]>>,
    unnamed_quota: Option<u64>,
}

/// The state of a limit, in nanoseconds of the client's clock.
#[derive(Clone, Debug)]
pub(super) struct ToldLimit {
    pub(super) id: LimitId,
    /// The number of the request whose response told it.
    pub(super) told_by: u64,
    left: u64,
    more_at: u64,
    next_at: u64,
    pace: Option<Pace>,
    probe: Probe,
}

/// The request that is sent to learn how much more a server has.
#[derive(Clone, Copy, Debug)]
enum Probe {
    NotSent,
    /// The request of this number. Another one is due at the instant `or_at`.
    Sent {
        number: u64,
        or_at: u64,
    },
    /// Answered, and the response did not tell the limit.
    Untold,
}

/// The distance of requests without news.
#[derive(Clone, Copy, Debug)]
struct Pace {
    step_nanos: u64,
    window_nanos: u64,
}

impl ToldLimit {
    /// Returns the limit as the response to the request `told_by` tells it.
    pub(super) fn new(
        limit: &ServiceLimit,
        policy: Option<&QuotaPolicy>,
        told_by: u64,
        now: u64,
        bounds: &Bounds,
    ) -> ToldLimit {
        let quota = limit.limit.or(policy.map(QuotaPolicy::quota));
        let window = policy.and_then(QuotaPolicy::window);
        let id = LimitId {
            name: limit.name.clone(),
            partition: limit.partition.clone(),
            unnamed_quota: quota.filter(|_| limit.name.is_none()),
        };
        let wait = bounds.pause(limit.reset_after.or(window));
        let pace = window.zip(quota).and_then(|(window, quota)| Pace::new(window, quota, bounds));
        let left = limit.remaining.min(quota.unwrap_or(u64::MAX));
        let more_at = now.saturating_add(nanos(wait));
        ToldLimit { id, told_by, left, more_at, next_at: 0, pace, probe: Probe::NotSent }
    }

    /// Takes the requests off that the server may not have counted. `before` is the same limit as it was
    /// known until now.
    pub(super) fn without(self, uncounted: Uncounted, before: Option<&ToldLimit>) -> ToldLimit {
        let at_least = self.left.saturating_sub(uncounted.at_most);
        let known = before.map_or(0, |before| before.left);
        let left = known.min(self.left.saturating_sub(uncounted.undecided)).max(at_least);
        ToldLimit { left, ..self }
    }

    /// Returns the instant from which a request may be sent.
    pub(super) fn opens_at(&self) -> u64 {
        match self.probe {
            _ if self.left > 0 => 0,
            Probe::Sent { or_at, .. } => or_at,
            Probe::NotSent | Probe::Untold => self.more_at.max(self.next_at),
        }
    }

    /// Counts a request that is sent.
    pub(super) fn send(&mut self, number: u64, now: u64) {
        let is_probe = self.left == 0 && !matches!(self.probe, Probe::Untold);
        self.left = self.left.saturating_sub(1);
        if let Some(pace) = self.pace
            && now >= self.more_at
        {
            self.next_at = self.next_at.max(now).saturating_add(pace.step_nanos);
            if is_probe {
                self.probe = Probe::Sent { number, or_at: now.saturating_add(pace.window_nanos) };
            }
        }
    }

    /// Counts a request that has ended, and whose response did not tell the limit.
    pub(super) fn end(&mut self, ended: u64, is_answered: bool) {
        match self.probe {
            Probe::Sent { number, .. } if number == ended => {
                self.probe = if is_answered { Probe::Untold } else { Probe::NotSent };
            }
            _ => {}
        }
    }

    /// Returns whether nothing is known of it any more: the server has more, and for a limit with a window,
    /// no request of the last window counts.
    pub(super) fn is_over(&self, now: u64) -> bool {
        let window_nanos = self.pace.map_or(0, |pace| pace.window_nanos);
        now >= self.more_at.max(self.next_at).saturating_add(window_nanos)
    }

    /// Returns whether the server said that nothing is left.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left == 0
    }
}

impl Pace {
    fn new(window: Duration, quota: u64, bounds: &Bounds) -> Option<Pace> {
        let window_nanos = nanos(window);
        let step_nanos = window_nanos.checked_add(quota.checked_sub(1)?)? / quota;
        let longest = nanos(bounds.longest_pause);
        Some(Pace { step_nanos: step_nanos.min(longest), window_nanos: window_nanos.min(longest) })
    }
}
