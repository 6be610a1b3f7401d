//! Models of a keyed limiter, whose keys are put in and taken out under locks. What is
//! checked, over every interleaving:
//!
//! * no reading of the clock admits more of a key than the bound, though the key is taken out
//!   meanwhile and comes back;
//! * while the clock stands and nothing is forgotten, not one permit is lost either;
//! * no key is in twice, and no more keys are than there may be.

#![cfg(sluicegate_loom)]

use std::collections::BTreeMap;

use sluicegate::keyed::Buckets;
use sluicegate::{Keyed, Quota, quota};
use sluicegate_loom_tests::tables::Plain;
use sluicegate_loom_tests::{ANY, Admission, Arc, Ledger, SECOND, TestClock, check, race};

struct Users {
    keyed: Keyed<u64, Buckets<Arc<TestClock>>, Plain>,
    clock: Arc<TestClock>,
}

const ONE: Quota = quota!(1 / second, burst 1);
const TWO: Quota = quota!(1 / second, burst 2);

/// When all begins.
const NOW: u64 = 10 * SECOND;

/// A key that was emptied at `NOW`, of burst 1, has been idle for long enough to be taken out
/// by the next new key; and the time between is more than clocks may differ.
const LATER: u64 = NOW + 3 * SECOND;

/// Keys of one shard, in which each new key looks at all keys.
const KEY: u64 = 0;
const GUEST: u64 = 2;

/// A key of the other shard.
const ELSEWHERE: u64 = 1;

/// A call, or what happens between two.
#[derive(Clone, Copy, Debug)]
enum Call {
    Ask(u64, u64),
    AskUpTo(u64, u64),
    /// Asks for one permit for each.
    Batch(&'static [&'static u64]),
    Remove(u64),
    SetClock(u64),
}

use self::Call::{Ask, AskUpTo, Batch, Remove, SetClock};

fn users(quota: Quota, max_keys: usize) -> Arc<Users> {
    TestClock::run_ahead(0);
    let clock = Arc::new(TestClock::new());
    clock.set(NOW);
    let buckets = Buckets::with_clock(quota, Arc::clone(&clock));
    let builder = Keyed::builder(buckets).hasher(Plain::default()).max_keys(max_keys);
    Arc::new(Users { keyed: builder.build().unwrap(), clock })
}

/// The permits admitted by each call for a key.
type Events = Vec<(u64, Admission)>;

fn play(users: &Users, calls: Vec<Call>) -> Events {
    let Users { keyed, clock } = users;
    let mut events = Vec::new();
    for call in calls {
        match call {
            Ask(key, permits) => {
                events.push((key, Admission::of(keyed.try_acquire(&key, permits))));
            }
            AskUpTo(key, permits) => {
                events.push((key, Admission::of(keyed.try_acquire_up_to(&key, permits))));
            }
            Batch(keys) => {
                keyed.try_acquire_batch_with(keys.iter().copied(), 1, |index, answer| {
                    events.push((*keys[index], Admission::of(answer)));
                })
            }
            Remove(key) => {
                keyed.remove(&key);
            }
            SetClock(nanos) => clock.set(nanos),
        }
        assert!(keyed.len() <= keyed.max_keys(), "{} keys", keyed.len());
    }
    events
}

/// Collects the admissions of each key, by the time.
fn ledgers(events: impl IntoIterator<Item = (u64, Admission)>) -> BTreeMap<u64, Ledger> {
    let mut ledgers = BTreeMap::<u64, Ledger>::new();
    for (key, admission) in events {
        ledgers.entry(key).or_default().push(admission);
    }
    ledgers
}

/// Asserts that each key is in once, and that all are counted.
fn assert_whole(users: &Users) {
    let mut keys: Vec<u64> = users.keyed.iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    assert!(keys.is_sorted_by(|one, next| one < next), "in twice: {keys:?}");
    assert_eq!(keys.len(), users.keyed.len());
}

/// Explores what `programs` do at the same time, after `before`. No span of the clock admits
/// more of a key than the bound; if the clock stands, it is the bound that is admitted.
fn explore<const N: usize>(
    preemptions: usize,
    quota: Quota,
    before: &[Call],
    programs: [Vec<Call>; N],
) {
    let stands = |call: &Call| matches!(call, Ask(..) | AskUpTo(..) | Batch(_));
    let is_exact = programs.iter().flatten().all(stands);
    let before = before.to_vec();
    check(preemptions, move || {
        let users = users(quota, 8);
        let mut events = play(&users, before.clone());
        let raced = race(&users, programs.clone(), |users, calls| play(users, calls));
        events.extend(raced.into_iter().flatten());
        assert_whole(&users);
        assert_eq!(users.keyed.healed(), 0);
        for (key, ledger) in ledgers(events) {
            ledger.assert_bounded(quota, 0);
            if is_exact {
                let left = users.keyed.peek(&key, 0).unwrap().remaining();
                assert_eq!(ledger.total() + left, quota.burst(), "of {key}: {ledger:?}");
            }
        }
    });
}

