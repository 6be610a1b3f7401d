//! Estimates of keys, which may be forgotten before they are settled.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::support::cases::cases;

type Window<'c> = FixedWindow<&'c ManualClock>;

#[expect(clippy::type_complexity, reason = "a closure has no name")]
fn windows<'c>(
    clock: &'c ManualClock,
    max_keys: usize,
) -> Keyed<
    u64,
    Each<Arc<Window<'c>>, impl Fn(&u64) -> Arc<Window<'c>> + Send + Sync + 'c, &'c ManualClock>,
> {
    let make = move |_: &u64| Arc::new(FixedWindow::with_clock(rate!(10 / minute), clock).unwrap());
    Keyed::<u64, _>::builder(Each::with_clock(make, clock)).max_keys(max_keys).build().unwrap()
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_key_is_settled_as_its_limiter_and_no_other_key_is() {
    let clock = ManualClock::new();
    let keyed = windows(&clock, 100);
    let one = keyed.try_acquire_settleable(&1, 10).unwrap();
    let other = keyed.try_acquire_settleable(&2, 10).unwrap();
    assert!(keyed.try_acquire_settleable(&1, 1).is_err());
    let shown = format!("{one:?}");
    assert!(shown.starts_with("KeyEstimate { key: 1, permits: 10, grant: "), "{shown}");
    assert_eq!(one.settle(4).unwrap().given_back(), 6);
    assert_eq!(other.settle(13).unwrap().taken_beyond(), 3);
    assert_eq!(keyed.peek(&1, 0).unwrap().remaining(), 6);
    assert_eq!(keyed.try_acquire(&2, 1).unwrap_err().balance(), Some(-3));
}

#[test]
fn a_key_that_was_removed_and_came_back_gains_nothing() {
    let clock = ManualClock::new();
    let keyed = windows(&clock, 100);
    let mut parts = keyed.try_acquire_settleable(&1, 8).unwrap();
    let beyond = keyed.try_acquire_settleable(&1, 2).unwrap();
    assert!(keyed.remove(&1));
    // Unknown: it stays so.
    assert_eq!((parts.give_back(1), parts.permits(), keyed.len()), (0, 7, 0));
    keyed.try_acquire(&1, 5).unwrap();
    assert_eq!((parts.give_back(2), parts.permits()), (0, 5));
    let settled = parts.settle(1).unwrap();
    assert_eq!((settled.given_back(), settled.lost()), (0, 4));
    assert_eq!(keyed.peek(&1, 0).unwrap().remaining(), 5);
    // What was used beyond counts for who is there.
    assert_eq!(beyond.settle(4).unwrap().taken_beyond(), 2);
    assert_eq!(keyed.peek(&1, 0).unwrap().remaining(), 3);
}

#[test]
fn a_key_is_not_evicted_before_its_estimates_are_settled() {
    let clock = ManualClock::new();
    let keyed = windows(&clock, 100);
    let rest = keyed.try_acquire_settleable(&1, 8).unwrap();
    let beyond = keyed.try_acquire_settleable(&1, 2).unwrap();
    clock.advance(MINUTE);
    assert_eq!((keyed.sweep(), keyed.len()), (0, 1));
    assert_eq!(rest.settle(0).unwrap().lost(), 8);
    assert_eq!((keyed.sweep(), keyed.len()), (0, 1));
    assert_eq!(beyond.settle(6).unwrap().taken_beyond(), 4);
    assert_eq!((keyed.len(), keyed.peek(&1, 0).unwrap().remaining()), (1, 6));
    clock.advance(MINUTE);
    assert_eq!((keyed.sweep(), keyed.len()), (1, 0));
}

#[test]
fn a_store_that_is_full_cannot_be_charged_with_an_unknown_key() {
    let clock = ManualClock::new();
    let keyed = windows(&clock, 1);
    let beyond = keyed.try_acquire_settleable(&1, 2).unwrap();
    assert!(matches!(keyed.try_acquire_settleable(&2, 1), Err(Denied::Full { .. })));
    keyed.remove(&1);
    keyed.try_acquire(&2, 1).unwrap();
    let unpaid = beyond.settle(5).unwrap_err();
    assert_eq!((unpaid.permits(), unpaid.settled()), (3, Settled::default()));
    assert_eq!(keyed.len(), 1);
}

#[test]
fn a_reset_key_takes_nothing_back() {
    let clock = ManualClock::new();
    let keyed = windows(&clock, 10);
    let estimate = keyed.try_acquire_settleable(&1, 8).unwrap();
    keyed.reset(&1);
    keyed.try_acquire(&1, 5).unwrap();
    assert_eq!(estimate.settle(0).unwrap().lost(), 8);
    assert_eq!(keyed.peek(&1, 0).unwrap().remaining(), 5);
}

#[test]
fn wrappers_of_a_keys_limiter_are_settled_too() {
    let clock = ManualClock::new();
    let make = |_: &u64| {
        let window = FixedWindow::with_clock(rate!(10 / minute), &clock).unwrap();
        Arc::new(Gate::new(Counted::with_slots(window, 1)))
    };
    let keyed = Keyed::<u64, _>::with(Each::with_clock(make, &clock));
    let estimate = keyed.try_acquire_settleable(&1, 10).unwrap();
    assert!(keyed.try_acquire(&1, 1).is_err());
    assert_eq!(estimate.settle(7).unwrap().given_back(), 3);
    keyed.try_acquire(&1, 1).unwrap();
    keyed.with_limiter(&1, |gate| gate.set(GateMode::Open)).unwrap();
    let open = keyed.try_acquire_settleable(&1, 100).unwrap();
    keyed.with_limiter(&1, |gate| gate.set(GateMode::Limiting)).unwrap();
    assert_eq!(open.settle(0).unwrap().given_back(), 100);
    assert_eq!(keyed.peek(&1, 0).unwrap().remaining(), 2);
    let counts = keyed.with_limiter(&1, |gate| gate.limiter().counts()).unwrap();
    // Settlements are none of them.
    assert_eq!((counts.granted, counts.denied, counts.permits), (2, 1, 11));
}

/// A limiter whose estimates cannot be taken up again.
struct Plain(SettleableBucket<Arc<ManualClock>>);

impl Limiter for Plain {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.0.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.0.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.0.peek(permits)
    }

    fn reset(&self) {
        self.0.reset();
    }
}

