//! Requests that leave a reserve. What is checked:
//!
//! * they are granted if and only if a request for both together would be, take their own permits only, and
//!   are denied with its wait;
//! * so it is behind wrappers, and for keys, also hot ones of which a part is prepaid;
//! * permits that were given back to a settleable bucket count, and are taken if need be;
//! * callers at the same time leave the reserve whole;
//! * a receipt gives back what such a request has taken.
//!
//! For `Sharded` with tokens in its shards, random histories check the same (`tests/sharded.rs`).

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::{All, Counted, Gate, GateMode, TopUp, Unlimited};
use sluicegate::keyed::{Buckets, Each, HotKeys, KeyedLeaving, QueuedKeys, WhenFull};
use sluicegate::penalty::{PenaltyBox, PenaltyRule};
use sluicegate::share::Leaving;
use sluicegate::wait::Queued;
use sluicegate::window::{MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::*;

use crate::support::cases::cases;

type Answer = Result<Grant, Denied>;

/// Name of the limiter that grants single permits.
const LOG: &str = "log";

/// The verbs of a limiter, or of a key.
struct Verbs<'a> {
    name: &'static str,
    try_acquire: Box<dyn Fn(u64) -> Answer + 'a>,
    peek: Box<dyn Fn(u64) -> Answer + 'a>,
    /// The look for permits that one request cannot have together.
    peek_ahead: Box<dyn Fn(u64) -> Answer + 'a>,
    leaving: Box<dyn Fn(u64, u64) -> Answer + 'a>,
    peek_leaving: Box<dyn Fn(u64, u64) -> Answer + 'a>,
}

/// The verbs of one of these limiters, by a pointer to it.
fn verbs<'a>(name: &'static str, limiter: impl Leaving + 'a) -> Verbs<'a> {
    let limiter: std::rc::Rc<dyn Leaving + 'a> = std::rc::Rc::new(limiter);
    let [one, two, three, four, five] = [(); 5].map(|()| limiter.clone());
    Verbs {
        name,
        try_acquire: Box::new(move |permits| one.try_acquire(permits)),
        peek: Box::new(move |permits| two.peek(permits)),
        peek_ahead: Box::new(move |permits| five.peek_ahead(permits)),
        leaving: Box::new(move |permits, reserve| three.try_acquire_leaving(permits, reserve)),
        peek_leaving: Box::new(move |permits, reserve| four.peek_leaving(permits, reserve)),
    }
}

macro_rules! verbs_of_key {
    ($name:literal, $store:expr) => {{
        let store = std::rc::Rc::new($store);
        let [one, two, three, four, five] = [(); 5].map(|()| store.clone());
        Verbs {
            name: $name,
            try_acquire: Box::new(move |permits| one.try_acquire(&7, permits)),
            peek: Box::new(move |permits| two.peek(&7, permits)),
            peek_ahead: Box::new(move |permits| five.peek(&7, permits)),
            leaving: Box::new(move |permits, reserve| {
                three.try_acquire_leaving(&7, permits, reserve)
            }),
            peek_leaving: Box::new(move |permits, reserve| four.peek_leaving(&7, permits, reserve)),
        }
    }};
}

fn bucket(burst: u64, clock: &ManualClock) -> TokenBucket<&ManualClock> {
    TokenBucket::with_clock(quota!(10 / second).with_burst(burst).unwrap(), clock)
}

