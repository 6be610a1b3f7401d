//! Several limiters at once, under contention.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::compose::All;
use sluicegate::settle::Receipt;
use sluicegate::*;

use super::SECOND;

const THREADS: u64 = if cfg!(miri) { 2 } else { 4 };
const ROUNDS: u64 = if cfg!(miri) { 2 } else { 60 };

/// The most permits of a request.
const MOST: u64 = 5;

/// A limiter that counts the races that are lost for it: a caller that asks for a receipt
/// has looked before, and seen that there was room.
struct Watched<'a> {
    limiter: &'a (dyn Limiter + Sync),
    lost: AtomicU64,
}

impl Limiter for Watched<'_> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        let answer = self.limiter.try_acquire_revocable(permits);
        self.lost.fetch_add(answer.is_err().into(), SeqCst);
        answer
    }

    fn reset(&self) {
        self.limiter.reset();
    }
}

/// The permits that threads took, and could not give back.
#[derive(Default)]
struct Taken {
    /// From all.
    together: AtomicU64,
    /// From each alone.
    apart: [AtomicU64; 3],
    /// Receipts that were refused.
    stuck: AtomicU64,
}

/// Takes as one thread, until there is hardly anything left.
fn take(all: &All<&Watched>, taken: &Taken, seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let note = |to: &AtomicU64, answer: Result<Grant, Denied>| {
        to.fetch_add(answer.map_or(0, |grant| grant.permits()), SeqCst);
    };
    for _ in 0..200 {
        let permits = random.random_range(1..=MOST);
        match random.random_range(0..6) {
            0..3 => note(&taken.together, all.try_acquire(permits)),
            3 => note(&taken.together, all.try_acquire_up_to(permits)),
            4 => {
                let which = random.random_range(0..3);
                note(&taken.apart[which], all.limiters()[which].try_acquire(permits));
            }
            _ => {
                let Ok(receipt) = all.try_acquire_revocable(permits) else { continue };
                thread::yield_now();
                taken.stuck.fetch_add((!receipt.give_back()).into(), SeqCst);
            }
        }
    }
}

/// Has threads take from a bucket and two windows while the clock stands. What was
/// spent of each, what the callers know of, and how many races were lost.
fn race(threads: u64, seed: u64) -> ([u64; 3], [u64; 3], u64) {
    let clock = ManualClock::at(SECOND);
    let bucket = TokenBucket::with_clock(quota!(1 / hour, burst 300), &clock);
    let window = FixedWindow::with_clock(rate!(280 / hour), &clock).unwrap();
    let sliding = SlidingWindow::with_slots(rate!(290 / hour), 6, &clock).unwrap();
    let limiters: [&(dyn Limiter + Sync); 3] = [&bucket, &window, &sliding];
    let watched = limiters.map(|limiter| Watched { limiter, lost: AtomicU64::new(0) });
    let all = All::new(&watched).unwrap();
    let taken = Taken::default();
    thread::scope(|scope| {
        for thread in 0..threads {
            let (all, taken) = (&all, &taken);
            scope.spawn(move || take(all, taken, seed << 8 | thread));
        }
    });
    let spent = limiters.map(|limiter| {
        let there = limiter.peek(0).unwrap();
        there.limit() - there.remaining()
    });
    let together = taken.together.load(SeqCst);
    let known = taken.apart.each_ref().map(|apart| apart.load(SeqCst) + together);
    let lost: u64 = watched.iter().map(|watched| watched.lost.load(SeqCst)).sum();
    (spent, known, lost + taken.stuck.load(SeqCst))
}

#[test]
fn no_limiter_admits_more_and_a_lost_race_costs_a_request_at_most() {
    for seed in 0..ROUNDS {
        let (spent, known, lost) = race(THREADS, seed);
        for ((spent, known), limit) in spent.into_iter().zip(known).zip([300, 280, 290]) {
            assert!(known <= limit, "{known} of {limit}");
            assert!(known <= spent, "{known} granted, {spent} spent");
            assert!(spent - known <= MOST * lost, "{spent} spent, {known} granted, {lost} lost");
        }
    }
}

