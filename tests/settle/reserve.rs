//! Reservations of a bucket that can be settled. What is checked: instants, what is given back when they
//! are cancelled, whatever was taken since, and the bound.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::*;

const TENTH: Duration = Duration::from_millis(100);

#[test]
fn reservations_take_what_there_is_and_then_go_into_debt() {
    let clock = ManualClock::new();
    let bucket = ten(&clock);
    let estimate = bucket.try_acquire_settleable(10).unwrap();
    bucket.try_acquire(0).unwrap();
    let refused = bucket.reserve_within(3, 2 * TENTH).unwrap_err();
    assert_eq!(refused, AcquireError::TimedOut { retry_after: 3 * TENTH });
    assert_eq!(bucket.reserve(11).unwrap_err(), AcquireError::TooLarge { limit: 10 });
    let first = bucket.reserve(1).unwrap();
    // Somebody gives back, but the debt comes first.
    assert_eq!(estimate.settle(4).unwrap().given_back(), 6);
    let second = bucket.reserve(1).unwrap();
    assert_eq!([first.ready_after(), second.ready_after()], [TENTH, 2 * TENTH]);
    clock.advance(2 * TENTH);
    let third = bucket.reserve(6).unwrap();
    assert_eq!((third.ready_after(), third.permits()), (Duration::ZERO, 6));
    assert_eq!(remaining(&bucket), 0);
}

#[test]
fn any_reservation_can_be_cancelled_whatever_was_reserved_since() {
    let clock = ManualClock::new();
    let bucket = ten(&clock);
    let [now, first, second] = [10, 4, 2].map(|permits| bucket.reserve(permits).unwrap());
    assert!(first.cancel());
    // Those behind keep their instants; what has come back is there when the debt is paid.
    assert_eq!(second.ready_after(), 6 * TENTH);
    clock.advance(6 * TENTH);
    assert_eq!(remaining(&bucket), 4);
    assert!(second.cancel(), "and the word is as it would be without");
    assert_eq!(remaining(&bucket), 6);
    // Some are too old by now: they would have overflowed, had they never been taken.
    assert!(now.cancel());
    assert_eq!(remaining(&bucket), 10);
    assert!(bucket.reserve(0).unwrap().cancel());
    bucket.reset();
    assert_eq!(remaining(&bucket), 10);
}

/// In no span is more kept than the burst, what is earned in it, and the debt.
#[test]
fn whatever_is_cancelled_what_is_kept_is_within_the_bound() {
    for seed in 0..60 {
        let mut random = SmallRng::seed_from_u64(seed);
        let clock = ManualClock::new();
        let bucket = SettleableBucket::with_clock(quota!(10 / second, max_debt 10), &clock);
        // Instants, in tenths of a second, and permits that are kept from then on.
        let mut kept: Vec<(u64, u64)> = Vec::new();
        let mut held = Vec::new();
        for _ in 0..200 {
            let permits = random.random_range(1..=6);
            match random.random_range(0..5) {
                0 => clock.advance(random.random_range(0..6) * TENTH),
                1 if !held.is_empty() => {
                    let reservation: Reservation<'_> =
                        held.swap_remove(random.random_range(0..held.len()));
                    let before = bucket.peek(0).unwrap().balance();
                    assert!(reservation.cancel());
                    assert!(bucket.peek(0).unwrap().balance() >= before);
                }
                2 => {
                    if bucket.try_acquire(permits).is_ok() {
                        kept.push((clock.now_nanos() / 100_000_000, permits));
                    }
                }
                _ => held.extend(bucket.reserve(permits)),
            }
        }
        let at = |reservation: &Reservation<'_>| reservation.at_nanos() / 100_000_000;
        kept.extend(held.iter().map(|reservation| (at(reservation), reservation.permits())));
        kept.sort_unstable();
        for (index, &(from, _)) in kept.iter().enumerate() {
            let mut sum = 0;
            for &(to, permits) in &kept[index..] {
                sum += permits;
                assert!(sum <= 10 + (to - from), "seed {seed}: {sum} from {from} to {to}");
            }
        }
    }
}

#[test]
fn no_permits_are_reserved_at_once_also_of_a_bucket_in_debt() {
    let clock = ManualClock::new();
    let quota = quota!(10 / second, max_debt 10);
    let settleable = SettleableBucket::with_clock(quota, &clock);
    let token = TokenBucket::with_clock(quota, &clock);
    let window = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    let window = window.with_reservations(2 * SECOND);
    let buckets: [&dyn Reserve; 3] = [&settleable, &token, &window];
    for bucket in buckets {
        let (_first, _second) = (bucket.reserve(10).unwrap(), bucket.reserve(7).unwrap());
        let nothing = bucket.reserve_within(0, Duration::ZERO).unwrap();
        assert_eq!((nothing.permits(), nothing.ready_after()), (0, Duration::ZERO));
        assert!(nothing.cancel());
    }
}