impl Settle for Plain {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        self.0.try_acquire_settleable(permits)
    }
}

#[test]
fn a_limiter_that_takes_nothing_up_again_is_given_nothing_back() {
    let clock = Arc::new(ManualClock::new());
    let make = |_: &u64| {
        Arc::new(Plain(SettleableBucket::with_clock(quota!(10 / second), Arc::clone(&clock))))
    };
    let keyed = Keyed::<u64, _>::with(Each::with_clock(make, Arc::clone(&clock)));
    let (rest, beyond) = (keyed.try_acquire_settleable(&1, 5), keyed.try_acquire_settleable(&1, 2));
    assert_eq!(rest.unwrap().settle(1).unwrap().lost(), 4);
    assert_eq!(beyond.unwrap().settle(3).unwrap().taken_beyond(), 1);
    assert_eq!(keyed.peek(&1, 0).unwrap().remaining(), 2);
}

#[derive(Clone, Debug)]
enum Step {
    Take(u64, u64),
    Settle(usize, u64),
    GiveBack(usize, u64),
    Remove(u64),
    Sweep,
    Advance(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_u64, 0..8_u64).prop_map(|(key, permits)| Step::Take(key, permits)),
        3 => (0..6_usize, 0..12_u64).prop_map(|(which, used)| Step::Settle(which, used)),
        1 => (0..6_usize, 0..5_u64).prop_map(|(which, permits)| Step::GiveBack(which, permits)),
        1 => (0..3_u64).prop_map(Step::Remove),
        1 => Just(Step::Sweep),
        2 => (0..90_u64).prop_map(Step::Advance),
    ]
}

/// A key as a number: what is charged in the present minute. It has a new life when it is forgotten.
#[derive(Clone, Copy, Default)]
struct Life {
    number: u64,
    minute: u64,
    charged: u64,
}

/// An estimate: its key, the life and the minute that were charged, and how much.
#[derive(Clone, Copy)]
struct Open {
    key: u64,
    life: Life,
    permits: u64,
}

#[derive(Default)]
struct Reference {
    lives: HashMap<u64, Life>,
    born: u64,
    minute: u64,
}

impl Reference {
    fn life(&mut self, key: u64) -> &mut Life {
        let (born, minute) = (&mut self.born, self.minute);
        let life = self.lives.entry(key).or_insert_with(|| {
            *born += 1;
            Life { number: *born, minute, charged: 0 }
        });
        if life.minute < minute {
            *life = Life { minute, charged: 0, ..*life };
        }
        life
    }

    fn take(&mut self, key: u64, permits: u64) -> Option<Open> {
        let life = self.life(key);
        if permits > 0 && life.charged + permits > 10 {
            return None;
        }
        life.charged += permits;
        Some(Open { key, life: *life, permits })
    }

