//! Requests that leave a reserve. What is checked:
//!
//! * they are granted if and only if a request for both together would be, take their own permits only, and
//!   are denied with its wait;
//! * so it is behind wrappers, and for keys;
//! * callers at the same time leave the reserve whole.

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::compose::{Counted, Gate, GateMode, Unlimited};
use sluicegate::keyed::{Buckets, WhenFull};
use sluicegate::share::Leaving;
use sluicegate::window::{MultiWindow, WindowFromFirst};
use sluicegate::*;

use crate::support::cases::cases;

type Answer = Result<Grant, Denied>;

/// The verbs of a limiter, or of a key.
struct Verbs<'a> {
    name: &'static str,
    try_acquire: Box<dyn Fn(u64) -> Answer + 'a>,
    peek: Box<dyn Fn(u64) -> Answer + 'a>,
    leaving: Box<dyn Fn(u64, u64) -> Answer + 'a>,
    peek_leaving: Box<dyn Fn(u64, u64) -> Answer + 'a>,
}

/// The verbs of one of these limiters, by a pointer to it.
fn verbs<'a>(name: &'static str, limiter: impl Leaving + 'a) -> Verbs<'a> {
    let limiter: std::rc::Rc<dyn Leaving + 'a> = std::rc::Rc::new(limiter);
    let [one, two, three, four] = [(); 4].map(|()| limiter.clone());
    Verbs {
        name,
        try_acquire: Box::new(move |permits| one.try_acquire(permits)),
        peek: Box::new(move |permits| two.peek(permits)),
        leaving: Box::new(move |permits, reserve| three.try_acquire_leaving(permits, reserve)),
        peek_leaving: Box::new(move |permits, reserve| four.peek_leaving(permits, reserve)),
    }
}

macro_rules! verbs_of_key {
    ($name:literal, $store:expr) => {{
        let store = std::rc::Rc::new($store);
        let [one, two, three, four] = [(); 4].map(|()| store.clone());
        Verbs {
            name: $name,
            try_acquire: Box::new(move |permits| one.try_acquire(&7, permits)),
            peek: Box::new(move |permits| two.peek(&7, permits)),
            leaving: Box::new(move |permits, reserve| {
                three.try_acquire_leaving(&7, permits, reserve)
            }),
            peek_leaving: Box::new(move |permits, reserve| four.peek_leaving(&7, permits, reserve)),
        }
    }};
}

/// One of each kind, of about ten in a second.
fn all(clock: &ManualClock) -> Vec<Verbs<'_>> {
    let quota = quota!(10 / second, burst 12);
    let nanos = std::time::Duration::from_nanos;
    let keyed = Keyed::<u64, _>::with(Buckets::with_clock(quota, clock));
    let table = KeyTable::<u64>::builder(quota).clock(clock).keys(64).unwrap();
    #[cfg_attr(
        not(feature = "calendar"),
        expect(unused_mut, reason = "one more with that feature")
    )]
    let mut all = vec![
        verbs("bucket", TokenBucket::with_clock(quota, clock)),
        verbs("interval", TokenBucket::with_clock(quota.with_refill(Refill::Interval), clock)),
        verbs("cells", Gcra::with_clock(nanos(99_999_999), nanos(1_234_567_890), clock).unwrap()),
        verbs("meter", LeakyBucket::meter_with_clock(quota, clock)),
        verbs("fixed", FixedWindow::with_clock(rate!(10 / second), clock).unwrap()),
        verbs("from first", WindowFromFirst::with_clock(rate!(10 / second), clock).unwrap()),
        verbs("counter", SlidingCounter::with_clock(rate!(10 / second), clock).unwrap()),
        verbs("sliding", SlidingWindow::with_slots(rate!(10 / second), 20, clock).unwrap()),
        verbs(
            "multi",
            MultiWindow::with_slots(
                [rate!(7 / second), Rate::new(9, std::time::Duration::from_secs(2)).unwrap()],
                20,
                clock,
            )
            .unwrap(),
        ),
        verbs("gate", Gate::new(TokenBucket::with_clock(quota, clock))),
        verbs("counted", Counted::new(Box::new(TokenBucket::with_clock(quota, clock)))),
        verbs_of_key!("keyed", keyed),
        verbs_of_key!("table", table),
    ];
    #[cfg(feature = "calendar")]
    {
        let minutes = calendar::Calendar::minutes("UTC").unwrap();
        let window = calendar::CalendarWindow::with_clock(10, minutes, clock);
        all.push(verbs("calendar", window.unwrap()));
    }
    all
}

