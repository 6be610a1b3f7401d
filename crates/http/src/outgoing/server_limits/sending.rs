//! A request that was let through.

use std::fmt;

use http::StatusCode;
use sluicegate::Clock;
use sluicegate::clock::TokioClock;

use crate::fields::ResponseFields;

use super::ServerLimits;
use crate::outgoing::in_flight::Ticket;

/// A request on its way to a server, until its response is known.
///
/// If it is dropped, the request counts as sent, and nothing is learned from it: so for a request that
/// failed or was given up.
#[must_use = "a request that is dropped counts as given up"]
pub struct Sending<'l, C: Clock = TokioClock> {
    limits: &'l ServerLimits<C>,
    ticket: Ticket,
    has_ended: bool,
}

impl<'l, C: Clock> Sending<'l, C> {
    pub(super) fn new(limits: &'l ServerLimits<C>, ticket: Ticket) -> Sending<'l, C> {
        Sending { limits, ticket, has_ended: false }
    }

    /// Takes up what the response to this request tells: the limits, and the wait of `Retry-After` if the
    /// status is 429, 503 or 403.
    ///
    /// Call it when the fields of the response have arrived; its body does not matter. Responses may
    /// come in any order. Takes a lock for a moment; reads the clock; allocates for limits that it did not
    /// know.
    pub fn sync_with(mut self, status: StatusCode, fields: &ResponseFields) {
        self.has_ended = true;
        self.limits.learn(self.ticket, status, fields);
    }
}

impl<C: Clock> Drop for Sending<'_, C> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.limits.give_up(self.ticket);
        }
    }
}

impl<C: Clock> fmt::Debug for Sending<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
