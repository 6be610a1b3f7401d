//! One caller and its place in line, from its first request to its grant.

use alloc::boxed::Box;
use core::task::Waker;
use core::time::Duration;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::units;

use super::charged::Charged;
use super::error::AcquireError;
use super::jitter::Jitter;
use super::line;
use super::line::LineAnswer;
use super::order::Outcome;
use super::place::Place;
use super::turn::TakesTurns;
use super::way_to_line::{Answered, HasLine};

/// A caller that wants permits. Leaves the line when it is dropped.
pub(crate) struct LineRequest<H: HasLine> {
    limiter: H,
    permits: u64,
    /// `u64::MAX` for none. The deadline that it comes to is noted in the line.
    timeout_nanos: u64,
    /// The instant at which it began to wait, if somebody counts; `u64::MAX` for none.
    since_nanos: u64,
    /// Its place, while it stands in line.
    place: Option<Place>,
    /// The line that the place and the charge are of.
    home: H::Home,
    /// In a box, as few callers have one.
    delay: Option<Box<Delay>>,
}

/// The jitter of a caller.
struct Delay {
    /// `None` if its next grants are told without a delay.
    jitter: Option<Jitter>,
    held: Option<Held>,
}

/// A grant that its caller is to be told of later.
#[derive(Clone, Copy)]
struct Held {
    grant: Grant,
    charged: Charged,
    from_nanos: u64,
    delay_nanos: u64,
}

/// The answer to a caller: a result, or the time to sleep before it asks again, unless it is woken.
pub(crate) enum Asked<G = Grant> {
    Told(Result<G, AcquireError>),
    Sleep(Duration),
}

impl<H: HasLine> LineRequest<H> {
    pub(crate) fn new(limiter: H, permits: u64) -> LineRequest<H> {
        LineRequest {
            limiter,
            permits,
            timeout_nanos: u64::MAX,
            since_nanos: u64::MAX,
            place: None,
            home: H::Home::default(),
            delay: None,
        }
    }