#[test]
fn nothing_is_lost_by_a_thread_that_is_alone() {
    for seed in 0..ROUNDS {
        let (spent, known, lost) = race(1, seed);
        assert_eq!((spent, lost), (known, 0));
    }
}

type Bucket<'a> = TokenBucket<&'a ManualClock>;

/// A bucket to which somebody else does something between a look and the call that takes.
struct Raced<'a> {
    bucket: &'a Bucket<'a>,
    meanwhile: fn(&'a Bucket<'a>),
}

impl Limiter for Raced<'_> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        (self.meanwhile)(self.bucket);
        self.bucket.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.bucket.peek(permits)
    }

    fn reset(&self) {
        self.bucket.reset();
    }
}

#[test]
fn what_was_taken_before_a_race_was_lost_is_given_back() {
    let clock = ManualClock::at(SECOND);
    let bucket = TokenBucket::with_clock(quota!(1 / hour, burst 300), &clock);
    let window = FixedWindow::with_clock(rate!(5 / hour), &clock).unwrap();
    let sliding = SlidingWindow::with_slots(rate!(6 / hour), 6, &clock).unwrap();
    let raced = Raced { bucket: &bucket, meanwhile: |bucket| _ = bucket.drain() };
    let all = All::new([&raced as &dyn Limiter, &window, &sliding]).unwrap();
    let calls: [&dyn Fn() -> Result<Grant, Denied>; 3] =
        [&|| all.try_acquire(2), &|| all.try_acquire_up_to(2), &|| {
            all.try_acquire_revocable(2).map(|receipt| receipt.grant())
        }];
    for call in calls {
        bucket.reset();
        assert_eq!(call().unwrap_err().which(), 0);
        assert_eq!((window.count(), sliding.count()), (0, 0));
    }
}

#[test]
fn a_grant_of_all_tells_what_was_left_when_it_was_taken_and_not_at_the_look_before() {
    let clock = ManualClock::at(SECOND);
    let bucket = TokenBucket::with_clock(quota!(1 / hour, burst 300), &clock);
    let window = FixedWindow::with_clock(rate!(400 / hour), &clock).unwrap();
    let refilled = Raced { bucket: &bucket, meanwhile: Bucket::reset };
    let all = All::new([&refilled as &dyn Limiter, &window]).unwrap();
    let calls: [&dyn Fn() -> Grant; 2] =
        [&|| all.try_acquire(2).unwrap(), &|| all.try_acquire_revocable(2).unwrap().grant()];
    for call in calls {
        bucket.try_acquire(bucket.peek(0).unwrap().remaining() - 7).unwrap();
        assert_eq!(call().remaining(), 298);
    }
}

#[test]
fn of_limiters_with_as_much_left_the_grant_is_that_of_the_first() {
    let clock = ManualClock::at(SECOND);
    let three = FixedWindow::with_clock(rate!(3 / hour), &clock).unwrap();
    let ten = FixedWindow::with_clock(rate!(10 / hour), &clock).unwrap();
    ten.try_acquire(7).unwrap();
    let limit = |limiters: [&FixedWindow<&ManualClock>; 2]| {
        All::new(limiters).unwrap().peek(1).unwrap().limit()
    };
    assert_eq!((limit([&three, &ten]), limit([&ten, &three])), (3, 10));
}

#[test]
fn what_was_taken_of_one_limiter_twice_is_all_given_back() {
    let clock = ManualClock::at(SECOND);
    let window = FixedWindow::with_clock(rate!(10 / hour), &clock).unwrap();
    let all = All::new([&window, &window]).unwrap();
    let receipt = all.try_acquire_revocable(2).unwrap();
    assert_eq!(window.count(), 4);
    assert!(receipt.give_back());
    assert_eq!(window.count(), 0);
}