#[test]
fn a_known_key_has_one_burst() {
    let known = [Ask(KEY, 1)];
    explore(ANY, TWO, &known, [vec![Ask(KEY, 1)], vec![Ask(KEY, 1)]]);
    explore(
        ANY,
        quota!(1 / second, burst 4),
        &known,
        [vec![Ask(KEY, 1), Ask(KEY, 1)], vec![AskUpTo(KEY, 2), Ask(KEY, 1)]],
    );
}

/// The promise of the limiters' section on memory ordering. Both may have the lock of the
/// shard, one of them since before the other began.
#[test]
fn what_was_done_before_a_grant_is_seen_after_the_next_of_a_key() {
    use sluicegate_loom_tests::seen::assert_a_grant_is_seen_by_the_next;

    fn used() -> Arc<Users> {
        let users = users(quota!(1 / second, burst 3), 8);
        play(&users, vec![Ask(KEY, 1)]);
        users
    }
    assert_a_grant_is_seen_by_the_next(2, used, |users| users.keyed.try_acquire(&KEY, 1).unwrap());
}

#[test]
fn a_new_key_has_one_burst() {
    explore(ANY, ONE, &[], [vec![Ask(KEY, 1)], vec![Ask(KEY, 1)]]);
    explore(ANY, TWO, &[], [vec![Ask(KEY, 1), Ask(KEY, 1)], vec![AskUpTo(KEY, 2)]]);
    // Another that is put in beside it does not matter.
    explore(ANY, ONE, &[], [vec![Ask(KEY, 1)], vec![Ask(GUEST, 1), Ask(KEY, 1)]]);
    explore(ANY, TWO, &[], [1, 1, 1].map(|permits| vec![Ask(KEY, permits)]));
}

/// The batches go through the shards in different orders, while other keys are put in there.
#[test]
fn batches_that_cross_have_one_burst() {
    let there = Batch(&[&KEY, &ELSEWHERE, &KEY]);
    let back = Batch(&[&ELSEWHERE, &KEY]);
    let known = [Ask(KEY, 1), Ask(ELSEWHERE, 1)];
    let quota = quota!(1 / second, burst 3);
    explore(2, quota, &known, [vec![there], vec![back]]);
    explore(2, quota, &[], [vec![there], vec![back]]);
    explore(2, quota, &known, [vec![there], vec![back], vec![Ask(GUEST, 1)]]);
    let leaves = vec![SetClock(LATER), Ask(GUEST, 1)];
    explore(2, ONE, &known, [vec![Batch(&[&KEY, &ELSEWHERE, &KEY])], leaves]);
}

/// A batch shares the lock of the known key's shard with other callers.
#[test]
fn a_batch_with_a_new_key_takes_no_more_than_the_burst_of_a_known_one() {
    let known = [Ask(KEY, 1)];
    let batch = || vec![Batch(&[&ELSEWHERE, &KEY])];
    explore(2, TWO, &known, [batch(), vec![Ask(KEY, 1)]]);
    explore(2, TWO, &known, [batch(), batch()]);
}

/// One thread spends from the key again and again while another puts in a guest, which takes the
/// key out.
#[test]
fn a_removed_key_has_no_second_burst() {
    let empty = [Ask(KEY, 1)];
    let leaves = vec![SetClock(LATER), Ask(GUEST, 1)];
    explore(ANY, ONE, &empty, [vec![Ask(KEY, 1), Ask(KEY, 1)], leaves.clone()]);
    let leaves_and_comes = [leaves.clone(), vec![Ask(KEY, 1)]].concat();
    explore(ANY, ONE, &empty, [vec![Ask(KEY, 1)], leaves_and_comes]);
    let twice = [leaves, vec![SetClock(LATER + 3 * SECOND), Ask(KEY, 1)]].concat();
    explore(3, ONE, &empty, [vec![Ask(KEY, 1), Ask(KEY, 1)], twice]);
    let three = [vec![Ask(KEY, 1)], vec![Ask(KEY, 1)], vec![SetClock(LATER), Ask(GUEST, 1)]];
    explore(3, ONE, &empty, three);
    once_it_is_taken_out();
}

