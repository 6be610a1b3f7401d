//! The atomic operations and clock readings of each verb, counted.
//!
//! The counts come from `sluicegate-counted`: the same source, with every atomic
//! operation counted. They are those of a call without interference from other threads,
//! and they do not depend on the machine.

mod keys;
mod penalty;
mod sharded;
mod table;
mod windows;

pub use self::table::table;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::Serialize;
use sluicegate_counted::bucket::*;
use sluicegate_counted::count::{self, Counts};
use sluicegate_counted::{Clock, Quota, Refill, quota, rate};

use crate::limiters::buckets;

/// Words that hold the terms of a limiter. They are on a line that only a change
/// of the terms writes, and all of them are always read together. So if a count is not
/// a multiple of this, the remainder is loads of the line that the callers share.
const TERMS: u64 = 8;

/// The counts of one verb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The limiter.
    pub limiter: &'static str,
    /// The verb, and how it went.
    pub verb: &'static str,
    /// Readings of the clock.
    pub clock_reads: u64,
    /// Loads of the words that callers write.
    pub loads: u64,
    /// Loads of the words that callers only read.
    pub loads_of_terms: u64,
    /// Stores.
    pub stores: u64,
    /// Read-modify-writes.
    pub rmws: u64,
}

impl Cost {
    /// Returns true if the verb refused the request.
    #[must_use]
    pub fn is_denial(&self) -> bool {
        self.verb.contains("denied")
    }

    /// Returns true if the verb left memory as it was.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.stores == 0 && self.rmws == 0
    }
}

/// A clock that moves when told to, counts its readings, and adds nothing to the
/// counts of the engine.
#[derive(Debug, Default)]
struct CountingClock {
    nanos: AtomicU64,
    reads: AtomicU64,
}

impl Clock for CountingClock {
    fn now_nanos(&self) -> u64 {
        self.reads.fetch_add(1, Relaxed);
        self.nanos.load(Relaxed)
    }
}

impl CountingClock {
    fn advance(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).expect("it is hours");
        self.nanos.fetch_add(nanos, Relaxed);
    }
}

/// Counts the operations of `verb` on a window, or on shards. All loads are one number: the
/// count alone does not tell loads of shared words from loads of words that are only read.
fn count_all(
    clock: &CountingClock,
    limiter: &'static str,
    name: &'static str,
    verb: impl FnOnce(),
) -> Cost {
    let counted = cost(clock, limiter, name, verb);
    Cost { loads: counted.loads + counted.loads_of_terms, loads_of_terms: 0, ..counted }
}

/// Counts the operations of `verb`.
fn cost(
    clock: &CountingClock,
    limiter: &'static str,
    name: &'static str,
    verb: impl FnOnce(),
) -> Cost {
    let _ = count::take();
    let before = clock.reads.load(Relaxed);
    verb();
    let Counts { loads, stores, rmws } = count::take();
    let clock_reads = clock.reads.load(Relaxed) - before;
    let loads_of_terms = loads / TERMS * TERMS;
    Cost {
        limiter,
        verb: name,
        clock_reads,
        loads: loads - loads_of_terms,
        loads_of_terms,
        stores,
        rmws,
    }
}

/// The costs of the verbs of `$limiter`, whose quota admits two permits at once;
/// `$reconfigure` is how its terms are changed.
macro_rules! costs_of {
    ($clock:expr, $name:literal, $limiter:expr, |$it:ident| $reconfigure:expr) => {{
        let (clock, limiter) = ($clock, &$limiter);
        let cost = |name, verb: &dyn Fn()| cost(clock, $name, name, verb);
        let full = |name, verb: &dyn Fn()| {
            limiter.reset();
            cost(name, verb)
        };
        let empty = |name, verb: &dyn Fn()| {
            limiter.reset();
            assert_eq!(limiter.drain().permits(), 2);
            cost(name, verb)
        };
        let in_debt = |name, verb: &dyn Fn()| {
            limiter.reset();
            assert!(limiter.force(3).is_ok());
            cost(name, verb)
        };
        let $it = limiter;
        let saved = limiter.snapshot();
        vec![
            full("try_acquire, admitted", &|| assert!(limiter.try_acquire(1).is_ok())),
            empty("try_acquire, denied", &|| assert!(limiter.try_acquire(1).is_err())),
            in_debt("try_acquire, denied in debt", &|| assert!(limiter.try_acquire(1).is_err())),
            full("try_acquire, denied as too large", &|| assert!(limiter.try_acquire(9).is_err())),
            full("try_acquire of 0", &|| assert!(limiter.try_acquire(0).is_ok())),
            full("peek", &|| assert!(limiter.peek(1).is_ok())),
            empty("peek, denied", &|| assert!(limiter.peek(1).is_err())),
            full("try_acquire_up_to, admitted", &|| assert!(limiter.try_acquire_up_to(9).is_ok())),
            empty("try_acquire_up_to, denied", &|| assert!(limiter.try_acquire_up_to(9).is_err())),
            empty("force", &|| assert!(limiter.force(1).is_ok())),
            in_debt("force, denied", &|| assert!(limiter.force(2).is_err())),
            full("drain", &|| assert_eq!(limiter.drain().permits(), 2)),
            empty("drain, of nothing", &|| assert_eq!(limiter.drain().permits(), 0)),
            empty("reset", &|| limiter.reset()),
            full("reconfigure", &|| $reconfigure),
            full("snapshot", &|| assert_eq!(limiter.snapshot().remaining(), 2)),
            empty("restore", &|| limiter.restore(&saved, Duration::ZERO)),
        ]
    }};
}

