//! Refusals by the last search, after all that makes room, and against a slow exact reference.

use core::hash::BuildHasherDefault;
use core::time::Duration;
use std::hash::DefaultHasher;
use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::bucket::Carry;
use crate::clock::Clock;
use crate::decision::snapshot::Snapshot;
use crate::keyed::exact::Keyed;
use crate::keyed::exact::buckets::Buckets;
use crate::{Denied, ManualClock, Quota, TokenBucket, quota};

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

type Users<'a> = Keyed<usize, Buckets<&'a ManualClock>, BuildHasherDefault<DefaultHasher>>;

fn users(quota: Quota, places: usize, clock: &ManualClock) -> Users<'_> {
    let builder = Keyed::builder(Buckets::with_clock(quota, clock)).max_keys(places);
    builder.hasher(BuildHasherDefault::default()).searching_all().build().unwrap()
}

/// A snapshot of a bucket that holds so many permits.
fn snapshot(quota: Quota, held: u64, clock: &ManualClock) -> Snapshot {
    TokenBucket::with_clock(quota, clock).starting_with(held).unwrap().snapshot()
}

const TWO: Quota = quota!(1 / second, burst 2);

/// Two places, taken by 0 and 1 until two seconds from now. A stranger was refused.
fn full(clock: &ManualClock) -> Users<'_> {
    let users = users(TWO, 2, clock);
    for user in [0, 1] {
        users.try_acquire(&user, 2).unwrap();
    }
    let denied = Denied::Full { retry_after: Duration::from_secs(2) };
    // The second time without a search.
    for stranger in [8, 9] {
        assert_eq!(users.try_acquire(&stranger, 1), Err(denied));
        assert!(users.store.found_before(clock.now_nanos()).is_some());
    }
    users
}

