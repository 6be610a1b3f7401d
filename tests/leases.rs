//! Leases of limiters that are one word. The permits of such a lease are admitted when it
//! is taken, so all of these are about what comes back, and about what must not. At the end,
//! leases of a `Sharded`: those that own a share of their limiter, and exact ones.

use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::bucket::Carry;
use sluicegate::lease::Lease;
use sluicegate::*;

use crate::support::cases::cases;

const SECOND: Duration = Duration::from_secs(1);

/// The same text for each limiter of one word, which holds ten permits and earns ten a
/// second.
macro_rules! each_limiter {
    (|$limiter:ident, $clock:ident| $check:block) => {{
        let $clock = &ManualClock::at(5_000_000_000);
        {
            let $limiter = TokenBucket::with_clock(quota!(10 / second), $clock);
            $check
        }
        {
            let $limiter = LeakyBucket::meter_with_clock(quota!(10 / second), $clock);
            $check
        }
        {
            let interval = Duration::from_millis(100);
            let $limiter = Gcra::with_clock(interval, interval * 9, $clock).unwrap();
            $check
        }
    }};
}

#[test]
fn a_lease_holds_no_more_than_there_may_be_in_one() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(4_294_967_296 / hour), &clock);
    let lease = bucket.lease(u64::MAX).unwrap();
    assert_eq!((lease.left(), lease.grant().permits()), (Lease::MAX, Lease::MAX));
    assert_eq!(bucket.peek(0).unwrap().remaining(), (1 << 32) - Lease::MAX);
    drop(lease);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 1 << 32);
}

#[test]
fn an_exact_lease_holds_all_that_was_asked_for_or_there_is_none() {
    each_limiter!(|limiter, clock| {
        assert!(matches!(limiter.lease_exact(11), Err(Denied::TooLarge { limit: 10, .. })));
        limiter.try_acquire(3).unwrap();
        let denied = limiter.lease_exact(8).unwrap_err();
        assert_eq!(denied.retry_after(), Some(Duration::from_millis(100)));
        assert_eq!(limiter.peek(0).unwrap().remaining(), 7);
        let mut lease = limiter.lease_exact(7).unwrap();
        assert_eq!((lease.left(), limiter.peek(0).unwrap().remaining()), (7, 0));
        assert!(lease.spend(2));
        drop(lease);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 5);
        assert_eq!(limiter.lease_exact(0).unwrap().left(), 0);
        clock.advance(SECOND);
    });
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(4_294_967_296 / hour), &clock);
    let denied = bucket.lease_exact(Lease::MAX + 1).unwrap_err();
    assert_eq!(denied.limit(), Some(Lease::MAX));
    assert_eq!(bucket.lease_exact(Lease::MAX).unwrap().left(), Lease::MAX);
}

#[test]
fn an_owned_lease_keeps_its_limiter_alive_and_gives_back_as_a_borrowed_one_does() {
    let clock = Arc::new(ManualClock::at(5_000_000_000));
    let bucket = Arc::new(TokenBucket::with_clock(quota!(10 / second), Arc::clone(&clock)));
    for spent in 0..=6 {
        let mut lease: Lease<'static> = bucket.lease_owned(6).unwrap();
        assert_eq!((Arc::strong_count(&bucket), lease.left()), (2, 6));
        assert!((0..spent).all(|_| lease.spend(1)));
        std::thread::spawn(move || drop(lease)).join().unwrap();
        assert_eq!(
            (Arc::strong_count(&bucket), bucket.peek(0).unwrap().remaining()),
            (1, 10 - spent)
        );
        bucket.reset();
    }
    // As with a borrowed one, all are lost if something has happened since.
    let lease = bucket.lease_exact_owned(4).unwrap();
    bucket.try_acquire(1).unwrap();
    drop(lease);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 5);
    assert!(bucket.lease_exact_owned(6).is_err());
    let lease = bucket.lease_owned(5).unwrap();
    drop(bucket);
    assert_eq!((Arc::strong_count(&clock), lease.left()), (2, 5));
    drop(lease);
    assert_eq!(Arc::strong_count(&clock), 1);
}

