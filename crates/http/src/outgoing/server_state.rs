//! All that the client knows of one server: the limits that it told, its pauses, and the requests on
//! their way.
//!
//! When the response to request `i` tells that `r` are left, the server had decided on `i`, and on all
//! that had ended before `i` was sent, or were old then. It may not have decided on the others: those that
//! were sent a short time before, and those that were sent since. Let these be `u`.
//!
//! **Theorem.** Let nobody else use the limit, each request cost one of it, and each request that has
//! ended or is old have been decided on. Then the requests that are let through until `more_at` are at
//! most those that the server has left.
//!
//! *Proof.* Call the server's number, less the requests that are sent and not decided on, the truth. It
//! falls by one when a request is let through, and until the server has more, by nothing else: a decision
//! takes one from both. `left` falls by one with it. A response sets `left` to `r - u`, or to the smaller
//! of `left` as it was and of `r` less the undecided ones. At the decision on `i` the number was `r`, all
//! that it did not count are among `u`, and what comes back to the server only raises the truth: so `r - u`
//! is at most the truth. So is `left` as it was. ∎
//!
//! (The smaller of the two is for limits that others use as well: then `left` as it was may be too much.)
//!
//! Responses may arrive in any order: one to a request that was sent before the one whose response told
//! the limit last tells nothing.

use http::StatusCode;

use crate::fields::{MAX_ITEMS, QuotaPolicy, QuotaUnit, ResponseFields, ServiceLimit};

use super::bounds::Bounds;
use super::in_flight::{InFlight, Ticket, Uncounted};
use super::nanos;
use super::told_limit::ToldLimit;

/// The most limits of a server that are kept. Of more, those that were told longest ago are forgotten.
const MAX_LIMITS: usize = 2 * MAX_ITEMS;

/// The state of a server as the client knows it. Instants are nanoseconds of the client's clock.
#[derive(Debug)]
pub(super) struct ServerState {
    in_flight: InFlight,
    /// No request is sent before.
    closed_until: u64,
    /// The most requests in flight, as long as no limits are known.
    most_in_flight: u64,
    /// Refusals in a row that told no wait.
    bare_refusals: u32,
    limits: Vec<ToldLimit>,
}

/// The reason for which no request may be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// Not before this instant.
    Until(u64),
    /// Not before this instant, unless a response that is on its way tells otherwise.
    UntilOrNews(u64),
}

impl ServerState {
    pub(super) fn new(bounds: &Bounds) -> ServerState {
        ServerState {
            in_flight: InFlight::default(),
            closed_until: 0,
            most_in_flight: bounds.start,
            bare_refusals: 0,
            limits: Vec::new(),
        }
    }