/// The costs of every verb of every limiter.
///
/// # Panics
///
/// If a verb does not do what it is counted for.
#[must_use]
pub fn all() -> Vec<Cost> {
    const QUOTA: Quota = quota!(2 / second);
    let clock = &CountingClock::default();
    let mut costs = Vec::new();
    macro_rules! every_bucket {
        ($((
            $Kind:ident, $name:literal, $Bucket:ident,
            |$quota:ident, $clock:ident| $make:block, |$it:ident, $new:ident| $change:block
        ))*) => {$({
            let limiter = {
                let ($quota, $clock) = (QUOTA, clock);
                $make
            };
            let $new = QUOTA;
            costs.extend(costs_of!(clock, $name, limiter, |$it| $change));
        })*};
    }
    buckets!(every_bucket);

    let spaced = LeakyBucket::min_interval_with_clock(rate!(2 / second), clock);
    let name = "leaky_bucket, min_interval";
    costs.push(cost(clock, name, "try_acquire, admitted", || {
        assert!(spaced.try_acquire(1).is_ok());
    }));
    costs.push(cost(clock, name, "try_acquire, denied", || {
        assert!(spaced.try_acquire(1).is_err());
    }));
    costs.extend(windows::all(clock));
    costs.extend(penalty::all(clock));
    costs.extend(sharded::all(clock));
    costs.extend(keys::all(clock));
    costs
}

/// Groups the costs by verb: costs that differ only in the limiter are together.
#[must_use]
pub fn by_verb(costs: &[Cost]) -> Vec<Vec<&Cost>> {
    let mut groups: Vec<Vec<&Cost>> = Vec::new();
    for cost in costs {
        let is_like =
            |group: &&mut Vec<&Cost>| Cost { limiter: cost.limiter, ..group[0].clone() } == *cost;
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(cost),
            None => groups.push(vec![cost]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_writes_nothing() {
        let denials: Vec<Cost> = all().into_iter().filter(Cost::is_denial).collect();
        assert!(denials.len() >= 20);
        for denial in denials {
            assert!(denial.is_read_only(), "{denial:?}");
        }
    }

    #[test]
    fn the_second_denial_by_a_word_of_a_ring_is_kept_for_the_third() {
        let all = all();
        let the = |verb: &str| {
            let mut costs = all.iter().filter(|cost| cost.limiter == "sliding_window");
            costs.find(|cost| cost.verb == verb).expect("it is counted")
        };
        let first = the("try_acquire, first refused in a slot");
        assert_eq!((first.stores, first.rmws), (1, 0));
        let kept = the("try_acquire, refused twice in a slot");
        assert_eq!((kept.stores, kept.rmws), (8, 1));
        assert_eq!(the("try_acquire, denied again").loads, 14);
    }

    #[test]
    fn an_admission_is_two_loads_and_one_read_modify_write_of_the_shared_line() {
        let buckets = |cost: &Cost| cost.limiter.contains("bucket") || cost.limiter == "gcra";
        let admissions = |cost: &Cost| cost.verb == "try_acquire, admitted";
        for cost in all().into_iter().filter(|cost| buckets(cost) && admissions(cost)) {
            let Cost { clock_reads, loads, stores, rmws, .. } = cost;
            // The word, and the count of starved callers beside it.
            assert_eq!((clock_reads, loads, stores, rmws), (1, 2, 0, 1), "{cost:?}");
        }
    }

    #[test]
    fn an_admission_to_a_window_is_one_read_modify_write_and_to_a_log_two() {
        for cost in all().into_iter().filter(|cost| cost.verb == "try_acquire, admitted") {
            let (rmws, stores) = match cost.limiter {
                log if log.ends_with("log") => (2, 1),
                "all of 2" => (2, 0),
                _ => (1, 0),
            };
            assert_eq!(cost.rmws, rmws, "{cost:?}");
            assert!(cost.stores <= stores, "{cost:?}");
        }
    }

    #[test]
    fn a_hot_key_is_taken_from_its_seat_by_one_read_modify_write() {
        let all = all();
        let mut seats =
            all.iter().filter(|cost| cost.verb == "try_acquire, admitted from its seat");
        let Cost { clock_reads, loads, stores, rmws, .. } = *seats.next().expect("it is counted");
        assert_eq!((clock_reads, loads, stores, rmws), (1, 6, 0, 1));
    }

    #[test]
    fn a_caller_without_a_penalty_costs_one_load() {
        let all = all();
        let mut free = all.iter().filter(|cost| {
            ["try_acquire, no penalty", "try_acquire, offences count"].contains(&cost.verb)
        });
        for cost in [free.next(), free.next()] {
            let Cost { clock_reads, loads, .. } = *cost.expect("it is counted");
            assert_eq!((clock_reads, loads), (0, 1));
            assert!(cost.is_some_and(Cost::is_read_only));
        }
    }

    #[test]
    fn reading_verbs_write_nothing() {
        for cost in all() {
            if ["peek", "snapshot", "try_acquire of 0", "drain, of nothing"].contains(&cost.verb) {
                assert!(cost.is_read_only(), "{cost:?}");
            }
        }
    }
}