#[test]
fn after_a_refusal_whatever_makes_room_lets_the_next_one_in() {
    type MakesRoom = fn(&Users<'_>, &ManualClock);
    let makers: [(&str, MakesRoom); 9] = [
        ("credit", |users, _| users.credit(&0, 2)),
        ("remove", |users, _| assert!(users.remove(&1))),
        ("reset", |users, _| users.reset(&0)),
        ("forget_soonest", |users, _| users.forget_soonest(&1)),
        ("reconfigure", |users, _| users.reconfigure(TWO, Carry::Reset)),
        ("restore", |users, clock| {
            assert_eq!(users.restore([(0, snapshot(TWO, 2, clock))], Duration::ZERO), 0);
        }),
        ("time", |_, clock| clock.advance_nanos(2 * SECOND)),
        ("sweep", |users, clock| {
            clock.advance_nanos(2 * SECOND);
            assert_eq!(users.sweep(), 2);
        }),
        ("a clock set back by hours", |_, clock| clock.set_nanos(START - 7_200 * SECOND)),
    ];
    for (name, makes_room) in makers {
        let clock = ManualClock::at(START);
        let users = full(&clock);
        makes_room(&users, &clock);
        assert!(users.try_acquire(&9, 2).is_ok(), "after: {name}");
        assert!(users.len() <= 2);
    }
}

#[test]
fn a_change_after_which_a_key_is_idle_sooner_is_told_to_the_next_one_refused() {
    let clock = ManualClock::at(START);
    let users = full(&clock);
    let refused = |millis| {
        let denied = Denied::Full { retry_after: Duration::from_millis(millis) };
        assert_eq!(users.try_acquire(&9, 1), Err(denied));
        assert_eq!(users.try_acquire(&9, 1), Err(denied), "again");
    };
    users.credit(&0, 1);
    refused(1_000);
    clock.advance_nanos(SECOND / 4);
    refused(750);
    users.reconfigure(quota!(1 / second, burst 1), Carry::Keep);
    // The one that was credited is full, and gives way; the other still lacks a part of its permit.
    assert!(users.try_acquire(&9, 1).is_ok());
    assert_eq!(users.len(), 2);
}

#[test]
fn a_clock_set_back_a_little_is_told_the_time_until_a_key_is_idle_by_that_clock() {
    let clock = ManualClock::at(START);
    let users = full(&clock);
    for (now_nanos, millis) in
        [(START - SECOND / 2, 2_500), (START, 2_000), (START - SECOND / 4, 2_250)]
    {
        clock.set_nanos(now_nanos);
        let denied = Denied::Full { retry_after: Duration::from_millis(millis) };
        assert_eq!(users.try_acquire(&9, 1), Err(denied), "at {now_nanos}");
    }
    assert_eq!(users.healed(), 0);
}

/// Keys that ask, and places for them.
const KEYS: usize = 5;
const PLACES: usize = 3;

/// Buckets that earn a permit a second and are never removed: the time at which each is full.
struct Reference {
    burst: u64,
    full_nanos: [u64; KEYS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Granted,
    TooFew,
    TooMany,
    NoRoom,
}

impl Reference {
    fn quota(&self) -> Quota {
        quota!(1 / second).with_burst(self.burst).unwrap()
    }

    /// When another key is idle, if those that are not take all places.
    fn soonest(&self, key: usize, now_nanos: u64) -> Option<u64> {
        let others = self.full_nanos.iter().enumerate().filter(|&(other, _)| other != key);
        let busy: Vec<u64> =
            others.map(|(_, &full)| full).filter(|&full| full > now_nanos).collect();
        busy.iter().copied().min().filter(|_| busy.len() >= PLACES)
    }

    fn has_room(&self, key: usize, now_nanos: u64) -> bool {
        self.full_nanos[key] > now_nanos || self.soonest(key, now_nanos).is_none()
    }

    fn ask(&mut self, key: usize, permits: u64, now_nanos: u64) -> Outcome {
        let full_nanos = self.full_nanos[key].max(now_nanos) + permits * SECOND;
        if permits == 0 {
            return Outcome::Granted;
        }
        if permits > self.burst {
            return Outcome::TooMany;
        }
        if full_nanos > now_nanos + self.burst * SECOND {
            return Outcome::TooFew;
        }
        if !self.has_room(key, now_nanos) {
            return Outcome::NoRoom;
        }
        self.full_nanos[key] = full_nanos;
        Outcome::Granted
    }

    /// A lower burst cuts off what is above it, and a higher one fills all.
    fn change(&mut self, burst: u64, now_nanos: u64) -> Carry {
        if burst > self.burst {
            *self = Reference { burst, full_nanos: [0; KEYS] };
            return Carry::Reset;
        }
        let cut_nanos = (self.burst - burst) * SECOND;
        self.burst = burst;
        for full_nanos in &mut self.full_nanos {
            *full_nanos = full_nanos.saturating_sub(cut_nanos).max(now_nanos);
        }
        Carry::Keep
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Ask(u64),
    Advance(u64),
    Credit(u64),
    Remove,
    Reset,
    Restore(u64),
    Forget,
    Sweep,
    Change(u64),
}

fn op() -> impl Strategy<Value = (Op, usize)> {
    let op = prop_oneof![
        20 => (0..5_u64).prop_map(Op::Ask),
        6 => (0..1_500_u64).prop_map(Op::Advance),
        2 => (1..4_u64).prop_map(Op::Credit),
        1 => Just(Op::Remove),
        1 => Just(Op::Reset),
        1 => (0..5_u64).prop_map(Op::Restore),
        1 => Just(Op::Forget),
        1 => Just(Op::Sweep),
        1 => (1..5_u64).prop_map(Op::Change),
    ];
    (op, 0..KEYS)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 1_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_key_is_refused_exactly_if_as_many_others_as_there_are_places_are_not_idle(
        ops in vec(op(), 1..60),
    ) {
        let clock = ManualClock::at(START);
        let mut reference = Reference { burst: 3, full_nanos: [0; KEYS] };
        let users = users(reference.quota(), PLACES, &clock);
        for (op, key) in ops {
            let now_nanos = clock.now_nanos();
            match op {
                Op::Ask(permits) => ask(&users, &mut reference, (key, permits), now_nanos)?,
                Op::Advance(millis) => clock.advance_nanos(millis * (SECOND / 1_000)),
                Op::Credit(permits) => {
                    users.credit(&key, permits);
                    let full_nanos = &mut reference.full_nanos[key];
                    *full_nanos = full_nanos.saturating_sub(permits * SECOND);
                }
                Op::Remove => {
                    users.remove(&key);
                    reference.full_nanos[key] = 0;
                }
                Op::Reset => {
                    users.reset(&key);
                    reference.full_nanos[key] = 0;
                }
                Op::Restore(held) => {
                    let held = held.min(reference.burst);
                    let snapshot = snapshot(reference.quota(), held, &clock);
                    let full_nanos = now_nanos + (reference.burst - held) * SECOND;
                    let has_room = full_nanos <= now_nanos || reference.has_room(key, now_nanos);
                    let refused = users.restore([(key, snapshot)], Duration::ZERO);
                    prop_assert_eq!(refused, usize::from(!has_room), "{:?} of {}", op, key);
                    if has_room {
                        reference.full_nanos[key] = full_nanos;
                    }
                }
                Op::Forget => {
                    users.forget_soonest(&key);
                    for (key, full_nanos) in reference.full_nanos.iter_mut().enumerate() {
                        *full_nanos = if users.contains(&key) { *full_nanos } else { 0 };
                    }
                }
                Op::Sweep => {
                    users.sweep();
                }
                Op::Change(burst) => {
                    let carry = reference.change(burst, now_nanos);
                    users.reconfigure(reference.quota(), carry);
                }
            }
            prop_assert!(users.len() <= PLACES);
            for key in (0..KEYS).filter(|key| !users.contains(key)) {
                prop_assert!(reference.full_nanos[key] <= clock.now_nanos(), "{key} is forgotten");
            }
        }
        prop_assert_eq!(users.healed(), 0);
    }
}

/// Asks, and once more if there is no room: then the last search answers.
fn ask(
    users: &Users<'_>,
    reference: &mut Reference,
    (key, permits): (usize, u64),
    now_nanos: u64,
) -> Result<(), TestCaseError> {
    let expected = reference.ask(key, permits, now_nanos);
    let answer = users.try_acquire(&key, permits);
    let outcome = match answer {
        Ok(_) => Outcome::Granted,
        Err(Denied::Full { .. }) => Outcome::NoRoom,
        Err(Denied::TooLarge { .. }) => Outcome::TooMany,
        Err(_) => Outcome::TooFew,
    };
    prop_assert_eq!(outcome, expected, "{} for {}: {:?}", permits, key, answer);
    if let Err(Denied::Full { retry_after }) = answer {
        // It may be early, if the key that was to be idle first has been granted more since.
        let soonest_nanos = reference.soonest(key, now_nanos).unwrap_or(now_nanos);
        let wait_nanos = u64::try_from(retry_after.as_nanos()).unwrap();
        prop_assert!(wait_nanos > 0 && now_nanos + wait_nanos <= soonest_nanos);
        prop_assert!(users.store.found_before(now_nanos).is_some());
        prop_assert_eq!(users.try_acquire(&key, permits), answer);
    }
    Ok(())
}
