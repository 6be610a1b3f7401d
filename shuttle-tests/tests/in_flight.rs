//! Crowds of 5 to 20 callers in line for permits in flight. No clock and no timer wakes any of them:
//! each goes on by what others do. In every run: all come to an end; never is more in flight than
//! the limit; and the line is empty in the end, with its gate open.

use std::sync::Arc;
use std::task::Poll;

use rand::Rng as _;
use rand::rngs::SmallRng;
use sluicegate::wait::{LineLimits, WhenLineFull};
use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight};
use sluicegate_shuttle_tests::sync::Mutex;
use sluicegate_shuttle_tests::thread;
use sluicegate_shuttle_tests::{check, intents, look, random};

const LIMIT: u64 = 4;

/// A caller's intention.
#[derive(Clone, Copy, Debug)]
enum Intent {
    /// Waits for as long as it takes.
    Wait(u64),
    /// Gives up after so many looks.
    GiveUp(u64, u32),
    /// Tries, so many times.
    Try(u64, u32),
    /// Changes the limit.
    Change(u64),
    /// Closes the line.
    Close,
}

impl Intent {
    fn of_crowd(random: &mut SmallRng) -> Intent {
        let permits = random.random_range(1..=LIMIT);
        match random.random_range(0..10) {
            0..6 => Intent::Wait(permits),
            6..8 => Intent::GiveUp(permits, random.random_range(0..6)),
            _ => Intent::Try(permits, random.random_range(1..4)),
        }
    }
}

struct Crowd {
    limit: ConcurrencyLimit,
    /// Permits that are held, as the callers count them: never more than the limit counts. And the
    /// largest limit that may be in force.
    held: Mutex<(u64, u64)>,
    intents: Vec<Intent>,
}

impl Crowd {
    fn new(limit: u64, intents: Vec<Intent>) -> Arc<Crowd> {
        let held = Mutex::new((0, limit));
        Arc::new(Crowd { limit: ConcurrencyLimit::new(limit), held, intents })
    }

    /// Lets all act at the same time. Returns the number of those that were granted permits.
    fn act(self: &Arc<Crowd>) -> usize {
        let callers: Vec<_> = (0..self.intents.len())
            .map(|caller| {
                let crowd = Arc::clone(self);
                thread::spawn(move || crowd.carry_out(crowd.intents[caller]))
            })
            .collect();
        callers.into_iter().map(|caller| usize::from(caller.join().unwrap())).sum()
    }

    /// Returns whether the caller was granted permits.
    fn carry_out(&self, intent: Intent) -> bool {
        match intent {
            Intent::Wait(permits) => self.wait(permits, u32::MAX),
            Intent::GiveUp(permits, looks) => self.wait(permits, looks),
            Intent::Try(permits, times) => (0..times)
                .filter(|_| {
                    thread::yield_now();
                    self.limit.try_acquire(permits).map(|guard| self.hold(&guard)).is_ok()
                })
                .count()
                .gt(&0),
            Intent::Change(limit) => {
                thread::yield_now();
                self.allow(limit);
                self.limit.set_limit(limit);
                false
            }
            Intent::Close => {
                thread::yield_now();
                self.limit.line().close();
                false
            }
        }
    }

    fn wait(&self, permits: u64, looks: u32) -> bool {
        let mut entering = Box::pin(self.limit.acquire(permits));
        let mut answer = look(entering.as_mut());
        for _ in 0..looks {
            if answer.is_ready() {
                break;
            }
            if looks == u32::MAX {
                thread::park();
            } else {
                thread::yield_now();
            }
            answer = look(entering.as_mut());
        }
        match answer {
            Poll::Ready(answer) => answer.map(|guard| self.hold(&guard)).is_ok(),
            Poll::Pending => false,
        }
    }

    /// Waits for a while before the guard ends.
    fn hold(&self, guard: &InFlight<'_>) {
        self.count(|held| held + guard.permits());
        for _ in 0..guard.permits() {
            thread::yield_now();
        }
        self.count(|held| held - guard.permits());
    }

