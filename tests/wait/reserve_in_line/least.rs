//! A reservation in line is told the least instant that suffices: that at which a caller in its place is
//! granted, in a line that is served in time.

use proptest::collection::vec;
use proptest::prelude::*;

use sluicegate::bucket::Carry;
use sluicegate::{Clock, FixedWindow, Quota, Rate};

use crate::support::cases::cases;

use super::*;

const LIMIT: u64 = 10;

trait Lined: Wait + Reserve {}

impl<L: Wait + Reserve> Lined for L {}

fn limiter<'a>(kind: &str, span: u64, clock: &'a ManualClock) -> Box<dyn Lined + 'a> {
    let rate = Rate::new(LIMIT, Duration::from_nanos(span)).unwrap();
    let quota = Quota::new(rate).with_burst(LIMIT).unwrap().with_max_debt(1_000).unwrap();
    match kind {
        "LeakyBucket" => Box::new(LeakyBucket::meter_with_clock(quota, clock)),
        "interval" => Box::new(TokenBucket::with_clock(quota.with_refill(Refill::Interval), clock)),
        "FixedWindow" => {
            let ahead = Duration::from_nanos(span * 1_000);
            Box::new(FixedWindow::with_clock(rate, clock).unwrap().with_reservations(ahead))
        }
        _ => Box::new(TokenBucket::with_clock(quota, clock)),
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_reservation_in_line_is_told_the_least_instant_that_suffices(
        kind in prop::sample::select(vec!["TokenBucket", "interval", "LeakyBucket", "FixedWindow"]),
        span in prop_oneof![10..100_u64, 1_000_000_000..1_000_000_100_u64],
        offset in 0..1_000_u64,
        line in vec((1..=LIMIT, any::<bool>()), 1..8),
    ) {
        let clock = ManualClock::new();
        let [reserving, waiting] = [(); 2].map(|()| limiter(kind, span, &clock));
        clock.advance_nanos(span * offset / 1_000);
        for it in [&reserving, &waiting] {
            it.try_acquire(LIMIT).unwrap();
        }
        let now = clock.now_nanos();
        // A caller first: behind it, what one of them reserves is waited for by the other.
        let mut callers = vec![(Caller::new(&reserving, 1), Caller::new(&waiting, 1))];
        let mut told = Vec::new();
        for (permits, reserves) in line {
            let other = Caller::new(&waiting, permits);
            if reserves {
                let reservation = reserving.reserve(permits).unwrap();
                prop_assert_eq!(reservation.ready_after(), other.sleeps_for());
                told.push((reservation.at_nanos(), other));
            } else {
                let caller = Caller::new(&reserving, permits);
                prop_assert_eq!(caller.sleeps_for(), other.sleeps_for());
                callers.push((caller, other));
            }
        }
        let mut instants: Vec<u64> = told.iter().map(|it| it.0).collect();
        instants.extend(callers.iter().map(|it| now + it.0.sleeps_for().as_nanos() as u64));
        instants.sort_unstable();
        instants.dedup();
        for at in instants {
            for at in [at - 1, at] {
                clock.set_nanos(at);
                for (caller, other) in &mut callers {
                    prop_assert_eq!(caller.poll().is_ready(), other.poll().is_ready());
                }
                for (instant, other) in &mut told {
                    prop_assert_eq!(other.poll().is_ready(), *instant <= at);
                }
            }
        }
        prop_assert_eq!(reserving.line().waiters(), 0);
        prop_assert_eq!(reserving.try_acquire(1).is_ok(), waiting.try_acquire(1).is_ok());
    }
}

proptest! {
    #![proptest_config(cases(500))]

    /// Reservations keep their instants then, and are charged long before them.
    #[test]
    fn a_caller_behind_reservations_is_told_the_least_instant_after_the_rate_was_raised(
        span in prop_oneof![10..100_u64, 1_000_000..1_000_100_u64],
        faster in prop_oneof![Just(1_u64), 2..10_u64, 10..1_000_u64],
        max_debt in prop_oneof![0..30_u64, 30..3_000_u64],
        line in vec((1..=LIMIT, any::<bool>()), 1..8),
        last in 1..=LIMIT,
    ) {
        let quota = |permits: u64| {
            let rate = Rate::new(permits, Duration::from_nanos(span * 1_000)).unwrap();
            Quota::new(rate).with_burst(LIMIT).unwrap().with_max_debt(max_debt).unwrap()
        };
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota(LIMIT), &clock);
        bucket.try_acquire(LIMIT).unwrap();
        let mut callers = vec![Caller::new(&bucket, 1)];
        for (permits, reserves) in line {
            if reserves {
                drop(bucket.reserve(permits));
            } else {
                callers.push(Caller::new(&bucket, permits));
            }
        }
        bucket.reconfigure(quota(LIMIT * faster), Carry::Keep);
        let mut last = Caller::new(&bucket, last);
        let told = clock.now_nanos() + last.sleeps_for().as_nanos() as u64;
        callers.retain_mut(Caller::is_waiting);
        while last.is_waiting() {
            let next = callers.iter().map(Caller::sleeps_for);
            let next = next.chain([last.sleeps_for()]).min().unwrap();
            prop_assert!(!next.is_zero());
            clock.advance(next);
            callers.retain_mut(Caller::is_waiting);
        }
        prop_assert_eq!(clock.now_nanos(), told);
    }
}
