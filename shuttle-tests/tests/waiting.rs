//! Crowds of 5 to 20 callers, most of whom wait in line. In every run: all come to an end, whatever
//! becomes of the others; they are served in the order in which they came; no more is granted than
//! was earned; and the line is empty in the end, with its gate open.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::SmallRng;
use sluicegate::bucket::Carry;
use sluicegate::wait::{AcquireError, LineLimits, Waiting, WhenLineFull};
use sluicegate::{Clock as _, Grant, Quota, TokenBucket, Wait as _, quota};
use sluicegate_shuttle_tests::sync::Mutex;
use sluicegate_shuttle_tests::thread;
use sluicegate_shuttle_tests::{Alarms, SimulatedTime, check, intents, look, random};

const BURST: u64 = 4;
const QUOTA: Quota = quota!(1 / second, burst 4);
const OTHER: Quota = quota!(3 / second, burst 2);
/// So slow that nobody is woken by the time.
const SLOW: Quota = quota!(1 / day, burst 4);

type Bucket = TokenBucket<Arc<SimulatedTime>>;

/// A caller's intention.
#[derive(Clone, Copy, Debug)]
enum Intent {
    /// Waits for as long as it takes.
    Wait(u64),
    /// Waits for so many seconds at most.
    WaitFor(u64, u64),
    /// Gives up after so many looks.
    GiveUp(u64, u32),
    /// Tries, so many times.
    Try(u64, u32),
    /// Changes the quota.
    Change(Quota),
    /// Closes the line.
    Close,
}

impl Intent {
    fn of_crowd(random: &mut SmallRng) -> Intent {
        let permits = random.random_range(1..=BURST);
        match random.random_range(0..10) {
            0..4 => Intent::Wait(permits),
            4..6 => Intent::WaitFor(permits, random.random_range(0..20)),
            6..8 => Intent::GiveUp(permits, random.random_range(0..6)),
            _ => Intent::Try(permits, random.random_range(1..4)),
        }
    }
}

/// The callers that stand in line, in the order in which they came.
#[derive(Default)]
struct Arrivals(Mutex<Vec<usize>>);

struct Crowd {
    bucket: Bucket,
    time: Arc<SimulatedTime>,
    arrivals: Arrivals,
    intents: Vec<Intent>,
}

impl Crowd {
    fn new(quota: Quota, intents: Vec<Intent>) -> Arc<Crowd> {
        let time = Arc::new(SimulatedTime::new(intents.len()));
        let bucket = TokenBucket::with_clock(quota, Arc::clone(&time));
        Arc::new(Crowd { bucket, time, arrivals: Arrivals::default(), intents })
    }

    /// Lets all act at the same time. Returns the permits that they got.
    fn act(self: &Arc<Crowd>) -> u64 {
        let time = Arc::clone(&self.time);
        let time = thread::spawn(move || time.pass());
        let callers: Vec<_> = (0..self.intents.len())
            .map(|caller| {
                let crowd = Arc::clone(self);
                thread::spawn(move || {
                    let granted = crowd.carry_out(caller);
                    crowd.time.leave();
                    granted
                })
            })
            .collect();
        let granted = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
        time.join().unwrap();
        granted
    }

    fn carry_out(&self, caller: usize) -> u64 {
        match self.intents[caller] {
            Intent::Wait(permits) => self.wait(caller, self.bucket.acquire(permits), u32::MAX),
            Intent::WaitFor(permits, seconds) => {
                let longest = Duration::from_secs(seconds);
                self.wait(caller, self.bucket.acquire(permits).timeout(longest), u32::MAX)
            }
            Intent::GiveUp(permits, looks) => {
                self.wait(caller, self.bucket.acquire(permits), looks)
            }
            Intent::Try(permits, times) => (0..times)
                .map(|_| {
                    thread::yield_now();
                    self.bucket.try_acquire(permits).map_or(0, |grant| grant.permits())
                })
                .sum(),
            Intent::Change(quota) => {
                thread::yield_now();
                self.bucket.reconfigure(quota, Carry::Keep);
                0
            }
            Intent::Close => {
                thread::yield_now();
                self.bucket.line().close();
                0
            }
        }
    }