    fn count(&self, change: impl FnOnce(u64) -> u64) {
        let mut held = self.held.lock().unwrap();
        held.0 = change(held.0);
        assert!(held.0 <= held.1, "{} in flight of {}", held.0, held.1);
    }

    fn allow(&self, limit: u64) {
        let mut held = self.held.lock().unwrap();
        held.1 = held.1.max(limit);
    }

    /// Checks that nobody is left behind, and that the gate is open again.
    fn assert_is_over(&self) {
        assert_eq!((self.limit.line().waiters(), self.limit.in_flight()), (0, 0));
        assert!(self.limit.try_acquire(self.limit.limit()).is_ok(), "the gate is closed for ever");
    }
}

#[test]
fn all_of_a_crowd_that_waits_have_their_turns_by_the_ends_of_others() {
    check(|| {
        let weighs = |random: &mut SmallRng| Intent::Wait(random.random_range(1..=LIMIT));
        let crowd = Crowd::new(LIMIT, intents(&[], weighs));
        assert_eq!(crowd.act(), crowd.intents.len());
        crowd.assert_is_over();
    });
}

#[test]
fn those_that_wait_have_their_turns_beside_others_that_try_and_give_up() {
    check(|| {
        let crowd = Crowd::new(LIMIT, intents(&[], Intent::of_crowd));
        let waiting = |intent: &&Intent| matches!(intent, Intent::Wait(_));
        assert!(crowd.act() >= crowd.intents.iter().filter(waiting).count());
        crowd.assert_is_over();
    });
}

#[test]
fn nobody_is_left_behind_when_the_limit_changes() {
    check(|| {
        let changes = [Intent::Change(1), Intent::Change(LIMIT + 2)];
        let crowd = Crowd::new(LIMIT, intents(&changes, Intent::of_crowd));
        crowd.act();
        crowd.assert_is_over();
    });
}

#[test]
fn those_that_wait_while_nothing_can_end_are_woken_when_the_limit_is_raised() {
    check(|| {
        let crowd =
            Crowd::new(LIMIT + 1, intents(&[Intent::Change(LIMIT + 2)], |_| Intent::Wait(2)));
        let _held = crowd.limit.try_acquire(LIMIT).unwrap();
        assert_eq!(crowd.act(), crowd.intents.len() - 1);
        assert_eq!((crowd.limit.line().waiters(), crowd.limit.in_flight()), (0, LIMIT));
    });
}

#[test]
fn those_that_wait_while_nothing_can_end_are_woken_when_the_line_is_closed() {
    check(|| {
        let crowd = Crowd::new(LIMIT, intents(&[Intent::Close], Intent::of_crowd));
        let held = crowd.limit.try_acquire(LIMIT).unwrap();
        assert_eq!(crowd.act(), 0);
        drop(held);
        crowd.assert_is_over();
    });
}

#[test]
fn those_behind_a_caller_that_gives_up_have_their_turns() {
    check(|| {
        let small = [Intent::Wait(1), Intent::Wait(1)];
        let large = |random: &mut SmallRng| Intent::GiveUp(LIMIT, random.random_range(0..6));
        let crowd = Crowd::new(LIMIT, intents(&small, large));
        let held = crowd.limit.try_acquire(LIMIT - 1).unwrap();
        // Nobody else is granted anything.
        assert_eq!(crowd.act(), small.len());
        drop(held);
        crowd.assert_is_over();
    });
}

#[test]
fn nobody_is_left_behind_when_the_oldest_are_evicted() {
    check(|| {
        let crowd = Crowd::new(LIMIT, intents(&[], Intent::of_crowd));
        let waiters = random().random_range(1..=4);
        let limits = LineLimits::new().max_waiters(waiters);
        crowd.limit.line().set_limits(limits.when_full(WhenLineFull::EvictOldest));
        crowd.act();
        crowd.assert_is_over();
    });
}