    /// Returns the requests that are sent and have not ended.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.count()
    }

    /// Returns whether there is nothing to remember: to forget it changes nothing.
    pub(super) fn is_at_rest(&mut self, now: u64, bounds: &Bounds) -> bool {
        self.forget_old(now, bounds);
        self.in_flight() == 0 && now >= self.closed_until && self.limits.is_empty()
    }

    /// Decides whether a request may be sent.
    pub(super) fn check(&mut self, now: u64, bounds: &Bounds) -> Result<(), Closed> {
        self.forget_old(now, bounds);
        let opens_at = self.limits.iter().map(ToldLimit::opens_at).max().unwrap_or(0);
        if now < self.closed_until {
            return Err(Closed::Until(self.closed_until.max(opens_at)));
        }
        let in_flight = self.in_flight();
        if now < opens_at {
            return Err(match in_flight {
                0 => Closed::Until(opens_at),
                _ => Closed::UntilOrNews(opens_at),
            });
        }
        // If they take long, one more from time to time.
        let last_sent_at = self.in_flight.last_sent_at();
        let next_at = last_sent_at.saturating_add(nanos(bounds.shortest_pause));
        if in_flight >= self.most_in_flight && now < next_at {
            return Err(Closed::UntilOrNews(next_at));
        }
        Ok(())
    }

    /// Counts a request that is sent.
    pub(super) fn send(&mut self, now: u64, bounds: &Bounds) -> Ticket {
        let ticket = self.in_flight.send(now, old(now, bounds));
        for limit in &mut self.limits {
            limit.send(ticket.number, now);
        }
        ticket
    }

    /// Counts a request that was given up, or failed.
    pub(super) fn give_up(&mut self, ticket: Ticket) {
        self.end(ticket, false);
    }

    /// Counts the end of a request.
    fn end(&mut self, ticket: Ticket, is_answered: bool) {
        self.in_flight.end(ticket);
        for limit in &mut self.limits {
            limit.end(ticket.number, is_answered);
        }
    }

    /// Counts a request that was answered, and takes up what the response tells.
    pub(super) fn learn(
        &mut self,
        ticket: Ticket,
        status: StatusCode,
        fields: &ResponseFields,
        now: u64,
        bounds: &Bounds,
    ) {
        self.end(ticket, true);
        let retry_after = fields.retry_after.filter(|_| is_refusal(status));
        let uncounted = self.in_flight.uncounted(ticket, old(now, bounds));
        let mut has_told = false;
        let mut is_exhausted = false;
        for limit in &fields.limits {
            let policy = policy_of(fields, limit);
            // On a refusal, `Retry-After` takes precedence.
            let limit = match retry_after {
                Some(_) => ServiceLimit { reset_after: retry_after, ..limit.clone() },
                None => limit.clone(),
            };
            if policy.is_none_or(|policy| *policy.unit() == QuotaUnit::Requests) {
                let told = ToldLimit::new(&limit, policy, ticket.number, now, bounds);
                is_exhausted |= told.is_exhausted();
                has_told = true;
                self.replace(told, uncounted);
            } else if limit.remaining == 0 && limit.reset_after.is_some() {
                // It does not count requests, so nothing is known but that nothing is left.
                is_exhausted = true;
                self.close(now, nanos(bounds.pause(limit.reset_after)));
            }
        }
        match (status, retry_after) {
            (_, Some(wait)) => {
                self.close(now, nanos(bounds.pause(Some(wait))));
                self.most_in_flight = bounds.start;
            }
            (StatusCode::TOO_MANY_REQUESTS, None) => {
                if !is_exhausted {
                    self.bare_refusals = self.bare_refusals.saturating_add(1);
                    self.close(now, nanos(bounds.pause_after(self.bare_refusals)));
                }
                self.most_in_flight = bounds.start;
            }
            (StatusCode::SERVICE_UNAVAILABLE, None) => {}
            _ => {
                self.bare_refusals = 0;
                let more = if has_told { u64::MAX } else { 1 };
                self.most_in_flight = self.most_in_flight.saturating_add(more);
            }
        }
    }

    /// Takes up a limit, unless it was told since by the response to a later request.
    fn replace(&mut self, told: ToldLimit, uncounted: Uncounted) {
        match self.limits.iter_mut().find(|limit| limit.id == told.id) {
            Some(known) if known.told_by > told.told_by => {}
            Some(known) => *known = told.without(uncounted, Some(known)),
            None => {
                if self.limits.len() >= MAX_LIMITS
                    && let Some(oldest) =
                        (0..self.limits.len()).min_by_key(|which| self.limits[*which].told_by)
                {
                    self.limits.swap_remove(oldest);
                }
                self.limits.push(told.without(uncounted, None));
            }
        }
    }

    /// Sends nothing for a time. Never shortens a pause.
    fn close(&mut self, now: u64, pause_nanos: u64) {
        self.closed_until = self.closed_until.max(now.saturating_add(pause_nanos));
    }

    /// Forgets limits that tell nothing any more. What the server lets through then is unknown, as at
    /// first.
    fn forget_old(&mut self, now: u64, bounds: &Bounds) {
        let known = self.limits.len();
        self.limits.retain(|limit| !limit.is_over(now));
        if self.limits.len() < known {
            self.most_in_flight = bounds.start;
        }
    }
}

/// Returns whether a response with this status may refuse the request for now, so that its `Retry-After` is
/// for all requests. (Some servers refuse with 403.)
pub(super) fn is_refusal(status: StatusCode) -> bool {
    [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE, StatusCode::FORBIDDEN]
        .contains(&status)
}

/// Returns the instant before which requests were sent that the server has decided on.
fn old(now: u64, bounds: &Bounds) -> u64 {
    now.saturating_sub(nanos(bounds.decided_within))
}

/// Returns the policy of a limit: the one with its name, the only one, or the one with its quota.
fn policy_of<'f>(fields: &'f ResponseFields, limit: &ServiceLimit) -> Option<&'f QuotaPolicy> {
    fields.policy_of(limit).or_else(|| {
        let quota = limit.limit.filter(|_| limit.name.is_none())?;
        fields.policies.iter().find(|policy| policy.quota() == quota)
    })
}
