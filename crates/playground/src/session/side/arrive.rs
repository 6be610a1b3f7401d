//! Requests that come to a side.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::wait::AcquireError;
use sluicegate::{Clock, ConfigError};
use sluicegate_flow::concurrency::InFlight;
use sluicegate_flow::shaper::ShaperError;

use super::super::answer::Answer;
use super::super::events::{Event, EventQueue};
use super::line::{Caller, LineAnswer, Wait};
use super::{Held, Request, Side};
use crate::algorithm::AnyLimiter;
use crate::bounds;

impl Side {
    /// Decides a request, or lets it wait.
    pub(in super::super) fn arrive(&mut self, request: Request, events: &mut EventQueue) {
        let limiter = match self.limiter(&request.key) {
            Ok(limiter) => limiter,
            Err(error) => {
                return self.conclude(&request, None, Answer::refused_because(&error, None));
            }
        };
        match (&*limiter, self.terms.wait) {
            (AnyLimiter::Queue(_), _) => self.enter_queue(request, &limiter, events),
            (AnyLimiter::Shares(shares), _) => {
                let answer = shares.try_acquire(&request.key, request.cost);
                self.tenants.insert(Arc::clone(&request.key));
                self.conclude(&request, None, answer.into());
            }
            (AnyLimiter::InFlight(limit), None) => match limit.try_acquire_owned(request.cost) {
                Ok(guard) => self.hold(request, None, guard, events),
                Err(denied) => self.conclude(&request, None, denied.into()),
            },
            (AnyLimiter::InFlight(limit), Some(longest)) => {
                let entering = limit.acquire_owned(request.cost);
                let entering = entering.timeout(longest).timer(self.timer.clone());
                let answer = async move { LineAnswer::InFlight(entering.await) };
                self.stand_in_line(request, Box::pin(answer), events);
            }
            (AnyLimiter::Rate(limiter), None) => {
                let answer = limiter.try_acquire(request.cost);
                self.conclude(&request, None, answer.into());
            }
            (AnyLimiter::Rate(_), Some(longest)) => {
                let (limiter, cost) = (Arc::clone(&limiter), request.cost);
                let timer = self.timer.clone();
                let answer = async move {
                    LineAnswer::Rate(match &*limiter {
                        AnyLimiter::Rate(limiter) => {
                            limiter.acquire(cost).timeout(longest).timer(timer).await
                        }
                        _ => Err(AcquireError::Closed),
                    })
                };
                self.stand_in_line(request, Box::pin(answer), events);
            }
        }
        self.note_woken(events);
    }

    /// Returns the limiter for a key, which is new if the key is.
    pub(super) fn limiter(&mut self, key: &str) -> Result<Arc<AnyLimiter>, ConfigError> {
        let key = self.limiter_key(key);
        if let Some(limiter) = self.limiters.get(key) {
            return Ok(Arc::clone(limiter));
        }
        let line = if self.terms.per_key { bounds::LINE_OF_KEY } else { bounds::LINE };
        let limiter = Arc::new(self.terms.terms.limiter(&self.clock, line)?);
        self.limiters.insert(key.into(), Arc::clone(&limiter));
        Ok(limiter)
    }

    /// Holds the permits of a request that was granted, until it ends.
    pub(super) fn hold(
        &mut self,
        request: Request,
        since_nanos: Option<u64>,
        guard: InFlight<'static>,
        events: &mut EventQueue,
    ) {
        let now_nanos = self.clock.now_nanos();
        let until_nanos = now_nanos.saturating_add(request.hold_nanos);
        let limiter: Arc<str> = self.limiter_key(&request.key).into();
        let available = self.limiters.get(&limiter).and_then(|limiter| match &**limiter {
            AnyLimiter::InFlight(limit) => Some(limit.available()),
            _ => None,
        });
        self.conclude(&request, since_nanos, Answer::granted_with(available));
        let n = request.n;
        events.add(until_nanos, Event::End { side: self.place, n });
        let held = Held { request, since_nanos: now_nanos, until_nanos, limiter, _guard: guard };
        self.held.insert(n, held);
    }

    /// Takes a place in a queue, and waits until it leaves that.
    fn enter_queue(&mut self, request: Request, limiter: &AnyLimiter, events: &mut EventQueue) {
        let AnyLimiter::Queue(shaper) = limiter else { return };
        let longest = self.terms.wait.unwrap_or(Duration::MAX);
        match shaper.shape_within(request.cost, longest) {
            Ok(departure) if departure.ready_after().is_zero() => {
                self.conclude(&request, None, Answer::granted_with(None));
            }
            Ok(departure) => {
                let leaves_nanos = departure.at_nanos();
                let event = Event::End { side: self.place, n: request.n };
                let alarm = Some(events.add(leaves_nanos, event));
                let limiter = self.limiter_key(&request.key).into();
                let since_nanos = self.clock.now_nanos();
                let turn_nanos = Some(leaves_nanos);
                let wait = Wait::Queue;
                self.note_waiting(Caller {
                    request,
                    since_nanos,
                    limiter,
                    wait,
                    alarm,
                    turn_nanos,
                });
            }
            Err(error) => {
                let retry_after = match error {
                    ShaperError::Overflow { retry_after, .. } => Some(retry_after),
                    ShaperError::TooLate { wait } => Some(wait.saturating_sub(longest)),
                    _ => None,
                };
                self.conclude(&request, None, Answer::refused_because(&error, retry_after));
            }
        }
    }

    /// Lets the request with the number `n` leave a queue, if it is in one.
    pub(super) fn leave_queue(&mut self, n: u64) {
        if let Some(Caller { request, since_nanos, .. }) = self.callers.remove(&n) {
            self.conclude(&request, Some(since_nanos), Answer::granted_with(None));
        }
    }
}
