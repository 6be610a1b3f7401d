//! Callers that wait for a key, or for an adaptive limit.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::ManualClock;
use sluicegate_flow::concurrency::{Adaptive, Aimd, InFlightError, Outcome};

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

mod keyed {
    use std::time::{Duration, Instant};

    use sluicegate::wait::LineLimits;
    use sluicegate_flow::concurrency::{InFlightError, KeyedConcurrency};

    use crate::concurrency::line::Caller;

    #[test]
    fn each_key_has_a_line_of_its_own() {
        let keyed = KeyedConcurrency::<u64>::new(2);
        let held = keyed.try_acquire(&1, 2).unwrap();
        let mut callers = [1, 1].map(|permits| Caller::new(keyed.acquire(&1, permits)));
        assert!(callers.iter_mut().all(Caller::is_waiting));
        assert_eq!((keyed.waiters(&1), keyed.waiters(&2)), (2, 0));
        assert!(keyed.try_acquire(&1, 1).unwrap_err().others_wait());
        assert!(Caller::new(keyed.acquire(&2, 2)).is_granted());
        drop(held);
        assert!(callers.iter_mut().all(Caller::is_granted));
        drop(callers);
        assert_eq!((keyed.in_flight(&1), keyed.waiters(&1)), (0, 0));
    }

    #[test]
    fn a_change_of_the_limit_of_keys_is_seen_by_those_that_wait() {
        let keyed = KeyedConcurrency::<u64>::new(1);
        let _held = [1, 2].map(|key| keyed.try_acquire(&key, 1).unwrap());
        let mut callers = [1, 2].map(|key| Caller::new(keyed.acquire(&key, 1)));
        keyed.set_limit_of(&2, 2);
        assert_eq!(callers.each_mut().map(Caller::is_granted), [false, true]);
        keyed.set_limit(2);
        assert!(callers[0].is_granted());
        let mut others = [1, 2].map(|key| Caller::new(keyed.acquire(&key, 2)));
        keyed.set_limit_of(&2, 3);
        keyed.set_limit(1);
        let too_large = Some(InFlightError::TooLarge { limit: 1 });
        assert_eq!(others.each_mut().map(Caller::error), [too_large, None]);
        keyed.forget_limit_of(&2);
        assert_eq!(others[1].error(), too_large);
    }

    #[test]
    fn the_line_of_each_key_has_the_bounds_of_all() {
        let keyed = KeyedConcurrency::<u64>::new(1);
        let mut held: Vec<_> = [1, 2].map(|key| keyed.acquire_blocking(&key, 1).unwrap()).into();
        keyed.set_limit_of(&2, 1);
        keyed.set_line_limits(LineLimits::new().max_waiters(1));
        keyed.set_limit_of(&4, 1);
        held.extend([3, 4].map(|key| keyed.acquire_blocking(&key, 1).unwrap()));
        for key in 1..=4 {
            let mut first = Caller::new(keyed.acquire(&key, 1));
            assert!(first.is_waiting());
            assert_eq!(keyed.acquire_blocking(&key, 1).unwrap_err(), InFlightError::LineFull);
        }
        keyed.set_line_limits(LineLimits::new());
        let mut callers: Vec<_> =
            (1..=8).map(|key| Caller::new(keyed.acquire(&(key % 4 + 1), 1))).collect();
        assert!(callers.iter_mut().all(Caller::is_waiting));
    }

    #[test]
    fn all_lines_that_are_closed_refuse_and_stay_closed() {
        let keyed = KeyedConcurrency::<u64>::new(1);
        let held = [1, 2].map(|key| keyed.acquire_blocking(&key, 1).unwrap());
        let mut callers = [1, 2].map(|key| Caller::new(keyed.acquire(&key, 1)));
        keyed.close_lines();
        let closed = Some(InFlightError::Closed);
        assert_eq!(callers.each_ref().map(Caller::woken), [1, 1]);
        assert_eq!(callers.each_mut().map(Caller::error), [closed, closed]);
        let _new = keyed.acquire_blocking(&3, 1).unwrap();
        for key in 1..=3 {
            assert_eq!(keyed.acquire_blocking(&key, 1).err(), closed);
        }
        drop(held);
        assert!(keyed.acquire_blocking(&1, 1).is_ok());
    }