/// The answer that a request has to get, by the verbs that have no reserve.
fn expected(twin: &Verbs<'_>, permits: u64, reserve: u64) -> Answer {
    if permits == 0 {
        return (twin.peek)(0);
    }
    match (twin.peek)(permits.saturating_add(reserve)) {
        Ok(_) => (twin.try_acquire)(permits),
        Err(Denied::TooLarge { limit, which }) => {
            Err(Denied::TooLarge { limit: limit.saturating_sub(reserve), which })
        }
        denied => denied,
    }
}

fn assert_as_both_together(asks: &[(u64, u64, u64)]) {
    let clock = ManualClock::at(1_700_000_000_000_000_000);
    for (limiter, twin) in all(&clock).iter().zip(all(&clock)) {
        for &(nanos, permits, reserve) in asks {
            clock.advance_nanos(nanos);
            let looked = (limiter.peek_leaving)(permits, reserve);
            let expected = expected(&twin, permits, reserve);
            let ask = (limiter.name, permits, reserve);
            assert_eq!(looked, expected, "{ask:?}: a look");
            assert_eq!((limiter.leaving)(permits, reserve), expected, "{ask:?}");
            assert_eq!((limiter.peek)(0), (twin.peek)(0), "{ask:?}: what is left");
        }
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_request_that_leaves_a_reserve_is_answered_as_both_together(
        asks in vec((0..400_000_000_u64, 0..8_u64, prop_oneof![0..14_u64, Just(u64::MAX)]), 1..40),
    ) {
        assert_as_both_together(&asks);
    }
}

#[test]
fn the_largest_numbers_are_refused_for_ever() {
    assert_as_both_together(&[
        (0, u64::MAX, 0),
        (0, 1, u64::MAX),
        (0, u64::MAX, u64::MAX),
        (0, 0, u64::MAX),
    ]);
}

#[test]
fn an_open_gate_has_no_reserve_and_a_closed_one_nothing() {
    let gate = Gate::new(TokenBucket::with_clock(quota!(5 / second), ManualClock::new()));
    assert!(gate.try_acquire_leaving(1, 5).is_err());
    gate.set(GateMode::Open);
    assert!(gate.try_acquire_leaving(1_000, 5).is_ok());
    gate.set(GateMode::Closed);
    let denied = gate.try_acquire_leaving(1, 0).unwrap_err();
    assert_eq!(denied, Gate::with_mode(Unlimited, GateMode::Closed).try_acquire(1).unwrap_err());
}

#[test]
fn the_bucket_that_keys_without_space_share_keeps_the_reserve() {
    let clock = ManualClock::new();
    let buckets = Buckets::with_clock(quota!(10 / hour), &clock);
    let shared = WhenFull::Share(quota!(5 / hour));
    let keyed = Keyed::<u64, _>::builder(buckets).max_keys(1).when_full(shared).build().unwrap();
    let table = KeyTable::<u64>::builder(quota!(10 / hour))
        .clock(&clock)
        .when_full(shared)
        .keys(1)
        .unwrap();
    let mut found = 0;
    for key in 0..1_000 {
        keyed.try_acquire(&key, 10).ok();
        found += u64::from(keyed.try_acquire_leaving(&key, 1, 4).is_ok());
        table.try_acquire(&key, 10).ok();
    }
    assert_eq!(found, 1, "one of five, which leaves four");
    assert!(table.try_acquire_leaving(&2_000, 1, 5).is_err());
}

#[test]
fn callers_at_the_same_time_leave_the_reserve_whole() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(100_000 / hour), &clock);
    let window = FixedWindow::with_clock(rate!(100_000 / hour), &clock).unwrap();
    let sliding = SlidingWindow::with_slots(rate!(100_000 / hour), 60, &clock).unwrap();
    let limiters: [&dyn Leaving; 3] = [&bucket, &window, &sliding];
    for limiter in limiters {
        let granted: usize = std::thread::scope(|scope| {
            let ask = || {
                (0..200_000).take_while(|_| limiter.try_acquire_leaving(1, 1_000).is_ok()).count()
            };
            let threads = [(); 3].map(|()| scope.spawn(ask));
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((granted, limiter.peek(0).unwrap().remaining()), (99_000, 1_000));
    }
}