    /// Waits for the permits, for no more than so many looks. Returns the permits that it got.
    fn wait(&self, caller: usize, waiting: Waiting<'_>, looks: u32) -> u64 {
        let mut waiting = Box::pin(waiting.timer(Alarms(&self.time)));
        let mut arrivals = self.arrivals.0.lock().unwrap();
        let mut answer = look(waiting.as_mut());
        arrivals.push(caller);
        drop(arrivals);
        for _ in 0..looks {
            if let Poll::Ready(answer) = answer {
                return self.told(caller, answer);
            }
            if looks == u32::MAX {
                thread::park();
            } else {
                thread::yield_now();
            }
            answer = look(waiting.as_mut());
        }
        if let Poll::Ready(answer) = answer {
            return self.told(caller, answer);
        }
        // It leaves the line before the list.
        drop(waiting);
        self.arrivals.0.lock().unwrap().retain(|arrived| *arrived != caller);
        0
    }

    /// Checks that nobody who came before stands in line any more once a caller has been granted its
    /// permits. A caller leaves the list only after it has left the line.
    fn told(&self, caller: usize, answer: Result<Grant, AcquireError>) -> u64 {
        let mut arrivals = self.arrivals.0.lock().unwrap();
        let place = arrivals.iter().position(|arrived| *arrived == caller).unwrap();
        let after_it = arrivals.len() - place - 1;
        if answer.is_ok() {
            assert!(self.bucket.line().waiters() <= after_it, "overtook a caller in line");
        }
        arrivals.remove(place);
        answer.map_or(0, |grant| grant.permits())
    }

    /// Checks that nobody is left behind, and that the gate is open again.
    fn assert_is_over(&self) {
        assert_eq!(self.bucket.line().waiters(), 0);
        assert!(self.arrivals.0.lock().unwrap().is_empty());
        self.time.advance(Duration::from_secs(BURST * 86_400));
        assert!(self.bucket.try_acquire(1).is_ok(), "the gate is closed for ever");
    }
}

#[test]
fn a_crowd_is_served_in_order_and_with_no_more_than_was_earned() {
    check(|| {
        let crowd = Crowd::new(QUOTA, intents(&[], Intent::of_crowd));
        let granted = crowd.act();
        let earned = crowd.time.now_nanos() / 1_000_000_000;
        assert!(granted <= BURST + earned, "{granted} of {earned} and a burst");
        crowd.assert_is_over();
    });
}

#[test]
fn all_of_a_crowd_that_waits_are_served() {
    check(|| {
        let crowd = Crowd::new(QUOTA, intents(&[], |_| Intent::Wait(1)));
        assert_eq!(crowd.act(), crowd.intents.len() as u64);
        let needed = (crowd.intents.len() as u64).saturating_sub(BURST);
        assert!(crowd.time.now_nanos() >= needed * 1_000_000_000);
        crowd.assert_is_over();
    });
}

#[test]
fn nobody_is_left_behind_when_the_quota_changes() {
    check(|| {
        let changes = [Intent::Change(OTHER), Intent::Change(QUOTA)];
        let crowd = Crowd::new(QUOTA, intents(&changes, Intent::of_crowd));
        crowd.act();
        crowd.assert_is_over();
    });
}

#[test]
fn those_that_sleep_for_days_are_woken_when_the_quota_is_faster() {
    check(|| {
        let crowd = Crowd::new(SLOW, intents(&[Intent::Change(QUOTA)], |_| Intent::Wait(1)));
        assert_eq!(crowd.act(), crowd.intents.len() as u64 - 1);
        crowd.assert_is_over();
    });
}

#[test]
fn those_that_sleep_for_days_are_woken_when_the_line_is_closed() {
    check(|| {
        let crowd = Crowd::new(SLOW, intents(&[Intent::Close], Intent::of_crowd));
        assert!(crowd.act() <= BURST);
        assert!(crowd.bucket.line().is_closed());
        crowd.assert_is_over();
    });
}

#[test]
fn those_behind_a_caller_that_gives_up_are_woken() {
    check(|| {
        let small = [Intent::Wait(1), Intent::Wait(1)];
        let large = |random: &mut SmallRng| Intent::GiveUp(BURST, random.random_range(0..6));
        let crowd = Crowd::new(SLOW, intents(&small, large));
        assert!(crowd.bucket.try_acquire(2).is_ok());
        // Nothing is earned, and no time passes.
        assert_eq!(crowd.act(), 2);
        crowd.assert_is_over();
    });
}

#[test]
fn nobody_is_left_behind_when_the_oldest_are_evicted() {
    check(|| {
        let crowd = Crowd::new(QUOTA, intents(&[], Intent::of_crowd));
        let limits = LineLimits::new().max_waiters(random().random_range(1..=4));
        crowd.bucket.line().set_limits(limits.when_full(WhenLineFull::EvictOldest));
        crowd.act();
        crowd.assert_is_over();
    });
}