    #[test]
    fn a_thread_waits_for_a_key_no_longer_than_it_says() {
        let keyed = KeyedConcurrency::<u64>::new(1);
        let held = keyed.acquire_blocking(&1, 1).unwrap();
        let soon = Duration::from_millis(1);
        let timed_out = Some(InFlightError::TimedOut);
        assert_eq!(keyed.acquire(&1, 1).timeout(soon).wait_blocking().err(), timed_out);
        assert_eq!(
            keyed.acquire(&1, 1).wait_blocking_until(Instant::now() + soon).err(),
            timed_out
        );
        let too_large = Some(InFlightError::TooLarge { limit: 1 });
        assert_eq!(keyed.acquire_blocking(&7, 2).err(), too_large);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| keyed.acquire_blocking(&1, 1).map(drop));
            while keyed.waiters(&1) == 0 {
                std::thread::yield_now();
            }
            drop(held);
            assert_eq!(waiting.join().unwrap(), Ok(()));
        });
        let later = Instant::now() + Duration::from_secs(60);
        assert!(keyed.acquire(&1, 1).wait_blocking_until(later).is_ok());
    }

    #[test]
    fn a_key_that_is_waited_for_is_kept_and_one_that_cannot_be_granted_is_not_inserted() {
        let keyed = KeyedConcurrency::<u64>::new(1);
        let held = keyed.try_acquire(&0, 1).unwrap();
        let mut caller = Caller::new(keyed.acquire(&0, 1));
        // Grants the caller what it waits for. From now on nothing else holds the key.
        drop(held);
        // Others are dropped meanwhile, as nothing of them is in flight.
        for key in 1..10_000 {
            assert!(keyed.try_acquire(&key, 1).is_ok());
        }
        assert_eq!(keyed.in_flight(&0), 1);
        assert!(caller.is_granted() && keyed.try_acquire(&0, 1).is_err());
        let keys = keyed.len();
        let error = keyed.acquire(&10_000, 2).wait_blocking().unwrap_err();
        assert_eq!((error, keyed.len()), (InFlightError::TooLarge { limit: 1 }, keys));
    }

    /// A waker that uses the same store, as that of an executor which runs the task at once does.
    struct UsesIt(std::sync::Arc<KeyedConcurrency<u64>>);

    impl std::task::Wake for UsesIt {
        fn wake(self: std::sync::Arc<Self>) {
            let _inserted = self.0.try_acquire(&77, 1);
            self.0.set_limit_of(&78, 3);
        }
    }

    #[test]
    fn a_waker_may_use_the_store_that_wakes_it() {
        let keyed = std::sync::Arc::new(KeyedConcurrency::<u64>::new(1));
        for change in 0..3 {
            keyed.set_limit(1);
            keyed.set_limit_of(&1, 1);
            if change == 0 {
                keyed.forget_limit_of(&1);
            }
            let _held = keyed.try_acquire(&1, 1).unwrap();
            let mut caller = std::pin::pin!(keyed.acquire(&1, 1));
            let waker = std::sync::Arc::new(UsesIt(std::sync::Arc::clone(&keyed))).into();
            let context = &mut std::task::Context::from_waker(&waker);
            assert!(std::future::Future::poll(caller.as_mut(), context).is_pending());
            match change {
                0 => keyed.set_limit(2),
                1 => keyed.set_limit_of(&1, 2),
                _ => {
                    keyed.set_limit(2);
                    keyed.forget_limit_of(&1);
                }
            }
            assert!(std::future::Future::poll(caller, context).is_ready());
        }
    }
}

#[test]
fn the_call_of_a_caller_that_waited_begins_when_it_is_told() {
    let clock = ManualClock::new();
    let algorithm = Aimd::new().with_initial(2).with_timeout(Duration::from_secs(1));
    let adaptive = Arc::new(Adaptive::with_clock(algorithm, &clock));
    let held = adaptive.try_acquire(2).unwrap();
    let mut caller = pin!(adaptive.acquire(2));
    assert!(poll(caller.as_mut()).is_pending());
    clock.advance(Duration::from_secs(3));
    drop(held);
    clock.advance(Duration::from_secs(3));
    let Poll::Ready(Ok(guard)) = poll(caller) else { panic!("not granted") };
    guard.end(Outcome::Success);
    assert_eq!(adaptive.limit(), 3, "it took no time, with all of the limit in flight");
    assert_eq!((adaptive.in_flight(), adaptive.line().waiters()), (0, 0));
}

#[test]
fn those_in_line_are_granted_what_the_algorithm_leaves_them() {
    let adaptive = Adaptive::with_clock(Aimd::new().with_initial(4), ManualClock::new());
    let held = adaptive.try_acquire(4).unwrap();
    let mut large = pin!(adaptive.acquire(4));
    let mut small = pin!(adaptive.acquire(1));
    assert!(poll(large.as_mut()).is_pending() && poll(small.as_mut()).is_pending());
    // Grants the first all that come back, and then lowers the limit to 3.
    held.end(Outcome::Dropped);
    assert_eq!((adaptive.limit(), adaptive.in_flight()), (3, 4));
    let Poll::Ready(Ok(guard)) = poll(large) else { panic!("not granted") };
    assert!(poll(small.as_mut()).is_pending());
    let mut too_large = pin!(adaptive.acquire(3));
    assert!(poll(too_large.as_mut()).is_pending());
    let set = adaptive.with_algorithm(|aimd| *aimd = Aimd::new().with_initial(1));
    assert!(set.is_some());
    let Poll::Ready(Err(error)) = poll(too_large) else { panic!("not refused") };
    assert_eq!(error, InFlightError::TooLarge { limit: 1 });
    drop(guard);
    assert!(poll(small).is_ready());
    assert_eq!(adaptive.acquire(1).timeout(Duration::ZERO).wait_blocking().unwrap().permits(), 1);
}
