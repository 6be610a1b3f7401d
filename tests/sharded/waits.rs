//! The waits that denials name. If nobody else asks meanwhile, a request is granted after
//! its wait, and not a nanosecond before, however much of the burst it is; and where leases
//! hold capacity that it needs, no wait is named.

use std::mem::{self, ManuallyDrop};
use std::sync::Mutex;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::compose::All;
use sluicegate::lease::Lease;
use sluicegate::*;

use super::pair::{Op, Pair};
use super::{limiter, op, setup, sharded, shards};
use crate::support::any;
use crate::support::cases::cases;
use crate::support::ops::LIFE_NANOS;

const NANO: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

fn thousand(clock: &ManualClock) -> Sharded<&ManualClock> {
    sharded(quota!(1_000 / second), 2, clock)
}

/// Leases `permits`, all of them.
fn lease<'a>(limiter: &'a Sharded<&ManualClock>, permits: u64) -> Lease<'a> {
    let lease = limiter.lease(permits).unwrap();
    assert_eq!(lease.left(), permits);
    lease
}

/// By a try and by a look, and no less suffices.
#[test]
fn a_wait_for_nearly_the_whole_burst_suffices_though_a_shard_had_room_for_some_of_it() {
    type Ask = fn(&Sharded<&ManualClock>) -> Result<Grant, Denied>;
    let asks: [Ask; 2] = [|limiter| limiter.try_acquire(139), |limiter| limiter.peek(139)];
    for ask in asks {
        let clock = ManualClock::at(1_000);
        let limiter = sharded(quota!(6 / 50 ns, burst 139), 1, &clock);
        assert!(limiter.try_acquire(104).is_ok());
        clock.set_nanos(1_151);
        assert!(limiter.try_acquire(1).is_ok());
        clock.set_nanos(1_206);
        let wait = ask(&limiter).unwrap_err().retry_after().unwrap();
        clock.advance(wait.saturating_sub(NANO));
        assert!(ask(&limiter).is_err());
        clock.advance(NANO);
        assert!(limiter.try_acquire(139).is_ok());
    }
}

#[test]
fn what_leases_hold_is_waited_for_by_no_time() {
    let clock = ManualClock::new();
    let limiter = thousand(&clock);
    let mut held = lease(&limiter, 300);
    assert!(held.spend(300));
    assert!(limiter.try_acquire(700).is_ok());
    for _ in 0..3 {
        for answer in
            [limiter.try_acquire(701), limiter.peek(1_000), limiter.shard(1).try_acquire(701)]
        {
            let denied = answer.unwrap_err();
            assert_eq!(denied, Denied::Leased { limit: 700, which: 0 });
            assert_eq!(denied.retry_after(), None);
            assert!(denied.to_string().contains("700"), "{denied}");
        }
        clock.advance(SECOND);
    }
    // Beside them all else is granted.
    assert!(limiter.try_acquire(700).is_ok());
    assert_eq!(limiter.try_acquire(700).unwrap_err().retry_after(), Some(SECOND * 7 / 10));
    // And after them there is a wait.
    drop(held);
    assert_eq!(limiter.try_acquire(1_000).unwrap_err().retry_after(), Some(SECOND));
    assert_eq!(
        limiter.try_acquire(1_001).unwrap_err(),
        Denied::TooLarge { limit: 1_000, which: 0 }
    );
}

#[test]
fn a_refusal_of_one_permit_that_is_remembered_promises_nothing_that_leases_hold() {
    let clock = ManualClock::new();
    let limiter = thousand(&clock);
    let held = lease(&limiter, 300);
    assert!(limiter.try_acquire(700).is_ok());
    for _ in 0..2 {
        assert_eq!(limiter.try_acquire(1).unwrap_err().retry_after(), Some(SECOND / 1_000));
        assert_eq!(limiter.try_acquire(700).unwrap_err().retry_after(), Some(SECOND * 7 / 10));
        let denied = limiter.try_acquire(701).unwrap_err();
        assert_eq!(denied, Denied::Leased { limit: 700, which: 0 });
    }
    drop(held);
}

#[test]
fn what_a_forgotten_lease_holds_is_waited_for_by_no_time() {
    let clock = ManualClock::new();
    let limiter = thousand(&clock);
    std::mem::forget(lease(&limiter, 300));
    for _ in 0..3 {
        let denied = limiter.try_acquire(701).unwrap_err();
        assert_eq!(denied, Denied::Leased { limit: 700, which: 0 });
        assert!(limiter.try_acquire(700).is_ok());
        clock.advance(SECOND);
    }
    limiter.reset();
    assert_eq!(limiter.try_acquire(701).unwrap_err(), Denied::Leased { limit: 700, which: 0 });
}

#[test]
fn a_receipt_holds_room_as_a_lease_does_until_it_ends() {
    let clock = ManualClock::new();
    let limiter = thousand(&clock);
    for is_given_back in [true, false] {
        let receipt = limiter.try_acquire_revocable(300).unwrap();
        let denied = limiter.try_acquire(701).unwrap_err();
        assert_eq!(denied, Denied::Leased { limit: 700, which: 0 });
        if is_given_back {
            assert!(receipt.give_back() && limiter.peek(1_000).is_ok());
        } else {
            drop(receipt);
            let denied = limiter.try_acquire(1_000).unwrap_err();
            assert_eq!(denied.retry_after(), Some(SECOND * 3 / 10));
        }
    }
}

