//! Changes of the quotas of all tiers at once.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::keyed::TieredKeyed;
use sluicegate::*;

/// The tier of a key is its remainder by three.
fn tiers(clock: &ManualClock) -> TieredKeyed<u64, &ManualClock> {
    let quotas = [quota!(10 / hour), quota!(100 / hour), quota!(1_000 / hour)];
    TieredKeyed::tiered_with_clock(quotas, |key| (key % 3) as usize, clock).unwrap()
}

#[test]
fn all_tiers_change_in_one_call_and_known_and_unknown_keys_carry_what_they_had() {
    let clock = ManualClock::new();
    let users = tiers(&clock);
    for key in 0..300 {
        users.try_acquire(&key, 5).unwrap();
    }
    let quotas = [quota!(20 / hour), quota!(50 / hour), quota!(3_000 / hour)];
    users.reconfigure_tiers(quotas, Carry::Scale).unwrap();
    for key in 0..600 {
        let (limit, known) = [(20, 10), (50, 47), (3_000, 2_985)][key as usize % 3];
        let grant = users.peek(&key, 0).unwrap();
        let remaining = if key < 300 { known } else { limit };
        assert_eq!((grant.limit(), grant.remaining()), (limit, remaining), "{key}");
    }
    assert_eq!(users.tier_quota(1), Some(quotas[1]));
    // A tier can still be changed alone.
    users.reconfigure_tier(2, quota!(7 / hour), Carry::Scale).unwrap();
    assert_eq!(users.peek(&602, 0).unwrap().limit(), 7);
    assert_eq!(users.peek(&600, 0).unwrap().limit(), 20);
}

#[test]
fn a_change_with_too_few_or_too_many_quotas_changes_nothing() {
    let clock = ManualClock::new();
    let users = tiers(&clock);
    for quotas in [0, 1, 2, 4, 65] {
        let changed = users.reconfigure_tiers(vec![quota!(1 / second); quotas], Carry::Scale);
        assert_eq!(changed, Err(ConfigError::Quotas { quotas, tiers: 3 }));
    }
    let text = ConfigError::Quotas { quotas: 2, tiers: 3 }.to_string();
    assert_eq!(text, "number of quotas is 2 for 3 tiers: must be the number of tiers");
    assert_eq!((0..3).map(|key| users.peek(&key, 0).unwrap().limit()).sum::<u64>(), 1_110);
}

/// A new key has the burst of its quota, and a permit takes an hour over the limit to earn.
#[test]
fn a_call_beside_a_change_is_decided_by_the_old_quota_or_by_the_new_one() {
    const ROUNDS: u64 = if cfg!(miri) { 4 } else { 300 };
    const HOUR: Duration = Duration::from_secs(3_600);
    let clock = ManualClock::new();
    let users = tiers(&clock);
    for key in 0..30 {
        users.try_acquire(&key, 1).unwrap();
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                let more = 2 - round % 2;
                let quotas = [10, 100, 1_000].map(|limit| Rate::new(limit * more, HOUR).unwrap());
                users.reconfigure_tiers(quotas, Carry::Scale).unwrap();
            }
            is_over.store(true, Relaxed);
        });
        let mut is_last = false;
        while !is_last {
            is_last = is_over.load(Relaxed);
            for key in 0..60 {
                let old = [10, 100, 1_000][key as usize % 3];
                let grant = users.peek(&key, 1).unwrap();
                let limit = grant.limit();
                assert!(limit == old || limit == 2 * old, "{limit} of {old}");
                if key >= 30 {
                    assert_eq!(grant.remaining(), limit - 1);
                    assert_eq!(grant.reset_after(), HOUR / limit as u32);
                }
            }
        }
    });
}
