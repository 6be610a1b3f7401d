//! Remembered denials of any limiter. What is checked:
//!
//! * A limiter that remembers decides as one that does not, for any calls by one thread,
//!   with the clock going on or back, and tells the same waits;
//! * it asks the limiter once for as long as a denial holds;
//! * requests of other sizes, resets and `forget` are not answered from memory.

use std::mem;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sluicegate::*;

use self::counted::Counted;

#[path = "support/counted.rs"]
mod counted;

const SECOND: Duration = Duration::from_secs(1);

/// A limiter that counts how often it is asked.
struct Asked<L> {
    limiter: L,
    times: AtomicU32,
}

impl<L: Limiter> Limiter for Asked<L> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.times.fetch_add(1, SeqCst);
        self.limiter.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.times.fetch_add(1, SeqCst);
        self.limiter.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    fn reset(&self) {
        self.limiter.reset();
    }
}

fn asked<L: Limiter>(limiter: L) -> Asked<L> {
    Asked { limiter, times: AtomicU32::new(0) }
}

fn sticky<L: Limiter, C: Clock>(limiter: L, places: usize, clock: C) -> Sticky<L, C> {
    Sticky::builder(limiter).places(places).clock(clock).build().unwrap()
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Acquire(u64),
    UpTo(u64),
    GiveBack(u64),
    Advance(u64),
    Back(u64),
    Reset,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..7_u64).prop_map(Op::Acquire),
        2 => (0..7_u64).prop_map(Op::UpTo),
        1 => (1..3_u64).prop_map(Op::GiveBack),
        4 => (0..700_u64).prop_map(Op::Advance),
        1 => (0..300_u64).prop_map(Op::Back),
        1 => Just(Op::Reset),
    ]
}

/// The same decision; and the wait of a denial is no longer than it has to be. (One that
/// was remembered does not know what was taken since.)
fn assert_same(ours: Result<Grant, Denied>, theirs: Result<Grant, Denied>) {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
        (Err(ours), Err(theirs)) => {
            assert_eq!(ours.which(), theirs.which());
            assert_eq!(ours.retry_after().is_some(), theirs.retry_after().is_some());
            assert!(ours.retry_after() <= theirs.retry_after());
        }
        _ => panic!("{ours:?} and {theirs:?}"),
    }
}

/// The same calls to `plain`, and to `sticky`, which is the same limiter once more.
fn assert_alike<L: Limiter>(
    clock: &ManualClock,
    plain: &L,
    sticky: &Sticky<L, &ManualClock>,
    op: Op,
) {
    match op {
        Op::Acquire(permits) => {
            assert_same(sticky.try_acquire(permits), plain.try_acquire(permits));
        }
        Op::UpTo(permits) => {
            assert_same(sticky.try_acquire_up_to(permits), plain.try_acquire_up_to(permits));
        }
        Op::GiveBack(permits) => {
            let (ours, theirs) =
                (sticky.try_acquire_revocable(permits), plain.try_acquire_revocable(permits));
            assert_eq!(ours.is_ok(), theirs.is_ok());
            if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
                assert_eq!(ours.give_back(), theirs.give_back());
                sticky.forget();
            }
        }
        Op::Advance(millis) => clock.advance(Duration::from_millis(millis)),
        Op::Back(millis) => clock.rewind(Duration::from_millis(millis)),
        Op::Reset => {
            sticky.reset();
            plain.reset();
        }
    }
    assert_eq!(sticky.peek(0), plain.peek(0));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 400 },
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_sticky_limiter_decides_as_the_one_that_it_wraps(ops in vec(op(), 1..60), kind in 0..4) {
        let clock = ManualClock::at(5_000_000_000);
        macro_rules! check {
            ($make:expr) => {{
                let (plain, sticky) = ($make, sticky($make, 4, &clock));
                for &op in &ops {
                    assert_alike(&clock, &plain, &sticky, op);
                }
            }};
        }
        match kind {
            0 => check!(TokenBucket::with_clock(quota!(5 / second), &clock)),
            1 => check!(SlidingWindow::with_clock(rate!(5 / second), 10, &clock).unwrap()),
            2 => check!(FixedWindow::with_clock(rate!(5 / second), &clock).unwrap()),
            _ => check!(SlidingCounter::with_clock(rate!(5 / second), &clock).unwrap()),
        }
    }
}

