//! Grants that are kept together or given back together, whatever their kind is.

use std::cell::RefCell;
use std::fmt::Debug;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use sluicegate::settle::{AllOrNone, Revocable};

use super::*;

/// Takes grants of a full limiter of ten by `take`, and ends in each of the ways that there are.
fn check<G: Revocable, E: Debug>(take: impl Fn(u64) -> Result<G, E>, left: impl Fn() -> i64) {
    let two = || {
        let mut all = AllOrNone::new();
        all.add(take(4)).unwrap();
        all.add(take(3)).unwrap();
        assert_eq!((all.grants().len(), left()), (2, 3));
        all
    };
    assert_eq!(left(), 10);

    let mut refused = two();
    assert!(refused.add(take(11)).is_err());
    assert_eq!((refused.grants().len(), left()), (0, 10));
    // It goes on as a new one does.
    refused.add(take(4)).unwrap();
    drop(refused);
    assert_eq!(left(), 10);

    drop(two());
    assert_eq!(left(), 10);
    assert!(two().give_back());
    assert_eq!(left(), 10);

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _all = two();
        panic!("the third");
    }));
    assert!(panicked.is_err());
    assert_eq!(left(), 10);

    {
        let mut cancelled = pin!(async {
            let all = two();
            pending::<()>().await;
            all.keep();
        });
        let mut context = Context::from_waker(Waker::noop());
        assert!(cancelled.as_mut().poll(&mut context).is_pending());
        assert_eq!(left(), 3);
    }
    assert_eq!(left(), 10);

    assert_eq!(two().keep().len(), 2);
    assert_eq!(left(), 3);
}

fn balance(limiter: &(impl Limiter + ?Sized)) -> i64 {
    match limiter.peek(0) {
        Ok(grant) => grant.balance(),
        Err(denied) => denied.balance().unwrap(),
    }
}

#[test]
fn grants_of_every_kind_come_back_unless_all_of_them_are_kept() {
    let clock = ManualClock::new();
    let quota = quota!(10 / hour);
    let window = || FixedWindow::with_clock(rate!(10 / hour), &clock).unwrap();

    let limiters: [Box<dyn Limiter + '_>; 5] = [
        Box::new(TokenBucket::with_clock(quota, &clock)),
        Box::new(ten(&clock)),
        Box::new(window()),
        Box::new(SlidingWindow::with_slots(rate!(10 / hour), 6, &clock).unwrap()),
        Box::new(All::new([window(), window()]).unwrap()),
    ];
    for limiter in &limiters {
        check(|permits| limiter.try_acquire_revocable(permits), || balance(limiter));
    }
    let settle: [Box<dyn Settle + '_>; 4] = [
        Box::new(ten(&clock)),
        Box::new(window()),
        Box::new(SlidingWindow::with_slots(rate!(10 / hour), 6, &clock).unwrap()),
        Box::new(All::new([window(), window()]).unwrap()),
    ];
    for limiter in &settle {
        check(|permits| limiter.try_acquire_settleable(permits), || balance(limiter));
        limiter.reset();
        let beside_a_name =
            |permits| Ok::<_, Denied>(("a", limiter.try_acquire_settleable(permits)?));
        check(beside_a_name, || balance(limiter));
    }
    let bucket = TokenBucket::with_clock(quota, &clock);
    check(|permits| bucket.reserve(permits), || balance(&bucket));

    let keys = Keyed::<u64, _>::with(sluicegate::keyed::Buckets::with_clock(quota, &clock));
    check(|permits| keys.reserve(&7, permits), || keys.peek(&7, 0).unwrap().balance());
    let each = Each::with_clock(|_: &u64| Arc::new(ten(&clock)), &clock);
    let keys = Keyed::<u64, _>::with(each);
    let take = |permits| keys.try_acquire_settleable(&7, permits);
    check(take, || keys.peek(&7, 0).unwrap().balance());
}

/// Permits that others have taken since stay theirs, and nothing is lost where a limiter is settled.
#[test]
fn beside_other_callers_a_grant_comes_back_as_far_as_its_limiter_takes_it_back() {
    fn give_back<G: Revocable>(
        limiter: &dyn Limiter,
        grant: Result<G, Denied>,
        wait: Duration,
        clock: &ManualClock,
    ) -> (bool, i64) {
        let mut all = AllOrNone::new();
        all.add(grant).unwrap();
        limiter.try_acquire(3).unwrap();
        clock.advance(wait);
        (all.give_back(), balance(limiter))
    }
    let clock = ManualClock::new();
    let settles = SettleableBucket::with_clock(quota!(10 / hour), &clock);
    let bucket = TokenBucket::with_clock(quota!(10 / hour), &clock);
    let window = FixedWindow::with_clock(rate!(10 / hour), &clock).unwrap();
    let back = [
        give_back(&settles, settles.try_acquire_settleable(4), Duration::ZERO, &clock),
        give_back(&bucket, bucket.try_acquire_revocable(4), Duration::ZERO, &clock),
        give_back(&window, window.try_acquire_settleable(4), Duration::ZERO, &clock),
        // The window ends that was charged.
        give_back(&window, window.try_acquire_settleable(4), 3_600 * SECOND, &clock),
    ];
    assert_eq!(back, [(true, 7), (false, 3), (true, 7), (false, 10)]);
}

/// Notes that it was given back, and may panic then.
struct Noted<'n> {
    which: u32,
    panics: bool,
    notes: &'n RefCell<Vec<u32>>,
}

impl Revocable for Noted<'_> {
    fn revoke(self) -> bool {
        self.notes.borrow_mut().push(self.which);
        assert!(!self.panics, "a waker panics");
        self.which != 1
    }
}

#[test]
fn the_last_is_given_back_first_and_those_that_panic_keep_nothing_from_the_others() {
    let notes = RefCell::default();
    let all = |panic: &[u32]| {
        let mut all = AllOrNone::with_capacity(4);
        for which in 0..4 {
            all.push(Noted { which, panics: panic.contains(&which), notes: &notes });
        }
        all
    };
    let ends: [fn(AllOrNone<Noted<'_>>); 3] = [
        |all| drop(all),
        |all| assert!(!all.give_back(), "one says that a part of it stays spent"),
        |mut all| assert!(all.add(Err(())).is_err()),
    ];
    for end in ends {
        for panic in [&[][..], &[0], &[2], &[3], &[1, 2], &[0, 1, 2, 3]] {
            let ended = catch_unwind(AssertUnwindSafe(|| end(all(panic))));
            assert_eq!((ended.is_err(), notes.take()), (!panic.is_empty(), vec![3, 2, 1, 0]));
        }
    }
    assert_eq!((all(&[]).keep().len(), notes.take()), (4, vec![]));
}

#[test]
fn grants_that_panic_while_a_caller_does_end_no_process() {
    let notes = RefCell::default();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut all = AllOrNone::new();
        for which in 0..2 {
            all.push(Noted { which, panics: true, notes: &notes });
        }
        panic!("the caller");
    }));
    assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"the caller"));
    assert_eq!(notes.take(), [1, 0]);
}

#[test]
fn room_for_more_grants_than_there_is_memory_is_none() {
    let bucket = TokenBucket::new(quota!(10 / hour));
    let mut all = AllOrNone::with_capacity(usize::MAX);
    all.add(bucket.try_acquire_revocable(4)).unwrap();
    assert!(all.give_back());
}
