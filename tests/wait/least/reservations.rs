//! A reservation is for the least instant that suffices.

use super::*;

/// A limiter whose permits can be reserved, of `LIMIT` in `span` nanoseconds.
fn reserving<'a>(kind: &str, span: u64, clock: &'a ManualClock) -> Box<dyn Reserve + 'a> {
    let quota = quota_of(span);
    let interval = span / LIMIT + 1;
    let [interval, tolerance] = [interval, interval * (LIMIT - 1)].map(Duration::from_nanos);
    match kind {
        "Gcra" => Box::new(Gcra::with_clock(interval, tolerance, clock).unwrap()),
        "LeakyBucket" => Box::new(LeakyBucket::meter_with_clock(quota, clock)),
        "interval" => Box::new(TokenBucket::with_clock(quota.with_refill(Refill::Interval), clock)),
        _ => Box::new(TokenBucket::with_clock(quota, clock)),
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// By its instant what was reserved has been earned, and not before: the balance is a debt until then.
    /// Another limiter in the same state grants as much as was reserved first at that instant. (Until the
    /// next one it may overflow, which one that is in debt does not.)
    #[test]
    fn a_reservation_is_for_the_least_instant_that_suffices(
        kind in prop::sample::select(vec!["TokenBucket", "interval", "Gcra", "LeakyBucket"]),
        span in spans(),
        before in vec((1..=LIMIT, 0..700_u64), 0..10),
        reserved in vec(1..=LIMIT, 1..4),
    ) {
        let clock = ManualClock::new();
        let [limiter, twin] = [(); 2].map(|()| reserving(kind, span, &clock));
        for (permits, part) in before {
            let answers = [&limiter, &twin].map(|it| it.try_acquire(permits).is_ok());
            prop_assert_eq!(answers[0], answers[1]);
            clock.advance_nanos(span / 1_000 * part + part % 3);
        }
        let now = clock.now_nanos();
        for (place, permits) in reserved.into_iter().enumerate() {
            clock.set_nanos(now);
            // No deeper in debt than the limiter goes.
            let Ok(reservation) = limiter.reserve(permits) else { break };
            let at = reservation.at_nanos();
            prop_assert_eq!(reservation.wait_left(), Duration::from_nanos(at - now));
            if at > now {
                clock.set_nanos(at - 1);
                prop_assert!(limiter.peek(0).unwrap().balance() < 0, "a nanosecond early");
                prop_assert!(place > 0 || twin.peek(permits).is_err(), "a nanosecond early");
            }
            clock.set_nanos(at);
            prop_assert!(limiter.peek(0).unwrap().balance() >= 0, "it is not earned yet");
            prop_assert!(place > 0 || twin.peek(permits).is_ok(), "it is not granted");
        }
    }
}
