//! Crowds of 5 to 20 callers, of whom some wait in line, and others reserve permits behind them and use
//! them at their instants, or cancel. In every run: all come to an end; by no instant more is used than
//! was earned; and the line is empty in the end, with its gate open.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::SmallRng;
use sluicegate::wait::{Reserve as _, Waiting};
use sluicegate::{Clock as _, Quota, TokenBucket, Wait as _, quota};
use sluicegate_shuttle_tests::thread;
use sluicegate_shuttle_tests::{Alarms, SimulatedTime, check, intents, look};

const BURST: u64 = 4;
const QUOTA: Quota = quota!(1 / second, burst 4, max_debt 60);
const SECOND: u64 = 1_000_000_000;

/// A caller's intention.
#[derive(Clone, Copy, Debug)]
enum Intent {
    /// Waits for as long as it takes.
    Wait(u64),
    /// Gives up after so many looks.
    GiveUp(u64, u32),
    /// Reserves, and keeps it.
    Reserve(u64),
    /// Reserves, and cancels after so many others had their turns.
    Cancel(u64, u32),
    /// Tries.
    Try(u64),
}

impl Intent {
    fn of_crowd(random: &mut SmallRng) -> Intent {
        let permits = random.random_range(1..=BURST);
        match random.random_range(0..10) {
            0..3 => Intent::Wait(permits),
            3..5 => Intent::GiveUp(permits, random.random_range(0..6)),
            5..7 => Intent::Reserve(permits),
            7..9 => Intent::Cancel(permits, random.random_range(0..4)),
            _ => Intent::Try(permits),
        }
    }
}

struct Crowd {
    bucket: TokenBucket<Arc<SimulatedTime>>,
    time: Arc<SimulatedTime>,
    intents: Vec<Intent>,
}

/// An instant, and the permits that are used then.
type Used = (u64, u64);

impl Crowd {
    fn new(intents: Vec<Intent>) -> Arc<Crowd> {
        let time = Arc::new(SimulatedTime::new(intents.len()));
        let bucket = TokenBucket::with_clock(QUOTA, Arc::clone(&time));
        Arc::new(Crowd { bucket, time, intents })
    }

    /// Lets all act at the same time. Returns what they use, in order.
    fn act(self: &Arc<Crowd>) -> Vec<Used> {
        let time = Arc::clone(&self.time);
        let time = thread::spawn(move || time.pass());
        let callers: Vec<_> = (0..self.intents.len())
            .map(|caller| {
                let crowd = Arc::clone(self);
                thread::spawn(move || {
                    let used = crowd.carry_out(crowd.intents[caller]);
                    crowd.time.leave();
                    used
                })
            })
            .collect();
        let used = callers.into_iter().map(|caller| caller.join().unwrap());
        let mut used: Vec<Used> = used.filter(|used| used.1 > 0).collect();
        time.join().unwrap();
        used.sort_unstable();
        used
    }

    fn carry_out(&self, intent: Intent) -> Used {
        match intent {
            Intent::Wait(permits) => self.wait(self.bucket.acquire(permits), u32::MAX),
            Intent::GiveUp(permits, looks) => self.wait(self.bucket.acquire(permits), looks),
            Intent::Try(permits) => {
                thread::yield_now();
                let granted = self.bucket.try_acquire(permits);
                (self.time.now_nanos(), granted.map_or(0, |grant| grant.permits()))
            }
            Intent::Reserve(permits) => {
                let reservation = self.bucket.reserve(permits).unwrap();
                (reservation.at_nanos(), permits)
            }
            Intent::Cancel(permits, after) => {
                let reservation = self.bucket.reserve(permits).unwrap();
                let at_nanos = reservation.at_nanos();
                (0..after).for_each(|_| thread::yield_now());
                (at_nanos, if reservation.cancel() { 0 } else { permits })
            }
        }
    }

    /// Waits for the permits, for no more than so many looks.
    fn wait(&self, waiting: Waiting<'_>, looks: u32) -> Used {
        let mut waiting = Box::pin(waiting.timer(Alarms(&self.time)));
        for _ in 0..looks {
            if let Poll::Ready(answer) = look(waiting.as_mut()) {
                return (self.time.now_nanos(), answer.unwrap().permits());
            }
            if looks == u32::MAX {
                thread::park();
            } else {
                thread::yield_now();
            }
        }
        (0, 0)
    }
}

#[test]
fn by_no_instant_a_crowd_has_used_more_than_was_earned() {
    check(|| {
        let crowd = Crowd::new(intents(&[], Intent::of_crowd));
        let used = crowd.act();
        let mut sum = 0;
        for &(at_nanos, permits) in &used {
            sum += permits;
            // A reservation counts up to a nanosecond before its instant.
            let earned = (at_nanos + 1_000) / SECOND;
            assert!(sum <= BURST + earned, "{sum} by {at_nanos}: {used:?}, {:?}", crowd.intents);
        }
        assert_eq!(crowd.bucket.line().waiters(), 0);
        crowd.time.advance(Duration::from_secs(100));
        assert!(crowd.bucket.try_acquire(BURST).is_ok(), "the gate is closed for ever");
    });
}
