//! A table of keys as the models use it: of one to three lines, of two places each.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use sluicegate::keyed::WhenFull;
use sluicegate::{Denied, Grant, KeyTable, Quota};

use crate::{Admission, Arc, Ledger, SECOND, TestClock, check, race};

/// A table whose keys are their own hashes.
pub type Table = KeyTable<u64, Plain, Arc<TestClock>>;

/// A hasher that passes a number through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain(u64);

impl BuildHasher for Plain {
    type Hasher = Plain;

    fn build_hasher(&self) -> Plain {
        Plain::default()
    }
}

impl Hasher for Plain {
    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are numbers")
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// New keys with one of 16 fingerprints sweep a line; that would be a load more for each model.
const SWEEPS: u32 = 16;

fn hashes() -> impl Iterator<Item = u64> {
    (1..).map(|number: u64| number.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

/// The first `N` keys at home in `home` whose other line is `other`.
///
/// # Panics
///
/// Never: there are such keys.
#[must_use]
pub fn keys<const N: usize>(lines: usize, home: usize, other: usize) -> [u64; N] {
    let is_there = |hash: &u64| {
        let (is_home, is_other, print) = Table::place_of(*hash, lines);
        (is_home, is_other) == (home, other) && !print.is_multiple_of(SWEEPS)
    };
    let found: Vec<u64> = hashes().filter(is_there).take(N).collect();
    found.try_into().unwrap_or_else(|_| unreachable!("as many as there are numbers"))
}

/// The first key that sweeps a line when it finds a place.
///
/// # Panics
///
/// Never: there is one.
#[must_use]
pub fn sweeping(lines: usize) -> u64 {
    let key = hashes().find(|&hash| Table::place_of(hash, lines).2.is_multiple_of(SWEEPS));
    key.unwrap_or_else(|| unreachable!("there are more numbers than prints"))
}

/// Two keys of one fingerprint in the same two lines, the home of each the other's other: to the
/// table one key, whose callers begin at different ends.
///
/// # Panics
///
/// Never: there are such keys.
#[must_use]
pub fn twins(lines: usize, home: usize, other: usize) -> [u64; 2] {
    let mut seen = HashMap::new();
    for hash in hashes() {
        let (is_home, is_other, print) = Table::place_of(hash, lines);
        if print.is_multiple_of(SWEEPS) {
            continue;
        }
        if (is_home, is_other) == (home, other) {
            seen.insert(print, hash);
        } else if (is_home, is_other) == (other, home)
            && let Some(&twin) = seen.get(&print)
        {
            return [twin, hash];
        }
    }
    unreachable!("there are more numbers than prints")
}

/// A call, or what happens between two.
#[derive(Clone, Debug)]
pub enum Call {
    /// `try_acquire`.
    Ask(u64, u64),
    /// `try_acquire_up_to`.
    AskUpTo(u64, u64),
    /// `try_acquire_batch_with`.
    Batch(Vec<u64>, u64),
    /// `try_acquire_revocable`, and the receipt given back at once.
    Back(u64, u64),
    /// The first part of a `try_acquire` of one permit for a new key: it has placed a marker
    /// at place 0 of its home, seen no other key, and is held up. In a race, only where no other
    /// key can be: if one is at that place, the call has not begun.
    Mark(u64),
    /// The rest of that call.
    Finish(u64),
    /// `remove`.
    Remove(u64),
    /// `sweep`.
    Sweep,
    /// The clock of all threads is set.
    SetClock(u64),
    /// No call: the thread's own clock is this many nanoseconds ahead from now on.
    RunAhead(u64),
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Permits for a key, or none.
    Admitted(u64, Admission),
    /// There was no place for a key.
    Full(u64),
    /// A key was forgotten.
    Removed(u64),
}

/// The state in which the threads meet.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The lines of the table.
    pub lines: usize,
    /// The quota of each key.
    pub quota: Quota,
    /// The most by which the clocks of threads may differ.
    pub skew: Duration,
    /// The policy for a key for which there is no place.
    pub when_full: WhenFull,
    /// The calls made before, from the time 0 on.
    pub before: Vec<Call>,
}

impl Scene {
    /// A table of so many lines, on clocks that agree.
    #[must_use]
    pub fn new(lines: usize, quota: Quota, before: Vec<Call>) -> Scene {
        Scene { lines, quota, skew: Duration::ZERO, when_full: WhenFull::Deny, before }
    }

    fn table(&self) -> Table {
        let clock = Arc::new(TestClock::new());
        let builder = Table::builder_with(self.quota, Plain::default(), clock);
        let table = builder.skew(self.skew).when_full(self.when_full).keys(self.lines).unwrap();
        assert_eq!(table.occupancy().places, 2 * self.lines, "a line for each key asked for");
        table
    }
}

/// The record of a race.
#[derive(Debug)]
pub struct Played {
    /// The table as it was left.
    pub table: Arc<Table>,
    /// The events before the race.
    pub before: Vec<Event>,
    /// The events of each thread.
    pub events: Vec<Vec<Event>>,
}

impl Played {
    /// Returns all events, in no order.
    pub fn all(&self) -> impl Iterator<Item = Event> + '_ {
        self.before.iter().chain(self.events.iter().flatten()).copied()
    }

    /// The permits that `key` and its twins were admitted in the race.
    #[must_use]
    pub fn admitted(&self, key: u64) -> u64 {
        let permits = |event: &Event| match *event {
            Event::Admitted(who, admission) if print(who) == print(key) => admission.permits,
            _ => 0,
        };
        self.events.iter().flatten().map(permits).sum()
    }

    /// Counts how often a key was forgotten.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.all().filter(|event| matches!(event, Event::Removed(_))).count()
    }