#[test]
fn a_denial_is_asked_for_once_and_tells_the_time_that_is_left() {
    let clock = ManualClock::new();
    let window = SlidingWindow::with_clock(rate!(5 / minute), 60, &clock).unwrap();
    let sticky = sticky(asked(window), 1, &clock);
    assert!(sticky.try_acquire(5).is_ok());
    let first = sticky.try_acquire(1).unwrap_err();
    let wait = first.retry_after().unwrap();
    for seconds in 1..wait.as_secs() {
        clock.advance(SECOND);
        let denied = sticky.try_acquire(1).unwrap_err();
        assert_eq!(denied.retry_after(), wait.checked_sub(seconds as u32 * SECOND));
    }
    assert_eq!(sticky.limiter().times.load(SeqCst), 2);
    clock.advance(2 * SECOND);
    assert!(sticky.try_acquire(1).is_ok());
}

#[test]
fn a_denial_of_some_is_not_one_of_fewer_and_is_forgotten_when_told_to() {
    let clock = ManualClock::new();
    let sticky = sticky(TokenBucket::with_clock(quota!(5 / hour), &clock), 1, &clock);
    assert!(sticky.try_acquire(3).is_ok());
    assert!(sticky.try_acquire(3).is_err());
    assert!(sticky.try_acquire(2).is_ok());
    assert!(sticky.try_acquire(3).is_err());
    sticky.limiter().reconfigure(quota!(8 / hour), Carry::Reset);
    assert!(sticky.try_acquire(3).is_err());
    sticky.forget();
    assert!(sticky.try_acquire(3).is_ok());
    assert!(sticky.try_acquire(6).is_err());
    sticky.reset();
    assert!(sticky.try_acquire(6).is_ok());
}

/// An answer of several limiters about one permit says nothing of two: it may be another of them
/// that has too few.
#[test]
fn a_denial_is_remembered_for_the_number_of_permits_that_were_asked_for_and_no_other() {
    let clock = ManualClock::new();
    let bucket =
        |quota: Quota, left| TokenBucket::with_clock(quota, &clock).starting_with(left).unwrap();
    let all =
        All::new([bucket(quota!(1 / second, burst 10), 0), bucket(quota!(1 / minute, burst 2), 1)])
            .unwrap();
    let sticky = sticky(all, 1, &clock);
    let one = sticky.try_acquire(1).unwrap_err();
    assert_eq!((one.which(), one.retry_after()), (0, Some(SECOND)));
    for permits in [2, 3, 10] {
        assert_eq!(sticky.try_acquire(permits), sticky.peek(permits));
    }
    let two = sticky.try_acquire(2).unwrap_err();
    assert_eq!((two.which(), two.retry_after()), (1, Some(60 * SECOND)));
    assert_eq!(sticky.try_acquire(3), Err(Denied::TooLarge { limit: 2, which: 1 }));
}

/// A limiter that is held up at the end of each look, in which time `then` happens.
struct HeldUp<L> {
    limiter: L,
    then: Box<dyn Fn(&L) + Send + Sync>,
}

impl<L: Limiter> Limiter for HeldUp<L> {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        let answer = self.limiter.peek(permits);
        (self.then)(&self.limiter);
        answer
    }

    fn reset(&self) {
        self.limiter.reset();
    }
}

/// It counts from a reading before the look; from a later one it would end too late.
#[test]
fn a_denial_is_not_remembered_for_longer_because_the_caller_was_held_up() {
    let clock = Arc::new(ManualClock::new());
    let limiter = TokenBucket::with_clock(quota!(1 / second), Arc::clone(&clock));
    let passes = Arc::clone(&clock);
    let held_up = HeldUp { limiter, then: Box::new(move |_| passes.advance(SECOND / 2)) };
    let sticky = sticky(held_up, 1, Arc::clone(&clock));
    assert!(sticky.try_acquire(1).is_ok());
    assert!(sticky.try_acquire(1).is_err());
    clock.advance(SECOND / 2);
    assert!(sticky.try_acquire(1).is_ok());
}

/// There is nothing to be earned before the beginning: so long a wait is told each time.
#[test]
fn a_denial_by_a_clock_before_the_beginning_tells_the_whole_wait_each_time() {
    let clock = ManualClock::at(86_400_000_000_000);
    let bucket = TokenBucket::with_clock(quota!(1 / second), &clock);
    let sticky = sticky(bucket, 1, &clock);
    assert!(sticky.try_acquire(1).is_ok());
    clock.rewind(SECOND / 2);
    for millis in [1_500, 1_250, 1_000, 750, 500, 250] {
        for _ in 0..2 {
            let wait = sticky.try_acquire(1).unwrap_err().retry_after().unwrap();
            assert_eq!(wait, Duration::from_millis(millis));
        }
        clock.advance(SECOND / 4);
    }
    assert!(sticky.try_acquire(1).is_ok());
}

