//! A circuit breaker: after failures, the server is left alone for a pause, and then asked by a few requests first.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest pause, 100 years. An [`Instant`] has no later end.
const MAX_PAUSE: Duration = Duration::from_secs(36_525 * 86_400);

/// Answers after a pause until all requests may be sent.
const RAMP: u32 = 32;

/// The state of the circuit breaker of a [`Guarded`](super::Guarded) server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// All requests are sent.
    Closed,
    /// None are sent: the server has failed, and the pause is not over.
    Open,
    /// Few are sent, to see whether the server answers again.
    HalfOpen,
}

/// Lets requests pass, or not, by what became of the ones before.
///
/// | state | a request may be sent | an answer | a failure |
/// |---|---|---|---|
/// | closed | yes | the failures in a row are forgotten | the last that is tolerated opens it |
/// | open | no; the first one after the pause makes it half open | came too late: ignored | ignored |
/// | half open | two for each answer since the pause; without answers, one after each further pause | the last of the ramp closes it | opens it |
///
/// A connection that has ended while nobody used it is no failure of the server, and is replaced: so one such failure in a row
/// is tolerated in any case.
#[derive(Debug)]
pub(super) struct Breaker {
    pause: Duration,
    /// Failures in a row that open it, at least 1.
    failures: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { answers: u32, may_send: u32, until: Instant },
}

impl Breaker {
    pub(super) fn new(pause: Duration, failures: u32) -> Breaker {
        let (pause, failures) = (pause.min(MAX_PAUSE), failures.max(1));
        Breaker { pause, failures, state: Mutex::new(State::Closed { failures: 0 }) }
    }

