//! Keys with seats as the models use them: one seat at each place, for two keys.

use std::collections::BTreeMap;

use sluicegate::keyed::{Buckets, HotKeys, KeyStore};
use sluicegate::{Denied, Grant, Keyed, Quota};

use crate::tables::{Plain, Table, keys};
use crate::{Admission, Arc, Ledger, SECOND, TestClock, check, race};

/// A store of keys whose hottest have seats.
pub trait Store: KeyStore<u64> + Send + Sync + Sized + 'static {
    /// A store on such a clock.
    fn make(quota: Quota, clock: Arc<TestClock>) -> Self;

    /// `try_acquire`.
    ///
    /// # Errors
    ///
    /// As that.
    fn take(&self, key: u64, permits: u64) -> Result<Grant, Denied>;

    /// Returns the permits that it could grant at once.
    fn left(&self, key: u64) -> u64;

    /// Makes the key full.
    fn fill(&self, key: u64);
}

macro_rules! stores {
    ($($store:ty, $make:expr;)*) => {
        $(
            impl Store for $store {
                fn make(quota: Quota, clock: Arc<TestClock>) -> Self {
                    let make: fn(Quota, Arc<TestClock>) -> Self = $make;
                    make(quota, clock)
                }

                fn take(&self, key: u64, permits: u64) -> Result<Grant, Denied> {
                    self.try_acquire(&key, permits)
                }

                fn left(&self, key: u64) -> u64 {
                    self.peek(&key, 0).unwrap().remaining()
                }

                fn fill(&self, key: u64) {
                    self.reset(&key);
                }
            }
        )*
    };
}

/// A store under locks.
pub type Users = Keyed<u64, Buckets<Arc<TestClock>>, Plain>;

stores! {
    Table, |quota, clock| Table::builder_with(quota, Plain::default(), clock).keys(1).unwrap();
    Users, |quota, clock| {
        let buckets = Buckets::with_clock(quota, clock);
        Keyed::builder(buckets).hasher(Plain::default()).build().unwrap()
    };
}

/// When all begins.
pub const NOW: u64 = 10 * SECOND;

/// Two keys, for which each place has one seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The first.
    One,
    /// The other.
    Other,
}

impl Key {
    fn number(self) -> u64 {
        // No key's hash is 0, which stands for an empty seat.
        let [one, other] = keys(1, 0, 0);
        match self {
            Key::One => one,
            Key::Other => other,
        }
    }
}

/// A call, or what happens between two.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// `try_acquire` at a place.
    Ask(usize, Key, u64),
    /// `try_acquire` of the store.
    Take(Key, u64),
    /// All that the store has.
    TakeAll(Key),
    /// Takes back what was prepaid, and changes nothing else.
    Change,
    /// The key is made full.
    Fill(Key),
    /// The clock of all threads is set.
    Set(u64),
    /// No call: the thread's own clock is this many nanoseconds ahead from now on.
    RunAhead(u64),
}

/// The limiter that the threads share, on its clock.
#[derive(Debug)]
pub struct Hot<S> {
    keys: HotKeys<S>,
    clock: Arc<TestClock>,
    numbers: [(Key, u64); 2],
}

/// The admissions of each key, with their times.
pub type Events = Vec<(Key, Admission)>;

impl<S: Store> Hot<S> {
    fn new(quota: Quota, places: usize) -> Hot<S> {
        let clock = Arc::new(TestClock::new());
        clock.set(NOW);
        let store = S::make(quota, Arc::clone(&clock));
        let keys = HotKeys::with_places(store, places).unwrap();
        let numbers = [Key::One, Key::Other].map(|key| (key, key.number()));
        Hot { keys, clock, numbers }
    }

    fn number(&self, key: Key) -> u64 {
        self.numbers[key as usize].1
    }

    /// Takes the steps.
    pub fn play(&self, steps: &[Step]) -> Events {
        let mut events = Vec::new();
        for &step in steps {
            match step {
                Step::Ask(place, key, permits) => {
                    let answer = self.keys.place(place).try_acquire(&self.number(key), permits);
                    events.push((key, Admission::of(answer)));
                }
                Step::Take(key, permits) => {
                    let answer = self.keys.store().take(self.number(key), permits);
                    events.push((key, Admission::of(answer)));
                }
                Step::TakeAll(key) => {
                    let left = self.keys.store().left(self.number(key));
                    events.extend(self.play(&[Step::Take(key, left)]));
                }
                Step::Change => self.keys.update(|_| ()),
                Step::Fill(key) => self.keys.update(|store| Store::fill(store, self.number(key))),
                Step::Set(nanos) => self.clock.set(nanos),
                Step::RunAhead(nanos) => TestClock::run_ahead(nanos),
            }
        }
        events
    }

    /// All that the key can still be granted: by the store, and then from its seats.
    #[must_use]
    pub fn rest(&self, key: Key) -> Events {
        let mut events = self.play(&[Step::TakeAll(key)]);
        for place in 0..self.keys.places() {
            loop {
                let event = self.play(&[Step::Ask(place, key, 1)]);
                if sum(&event) == 0 {
                    break;
                }
                events.extend(event);
            }
        }
        events
    }
}

/// The permits of all events.
#[must_use]
pub fn sum(events: &Events) -> u64 {
    events.iter().map(|(_, admission)| admission.permits).sum()
}

/// The state in which the threads meet.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// The quota of each key.
    pub quota: Quota,
    /// Number of places.
    pub places: usize,
    /// The calls made before, from `NOW` on.
    pub before: &'static [Step],
}

/// Runs `programs` at the same time in `scene`, and `then` looks at what is left, and what was
/// granted before and in the race.
///
/// # Panics
///
/// If `then` does.
pub fn explore<S: Store, const N: usize>(
    preemptions: usize,
    scene: Scene,
    programs: [&'static [Step]; N],
    then: impl Fn(&Hot<S>, &Events, &Events) + Send + Sync + 'static,
) {
    check(preemptions, move || {
        TestClock::run_ahead(0);
        let hot = Arc::new(Hot::<S>::new(scene.quota, scene.places));
        let before = hot.play(scene.before);
        let raced = race(&hot, programs, Hot::play);
        TestClock::run_ahead(0);
        then(&hot, &before, &raced.into_iter().flatten().collect());
    });
}

/// Explores what must hold of any calls but changes: no span of the clock grants more of a key
/// than the bound, with all that can be had after the race.
///
/// If the clock stands, nothing is lost of the keys that are `exact` either.
///
/// # Panics
///
/// If one of that does not hold.
pub fn bounded<S: Store, const N: usize>(
    preemptions: usize,
    scene: Scene,
    programs: [&'static [Step]; N],
    exact: &'static [Key],
) {
    explore::<S, N>(preemptions, scene, programs, move |hot, before, raced| {
        let mut ledgers = BTreeMap::<Key, Ledger>::new();
        // The other first: the calls of the one may take its seat away.
        let rests = [Key::Other, Key::One].map(|key| hot.rest(key));
        for &(key, admission) in before.iter().chain(raced).chain(rests.iter().flatten()) {
            ledgers.entry(key).or_default().push(admission);
        }
        for (key, ledger) in ledgers {
            ledger.assert_bounded(scene.quota, 0);
            if exact.contains(&key) {
                assert_eq!(ledger.total(), scene.quota.burst(), "of {key:?}: {ledger:?}");
            }
        }
    });
}