/// One of each kind, of about ten in a second.
fn all(clock: &ManualClock) -> Vec<Verbs<'_>> {
    let quota = quota!(10 / second, burst 12);
    let nanos = std::time::Duration::from_nanos;
    let keyed = || Keyed::<u64, _>::with_clock(quota, clock);
    let table = || KeyTable::<u64>::builder(quota).clock(clock).keys(64).unwrap();
    let each = Each::new(move |_: &u64| TokenBucket::with_clock(quota, clock));
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
        verbs(LOG, SlidingLog::with_clock(rate!(10 / second), clock).unwrap()),
        verbs("weighted", WeightedLog::with_clock(rate!(10 / second), clock).unwrap()),
        verbs("all", All::new([9, 12].map(|burst| bucket(burst, clock))).unwrap()),
        verbs("queued", Queued::with_clock(TokenBucket::with_clock(quota, clock), clock)),
        verbs("gate", Gate::new(TokenBucket::with_clock(quota, clock))),
        verbs("counted", Counted::new(Box::new(TokenBucket::with_clock(quota, clock)))),
        verbs("settleable", SettleableBucket::with_clock(quota, clock)),
        verbs_of_key!("keyed", keyed()),
        verbs_of_key!("table", table()),
        verbs_of_key!("each", Keyed::<u64, _>::with(each)),
        verbs_of_key!("hot", HotKeys::new(table())),
        verbs_of_key!("hot of buckets", HotKeys::new(keyed())),
        verbs_of_key!("keys in line", QueuedKeys::with_clock(keyed(), clock)),
        verbs_of_key!("counted store", Counted::new(Box::new(table()))),
    ];
    #[cfg(feature = "calendar")]
    {
        let minutes = calendar::Calendar::minutes("UTC").unwrap();
        let window = calendar::CalendarWindow::with_clock(10, minutes, clock);
        all.push(verbs("calendar", window.unwrap()));
        // A Tuesday.
        let budget = calendar::Budget::with_clock(10, "UTC", clock).unwrap();
        all.push(verbs("budget", budget.on(calendar::Weekday::Thursday, 13).unwrap()));
    }
    all
}

/// The answer that a request has to get, by the verbs that have no reserve.
fn expected(twin: &Verbs<'_>, permits: u64, reserve: u64) -> Answer {
    if permits == 0 {
        return (twin.peek)(0);
    }
    let together = permits.saturating_add(reserve);
    let together = match twin.name {
        LOG if permits > 1 => Err(Denied::TooLarge { limit: 1 + reserve.min(9), which: 0 }),
        LOG => (twin.peek_ahead)(together),
        _ => (twin.peek)(together),
    };
    match together {
        Ok(_) => (twin.try_acquire)(permits),
        Err(Denied::TooLarge { limit, which }) => {
            Err(Denied::TooLarge { limit: limit.saturating_sub(reserve), which })
        }
        denied => denied,
    }
}