#[test]
fn all_that_is_left_goes_back_if_nothing_happened_in_between() {
    each_limiter!(|limiter, clock| {
        let before = limiter.snapshot();
        for spent in 0..=6 {
            let mut lease = limiter.lease(6).unwrap();
            assert_eq!((lease.left(), lease.grant().permits()), (6, 6));
            assert_eq!(lease.grant().remaining(), 4);
            assert_eq!(limiter.peek(0).unwrap().remaining(), 4);
            assert!((0..spent).all(|_| lease.spend(1)));
            drop(lease);
            assert_eq!(limiter.peek(0).unwrap().remaining(), 10 - spent);
            limiter.reset();
        }
        assert_eq!(limiter.snapshot(), before);
        clock.advance_nanos(0);
    });
}

#[test]
fn what_goes_back_later_has_been_earning_all_the_time() {
    each_limiter!(|limiter, clock| {
        limiter.try_acquire(5).unwrap();
        let lease = limiter.lease(5).unwrap();
        clock.advance(SECOND / 5);
        drop(lease);
        // As if it had never been taken: five, and two that were earned.
        assert_eq!(limiter.peek(0).unwrap().remaining(), 7);
        let mut lease = limiter.lease(7).unwrap();
        assert!(lease.spend(7));
        clock.advance(SECOND * 100);
        drop(lease);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 10);
    });
}

#[test]
fn all_of_it_is_lost_if_anything_happened_in_between() {
    each_limiter!(|limiter, clock| {
        for happens in 0..4 {
            let lease = limiter.lease(4).unwrap();
            let wanted = match happens {
                0 => limiter.try_acquire(1).map(|_| 5).unwrap(),
                1 => limiter.force(7).map(|_| 0).unwrap(),
                2 => limiter.drain().permits() - 6,
                _ => limiter.lease(1).map(|mut lease| u64::from(!lease.spend(1)) + 5).unwrap(),
            };
            drop(lease);
            assert_eq!(limiter.peek(0).unwrap().remaining(), wanted, "after {happens}");
            limiter.reset();
        }
        clock.advance_nanos(0);
    });
}

#[test]
fn what_leaves_no_trace_is_nothing_that_happened() {
    each_limiter!(|limiter, clock| {
        let lease = limiter.lease(4).unwrap();
        let _ =
            (limiter.peek(1), limiter.try_acquire(0), limiter.try_acquire(7), limiter.snapshot());
        assert!(limiter.try_acquire_revocable(6).unwrap().give_back());
        drop(limiter.lease(6).unwrap());
        clock.rewind(SECOND / 100);
        drop(lease);
        clock.advance(SECOND / 100);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 10);
    });
}

#[test]
fn leases_within_leases_go_back_from_the_inside_out_and_else_only_the_last_does() {
    each_limiter!(|limiter, clock| {
        for (first, second, there) in [(2, 1, 10), (1, 2, 4), (0, 1, 4), (0, 2, 7)] {
            let mut leases: Vec<_> =
                [3, 3, 2].map(|permits| Some(limiter.lease(permits).unwrap())).into();
            // Two remain. The third is dropped after the two that are named.
            drop(leases[first].take());
            drop(leases[second].take());
            drop(leases);
            assert_eq!(limiter.peek(0).unwrap().remaining(), there, "{first}, {second}");
            limiter.reset();
        }
        clock.advance_nanos(0);
    });
}

