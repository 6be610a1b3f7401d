//! A time that goes on when it is let, and wakes those that sleep.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::wait::Timer;
use sluicegate::{Clock, ManualClock};

use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::thread;

const HOUR: Duration = Duration::from_secs(3_600);

/// A clock and a timer. Its time goes from one alarm to the next, whether anybody is ready or not:
/// so those that are woken may be as late as the scheduler wants. Alarms in more than an hour never
/// ring: whoever sleeps for as long has to be woken by another.
#[derive(Debug)]
pub struct SimulatedTime {
    clock: ManualClock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Those that sleep, by the instant and the number of their alarm.
    alarms: BTreeMap<(u64, u64), Waker>,
    numbers: u64,
    /// Callers that may still need the time.
    callers: usize,
}

impl SimulatedTime {
    /// Time for that many callers.
    #[must_use]
    pub fn new(callers: usize) -> SimulatedTime {
        let state = State { alarms: BTreeMap::new(), numbers: 0, callers };
        SimulatedTime {
            clock: ManualClock::new(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Lets the time go on until all callers have left.
    ///
    /// # Panics
    ///
    /// If a caller has.
    pub fn pass(&self) {
        let mut state = self.lock();
        while state.callers > 0 {
            let Some(((at_nanos, _), waker)) = state.alarms.pop_first() else {
                state = self.changed.wait(state).expect("no caller panics");
                continue;
            };
            drop(state);
            self.clock.set_nanos(at_nanos.max(self.clock.now_nanos()));
            waker.wake();
            thread::yield_now();
            state = self.lock();
        }
    }

    /// Lets some time pass while nobody sleeps.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// A caller needs the time no longer.
    pub fn leave(&self) {
        self.lock().callers -= 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics under the lock")
    }
}

impl Clock for SimulatedTime {
    fn now_nanos(&self) -> u64 {
        self.clock.now_nanos()
    }
}

/// The timer of a simulated time.
#[derive(Clone, Copy, Debug)]
pub struct Alarms<'a>(pub &'a SimulatedTime);

impl<'a> Timer for Alarms<'a> {
    type Sleep = Alarm<'a>;

    fn sleep(&self, duration: Duration) -> Alarm<'a> {
        let in_an_hour = duration <= HOUR;
        let at_nanos = in_an_hour.then(|| self.0.now_nanos() + duration.as_nanos() as u64);
        Alarm { time: self.0, at_nanos, number: None }
    }
}

/// A sleep by a simulated time.
#[derive(Debug)]
pub struct Alarm<'a> {
    time: &'a SimulatedTime,
    /// `None` if it never rings.
    at_nanos: Option<u64>,
    number: Option<u64>,
}

impl Future for Alarm<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(at_nanos) = self.at_nanos else { return Poll::Pending };
        if self.time.now_nanos() >= at_nanos {
            return Poll::Ready(());
        }
        let mut state = self.time.lock();
        let number = *self.number.get_or_insert_with(|| {
            state.numbers += 1;
            state.numbers
        });
        state.alarms.insert((at_nanos, number), context.waker().clone());
        drop(state);
        self.time.changed.notify_all();
        Poll::Pending
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if let Some(alarm) = self.at_nanos.zip(self.number) {
            self.time.lock().alarms.remove(&alarm);
        }
    }
}
