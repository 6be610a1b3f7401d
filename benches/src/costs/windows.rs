//! The costs of windows.

use std::time::Duration;

use sluicegate_counted::compose::All;
use sluicegate_counted::window::*;
use sluicegate_counted::{Limiter, TokenBucket, quota, rate};

use super::{Cost, CountingClock, count_all};
use crate::limiters::windows;

/// The costs of the verbs of `$limiter`, which grants two permits in a minute, one
/// after the other.
macro_rules! costs_of {
    ($clock:expr, $name:literal, $limiter:expr) => {{
        let (clock, limiter) = ($clock, &$limiter);
        let cost = |name, verb: &dyn Fn()| count_all(clock, $name, name, verb);
        let full = |name, verb: &dyn Fn()| {
            limiter.reset();
            cost(name, verb)
        };
        let empty = |name, verb: &dyn Fn()| {
            limiter.reset();
            assert_eq!(limiter.try_acquire_up_to(9).map(|grant| grant.permits()), Ok(2));
            cost(name, verb)
        };
        // A ring keeps the second denial for the third.
        let again = |name, verb: &dyn Fn()| {
            limiter.reset();
            assert_eq!(limiter.try_acquire_up_to(9).map(|grant| grant.permits()), Ok(2));
            (0..2).for_each(|_| verb());
            cost(name, verb)
        };
        let revoked = |name, verb: &dyn Fn()| {
            limiter.reset();
            cost(name, verb)
        };
        vec![
            full("try_acquire, admitted", &|| assert!(limiter.try_acquire(1).is_ok())),
            again("try_acquire, denied", &|| assert!(limiter.try_acquire(1).is_err())),
            full("try_acquire, denied as too large", &|| assert!(limiter.try_acquire(9).is_err())),
            full("try_acquire of 0", &|| assert!(limiter.try_acquire(0).is_ok())),
            full("peek", &|| assert!(limiter.peek(1).is_ok())),
            empty("peek, denied", &|| assert!(limiter.peek(1).is_err())),
            empty("try_acquire_up_to, denied", &|| assert!(limiter.try_acquire_up_to(9).is_err())),
            revoked("try_acquire_revocable, given back or not", &|| {
                let receipt = limiter.try_acquire_revocable(1).expect("it is full");
                receipt.give_back();
            }),
            empty("reset", &|| limiter.reset()),
        ]
    }};
}

/// The costs of every verb of every window.
pub(super) fn all(clock: &CountingClock) -> Vec<Cost> {
    const RATE: sluicegate_counted::Rate = rate!(2 / minute);
    const IN_RANGE: &str = "the limit is in range";
    clock.advance(Duration::from_secs(3_600));
    let mut costs = Vec::new();
    macro_rules! every_window {
        ($((
            $Kind:ident, $name:literal, $Window:ident,
            |$limit:ident, $slots:ident, $entries:ident, $clock:ident| $make:block,
            $state:expr, $facts:tt
        ))*) => {$({
            let ($limit, $slots, $entries, $clock) = (RATE, 60, RATE.permits(), clock);
            costs.extend(costs_of!(clock, $name, $make.expect(IN_RANGE)));
        })*};
    }
    windows!(every_window);
    let limits = [RATE, rate!(9 / hour), rate!(99 / day)];
    costs.extend(costs_of!(
        clock,
        "multi_window of 3",
        MultiWindow::with_slots(limits, 60, clock).expect(IN_RANGE)
    ));

    let name = "sliding_window";
    let window = SlidingWindow::with_slots(RATE, 60, clock).expect(IN_RANGE);
    assert!(window.try_acquire(2).is_ok());
    clock.advance(Duration::from_secs(1));
    costs.push(count_all(clock, name, "try_acquire, first refused in a slot", || {
        assert!(window.try_acquire(1).is_err());
    }));
    for denial in ["try_acquire, refused twice in a slot", "try_acquire, denied again"] {
        costs.push(count_all(clock, name, denial, || assert!(window.try_acquire(1).is_err())));
    }
    window.reset();
    clock.advance(Duration::from_secs(1));
    costs.push(count_all(clock, name, "try_acquire, admitted in a new slot", || {
        assert!(window.try_acquire(1).is_ok());
    }));
    clock.advance(Duration::from_secs(600));
    costs.push(count_all(clock, name, "try_acquire, admitted after an idle window", || {
        assert!(window.try_acquire(1).is_ok());
    }));

    let name = "all of 2";
    let bucket = TokenBucket::with_clock(quota!(2 / hour), clock);
    let window = FixedWindow::with_clock(RATE, clock).expect(IN_RANGE);
    let both: All<&dyn Limiter> = All::new([&bucket as &dyn Limiter, &window]).expect(IN_RANGE);
    costs.push(count_all(clock, name, "try_acquire, admitted", || {
        assert!(both.try_acquire(2).is_ok());
    }));
    costs.push(count_all(clock, name, "try_acquire, denied", || {
        assert!(both.try_acquire(1).is_err());
    }));
    costs
}