    pub(super) fn pause(&self) -> Duration {
        self.pause
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) fn state(&self) -> BreakerState {
        match *self.lock() {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Returns whether a request may be sent.
    pub(super) fn may_ask(&self, now: Instant) -> bool {
        let mut state = self.lock();
        match &mut *state {
            State::Closed { .. } => true,
            State::Open { until } if now < *until => false,
            State::Open { .. } => {
                let until = self.end_of_pause(now);
                *state = State::HalfOpen { answers: 0, may_send: 0, until };
                true
            }
            State::HalfOpen { may_send: may_send @ 1.., .. } => {
                *may_send -= 1;
                true
            }
            // The request that was sent last may have been given up by its caller.
            State::HalfOpen { until, .. } => {
                let is_over = now >= *until;
                if is_over {
                    *until = self.end_of_pause(now);
                }
                is_over
            }
        }
    }

    /// Notes a failure, of which the connection's end may be all. Returns whether it has opened the breaker, and then
    /// whether the server had answered before.
    pub(super) fn failed(&self, now: Instant, is_end: bool) -> Option<bool> {
        let mut state = self.lock();
        let had_answered = match &mut *state {
            State::Closed { failures }
                if *failures + 1 < self.failures.max(1 + u32::from(is_end)) =>
            {
                *failures += 1;
                return None;
            }
            State::Closed { .. } => true,
            State::HalfOpen { answers, .. } => *answers > 0,
            State::Open { .. } => return None,
        };
        *state = State::Open { until: self.end_of_pause(now) };
        Some(had_answered)
    }

    /// Notes an answer. Returns whether it is the first one after a pause.
    pub(super) fn answered(&self) -> bool {
        let mut state = self.lock();
        match &mut *state {
            State::Closed { failures } => *failures = 0,
            State::HalfOpen { answers, .. } if *answers + 1 >= RAMP => {
                *state = State::Closed { failures: 0 };
            }
            State::HalfOpen { answers, may_send, .. } => {
                *answers += 1;
                *may_send += 2;
                return *answers == 1;
            }
            State::Open { .. } => {}
        }
        false
    }

    /// Returns whether the last that was heard of the server is an answer.
    pub(super) fn is_answering(&self) -> bool {
        match *self.lock() {
            State::Closed { .. } => true,
            State::Open { .. } => false,
            State::HalfOpen { answers, .. } => answers > 0,
        }
    }

    fn end_of_pause(&self, now: Instant) -> Instant {
        // A pause is short enough, unless the computer has been on for billions of years.
        now.checked_add(self.pause).unwrap_or(now)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No panic could leave a state half written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn asked<const N: usize>(breaker: &Breaker, begin: Instant, millis: [u64; N]) -> [bool; N] {
        millis.map(|millis| breaker.may_ask(begin + Duration::from_millis(millis)))
    }

    #[test]
    fn one_request_after_each_pause_asks_until_one_is_answered() {
        let (breaker, begin) = (Breaker::new(SECOND, 1), Instant::now());
        assert!(breaker.may_ask(begin) && breaker.may_ask(begin));
        assert_eq!(breaker.failed(begin, false), Some(true));
        assert_eq!(breaker.state(), BreakerState::Open);
        let millis = [0, 999, 1_000, 1_001, 1_999, 2_000, 2_001];
        assert_eq!(asked(&breaker, begin, millis), [false, false, true, false, false, true, false]);
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        assert_eq!(breaker.failed(begin + SECOND * 2, false), Some(false));
        assert_eq!(asked(&breaker, begin, [2_999, 3_000, 3_001]), [false, true, false]);
    }

    #[test]
    fn each_answer_after_a_pause_lets_two_requests_pass_until_there_are_enough() {
        let (breaker, begin) = (Breaker::new(SECOND, 1), Instant::now());
        breaker.failed(begin, false);
        // An answer that comes late, of a request that was sent before.
        breaker.answered();
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(asked(&breaker, begin, [1_000, 1_000]), [true, false]);
        let mut sent = 1;
        for answer in 1..RAMP {
            assert!(!breaker.is_answering() || answer > 1);
            assert_eq!(breaker.answered(), answer == 1, "told once");
            assert!(breaker.is_answering());
            let more = (0..10).filter(|_| breaker.may_ask(begin + SECOND)).count();
            assert_eq!(more, 2, "after {answer} answers");
            sent += more as u32;
        }
        assert_eq!((breaker.state(), sent), (BreakerState::HalfOpen, 2 * RAMP - 1));
        assert!(!breaker.answered());
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert!((0..1_000).all(|_| breaker.may_ask(begin + SECOND)));
    }

    #[test]
    fn failures_that_are_tolerated_are_those_in_a_row() {
        let (breaker, begin) = (Breaker::new(SECOND, 3), Instant::now());
        for _ in 0..5 {
            assert_eq!([(); 2].map(|()| breaker.failed(begin, false)), [None; 2]);
            breaker.answered();
        }
        let failed = [(); 4].map(|()| breaker.failed(begin, false));
        // The last one finds it open.
        assert_eq!(failed, [None, None, Some(true), None]);
        assert!(!breaker.may_ask(begin));
    }

    #[test]
    fn a_connection_that_has_ended_is_tolerated_once_in_a_row() {
        let (breaker, begin) = (Breaker::new(SECOND, 1), Instant::now());
        for _ in 0..3 {
            assert_eq!(breaker.failed(begin, true), None);
            breaker.answered();
        }
        assert_eq!([(); 2].map(|()| breaker.failed(begin, true)), [None, Some(true)]);
        let breaker = Breaker::new(SECOND, 1);
        assert_eq!([true, false].map(|is_end| breaker.failed(begin, is_end)), [None, Some(true)]);
    }

    #[test]
    fn each_outage_is_told_also_within_the_ramp() {
        let (breaker, begin) = (Breaker::new(SECOND, 1), Instant::now());
        assert_eq!(breaker.failed(begin, false), Some(true));
        assert!(breaker.may_ask(begin + SECOND) && breaker.answered() && breaker.is_answering());
        assert_eq!(breaker.failed(begin + SECOND, false), Some(true));
        assert!(breaker.may_ask(begin + 2 * SECOND) && !breaker.is_answering());
        assert_eq!(breaker.failed(begin + 2 * SECOND, false), Some(false));
    }

    #[test]
    fn a_pause_that_never_ends_and_one_of_no_time_do_not_panic() {
        let now = Instant::now();
        for (pause, may_ask) in [(Duration::ZERO, true), (Duration::MAX, false)] {
            let breaker = Breaker::new(pause, 0);
            breaker.failed(now, false);
            assert_eq!([breaker.may_ask(now), breaker.may_ask(now)], [may_ask; 2]);
        }
    }
}
