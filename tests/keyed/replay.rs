//! The same answers as a map of buckets that forgets nothing.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::bucket::Carry;
use sluicegate::*;

use super::keyed;

#[derive(Clone, Copy, Debug)]
enum Op {
    TryAcquire(u8, u64),
    UpTo(u8, u64),
    Force(u8, u64),
    Drain(u8),
    Peek(u8, u64),
    Remove(u8),
    Reset(u8),
    Credit(u8, u64),
    Sweep,
    Advance(u64),
    Reconfigure(usize, Carry),
    Transplant,
}

fn quotas() -> [Quota; 5] {
    [
        quota!(10 / second),
        quota!(10 / second, burst 3),
        quota!(3 / second, burst 20),
        quota!(10 / second).with_refill(Refill::Interval),
        quota!(7 / 3 seconds, burst 9).with_refill(Refill::Interval).with_max_debt(0).unwrap(),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let carry =
        proptest::sample::select(vec![Carry::Keep, Carry::Scale, Carry::Reset, Carry::Empty]);
    prop_oneof![
        8 => (0..6_u8, 0..12_u64).prop_map(|(key, permits)| Op::TryAcquire(key, permits)),
        2 => (0..6_u8, 0..12_u64).prop_map(|(key, permits)| Op::UpTo(key, permits)),
        2 => (0..6_u8, 0..12_u64).prop_map(|(key, permits)| Op::Force(key, permits)),
        1 => (0..6_u8).prop_map(Op::Drain),
        3 => (0..6_u8, 0..12_u64).prop_map(|(key, permits)| Op::Peek(key, permits)),
        1 => (0..6_u8).prop_map(Op::Remove),
        1 => (0..6_u8).prop_map(Op::Reset),
        2 => (0..6_u8, 0..12_u64).prop_map(|(key, permits)| Op::Credit(key, permits)),
        2 => Just(Op::Sweep),
        5 => (0..3_000_000_000_u64).prop_map(Op::Advance),
        1 => (0..5_usize, carry).prop_map(|(quota, carry)| Op::Reconfigure(quota, carry)),
        1 => Just(Op::Transplant),
    ]
}

/// All that can be seen of an answer.
fn seen(answer: Result<Grant, Denied>) -> (bool, [u64; 3], [Duration; 2]) {
    match answer {
        Ok(grant) => (
            true,
            [grant.permits(), grant.remaining(), grant.limit()],
            [grant.reset_after(), grant.ready_after()],
        ),
        Err(Denied::Wait(shortfall)) => (
            false,
            [shortfall.missing(), shortfall.remaining(), shortfall.limit()],
            [shortfall.reset_after(), shortfall.retry_after()],
        ),
        Err(Denied::TooLarge { limit, .. }) => (false, [u64::MAX, 0, limit], [Duration::MAX; 2]),
        Err(other) => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn a_store_answers_as_a_map_that_forgets_nothing(
        first in 0..5_usize,
        ops in proptest::collection::vec(op(), 0..120),
    ) {
        let clock = ManualClock::at(1_000_000_000_000);
        let store = keyed::<u8>(quotas()[first], &clock);
        let bucket = || TokenBucket::with_clock(quotas()[first], &clock);
        // The last is never asked: it is as a key that was never asked for.
        let map: HashMap<u8, TokenBucket<&ManualClock>> =
            (0..=6).map(|key| (key, bucket())).collect();
        for op in ops {
            match op {
                Op::TryAcquire(key, permits) => prop_assert_eq!(
                    seen(store.try_acquire(&key, permits)), seen(map[&key].try_acquire(permits))
                ),
                Op::UpTo(key, permits) => prop_assert_eq!(
                    seen(store.try_acquire_up_to(&key, permits)),
                    seen(map[&key].try_acquire_up_to(permits))
                ),
                Op::Force(key, permits) => prop_assert_eq!(
                    seen(store.force(&key, permits)), seen(map[&key].force(permits))
                ),
                Op::Drain(key) => prop_assert_eq!(seen(store.drain(&key)), seen(Ok(map[&key].drain()))),
                Op::Peek(key, permits) => prop_assert_eq!(
                    seen(store.peek(&key, permits)), seen(map[&key].peek(permits))
                ),
                Op::Remove(key) => {
                    store.remove(&key);
                    map[&key].restore(&map[&6].snapshot(), Duration::ZERO);
                }
                Op::Reset(key) => {
                    // Of a key that is not known it leaves what there is.
                    if store.contains(&key) {
                        store.reset(&key);
                        map[&key].reset();
                    }
                }
                Op::Credit(key, permits) => {
                    if store.contains(&key) {
                        map[&key].credit(permits);
                    }
                    store.credit(&key, permits);
                }
                Op::Sweep => {
                    store.sweep();
                }
                Op::Advance(nanos) => clock.advance_nanos(nanos),
                Op::Reconfigure(quota, carry) => {
                    store.reconfigure(quotas()[quota], carry);
                    for bucket in map.values() {
                        bucket.reconfigure(quotas()[quota], carry);
                    }
                }
                Op::Transplant => {
                    let saved: Vec<_> = store
                        .snapshot()
                        .inspect(|(key, saved)| assert_eq!(*saved, map[key].snapshot()))
                        .collect();
                    for (key, saved) in &saved {
                        map[key].restore(saved, Duration::ZERO);
                    }
                    prop_assert_eq!(store.restore(saved, Duration::ZERO), 0);
                }
            }
            prop_assert!(store.len() <= 6);
        }
        for key in 0..7 {
            prop_assert_eq!(seen(store.peek(&key, 0)), seen(map[&key].peek(0)));
        }
        prop_assert_eq!(store.healed(), 0);
    }
}
