//! A pause after a failure, in which the server is left alone.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest pause, 100 years. An [`Instant`] has no later end.
const MAX_PAUSE: Duration = Duration::from_secs(36_525 * 86_400);

/// Lets all requests pass until one fails; then, one after each pause, until one is answered.
#[derive(Debug)]
pub(super) struct Breaker {
    pause: Duration,
    /// The end of the pause, if the last request failed.
    until: Mutex<Option<Instant>>,
}

impl Breaker {
    pub(super) fn new(pause: Duration) -> Breaker {
        Breaker { pause: pause.min(MAX_PAUSE), until: Mutex::new(None) }
    }

    /// Returns whether a request may be sent. The first after a pause begins the next one, so that others do
    /// not ask beside it.
    pub(super) fn may_ask(&self, now: Instant) -> bool {
        // Holds no data that a panic could leave half written.
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        match *until {
            Some(end) if now < end => false,
            Some(_) => {
                *until = now.checked_add(self.pause);
                true
            }
            None => true,
        }
    }

    /// Begins a pause.
    pub(super) fn failed(&self, now: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = now.checked_add(self.pause);
    }

    /// Ends the pauses.
    pub(super) fn answered(&self) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_after_each_pause_asks_until_one_is_answered() {
        let second = Duration::from_secs(1);
        let (breaker, begin) = (Breaker::new(second), Instant::now());
        assert!(breaker.may_ask(begin) && breaker.may_ask(begin));
        breaker.failed(begin);
        let asked = [0, 999, 1_000, 1_001, 1_999, 2_000, 2_001]
            .map(|millis| breaker.may_ask(begin + Duration::from_millis(millis)));
        assert_eq!(asked, [false, false, true, false, false, true, false]);
        breaker.answered();
        assert!(breaker.may_ask(begin + second * 2) && breaker.may_ask(begin + second * 2));
    }

    #[test]
    fn a_pause_that_never_ends_and_one_of_no_time_do_not_panic() {
        let now = Instant::now();
        for (pause, may_ask) in [(Duration::ZERO, true), (Duration::MAX, false)] {
            let breaker = Breaker::new(pause);
            breaker.failed(now);
            assert_eq!([breaker.may_ask(now), breaker.may_ask(now)], [may_ask; 2]);
        }
    }
}