#[test]
fn no_change_is_undone_or_added_to_by_a_lease_from_before_it() {
    each_limiter!(|limiter, clock| {
        let empty = {
            let _all = limiter.lease(10).unwrap();
            limiter.snapshot()
        };
        assert_eq!(limiter.peek(0).unwrap().remaining(), 10);
        let lease = limiter.lease(10).unwrap();
        limiter.reset();
        drop(lease);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 10);
        assert!(limiter.try_acquire(10).is_ok() && limiter.try_acquire(1).is_err());

        limiter.reset();
        let lease = limiter.lease(10).unwrap();
        limiter.restore(&empty, Duration::ZERO);
        drop(lease);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 0);
        clock.advance_nanos(0);
    });
}

#[test]
fn a_lease_from_before_a_change_of_quota_is_lost_even_if_the_quota_comes_back() {
    let (first, second) = (quota!(10 / second), quota!(3 / minute, burst 40));
    for carry in [Carry::Keep, Carry::Scale] {
        let limiter = TokenBucket::with_clock(first, ManualClock::new());
        let lease = limiter.lease(6).unwrap();
        for _ in 0..3 {
            limiter.reconfigure(second, carry);
            limiter.reconfigure(first, carry);
        }
        drop(lease);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 4);
    }
}

#[test]
fn a_lease_of_none_is_always_granted_and_one_of_more_is_of_what_there_is() {
    each_limiter!(|limiter, clock| {
        assert_eq!(limiter.lease(u64::MAX).unwrap().left(), 10);
        limiter.try_acquire(10).unwrap();
        let mut none = limiter.lease(0).unwrap();
        assert!(none.left() == 0 && none.spend(0) && !none.spend(1));
        let denied = limiter.lease(5).unwrap_err();
        assert_eq!(denied, limiter.peek(1).unwrap_err());
        clock.advance(SECOND);
        drop(none);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 10);
    });
}

#[test]
fn a_lease_beside_a_debt_is_refused() {
    each_limiter!(|limiter, clock| {
        limiter.force(15).unwrap();
        let denied = limiter.lease(1).unwrap_err();
        assert_eq!(denied.retry_after(), Some(SECOND * 6 / 10));
        assert_eq!(limiter.lease(0).unwrap().left(), 0);
        clock.advance_nanos(0);
    });
}

#[test]
fn a_lease_that_is_forgotten_is_spent() {
    each_limiter!(|limiter, clock| {
        std::mem::forget(limiter.lease(4).unwrap());
        assert_eq!(limiter.peek(0).unwrap().remaining(), 6);
        clock.advance(SECOND);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 10);
    });
}

#[test]
fn a_lease_can_be_spent_and_dropped_by_another_thread() {
    let limiter = TokenBucket::with_clock(quota!(1 / second, burst 100), ManualClock::new());
    let mut lease = limiter.lease(100).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || assert!((0..60).all(|_| lease.spend(1))));
    });
    assert_eq!(limiter.peek(0).unwrap().remaining(), 40);
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Permits that were taken and not given back are admitted at the instant of the
    /// lease. In every span of them the bound holds, whatever was dropped when.
    #[test]
    fn no_order_of_leases_and_other_calls_admits_more_than_the_bound(
        ops in vec((0..6_u8, 0..12_u64, 0..300_000_000_u64), 1..60),
    ) {
        let clock = ManualClock::at(1_000_000_000);
        let limiter = TokenBucket::with_clock(quota!(10 / second), &clock);
        let mut leases = Vec::new();
        // When, and how much of it was not given back.
        let mut admitted = Vec::new();
        for (op, amount, nanos) in ops {
            let now_nanos = clock.now_nanos();
            let before = limiter.peek(0).unwrap().remaining();
            match op {
                0 | 1 => if let Ok(lease) = limiter.lease(amount) {
                    leases.push((admitted.len(), lease));
                    admitted.push((now_nanos, leases.last().unwrap().1.left()));
                },
                2 if !leases.is_empty() => {
                    let (at, mut lease) = leases.swap_remove(amount as usize % leases.len());
                    prop_assert!(lease.spend(lease.left() * amount / 12));
                    let back = lease.left();
                    drop(lease);
                    let gained = limiter.peek(0).unwrap().remaining() - before;
                    prop_assert!(gained <= back);
                    if gained > 0 {
                        admitted[at].1 -= back;
                    }
                }
                3 => if limiter.try_acquire(amount).is_ok() {
                    admitted.push((now_nanos, amount));
                },
                4 => if let Ok(receipt) = limiter.try_acquire_revocable(amount) {
                    prop_assert!(receipt.give_back());
                },
                _ => clock.advance_nanos(nanos),
            }
        }
        for (from, &(since_nanos, _)) in admitted.iter().enumerate() {
            let mut sum = 0;
            for &(at_nanos, permits) in &admitted[from..] {
                sum += permits;
                // In tenths of a microsecond, which earn a millionth of a permit each.
                let earned = (at_nanos - since_nanos) / 100;
                prop_assert!(sum * 1_000_000 <= 10_000_000 + earned + 1);
            }
        }
    }
}

