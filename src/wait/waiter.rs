//! One caller and its place in line, from its first request to its grant.

use core::task::Waker;
use core::time::Duration;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::units;

use super::error::AcquireError;
use super::line;
use super::line::Standing;
use super::turn::TakesTurns;
use super::waiters::{Key, Outcome};

/// A caller that wants permits. Leaves the line when it is dropped.
pub(crate) struct Waiter<'a> {
    limiter: &'a (dyn TakesTurns + Sync),
    permits: u64,
    timeout: Option<Duration>,
    deadline_nanos: Option<u64>,
    /// Its place, while it stands in line.
    key: Option<Key>,
    answer: Option<Result<Grant, AcquireError>>,
}

/// The answer to a caller: a result, or the time to sleep before it asks again, unless it is woken.
pub(crate) enum Asked {
    Told(Result<Grant, AcquireError>),
    Sleep(Duration),
}

impl<'a> Waiter<'a> {
    pub(crate) fn new(limiter: &'a (dyn TakesTurns + Sync), permits: u64) -> Waiter<'a> {
        Waiter { limiter, permits, timeout: None, deadline_nanos: None, key: None, answer: None }
    }

    /// Lets the caller wait for no longer than `timeout`, counted from its first request.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = Some(timeout);
    }

    pub(crate) fn permits(&self) -> u64 {
        self.permits
    }

    /// Asks for the permits, and stands in line if need be. `waker` is called when there is an
    /// answer, or when the caller would sleep for too long. A caller that was told its answer is
    /// told the same again.
    pub(crate) fn ask(&mut self, waker: &Waker) -> Asked {
        if let Some(answer) = self.answer {
            return Asked::Told(answer);
        }
        let answer = match self.stand_or_ask(waker) {
            Ok(Standing::Waiting { wait }) => return Asked::Sleep(wait),
            Ok(Standing::Told(Outcome::Granted(grant, _))) => Ok(grant),
            Ok(Standing::Told(Outcome::Refused(error))) => Err(error),
            Err(answer) => answer,
        };
        self.answer = Some(answer);
        Asked::Told(answer)
    }

    fn stand_or_ask(&mut self, waker: &Waker) -> Result<Standing, Result<Grant, AcquireError>> {
        if self.key.is_some() {
            return Ok(line::ask(self.limiter, &mut self.key, self.deadline_nanos, waker.clone()));
        }
        let limiter = self.limiter;
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
        let after = |timeout| limiter.now_nanos().saturating_add(units::nanos(timeout));
        self.deadline_nanos = self.timeout.map(after);
        line::stand(limiter, self.permits, &mut self.key, self.deadline_nanos, waker.clone())
            .map_err(Err)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            line::leave(self.limiter, key);
        }
    }
}
