//! Clocks that step back, and clocks that jump forward in the middle of calls.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::keyed::HotKeys;
use sluicegate::*;

use super::{Open, SECOND, builder, one_line, table};
use crate::support::cases::cases;

const MS: u64 = 1_000_000;

/// From the fastest that a table takes to a slow one, of small bursts and of large ones.
const QUOTAS: [Quota; 7] = [
    quota!(134_217_728 / second, burst 1),
    quota!(134_217_728 / second, burst 33_554_432),
    quota!(1_000_000 / second, burst 100),
    quota!(10 / second),
    quota!(1 / second, burst 3),
    quota!(10 / minute, burst 1_000),
    quota!(1 / 36525 days),
];

const BACK: [u64; 7] = [1, MS, 2 * MS, 2 * MS + 1, 300 * MS, SECOND - 1, SECOND];

type Verb = fn(&Tiered<'_>, usize) -> bool;
type Tiered<'c> = KeyTable<u64, Open, &'c ManualClock>;

/// Calls for one permit of key 1 in a tier; each returns whether it is granted.
const VERBS: [Verb; 5] = [
    |table, tier| table.tier(tier).unwrap().try_acquire(&1, 1).is_ok(),
    |table, tier| table.tier(tier).unwrap().try_acquire_up_to(&1, u64::MAX).is_ok(),
    |table, tier| table.tier(tier).unwrap().try_acquire_revocable(&1, 1).is_ok(),
    |table, tier| table.tier(tier).unwrap().peek(&1, 1).is_ok(),
    |table, tier| table.tier(tier).unwrap().try_acquire_batch(&[2, 1], 1)[1].is_ok(),
];

/// Tables of one tier and of two, by a clock that was started long before.
fn with_each(quota: Quota, check: impl Fn(&Tiered<'_>, usize, &ManualClock)) {
    let clock = ManualClock::at(1_000 * SECOND);
    let one = table(quota, &clock);
    clock.advance_nanos(100 * SECOND + 4 * tick_nanos(&one));
    check(&one, 0, &clock);
    for tier in [0, 1] {
        let slower = Quota::new(quota.rate()).with_burst(2 * quota.burst());
        let slower = slower.unwrap_or(quota);
        let Ok(two) = builder(quota, &clock).tier(slower).keys(4_096) else { continue };
        clock.advance_nanos(100 * SECOND + 4 * tick_nanos(&two));
        check(&two, tier, &clock);
    }
}

/// Returns the length of a tick. There are 2^39 ticks before levels come again.
fn tick_nanos(table: &Tiered<'_>) -> u64 {
    (table.wrap_period().as_nanos() >> 39) as u64 + 1
}

#[test]
fn a_step_back_of_up_to_a_second_grants_an_emptied_key_nothing_anew() {
    for quota in QUOTAS {
        with_each(quota, |table, tier, clock| {
            let all = table.tier(tier).unwrap();
            let burst = all.try_acquire_up_to(&1, u64::MAX).unwrap().permits();
            let emptied_nanos = clock.now_nanos();
            for back in BACK {
                clock.set_nanos(emptied_nanos - back);
                for (number, verb) in VERBS.iter().enumerate() {
                    assert!(!verb(table, tier), "{quota:?} {tier} {back} by verb {number}");
                }
                let denied = all.try_acquire(&1, 1).unwrap_err();
                // Not before the clock is where it was.
                assert!(denied.retry_after() > Some(Duration::from_nanos(back)), "{denied:?}");
                table.sweep();
            }
            clock.set_nanos(emptied_nanos);
            assert!(!VERBS[0](table, tier), "{quota:?} {tier}");
            assert_eq!(table.healed(), 0, "{quota:?}");
            // And then it earns as before.
            clock.advance(all.try_acquire(&1, 1).unwrap_err().retry_after().unwrap());
            assert_eq!(all.try_acquire_up_to(&1, burst).unwrap().permits(), 1, "{quota:?}");
        });
    }
}

#[test]
fn a_step_back_of_more_than_a_second_starts_a_key_again_and_is_counted() {
    for quota in QUOTAS {
        for more in [1, SECOND, 50 * SECOND] {
            with_each(quota, |table, tier, clock| {
                // A level is no more exact than to a tick.
                let back = SECOND + 2 * tick_nanos(table) + more;
                let all = table.tier(tier).unwrap();
                let burst = all.try_acquire_up_to(&1, u64::MAX).unwrap().permits();
                clock.set_nanos(clock.now_nanos() - back);
                let remaining = all.peek(&1, 0).unwrap().remaining();
                let before = table.healed();
                let granted = all.try_acquire_up_to(&1, u64::MAX).unwrap().permits();
                assert_eq!((remaining, granted), (burst, burst), "{quota:?} {back}");
                assert!(table.healed() > before, "{quota:?} {back}");
                // Once.
                let healed = table.healed();
                assert!(!VERBS[0](table, tier) && table.healed() == healed);
            });
        }
    }
}

/// Another key has its place since, or it was swept away; the clock steps back, and it comes again.
#[test]
fn a_key_that_has_lost_its_place_does_not_earn_the_same_time_twice() {
    let clock = ManualClock::at(1_000 * SECOND);
    for is_swept in [false, true] {
        let table = one_line(quota!(10 / second), &clock);
        clock.advance_nanos(SECOND);
        for key in 0..8 {
            table.try_acquire(&key, 10).unwrap();
        }
        clock.advance_nanos(SECOND + 10 * MS);
        if is_swept {
            assert_eq!(table.sweep(), 8);
        } else {
            assert!((8..16).all(|key| table.try_acquire(&key, 1).is_ok()));
            assert!((8..16).all(|key| { table.remove(&key) }));
        }
        clock.rewind(Duration::from_millis(900));
        clock.advance_nanos(10 * MS);
        for key in 0..4 {
            let Ok(grant) = table.try_acquire(&key, 10) else { continue };
            // What it has is what it would have had before the step.
            assert_eq!((grant.permits(), grant.remaining()), (10, 0));
            assert!(table.try_acquire(&key, 1).is_err());
            clock.advance_nanos(880 * MS);
            assert!(table.try_acquire(&key, 1).is_err(), "{is_swept}");
            clock.rewind(Duration::from_millis(880));
        }
        assert_eq!(table.healed(), 0);
        clock.advance_nanos(2 * SECOND);
    }
}

/// Keys without a place share one state, which goes back with the clock.
#[test]
fn keys_without_a_place_start_again_when_the_clock_goes_back_and_that_is_counted_once() {
    let clock = ManualClock::at(1_000 * SECOND);
    let table = table(quota!(10 / second), &clock);
    clock.advance_nanos(100 * SECOND);
    table.try_acquire(&0, 10).unwrap();
    clock.rewind(Duration::from_secs(50));
    for key in 1..20 {
        assert!(table.try_acquire(&key, 10).is_ok());
    }
    assert_eq!(table.healed(), 1);
    clock.advance_nanos(SECOND / 10);
    for key in 1..20 {
        assert!(table.try_acquire(&key, 1).is_ok() && table.try_acquire(&key, 1).is_err());
    }
    assert_eq!(table.healed(), 1);
}

/// The clock of a live key's state went back, and its place is another's now.
#[test]
fn a_live_key_whose_place_is_taken_after_the_clock_went_back_is_counted() {
    let clock = ManualClock::at(1_000 * SECOND);
    let table = one_line(quota!(10 / second), &clock);
    for key in 0..8 {
        table.try_acquire(&key, 10).unwrap();
    }
    clock.advance_nanos(1_000 * SECOND);
    for key in 0..8 {
        // Each has its place already, and nothing else is noted of the time.
        table.try_acquire(&key, 10).unwrap();
    }
    clock.rewind(Duration::from_secs(500));
    assert!(table.try_acquire(&100, 10).is_ok());
    assert!(table.healed() > 0);
    let healed = table.healed();
    assert_eq!(table.sweep(), 7);
    assert_eq!(table.healed(), healed + 7);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Take(u64, u64),
    Batch(u64),
    Sweep,
    Pass(u64),
    Back(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..12_u64, 1..6_u64).prop_map(|(key, permits)| Step::Take(key, permits)),
        1 => (0..12_u64).prop_map(Step::Batch),
        1 => Just(Step::Sweep),
        2 => (0..700 * MS).prop_map(Step::Pass),
        3 => (0..=SECOND).prop_map(Step::Back),
    ]
}

proptest! {
    #![proptest_config(cases(300))]

    /// The clock goes to and fro, up to a second behind where it was; more keys than places come
    /// and go. A key is granted its burst, and what the highest reading has earned.
    #[test]
    fn no_key_is_granted_more_than_the_highest_reading_has_earned(
        steps in vec(step(), 1..150),
        skew in prop_oneof![Just(0), Just(MS), Just(200 * MS)],
    ) {
        let clock = ManualClock::at(100 * SECOND);
        let quota = quota!(10 / second, burst 5);
        let table = builder(quota, &clock).skew(Duration::from_nanos(skew)).memory(64).unwrap();
        let (mut granted, mut highest) = ([0; 12], 100 * SECOND);
        for step in steps {
            let mut note = |key: u64, permits, is_ok| {
                granted[key as usize] += if is_ok { permits } else { 0 };
            };
            match step {
                Step::Take(key, permits) => {
                    note(key, permits, table.try_acquire(&key, permits).is_ok());
                }
                Step::Batch(key) => {
                    let answers = table.try_acquire_batch(&[key, key / 2], 1);
                    note(key, 1, answers[0].is_ok());
                    note(key / 2, 1, answers[1].is_ok());
                }
                Step::Sweep => drop(table.sweep()),
                Step::Pass(nanos) => clock.set_nanos(highest + nanos),
                Step::Back(nanos) => clock.set_nanos((highest - nanos).max(100 * SECOND)),
            }
            highest = highest.max(clock.now_nanos());
            let earned = (highest - 100 * SECOND) * 10 / SECOND;
            for (key, &granted) in granted.iter().enumerate() {
                prop_assert!(granted <= 5 + earned, "{key}: {granted} of 5 and {earned}");
            }
        }
        prop_assert_eq!(table.healed(), 0);
    }
}

/// A clock that lets something happen when it is read, once.
#[derive(Default)]
struct Interrupted {
    nanos: Cell<u64>,
    /// After so many readings.
    left: Cell<u32>,
    happens: RefCell<Option<Box<dyn FnOnce()>>>,
}

#[derive(Clone, Default)]
struct Shared(Rc<Interrupted>);

impl Clock for Shared {
    fn now_nanos(&self) -> u64 {
        let clock = &*self.0;
        // What is read is from before.
        let reading = clock.nanos.get();
        let left = clock.left.get();
        clock.left.set(left.saturating_sub(1));
        if left == 0
            && let Some(happens) = clock.happens.take()
        {
            happens();
        }
        reading
    }
}

/// Hot keys of a table, and what key 1 was granted.
struct World {
    clock: Shared,
    keys: HotKeys<KeyTable<u64, Open, Shared>>,
    granted: Cell<u64>,
}

impl World {
    fn new(quota: Quota) -> Rc<World> {
        let clock = Shared::default();
        clock.0.nanos.set(SECOND);
        let table = KeyTable::builder_with(quota, Open::default(), clock.clone());
        let keys = HotKeys::with_places(table.memory(64).unwrap(), 1).unwrap();
        Rc::new(World { clock, keys, granted: Cell::new(0) })
    }

    fn pass(&self, nanos: u64) {
        self.clock.0.nanos.set(self.clock.0.nanos.get() + nanos);
    }

    fn note(&self, answer: Result<Grant, Denied>) {
        self.granted.set(self.granted.get() + answer.map_or(0, |grant| grant.permits()));
    }

    /// Takes as long as there is something, be it because a state was lost.
    fn take_all(&self) {
        for _ in 0..5 {
            self.note(self.keys.store().try_acquire_up_to(&1, u64::MAX));
        }
    }

    fn ask(&self, by: By) {
        match by {
            By::Single => self.note(self.keys.store().try_acquire(&1, 1)),
            By::Batch => self.keys.store().try_acquire_batch_with(&[2, 1], 1, |index, answer| {
                if index == 1 {
                    self.note(answer);
                }
            }),
            By::Hot => self.note(self.keys.try_acquire(&1, 1)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum By {
    Single,
    Batch,
    Hot,
}

/// In 256ths of a wrap.
const JUMPS: [u64; 12] = [1, 32, 64, 127, 128, 129, 192, 224, 250, 255, 256, 384];

/// Returns what key 1 is granted in all, when the clock jumps at a reading of a call for it, and
/// others empty it there.
fn granted_by_a_jump(quota: Quota, by: By, (jump, less): (u64, u64), readings: u32) -> u64 {
    let world = World::new(quota);
    world.pass(10 * SECOND);
    world.note(world.keys.store().try_acquire_up_to(&1, 999));
    let wrap = world.keys.store().wrap_period().as_nanos();
    let jump = ((wrap * u128::from(jump) / 256) as u64).saturating_sub(less);
    let there = Rc::clone(&world);
    let happens = move || {
        there.pass(jump);
        there.take_all();
    };
    *world.clock.0.happens.borrow_mut() = Some(Box::new(happens));
    world.clock.0.left.set(readings);
    world.ask(by);
    // If it was not read as often.
    world.clock.0.happens.take();
    world.take_all();
    world.granted.get()
}

#[test]
fn a_clock_that_jumps_forward_during_a_call_is_worth_what_it_earns_and_no_more() {
    for quota in [quota!(10 / second, burst 1_000), quota!(1_000_000 / second, burst 1_000)] {
        for by in [By::Single, By::Batch, By::Hot] {
            for jump in JUMPS {
                for less in [0, MS, 90 * SECOND] {
                    for readings in 0..2 {
                        let granted = granted_by_a_jump(quota, by, (jump, less), readings);
                        // Before the jump a burst, and after it one.
                        assert!(
                            granted <= 2_000,
                            "{quota:?} {by:?} {jump} less {less}, {readings}: {granted}"
                        );
                    }
                }
            }
        }
    }
}
