//! Jitter of callers that wait for a key.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use sluicegate::quota;
use sluicegate::wait::Jitter;

use super::support::MILLI;

const LONG: Duration = Duration::from_millis(30);

fn long() -> Jitter {
    Jitter::between(LONG, LONG)
}

#[test]
fn jitter_of_a_key_delays_the_answer_and_not_the_grant() {
    use sluicegate::keyed::{Buckets, QueuedKeys};
    use sluicegate::{Keyed, KeyedLimiter, ManualClock};

    let clock = ManualClock::new();
    let buckets = Buckets::with_clock(quota!(1_000 / second, burst 10), &clock);
    let keys = QueuedKeys::<_, u64, _>::with_clock(Keyed::<u64, _>::with(buckets), &clock);
    let mut context = Context::from_waker(Waker::noop());
    let mut at_once = pin!(keys.acquire(&7, 10).jitter(long()));
    assert!(at_once.as_mut().poll(&mut context).is_ready(), "it did not have to wait");
    let mut waits = pin!(keys.acquire(&7, 4).jitter(long()));
    assert!(waits.as_mut().poll(&mut context).is_pending());
    clock.advance(5 * MILLI);
    assert!(waits.as_mut().poll(&mut context).is_pending());
    // Granted: what has come since is for others.
    assert!(keys.try_acquire(&7, 1).is_ok() && keys.try_acquire(&7, 1).is_err());
    clock.advance(LONG);
    assert!(waits.as_mut().poll(&mut context).is_ready());
    assert_eq!(keys.lines(), 0);
}
