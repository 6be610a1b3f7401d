//! Models of callers that wait in line for a key. What is checked, over every interleaving: the line of
//! a key is there as long as somebody stands in it, though others leave it; nobody overtakes; nobody
//! sleeps for ever; and no line is left when all have gone.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};

use sluicegate::keyed::{QueuedKeys, WaitingForKey};
use sluicegate::wait::AcquireError;
use sluicegate::{Denied, FixedWindow, Grant, KeyedLimiter, Rate, rate};
use sluicegate_loom_tests::line::NoTimer;
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race, thread};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, Ordering};

type Fixed = FixedWindow<TestClock>;
type Caller<'a> = WaitingForKey<'a, u64, NoTimer>;

const ONE: Rate = rate!(1 / second);
const TWO: Rate = rate!(2 / second);
const KEY: &u64 = &7;

/// A store with one key.
struct OneKey(Fixed);

impl KeyedLimiter<u64> for OneKey {
    fn try_acquire(&self, _: &u64, permits: u64) -> Result<Grant, Denied> {
        self.0.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, _: &u64, permits: u64) -> Result<Grant, Denied> {
        self.0.try_acquire_up_to(permits)
    }

    fn try_acquire_batch_with(
        &self,
        keys: &mut dyn Iterator<Item = &u64>,
        permits: u64,
        answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
    ) {
        keys.enumerate().for_each(|(index, _)| answer(index, self.0.try_acquire(permits)));
    }

    fn peek(&self, _: &u64, permits: u64) -> Result<Grant, Denied> {
        self.0.peek(permits)
    }

    fn reset(&self, _: &u64) {
        self.0.reset();
    }

    fn remove(&self, _: &u64) -> bool {
        false
    }

    fn len(&self) -> usize {
        1
    }

    fn sweep(&self) -> usize {
        0
    }

    fn memory_bytes(&self) -> usize {
        0
    }

    fn healed(&self) -> u64 {
        self.0.healed()
    }
}

type Keys = QueuedKeys<OneKey, u64, TestClock>;

/// A key of `limit` of which `taken` are taken.
fn fresh(limit: Rate, taken: u64) -> Keys {
    TestClock::run_ahead(0);
    let window = Fixed::with_clock(limit, TestClock::new()).unwrap();
    window.try_acquire(taken).unwrap();
    Keys::with_clock(OneKey(window), TestClock::new())
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Unpark>) {
        self.0.unpark();
    }
}

fn acquire(keys: &Keys, permits: u64) -> Caller<'_> {
    keys.acquire(KEY, permits).timer(NoTimer)
}

fn poll(caller: &mut Pin<&mut Caller<'_>>) -> Poll<Result<Grant, AcquireError>> {
    let waker = Waker::from(std::sync::Arc::new(Unpark(thread::current())));
    caller.as_mut().poll(&mut Context::from_waker(&waker))
}

/// Sleeps until there is an answer.
fn wait(keys: &Keys, permits: u64) -> Result<Grant, AcquireError> {
    let mut caller = pin!(acquire(keys, permits));
    loop {
        match poll(&mut caller) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => thread::park(),
        }
    }
}

struct Overtaken {
    keys: Keys,
    stands: AtomicBool,
}

/// One waits for the only permit of the next second; another one tries to take it, once it has left
/// the line itself if it `leaves`.
fn nobody_overtakes(preemptions: usize, leaves: bool) {
    check(preemptions, move || {
        let shared = Overtaken { keys: fresh(ONE, 1), stands: AtomicBool::new(false) };
        let [waited, tried] = race(
            &Arc::new(shared),
            [(true, leaves), (false, leaves)],
            |shared, (waits, leaves)| {
                let Overtaken { keys, stands } = shared;
                if waits {
                    let mut caller = pin!(acquire(keys, 1));
                    let _in_line = poll(&mut caller);
                    stands.store(true, Ordering::Release);
                    TestClock::run_ahead(SECOND);
                    (true, matches!(poll(&mut caller), Poll::Ready(Ok(_))))
                } else {
                    if leaves {
                        let mut caller = pin!(acquire(keys, 1));
                        assert!(poll(&mut caller).is_pending());
                    }
                    let stands = stands.load(Ordering::Acquire);
                    TestClock::run_ahead(SECOND);
                    (stands, keys.try_acquire(KEY, 1).is_ok())
                }
            },
        );
        assert!(!(waited.1 && tried.1), "there is one permit");
        assert!(!(tried.0 && tried.1) || waited.1, "overtaken");
    });
}

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_key() {
    nobody_overtakes(3, false);
}

#[test]
fn a_line_of_a_key_stays_when_another_caller_leaves_it() {
    nobody_overtakes(1, true);
}

#[test]
fn the_next_in_line_for_a_key_is_granted_its_permit_when_the_first_gives_up() {
    check(2, || {
        let keys = Arc::new(fresh(TWO, 1));
        race(&keys, [2, 1], |keys, permits| {
            if permits == 1 {
                wait(keys, 1).unwrap();
            } else {
                let mut caller = pin!(acquire(keys, 2));
                assert!(poll(&mut caller).is_pending());
            }
        });
        assert_eq!((keys.store().0.count(), keys.waiters(KEY), keys.lines()), (2, 0, 0));
    });
}

#[test]
fn a_reset_of_a_key_is_seen_by_a_caller_that_comes_to_stand() {
    check(5, || {
        let keys = Arc::new(fresh(ONE, 1));
        race(&keys, [true, false], |keys, waits| {
            if waits {
                wait(keys, 1).unwrap();
            } else {
                keys.reset(KEY);
            }
        });
        assert_eq!((keys.store().0.count(), keys.waiters(KEY), keys.lines()), (1, 0, 0));
    });
}

/// The caller that comes to stand before the lines are closed is told, and the one that comes later.
#[test]
fn a_close_of_all_lines_is_told_to_a_caller_that_comes_to_stand() {
    check(ANY, || {
        let keys = Arc::new(fresh(ONE, 1));
        let answers = race(&keys, [true, false], |keys, waits| {
            if waits {
                return Some(wait(keys, 1));
            }
            keys.close_lines();
            None
        });
        assert_eq!(answers, [Some(Err(AcquireError::Closed)), None]);
        assert_eq!((keys.store().0.count(), keys.waiters(KEY), keys.lines()), (1, 0, 0));
    });
}

#[test]
fn an_update_of_a_key_is_seen_by_a_caller_that_comes_to_stand() {
    check(5, || {
        let keys = Arc::new(fresh(ONE, 1));
        race(&keys, [true, false], |keys, waits| {
            if waits {
                wait(keys, 1).unwrap();
            } else {
                keys.update_key(KEY, |store| store.0.reconfigure(2)).unwrap();
            }
        });
        assert_eq!((keys.store().0.count(), keys.waiters(KEY), keys.lines()), (2, 0, 0));
    });
}
