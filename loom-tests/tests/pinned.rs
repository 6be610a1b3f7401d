//! Models of a store whose limiters are held elsewhere. What is checked, over every interleaving: no key
//! is forgotten while somebody holds its limiter, or stands in its line; so a key has one limiter.

#![cfg(sluicegate_loom)]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Waker};

use sluicegate::keyed::Each;
use sluicegate::{Keyed, Limiter, Quota, TokenBucket, Wait, quota};
use sluicegate_loom_tests::tables::Plain;
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race};

type Bucket = TokenBucket<StdArc<TestClock>>;
type Users = Keyed<u64, Each<StdArc<Bucket>, fn(&u64) -> StdArc<Bucket>, StdArc<TestClock>>, Plain>;

const TWO: Quota = quota!(1 / second, burst 2);

fn users() -> Arc<Users> {
    TestClock::run_ahead(0);
    let make: fn(&u64) -> StdArc<Bucket> =
        |_| StdArc::new(TokenBucket::with_clock(TWO, StdArc::new(TestClock::new())));
    let each = Each::with_clock(make, StdArc::new(TestClock::new()));
    Arc::new(Keyed::builder(each).hasher(Plain::default()).max_keys(4).build().unwrap())
}

#[test]
fn a_key_whose_limiter_is_held_is_not_forgotten() {
    check(ANY, || {
        let granted = race(&users(), [true, false], |users, holds| {
            if holds {
                let limiter = users.limiter_of(&7).unwrap();
                let is_granted = limiter.try_acquire(2).is_ok();
                // Passes the grant on: loom does not know what the drop of an `Arc` of `std` does.
                let _ = users.peek(&7, 0);
                return is_granted;
            }
            users.sweep();
            users.try_acquire(&7, 2).is_ok()
        });
        assert_ne!(granted, [true, true], "two limiters of a key");
    });
}

#[test]
fn a_key_with_a_line_is_not_forgotten() {
    check(ANY, || {
        let bucket = TokenBucket::with_clock(TWO, TestClock::new());
        race(&Arc::new(bucket), [()], |bucket, ()| {
            bucket.try_acquire(2).unwrap();
            let mut caller = pin!(bucket.acquire(2));
            let mut context = Context::from_waker(Waker::noop());
            assert!(caller.as_mut().poll(&mut context).is_pending());
            TestClock::run_ahead(5 * SECOND);
            assert!(!bucket.is_idle(), "with a caller in line");
            assert!(caller.as_mut().poll(&mut context).is_ready());
            TestClock::run_ahead(9 * SECOND);
            assert!(bucket.is_idle());
        });
    });
}