#[test]
fn several_limiters_say_whose_leases_it_are_and_grant_what_is_left_beside_them() {
    let clock = ManualClock::new();
    let all = All::new([thousand(&clock), thousand(&clock)]).unwrap();
    let held = lease(&all.limiters()[1], 300);
    let denied = all.try_acquire(800).unwrap_err();
    assert_eq!(denied, Denied::Leased { limit: 700, which: 1 });
    assert_eq!(all.try_acquire_up_to(800).unwrap().permits(), 700);
    drop(held);
}

/// A clock at whose second reading from now a lease ends.
struct Ends<'l> {
    manual: ManualClock,
    /// The readings until then, and the lease.
    lease: Mutex<Option<(u32, ManuallyDrop<Lease<'l>>)>>,
}

impl Clock for Ends<'_> {
    fn now_nanos(&self) -> u64 {
        let mut next = self.lease.lock().unwrap();
        if let Some((left @ 1.., _)) = next.as_mut() {
            *left -= 1;
        } else if let Some((_, lease)) = next.take() {
            // To end it the clock is read.
            drop(next);
            drop(ManuallyDrop::into_inner(lease));
        }
        self.manual.now_nanos()
    }
}

/// It is counted before the root is looked at for the last time, and may have ended by then.
#[test]
fn a_lease_that_ends_during_a_call_is_not_what_the_call_is_refused_for() {
    let clock = Ends { manual: ManualClock::new(), lease: Mutex::new(None) };
    let limiter = sharded(quota!(1_000 / second), 4, &clock);
    let held = limiter.shard(1).lease(300).unwrap();
    assert_eq!(held.left(), 300);
    // A shard with reserved capacity, and nothing in it; and nothing in the root.
    for _ in 0..16 {
        limiter.shard(0).try_acquire(1).unwrap();
    }
    limiter.shard(2).try_acquire(684).unwrap();
    *clock.lease.lock().unwrap() = Some((1, ManuallyDrop::new(held)));
    let denied = limiter.shard(3).try_acquire(701).unwrap_err();
    assert!(clock.lease.lock().unwrap().is_none());
    assert_eq!(denied.retry_after(), Some(SECOND * 401 / 1_000), "{denied}");
}

/// Operations of the tests of every answer, but the clock goes on. (A shard whose clock is behind
/// cannot release its reserved capacity.)
fn forward_op() -> impl Strategy<Value = Op> + Clone {
    op().prop_map(|op| if matches!(op, Op::Back { .. }) { Op::Save } else { op })
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn a_request_is_granted_after_the_wait_that_it_is_told_and_not_a_nanosecond_before(
        setup in setup(),
        shards in shards(),
        start_nanos in 0..=u64::MAX / 2,
        ops in vec(forward_op(), 0..40),
        asks in vec((0..9_usize, 0..9_usize, any::sized(1 << 33), 0..3_u8), 1..4),
    ) {
        let clock = ManualClock::at(start_nanos);
        let limiter = limiter(setup, shards, &clock);
        let mut pair = Pair::new(setup, &limiter);
        for &op in &ops {
            pair.apply(op);
        }
        let burst = limiter.quota().burst();
        let mut has_refused = pair.has_refused();
        for (shard, other, number, size) in asks {
            // Any part of the burst, mostly of the upper half; or all of it.
            let permits = match size {
                0 => number % burst + 1,
                1 => burst - number % burst.div_ceil(2),
                _ => burst,
            };
            // A shard that remembers to have refused as many tells what was true then,
            // whatever was granted since. A new denial, and a look, tell what is true now.
            let told = match limiter.shard(shard).try_acquire(permits) {
                Err(Denied::Wait(shortfall)) => shortfall.retry_after(),
                _ => continue,
            };
            let may_remember = mem::replace(&mut has_refused, true);
            let Err(Denied::Wait(shortfall)) = limiter.peek(permits) else { continue };
            let wait = shortfall.retry_after();
            prop_assert!(told <= wait && (told == wait || may_remember));
            if wait > Duration::from_nanos(LIFE_NANOS / 10) {
                continue;
            }
            clock.advance(wait.saturating_sub(NANO));
            for index in [shard, other] {
                prop_assert!(limiter.shard(index).try_acquire(permits).is_err(), "{wait:?}");
            }
            clock.advance(NANO);
            let answer = limiter.shard(other).try_acquire(permits);
            prop_assert!(answer.is_ok(), "{permits} after {wait:?}: {answer:?}");
        }
    }
}

/// The capacity is less than what the lease holds.
#[test]
fn a_wait_for_nearly_all_beside_a_lease_suffices_though_a_shard_has_room_for_some_of_it() {
    let clock = ManualClock::new();
    let limiter = thousand(&clock);
    let held = lease(&limiter, 500);
    // Room for 16, and nothing in it.
    for _ in 0..16 {
        limiter.shard(0).try_acquire(1).unwrap();
    }
    limiter.shard(1).try_acquire(84).unwrap();
    let wait = limiter.shard(1).try_acquire(490).unwrap_err().retry_after().unwrap();
    assert_eq!(wait, SECOND * 9 / 100);
    clock.advance(wait);
    assert!(limiter.shard(1).try_acquire(490).is_ok());
    drop(held);
}
