//! Stores of keys, tenants and classes of requests.

use std::hint::black_box;
use std::time::Duration;

use sluicegate::keyed::{Observe, Parts, TopKeys};
use sluicegate::share::{Priorities, Share, Shares};
use sluicegate::*;

use crate::support::allocator::allocations;

#[test]
fn a_call_for_a_known_tenant_or_a_class_of_requests_allocates_nothing() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(5 / second)).with_ceiling(quota!(9 / second));
    let shares = Shares::<u64, _>::with_clock(quota!(20 / second), [share], &clock).unwrap();
    assert!(shares.try_acquire(0, &7, 2).unwrap().is_assured());
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    let names = [(String::from("first"), 0), (String::from("last"), 50)];
    let priorities = Priorities::by_percent(bucket, names).unwrap();
    let made = allocations(|| {
        for permits in [0, 1, 3, 4, u64::MAX] {
            for group in [0, 1] {
                let _ = shares.peek(group, &7, permits);
                let _ =
                    shares.try_acquire(group, &7, permits).map_err(|denied| denied.retry_after());
                let _ = priorities.try_acquire(group, permits).map_err(|refused| refused.denied);
            }
            clock.advance(Duration::from_millis(50));
        }
    });
    assert_eq!(made, 0);
}

#[test]
fn a_known_key_given_by_its_parts_is_not_copied() {
    let clock = ManualClock::at(86_400_000_000_000);
    let routes = Keyed::<(String, u32), _>::with_clock(quota!(9 / second), &clock);
    let (tenant, route) = (String::from("a tenant with a long name"), 7);
    let parts = Parts((tenant.as_str(), &route));
    let every_verb = || {
        for permits in [0, 1, 3, 10] {
            for answer in [
                routes.try_acquire(&parts, permits),
                routes.try_acquire_up_to(&parts, permits),
                routes.peek(&parts, permits),
                routes.force(&parts, permits),
            ] {
                black_box(answer.is_ok());
            }
        }
        routes.try_acquire_batch_with([&parts, &parts], 1, |_, answer| {
            black_box(answer.is_ok());
        });
        let _ = black_box((routes.drain(&parts), routes.contains(&parts)));
        routes.reset(&parts);
    };
    assert!(allocations(every_verb) > 0, "a new key is made of its parts");
    assert!(routes.contains(&(tenant.clone(), route)));
    assert_eq!(allocations(every_verb), 0);
}

#[test]
fn top_keys_allocate_for_keys_that_are_new_to_them_only() {
    let top = TopKeys::<str>::new(8);
    let names: Vec<String> = (0..16).map(|name| format!("user:{name:02}")).collect();
    let bucket = TokenBucket::with_clock(quota!(3 / second), ManualClock::new());
    let (granted, denied) = (bucket.peek(3), bucket.peek(4));
    let count = |names: &[String]| {
        for name in names {
            for is_granted in [true, false] {
                let answer = if is_granted { &granted } else { &denied };
                top.decided(name, 3, answer.as_ref());
            }
        }
    };
    let made = allocations(|| (0..10).for_each(|_| count(&names[..8])));
    assert_eq!(made, 16, "one for each key of either kind");
    let made = allocations(|| {
        (0..10).for_each(|_| count(&names[..8]));
        // Names as long as those whose places they take.
        count(&names);
    });
    assert_eq!(made, 0);
    assert_eq!(top.lost(), 0);
}