/// Asserts that an answer above a reserve, of any size, is lower by it, and that its waits are not shorter.
fn assert_told_above(answer: Answer, reserve: u64) {
    let lower = |whole: u64| whole.saturating_sub(reserve);
    match answer {
        Ok(grant) => {
            let above = grant.above(reserve);
            assert_eq!((above.permits(), above.limit()), (grant.permits(), lower(grant.limit())));
            assert_eq!(above.remaining(), lower(grant.remaining()), "{grant:?} above {reserve}");
            assert!(above.reset_after() >= grant.reset_after() || above.limit() == 0, "{above:?}");
            let _ = (above.balance(), above.next_permit_after(), above.ready_after());
        }
        Err(Denied::Wait(shortfall)) => {
            let Denied::Wait(above) = Denied::Wait(shortfall).above(reserve) else {
                panic!("another denial of {shortfall:?}")
            };
            assert_eq!(above.remaining(), lower(shortfall.remaining()), "{shortfall:?}");
            assert_eq!(above.retry_after(), shortfall.retry_after(), "above {reserve}");
            let _ = (above.missing(), above.balance(), above.next_permit_after());
        }
        Err(other) => assert_eq!(other.above(reserve), other),
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
            assert_told_above(expected, reserve);
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
fn the_limiter_and_the_balance_of_a_top_up_leave_the_reserve_each_by_itself() {
    let clock = ManualClock::new();
    let top_up = TopUp::with_balance(bucket(5, &clock), 6);
    let mut left = Vec::new();
    for (permits, reserve) in [(2, 3), (2, 3), (1, 3), (1, 3), (1, 2)] {
        let look = top_up.peek_leaving(permits, reserve);
        assert_eq!(top_up.try_acquire_leaving(permits, reserve), look);
        left.push((top_up.limiter().peek(0).unwrap().remaining(), top_up.balance()));
    }
    assert_eq!(left, [(3, 6), (3, 4), (3, 3), (3, 3), (2, 3)], "the fourth is denied");
    let denied = top_up.try_acquire_leaving(1, 3).unwrap_err();
    assert_eq!(denied, top_up.limiter().try_acquire_leaving(1, 3).unwrap_err());
    let limit = |reserve| top_up.try_acquire_leaving(7, reserve).unwrap_err().limit();
    assert_eq!([0, 3, 9].map(limit), [Some(5), Some(2), Some(0)]);
    top_up.add(10);
    assert_eq!(
        [0, 3, 9].map(|reserve| top_up.peek_leaving(14, reserve).unwrap_err().limit()),
        [Some(13), Some(10), Some(4)]
    );
    assert!(top_up.try_acquire_leaving(0, u64::MAX).is_ok());
}

#[test]
fn a_limiter_of_which_nothing_is_used_leaves_any_reserve() {
    let rule = PenaltyRule::new(rate!(1 / minute), std::time::Duration::from_secs(60)).unwrap();
    let penalty = PenaltyBox::with_clock(rule, ManualClock::new());
    let limiters: [&dyn Leaving; 2] = [&Unlimited, &penalty];
    for limiter in limiters {
        assert!(limiter.try_acquire_leaving(5, u64::MAX).is_ok());
        assert!(limiter.try_acquire_leaving_revocable(5, 1).unwrap().give_back());
    }
    penalty.offend(1);
    assert_eq!(penalty.try_acquire_leaving(5, 0), penalty.try_acquire(5));
    assert_eq!(penalty.peek_leaving(5, 0), penalty.peek(5));
}

#[test]
fn a_receipt_gives_back_what_a_request_took_that_left_a_reserve() {
    let clock = ManualClock::new();
    let limiters: [Box<dyn Leaving + '_>; 9] = [
        Box::new(bucket(10, &clock)),
        Box::new(FixedWindow::with_clock(rate!(10 / second), &clock).unwrap()),
        Box::new(SlidingWindow::with_slots(rate!(10 / second), 20, &clock).unwrap()),
        Box::new(Gate::new(bucket(10, &clock))),
        Box::new(Counted::new(bucket(10, &clock))),
        Box::new(TopUp::new(bucket(10, &clock))),
        Box::new(TopUp::with_balance(bucket(1, &clock), 10)),
        Box::new(All::new([10, 20].map(|burst| bucket(burst, &clock))).unwrap()),
        Box::new(Queued::with_clock(bucket(10, &clock), &clock)),
    ];
    for limiter in &limiters {
        assert!(limiter.try_acquire_leaving_revocable(3, 8).is_err());
        for _ in 0..2 {
            let receipt = limiter.try_acquire_leaving_revocable(3, 7).unwrap();
            assert!(limiter.try_acquire_leaving(1, 7).is_err());
            assert!(receipt.give_back());
        }
        assert!(limiter.try_acquire_leaving(3, 7).is_ok());
    }
    // None can be given back here: to a log, or to the root of shards.
    let log = WeightedLog::with_clock(rate!(10 / second), &clock).unwrap();
    let sharded = Sharded::builder(quota!(10 / second)).shards(2).clock(&clock).build().unwrap();
    let limiters: [&dyn Leaving; 2] = [&log, &sharded];
    for limiter in limiters {
        assert!(!limiter.try_acquire_leaving_revocable(3, 7).unwrap().give_back());
        assert_eq!(limiter.peek(0).unwrap().remaining(), 7);
    }
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
fn permits_that_were_given_back_count_and_are_taken_if_need_be() {
    let bucket = SettleableBucket::with_clock(quota!(10 / hour), ManualClock::new());
    let early = bucket.try_acquire_settleable(6).unwrap();
    bucket.try_acquire(2).unwrap();
    early.settle(1).unwrap();
    // Two in the bucket, and five behind what others have taken since.
    assert!(bucket.peek_leaving(1, 7).is_err());
    assert_eq!(bucket.try_acquire_leaving(1, 6).unwrap().remaining(), 6);
    let denied = bucket.try_acquire_leaving(3, 4).unwrap_err();
    assert_eq!(denied, bucket.peek(7).unwrap_err());
    let receipt = Leaving::try_acquire_leaving_revocable(&bucket, 3, 3).unwrap();
    assert!(bucket.try_acquire_leaving(1, 3).is_err());
    assert!(receipt.give_back());
    assert_eq!(bucket.try_acquire_leaving(3, 3).unwrap().remaining(), 3);
    assert_eq!(bucket.try_acquire(3).unwrap().remaining(), 0);
}

#[test]
fn a_hot_key_keeps_its_reserve_in_the_store_whatever_is_prepaid() {
    let clock = ManualClock::new();
    let table = KeyTable::<u64>::builder(quota!(1_000 / hour)).clock(&clock).keys(64).unwrap();
    let hot = HotKeys::new(table);
    for _ in 0..100 {
        hot.try_acquire(&7, 1).unwrap();
    }
    assert!(hot.is_hot(&7));
    let left = hot.store().peek(&7, 0).unwrap().remaining();
    assert!(left < 900, "some are prepaid");
    assert!(hot.peek_leaving(&7, 1, left).is_err());
    let granted = (0..1_000).take_while(|_| hot.try_acquire_leaving(&7, 1, 400).is_ok()).count();
    assert_eq!(granted as u64, left - 400);
    assert_eq!(hot.store().peek(&7, 0).unwrap().remaining(), 400);
    // A request without a reserve has the prepaid ones, too.
    assert!((0..1_000).take_while(|_| hot.try_acquire(&7, 1).is_ok()).count() > 400);
}

#[test]
fn callers_in_line_for_a_key_go_before_those_that_leave_a_reserve() {
    let clock = ManualClock::new();
    let store = Keyed::<u64, _>::with_clock(quota!(2 / second), &clock);
    let keys = QueuedKeys::<_, u64, _>::with_clock(store, &clock);
    keys.try_acquire(&7, 2).unwrap();
    let mut waiting = Box::pin(keys.acquire(&7, 1));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    clock.advance(std::time::Duration::from_millis(400));
    assert!(keys.try_acquire_leaving(&7, 1, 0).is_err() && keys.peek_leaving(&7, 1, 0).is_err());
    assert!(keys.try_acquire_leaving(&8, 1, 1).is_ok(), "nobody waits for another key");
    drop(waiting);
    clock.advance(std::time::Duration::from_millis(600));
    assert!(keys.try_acquire_leaving(&7, 1, 1).is_ok());
    let counted = Counted::new(keys);
    assert!(counted.try_acquire_leaving(&7, 1, 1).is_err());
    assert!(counted.try_acquire_leaving(&7, 1, 0).is_ok());
    assert_eq!((counted.counts().granted, counted.counts().denied), (1, 1));
}

#[test]
fn callers_at_the_same_time_leave_the_reserve_whole() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(100_000 / hour), &clock);
    let window = FixedWindow::with_clock(rate!(100_000 / hour), &clock).unwrap();
    let sliding = SlidingWindow::with_slots(rate!(100_000 / hour), 60, &clock).unwrap();
    let log = SlidingLog::with_clock(rate!(100_000 / hour), &clock).unwrap();
    let sharded = Sharded::with_clock(quota!(100_000 / hour), &clock);
    let limiters: [&dyn Leaving; 5] = [&bucket, &window, &sliding, &log, &sharded];
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