    /// Counts the calls that found no place.
    #[must_use]
    pub fn full(&self) -> usize {
        self.all().filter(|event| matches!(event, Event::Full(_))).count()
    }
}

/// Returns the key's fingerprint, which is the same in a table of any size.
fn print(key: u64) -> u32 {
    Table::place_of(key, 1).2
}

/// Explores what `programs` do at the same time in `scene`. Asserts that of each fingerprint
/// one place is charged at most, and no span of the clock admits more than the bound. If
/// the clock stands and nothing is forgotten, nothing is lost either. `then` looks at the
/// rest.
///
/// # Panics
///
/// If one of that does not hold.
pub fn explore<const N: usize>(
    preemptions: usize,
    scene: Scene,
    programs: [Vec<Call>; N],
    then: impl Fn(&Played) + Send + Sync + 'static,
) {
    let stands = |call: &Call| !matches!(call, Call::SetClock(_) | Call::RunAhead(_));
    let keeps = |call: &Call| !matches!(call, Call::Remove(_));
    let is_exact = scene.when_full == WhenFull::Deny
        && programs.iter().flatten().all(|call| stands(call) && keeps(call));
    check(preemptions, move || {
        TestClock::run_ahead(0);
        let table = Arc::new(scene.table());
        let mut level = None;
        let before = play(&table, &mut level, scene.before.clone());
        let marks = scene.before.iter().any(|call| matches!(call, Call::Mark(_)));
        assert_eq!(level.is_some(), marks, "the place of a marker is empty");
        let left: BTreeMap<u64, u64> =
            keys_in(&programs).map(|key| (key, left(&table, key))).collect();
        let events = race(
            &table,
            programs.clone().map(|program| (level, program)),
            |table, (mut level, program)| play(table, &mut level, program),
        )
        .into();
        TestClock::run_ahead(0);
        let played = Played { table, before, events };
        assert_sound(scene.quota, &played);
        if is_exact && played.full() == 0 {
            assert_exact(&left, &played);
        }
        then(&played);
    });
}

