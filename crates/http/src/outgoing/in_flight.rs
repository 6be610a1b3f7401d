//! The requests on their way, and those of them that the server may not have decided on.
//!
//! A server decides on a request when it arrives, and may take long to answer. So a request that was sent
//! [some time](super::Bounds::decided_within) ago has been decided on, whether or not it is answered.

use std::collections::VecDeque;

/// Counts requests, which are numbered as they are sent.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    sent: u64,
    ended: u64,
    last_sent_at: u64,
    /// The requests that were sent last, up to the last one, whether or not they have ended.
    recent: VecDeque<Recent>,
    /// Those of them that have not ended.
    undecided: u64,
}

#[derive(Clone, Copy, Debug)]
struct Recent {
    sent_at: u64,
    has_ended: bool,
}

/// A request that is on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    pub(super) number: u64,
    /// The others that the server may not have decided on when this one was sent.
    undecided_before: u64,
}

/// The requests that the number in a response may not count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uncounted {
    /// Those that the server may not have decided on when the request was sent, and those that were
    /// sent since.
    pub(super) at_most: u64,
    /// Those that it may not have decided on now.
    pub(super) undecided: u64,
}

impl InFlight {
    /// Returns the requests that have not ended.
    pub(super) fn count(&self) -> u64 {
        self.sent - self.ended
    }

    /// Counts a request that is sent. Those that were sent before `old` have been decided on.
    pub(super) fn send(&mut self, now: u64, old: u64) -> Ticket {
        self.forget(old);
        let undecided_before = self.undecided;
        self.sent += 1;
        self.last_sent_at = now;
        self.undecided += 1;
        self.recent.push_back(Recent { sent_at: now, has_ended: false });
        Ticket { number: self.sent, undecided_before }
    }

    /// Counts a request that has ended.
    pub(super) fn end(&mut self, ticket: Ticket) {
        self.ended += 1;
        let after_it = self.sent - ticket.number;
        let which = (self.recent.len() as u64).checked_sub(after_it + 1);
        let recent = which.and_then(|which| self.recent.get_mut(usize::try_from(which).ok()?));
        if let Some(recent) = recent.filter(|recent| !recent.has_ended) {
            recent.has_ended = true;
            self.undecided -= 1;
        }
    }

    /// Returns the requests that the response to this one may not count. It has ended.
    pub(super) fn uncounted(&mut self, ticket: Ticket, old: u64) -> Uncounted {
        self.forget(old);
        let sent_since = self.sent - ticket.number;
        Uncounted { at_most: ticket.undecided_before + sent_since, undecided: self.undecided }
    }

    /// Returns the instant at which the last request was sent; 0 if there was none.
    pub(super) fn last_sent_at(&self) -> u64 {
        self.last_sent_at
    }

    /// Forgets the first requests as long as they have ended or are old.
    fn forget(&mut self, old: u64) {
        while let Some(first) = self.recent.front()
            && (first.has_ended || first.sent_at < old)
        {
            self.undecided -= u64::from(!first.has_ended);
            self.recent.pop_front();
        }
    }
}