    /// Lets the caller wait for no longer than `timeout`, counted from its first request.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout_nanos = units::nanos(timeout).min(u64::MAX - 1);
    }

    /// Tells the caller of a grant that it had to wait for only after a further delay, if any.
    pub(crate) fn set_jitter(&mut self, jitter: Option<Jitter>) {
        match &mut self.delay {
            Some(delay) => delay.jitter = jitter,
            None if jitter.is_some() => self.delay = Some(Box::new(Delay { jitter, held: None })),
            None => {}
        }
    }

    /// Returns the limiter that it asks.
    pub(crate) fn limiter(&self) -> &(dyn TakesTurns + Sync) {
        self.limiter.limiter()
    }

    pub(crate) fn handle(&self) -> &H {
        &self.limiter
    }

    /// Makes it ask for `permits` from now on. One that stands in line leaves it.
    pub(crate) fn restart(&mut self, permits: u64) {
        self.give_up();
        self.since_nanos = u64::MAX;
        self.permits = permits;
    }

    pub(crate) fn permits(&self) -> u64 {
        self.permits
    }

    /// Asks for the permits, and stands in line if need be. `waker` is called when there is an
    /// answer, or when the caller would sleep for too long. A caller that was told its answer asks
    /// anew.
    pub(crate) fn ask(&mut self, waker: &Waker) -> Asked {
        // Before it is told anything: the clock may panic.
        let waited = self.waited();
        let asked = if let Some(Held { grant, charged, .. }) = self.held() {
            self.tell_in_time(grant, charged)
        } else {
            let has_waited = self.place.is_some();
            let standing = self.stand_or_ask(waker);
            self.told(&standing, has_waited)
        };
        self.noted(asked, waited)
    }

    /// Returns the time for which it has waited, if it has and somebody counts.
    fn waited(&self) -> Option<Duration> {
        let since_nanos = Some(self.since_nanos).filter(|since_nanos| *since_nanos < u64::MAX)?;
        let now_nanos = self.limiter.limiter().now_nanos();
        Some(Duration::from_nanos(now_nanos.saturating_sub(since_nanos)))
    }

    /// Notes an answer, or, if it is none, that the caller waits.
    fn noted(&mut self, asked: Asked, waited: Option<Duration>) -> Asked {
        match &asked {
            Asked::Told(answer) => {
                self.since_nanos = u64::MAX;
                self.limiter.note(Answered { permits: self.permits, answer, waited });
            }
            Asked::Sleep(_) if waited.is_none() && self.limiter.is_counted() => {
                self.since_nanos = self.limiter.limiter().now_nanos();
            }
            Asked::Sleep(_) => {}
        }
        asked
    }

    /// Refuses a caller whose deadline had passed before it asked.
    pub(crate) fn refuse_in_time(&self) -> Result<Grant, AcquireError> {
        let answer = Err(AcquireError::TimedOut { retry_after: Duration::ZERO });
        self.limiter.note(Answered { permits: self.permits, answer: &answer, waited: None });
        answer
    }

    /// Stands in line without asking before, for a caller that has been denied its permits already.
    pub(crate) fn stand(&mut self, waker: &Waker) -> Asked {
        let standing = self.go_and_stand(waker);
        let asked = self.told(&standing, false);
        self.noted(asked, None)
    }

    fn told(
        &mut self,
        standing: &Result<LineAnswer, Result<Grant, AcquireError>>,
        has_waited: bool,
    ) -> Asked {
        match *standing {
            Ok(LineAnswer::Waiting { wait }) => Asked::Sleep(wait),
            Ok(LineAnswer::Told(Outcome::Granted { grant, charged, deadline_nanos })) => {
                if has_waited {
                    self.hold(grant, charged, deadline_nanos);
                }
                self.tell_in_time(grant, charged)
            }
            Ok(LineAnswer::Told(Outcome::Refused(error))) => Asked::Told(Err(error)),
            Err(answer) => Asked::Told(answer),
        }
    }

    fn stand_or_ask(&mut self, waker: &Waker) -> Result<LineAnswer, Result<Grant, AcquireError>> {
        let limiter = self.limiter.limiter();
        if self.place.is_some() {
            if self.is_at_home(limiter) {
                return Ok(line::ask(limiter, &mut self.place, false, waker.clone()));
            }
            // It would be somebody else's place in this line, or none.
            self.place = None;
        }
        if self.permits == 0 || !limiter.is_gated() {
            match limiter.try_now(self.permits) {
                Ok(grant) => return Err(Ok(grant)),
                Err(Denied::TooLarge { .. }) => {
                    // Perhaps only too large for today.
                    let limit = limiter.limit();
                    if self.permits > limit {
                        return Err(Err(AcquireError::TooLarge { limit }));
                    }
                }
                Err(_) => {}
            }
        }
        self.go_and_stand(waker)
    }

    fn go_and_stand(&mut self, waker: &Waker) -> Result<LineAnswer, Result<Grant, AcquireError>> {
        let limiter = self.limiter.limiter();
        let deadline_nanos = match self.timeout_nanos {
            u64::MAX => None,
            timeout_nanos => {
                let now_nanos = limiter.now_nanos();
                // The last instant of the clock would mean no deadline, if it is to come.
                let latest_nanos = now_nanos.max(u64::MAX - 1);
                Some(now_nanos.saturating_add(timeout_nanos).min(latest_nanos))
            }
        };
        limiter.expect_caller();
        self.home = self.limiter.home(limiter);
        line::stand(limiter, self.permits, &mut self.place, deadline_nanos, waker.clone())
            .map_err(Err)
    }

    /// Delays the moment at which the caller is told of its grant, but not beyond its deadline.
    fn hold(&mut self, grant: Grant, charged: Charged, deadline_nanos: u64) {
        let Some(delay) = &mut self.delay else { return };
        let Some(jitter) = delay.jitter else { return };
        // The grant is noted first, as the clock may panic.
        let held = delay.held.insert(Held { grant, charged, from_nanos: 0, delay_nanos: 0 });
        let now_nanos = self.limiter.limiter().now_nanos();
        held.from_nanos = now_nanos;
        held.delay_nanos = jitter.nanos().min(deadline_nanos.saturating_sub(now_nanos));
    }

    fn held(&self) -> Option<Held> {
        self.delay.as_ref()?.held
    }

    /// Tells the caller of its grant, if its delay is over.
    fn tell_in_time(&mut self, grant: Grant, charged: Charged) -> Asked {
        if let Some(left) = self.delay_left() {
            return Asked::Sleep(left);
        }
        if let Some(delay) = &mut self.delay {
            delay.held = None;
        }
        self.limiter.granted(charged);
        Asked::Told(Ok(grant))
    }

    /// Leaves the line, and gives back a grant that the caller was not told of, if it can.
    fn give_up(&mut self) {
        let place = self.place.take();
        let held = self.delay.as_mut().and_then(|delay| delay.held.take());
        if place.is_none() && held.is_none() {
            return;
        }
        let limiter = self.limiter.limiter();
        if !self.is_at_home(limiter) {
            return;
        }
        if let Some(place) = place {
            line::leave(limiter, place);
        }
        if let Some(Held { grant, charged, .. }) = held {
            line::take_back(limiter, grant, charged);
        }
    }

    /// Returns whether `limiter` has the line that the caller stands in, or was granted its permits in.
    fn is_at_home(&self, limiter: &dyn TakesTurns) -> bool {
        self.home == self.limiter.home(limiter)
    }

    /// Returns the time until the caller is to be told of its grant. A clock that has gone back ends
    /// the delay.
    fn delay_left(&self) -> Option<Duration> {
        let Held { from_nanos, delay_nanos, .. } = self.held()?;
        let since_nanos = self.limiter.limiter().now_nanos().checked_sub(from_nanos)?;
        let left_nanos = delay_nanos.saturating_sub(since_nanos);
        (left_nanos > 0).then(|| Duration::from_nanos(left_nanos))
    }
}

impl<H: HasLine> Drop for LineRequest<H> {
    fn drop(&mut self) {
        self.give_up();
    }
}