    fn give_back(&mut self, open: &mut Open, permits: u64) -> u64 {
        let permits = permits.min(open.permits);
        open.permits -= permits;
        let life = self.life(open.key);
        if (life.number, life.minute) != (open.life.number, open.life.minute) {
            return 0;
        }
        life.charged -= permits;
        permits
    }

    /// Forgets keys that are idle, as the store may at any time.
    fn sweep(&mut self) {
        let minute = self.minute;
        self.lives.retain(|_, life| life.minute == minute && life.charged > 0);
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn keys_settle_as_a_map_of_counts_does(steps in prop::collection::vec(step(), 1..60)) {
        let clock = ManualClock::new();
        let keyed = windows(&clock, 1_000);
        let keys = [0, 1, 2];
        let reference = RefCell::new(Reference::default());
        let mut open: Vec<(KeyEstimate<'_, u64, Window<'_>>, Open)> = Vec::new();
        for step in steps {
            let mut reference = reference.borrow_mut();
            match step {
                Step::Take(key, permits) => {
                    let taken = keyed.try_acquire_settleable(&keys[key as usize], permits);
                    let expected = reference.take(key, permits);
                    prop_assert_eq!(taken.is_ok(), expected.is_some());
                    open.extend(taken.ok().zip(expected));
                }
                Step::Settle(which, used) if which < open.len() => {
                    let (estimate, mut expected) = open.remove(which);
                    let settled = estimate.settle(used).unwrap();
                    let rest = expected.permits.saturating_sub(used);
                    let more = used.saturating_sub(expected.permits);
                    let given_back = reference.give_back(&mut expected, rest);
                    reference.life(expected.key).charged += more;
                    let got = (settled.given_back(), settled.lost(), settled.taken_beyond());
                    prop_assert_eq!(got, (given_back, rest - given_back, more));
                }
                Step::GiveBack(which, permits) if which < open.len() => {
                    let (estimate, expected) = &mut open[which];
                    prop_assert_eq!(
                        estimate.give_back(permits),
                        reference.give_back(expected, permits)
                    );
                    prop_assert_eq!(estimate.permits(), expected.permits);
                }
                Step::Settle(..) | Step::GiveBack(..) => {}
                Step::Remove(key) => {
                    keyed.remove(&key);
                    reference.lives.remove(&key);
                }
                Step::Sweep => {
                    keyed.sweep();
                    reference.sweep();
                }
                Step::Advance(seconds) => {
                    clock.advance(Duration::from_secs(seconds));
                    reference.minute = clock.now_nanos() / 60_000_000_000;
                }
            }
            for key in keys {
                let left = keyed.peek(&key, 0).map_or(0, |grant| grant.remaining());
                prop_assert_eq!(left, 10_u64.saturating_sub(reference.life(key).charged));
            }
        }
    }
}

#[test]
fn an_owned_estimate_of_a_key_is_settled_as_one_that_borrows_and_keeps_its_store() {
    let clock: &'static ManualClock = Box::leak(Box::new(ManualClock::new()));
    let (ours, other) = (Arc::new(windows(clock, 100)), Arc::new(windows(clock, 100)));
    let key = 7;
    let borrowed = ours.try_acquire_settleable(&key, 4).unwrap();
    let borrowed = borrowed.into_owned(&other).expect_err("of another store");
    let owned = borrowed.into_owned(&ours).expect("of this one");
    let mut parts = ours.try_acquire_settleable_owned(&key, 5).unwrap();
    assert!(ours.try_acquire_settleable_owned(&key, 2).is_err());
    assert_eq!(format!("{parts:?}").find("KeyEstimate { key: 7, permits: 5"), Some(0));
    assert_eq!((parts.give_back(2), parts.permits()), (2, 3));
    let settled = std::thread::spawn(move || owned.settle(1)).join().unwrap().unwrap();
    assert_eq!((settled.given_back(), ours.peek(&7, 0).unwrap().remaining()), (3, 6));
    // What was used beyond counts, for a key that has come back too.
    ours.remove(&7);
    let weak = Arc::downgrade(&ours);
    drop(ours);
    assert_eq!(parts.permits(), 3);
    assert_eq!(weak.upgrade().unwrap().peek(&7, 0).unwrap().remaining(), 10);
    assert_eq!(parts.settle(5).unwrap().taken_beyond(), 2);
    assert!(weak.upgrade().is_none(), "the last one that kept the store");
}