/// That the guest does take the key out, or the model would say nothing.
fn once_it_is_taken_out() {
    check(0, || {
        let users = users(ONE, 8);
        play(&users, vec![Ask(KEY, 1), SetClock(LATER)]);
        assert!(users.keyed.contains(&KEY));
        play(&users, vec![Ask(GUEST, 1)]);
        assert!(!users.keyed.contains(&KEY));
    });
}

/// A caller whose clock is ahead removes it, and it comes back for one whose clock is behind:
/// the caller that puts it in then is as far ahead.
#[test]
fn a_key_that_was_removed_early_has_no_second_burst() {
    /// The most by which clocks may differ.
    const AHEAD: u64 = SECOND;
    check(ANY, || {
        // Full again after half a second.
        let users = users(quota!(2 / second, burst 1), 8);
        play(&users, vec![Ask(KEY, 1)]);
        let parts = [(0, vec![Ask(KEY, 1)]), (AHEAD, vec![Ask(GUEST, 1), Ask(KEY, 1)])];
        let events = race(&users, parts, |users, (ahead, calls)| {
            TestClock::run_ahead(ahead);
            play(users, calls)
        });
        TestClock::run_ahead(0);
        assert_whole(&users);
        // Nobody's clock shows that it could be full twice.
        assert_eq!(ledgers(events.into_iter().flatten())[&KEY].total(), 1);
    });
}

/// The clock is further ahead than clocks may differ. The caller that puts the key in then asks by
/// a clock that may have gone back, about a level that does not.
#[test]
fn a_key_that_was_removed_far_too_early_has_no_second_burst() {
    const AHEAD: u64 = 5 * SECOND;
    check(ANY, || {
        let users = users(quota!(1 / 4 seconds, burst 1), 8);
        play(&users, vec![Ask(KEY, 1)]);
        let parts =
            [(0, vec![Ask(KEY, 1), Ask(KEY, 1)]), (AHEAD, vec![Ask(GUEST, 1), Ask(KEY, 1)])];
        let events = race(&users, parts, |users, (ahead, calls)| {
            TestClock::run_ahead(ahead);
            play(users, calls)
        });
        TestClock::run_ahead(0);
        assert_whole(&users);
        assert_eq!(users.keyed.healed(), 0);
        // It is full once by the clock that is ahead, and not by the other.
        assert_eq!(ledgers(events.into_iter().flatten())[&KEY].total(), 1);
    });
}

#[test]
fn a_key_that_is_removed_while_it_is_asked_for_is_in_once() {
    check(ANY, || {
        let users = users(ONE, 8);
        let programs = [vec![Ask(KEY, 1), Ask(KEY, 1)], vec![Ask(KEY, 1), Remove(KEY)]];
        let events = race(&users, programs, |users, calls| play(users, calls));
        assert_whole(&users);
        // It begins anew once.
        let total = ledgers(events.into_iter().flatten())[&KEY].total();
        assert!((1..=2).contains(&total), "{total}");
    });
}

/// Two keys of two shards, where there is one place.
#[test]
fn a_full_store_takes_no_more_keys() {
    check(ANY, || {
        let users = users(ONE, 1);
        let events = race(&users, [KEY, ELSEWHERE], |users, key| play(users, vec![Ask(key, 1)]));
        assert_whole(&users);
        let granted: u64 = events.iter().flatten().map(|(_, admission)| admission.permits).sum();
        assert_eq!((granted, users.keyed.len()), (1, 1));
    });
}

/// Each shard of a store for any number of keys counts its own, whoever inserts and removes them.
#[test]
fn a_store_for_any_number_of_keys_counts_each() {
    check(ANY, || {
        let users = users(ONE, usize::MAX);
        play(&users, vec![Ask(KEY, 1), SetClock(LATER)]);
        // The guest takes the place of the key, which is idle.
        let programs = [vec![Ask(GUEST, 1), Remove(GUEST)], vec![Ask(KEY, 1), Ask(ELSEWHERE, 1)]];
        race(&users, programs, |users, calls| play(users, calls));
        assert_whole(&users);
    });
}

/// The place of a key that is idle goes to one of two callers, whichever finds it.
#[test]
fn a_place_that_is_given_up_is_taken_once() {
    check(ANY, || {
        let users = users(ONE, 1);
        play(&users, vec![Ask(KEY, 1), SetClock(LATER)]);
        let guests = [GUEST, ELSEWHERE];
        let events = race(&users, guests, |users, key| play(users, vec![Ask(key, 1)]));
        assert_whole(&users);
        let granted: u64 = events.iter().flatten().map(|(_, admission)| admission.permits).sum();
        assert_eq!((granted, users.keyed.len()), (1, 1));
    });
}