fn keys_in(programs: &[Vec<Call>]) -> impl Iterator<Item = u64> + '_ {
    programs.iter().flatten().flat_map(|call| match call {
        Call::Ask(key, _) | Call::AskUpTo(key, _) | Call::Back(key, _) | Call::Finish(key) => {
            vec![*key]
        }
        Call::Batch(keys, _) => keys.clone(),
        _ => Vec::new(),
    })
}

/// Returns the permits that a key could have now.
fn left(table: &Table, key: u64) -> u64 {
    table.peek(&key, 0).unwrap().remaining()
}

/// Returns the event that the calling thread's last call for `key` came to.
fn event(key: u64, outcome: Result<Grant, Denied>) -> Event {
    match outcome {
        Err(Denied::Full { .. }) => Event::Full(key),
        outcome => Event::Admitted(key, Admission::of(outcome)),
    }
}

/// Makes the calls of `program`; `level` is that of the markers that were placed last.
fn play(table: &Table, level: &mut Option<u64>, program: Vec<Call>) -> Vec<Event> {
    let mut events = Vec::new();
    for call in program {
        match call {
            Call::Ask(key, permits) => events.push(event(key, table.try_acquire(&key, permits))),
            Call::AskUpTo(key, permits) => {
                events.push(event(key, table.try_acquire_up_to(&key, permits)));
            }
            Call::Batch(keys, permits) => {
                table.try_acquire_batch_with(&keys, permits, |index, answer| {
                    events.push(event(keys[index], answer));
                });
            }
            Call::Back(key, permits) => match table.try_acquire_revocable(&key, permits) {
                Ok(receipt) => {
                    let grant = receipt.grant();
                    if !receipt.give_back() {
                        events.push(event(key, Ok(grant)));
                    }
                }
                Err(denied) => events.push(event(key, Err(denied))),
            },
            Call::Mark(key) => *level = table.mark(&key),
            Call::Finish(key) if level.is_some_and(|level| table.charge_marker(&key, level)) => {
                let at_nanos = TestClock::last_reading();
                events.push(Event::Admitted(key, Admission { at_nanos, permits: 1 }));
            }
            // As the call does then: once more from the beginning.
            Call::Finish(key) => events.push(event(key, table.try_acquire(&key, 1))),
            Call::Remove(key) => {
                if table.remove(&key) {
                    events.push(Event::Removed(key));
                }
            }
            Call::Sweep => {
                table.sweep();
            }
            Call::SetClock(nanos) => table.clock().set(nanos),
            Call::RunAhead(nanos) => TestClock::run_ahead(nanos),
        }
    }
    events
}

/// Asserts that every key has at most one place, and was admitted no more than the bound.
fn assert_sound(quota: Quota, played: &Played) {
    let mut charged = played.table.charged();
    charged.sort_unstable();
    assert!(charged.is_sorted_by(|one, next| one < next), "a key in two places: {played:?}");
    let mut ledgers = BTreeMap::<u32, Ledger>::new();
    let mut removed = BTreeMap::<u32, u64>::new();
    for event in played.all() {
        match event {
            Event::Admitted(key, admission) => {
                ledgers.entry(print(key)).or_default().push(admission);
            }
            Event::Removed(key) => *removed.entry(print(key)).or_default() += 1,
            Event::Full(_) => {}
        }
    }
    for (print, ledger) in ledgers {
        match removed.get(&print) {
            None => ledger.assert_bounded(quota, 0),
            // Each time it begins again with a burst.
            Some(times) => ledger.assert_bounded(quota, times * quota.burst()),
        }
    }
}

/// Asserts that what was admitted is what is missing now, given what was `left` before.
fn assert_exact(left_before: &BTreeMap<u64, u64>, played: &Played) {
    let clock = played.table.clock();
    // So is what was given back in the race.
    clock.set(clock.shared_nanos() + SECOND / 1_000);
    for (&key, &before) in left_before {
        let (admitted, left) = (played.admitted(key), left(&played.table, key));
        assert_eq!(admitted + left, before, "of {key:x}: {played:?}");
    }
}