fn sharded() -> Arc<Sharded<ManualClock>> {
    let clock = ManualClock::at(5_000_000_000);
    Arc::new(Sharded::builder(quota!(32 / second)).shards(2).clock(clock).build().unwrap())
}

#[test]
fn an_owned_lease_of_shards_gives_back_whatever_has_happened_since() {
    let limiter = sharded();
    let mut lease: Lease<'static> = limiter.lease_owned(10).unwrap();
    assert_eq!((Arc::strong_count(&limiter), lease.left()), (2, 10));
    limiter.try_acquire(5).unwrap();
    assert!(lease.spend(4));
    std::thread::spawn(move || drop(lease)).join().unwrap();
    assert_eq!((Arc::strong_count(&limiter), limiter.peek(0).unwrap().remaining()), (1, 23));
    // Their capacity is back too.
    limiter.clock().advance(SECOND);
    assert_eq!(limiter.lease_exact_owned(32).unwrap().left(), 32);
    assert_eq!(limiter.try_acquire_up_to(40).unwrap().permits(), 32);
}

#[test]
fn the_capacity_of_an_owned_lease_comes_back_though_all_of_it_was_spent() {
    let limiter = sharded();
    let mut lease = limiter.lease_owned(32).unwrap();
    let held = lease.left();
    assert!(held > 0 && lease.spend(held));
    drop(lease);
    limiter.clock().advance(SECOND);
    assert_eq!(limiter.try_acquire_up_to(40).unwrap().permits(), 32);
}

#[test]
fn an_owned_exact_lease_of_shards_is_of_all_permits_or_refused() {
    let limiter = sharded();
    let held = limiter.lease(20).unwrap();
    assert!(limiter.lease_exact_owned(20).is_err());
    assert_eq!(limiter.lease_exact_owned(12).unwrap().left(), 12);
    assert_eq!(held.left(), 20);
}

#[test]
fn an_exact_lease_of_shards_takes_what_all_of_them_have_or_nothing() {
    let limiter = sharded();
    // Permits in both shards.
    for shard in [0, 1] {
        limiter.shard(shard).try_acquire(1).unwrap();
    }
    assert_eq!(limiter.peek(0).unwrap().remaining(), 30);
    assert!(matches!(limiter.lease_exact(33), Err(Denied::TooLarge { limit: 32, .. })));
    assert!(matches!(limiter.lease_exact(u64::MAX), Err(Denied::TooLarge { limit: 32, .. })));
    assert!(matches!(limiter.lease_exact(31), Err(Denied::Wait(_))));
    assert_eq!(limiter.peek(0).unwrap().remaining(), 30);
    let lease = limiter.lease_exact(30).unwrap();
    assert_eq!((lease.left(), limiter.peek(0).unwrap().remaining()), (30, 0));
    assert!(limiter.lease_exact(1).is_err());
    assert_eq!(limiter.lease_exact(0).unwrap().left(), 0);
}