/// The count of what was forgotten is read before the limiter is asked.
#[test]
fn a_denial_of_before_a_change_is_not_remembered_after_it() {
    type Bucket = TokenBucket<Arc<ManualClock>>;
    type HeldUpSticky = Sticky<HeldUp<Bucket>, Arc<ManualClock>>;
    let clock = Arc::new(ManualClock::new());
    let limiter = Bucket::with_clock(quota!(1 / hour), Arc::clone(&clock));
    let told: Arc<Mutex<Weak<HeldUpSticky>>> = Arc::default();
    let change = Arc::clone(&told);
    let then = move |bucket: &Bucket| {
        if let Some(sticky) = mem::take(&mut *change.lock().unwrap()).upgrade() {
            bucket.reset();
            sticky.forget();
        }
    };
    let held_up = HeldUp { limiter, then: Box::new(then) };
    let sticky = Arc::new(sticky(held_up, 1, clock));
    assert!(sticky.try_acquire(1).is_ok());
    *told.lock().unwrap() = Arc::downgrade(&sticky);
    assert!(sticky.try_acquire(1).is_err());
    assert!(sticky.try_acquire(1).is_ok());
}

#[test]
fn what_can_never_be_is_told_from_what_cannot_be_now_and_none_are_always_granted() {
    let clock = ManualClock::new();
    let sticky = sticky(TokenBucket::with_clock(quota!(5 / hour), &clock), 256, &clock);
    sticky.try_acquire(5).unwrap();
    for _ in 0..2 {
        assert!(sticky.try_acquire(1).is_err());
        assert_eq!(sticky.try_acquire(6).unwrap_err(), Denied::TooLarge { limit: 5, which: 0 });
        assert!(sticky.try_acquire(0).is_ok() && sticky.try_acquire_up_to(0).is_ok());
        assert_eq!(sticky.try_acquire_up_to(9).unwrap_err().which(), 0);
    }
    for places in [0, 257] {
        let error = Sticky::builder(asked(TokenBucket::new(quota!(5 / hour))))
            .places(places)
            .clock(&clock)
            .build();
        let error = error.map(drop).unwrap_err();
        assert_eq!(error.to_string(), format!("places is {places}: must be from 1 to 256"));
    }
}

/// The wait is shorter than the time until then.
#[test]
fn a_denial_by_a_clock_before_the_beginning_ends_once_enough_is_earned() {
    let clock = ManualClock::at(86_400_000_000_000);
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    let sticky = sticky(bucket, 1, &clock);
    assert!(sticky.try_acquire(10).is_ok());
    clock.rewind(SECOND * 9 / 10);
    assert!(sticky.try_acquire(1).is_err());
    clock.advance(SECOND);
    assert!(sticky.try_acquire(1).is_ok());
}

#[test]
fn a_denial_that_is_remembered_tells_how_long_it_is_until_all_is_there() {
    let told = |answer: Result<Grant, Denied>| match answer {
        Err(Denied::Wait(shortfall)) => (shortfall.retry_after(), shortfall.reset_after()),
        other => panic!("{other:?}"),
    };
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(5 / minute), &clock).unwrap();
    let sticky = sticky(asked(window), 1, &clock);
    assert!(sticky.try_acquire(5).is_ok());
    for _ in 0..60 {
        assert_eq!(told(sticky.try_acquire(1)), told(sticky.limiter().peek(1)));
        clock.advance(SECOND);
    }
    assert_eq!(sticky.limiter().times.load(SeqCst), 2);
}

#[test]
fn grants_read_the_clock_no_more_once_a_denial_is_over() {
    let clock = Counted::at(0);
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock.manual);
    let sticky = sticky(bucket, 1, &clock);
    assert!(sticky.try_acquire(10).is_ok() && sticky.try_acquire(1).is_err());
    clock.manual.advance(SECOND);
    assert!(sticky.try_acquire(1).is_ok());
    for _ in 0..5 {
        let (answer, readings) = clock.readings(|| sticky.try_acquire(1));
        assert!(answer.is_ok());
        assert_eq!(readings, 0);
    }
}
