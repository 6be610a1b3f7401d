//! Requests that wait.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use sluicegate::wait::AcquireError;
use sluicegate::{Clock, Grant};
use sluicegate_flow::concurrency::{InFlight, InFlightError};

use super::super::events::{Event, EventKey, EventQueue};
use super::{Request, Side};
use crate::units;
use crate::wire::{Decision, InLine, Outcome};

/// A request that waits.
pub(super) struct Caller {
    pub(super) request: Request,
    pub(super) since_nanos: u64,
    /// The key of the limiter.
    pub(super) limiter: Arc<str>,
    pub(super) wait: Wait,
    /// The event at which it is looked after.
    pub(super) alarm: Option<EventKey>,
    /// The instant of its turn, as the engine has told it.
    pub(super) turn_nanos: Option<u64>,
}

/// The way in which a request waits.
pub(super) enum Wait {
    /// In the engine's line, until its future is ready.
    Line(Pin<Box<dyn Future<Output = LineAnswer> + Send>>),
    /// In a queue, until an instant that is known.
    Queue,
}

/// The answer to a request in line.
pub(super) enum LineAnswer {
    Rate(Result<Grant, AcquireError>),
    InFlight(Result<InFlight<'static>, InFlightError>),
}

impl Caller {
    pub(super) fn shown(&self) -> InLine {
        InLine {
            n: self.request.n,
            key: self.request.key.to_string(),
            cost: self.request.cost,
            since: units::seconds(self.since_nanos),
            turn_at: self.turn_nanos.map(units::seconds),
        }
    }
}

impl Side {
    /// Asks for a request, which stands in line if it is not answered at once.
    pub(super) fn stand_in_line(
        &mut self,
        request: Request,
        answer: Pin<Box<dyn Future<Output = LineAnswer> + Send>>,
        events: &mut EventQueue,
    ) {
        let mut caller = Caller {
            since_nanos: self.clock.now_nanos(),
            limiter: self.limiter_key(&request.key).into(),
            wait: Wait::Line(answer),
            alarm: None,
            turn_nanos: None,
            request,
        };
        match self.ask(&mut caller, events) {
            Poll::Ready(answer) => self.answer(caller.request, None, answer, events),
            Poll::Pending => self.note_waiting(caller),
        }
    }

    /// Asks again for the request with the number `n`, if it still waits.
    pub(in super::super) fn look(&mut self, n: u64, events: &mut EventQueue) {
        let Some(mut caller) = self.callers.remove(&n) else { return };
        match self.ask(&mut caller, events) {
            Poll::Ready(answer) => {
                events.remove(caller.alarm);
                let Caller { request, since_nanos, .. } = caller;
                self.answer(request, Some(since_nanos), answer, events);
            }
            Poll::Pending => _ = self.callers.insert(n, caller),
        }
        self.note_woken(events);
    }

    pub(super) fn note_waiting(&mut self, caller: Caller) {
        let Request { n, ref key, cost, .. } = caller.request;
        self.decisions.push(Decision {
            n,
            at: units::seconds(self.clock.now_nanos()),
            key: key.to_string(),
            cost,
            outcome: Outcome::Waiting,
            waited: None,
            remaining: None,
            retry_after: None,
            reset_after: None,
            reason: None,
            borrowed: false,
            which: None,
        });
        self.callers.insert(n, caller);
    }

    fn ask(&self, caller: &mut Caller, events: &mut EventQueue) -> Poll<LineAnswer> {
        let Wait::Line(answer) = &mut caller.wait else { return Poll::Pending };
        let n = caller.request.n;
        let polled = answer.as_mut().poll(&mut Context::from_waker(&self.woken.waker(n)));
        // It sleeps anew, or as it did.
        if let Some(until_nanos) = self.timer.take_asked() {
            events.remove(caller.alarm.take());
            // The end of the clock is never.
            if until_nanos < u64::MAX && polled.is_pending() {
                let event = Event::Look { side: self.place, n };
                caller.alarm = Some(events.add(until_nanos, event));
            }
            // A request for permits in flight sleeps until it gives up: nobody knows its turn.
            let is_turn = !self.terms.terms.holds() && until_nanos < u64::MAX;
            caller.turn_nanos = is_turn.then_some(until_nanos);
        }
        polled
    }

    fn answer(
        &mut self,
        request: Request,
        since_nanos: Option<u64>,
        answer: LineAnswer,
        events: &mut EventQueue,
    ) {
        match answer {
            LineAnswer::Rate(answer) => self.conclude(&request, since_nanos, answer.into()),
            LineAnswer::InFlight(Ok(guard)) => self.hold(request, since_nanos, guard, events),
            LineAnswer::InFlight(Err(error)) => self.conclude(&request, since_nanos, error.into()),
        }
    }
}
