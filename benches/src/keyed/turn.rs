//! One turn: some threads, one store with all its keys, a fixed time.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::{Key, Skew, Store, are_all, limit};
use crate::life::Life;
use crate::round::{Plan, Round, crew, scheduler};
use crate::subject::Op;
use crate::verdict;
use crate::watch::{Seen, Sight, Watch};

/// Calls between two checks of the flag that ends a turn. The length of a sequence is a multiple
/// of it, and it is a multiple of the keys that any store is asked for in one call.
const BATCH: usize = 256;

/// More keys than any store is asked for between two checks of the flag in a turn that is watched.
/// A power of two, of which the length of a sequence is a multiple.
const STRIDE: usize = 1 << 12;

/// The most calls of each thread before the turn: enough to fill a cache.
const WARM_UP: usize = 1 << 17;

/// Up to this many keys are inserted anew for every round, so that the rounds do not all share
/// the luck of one layout. Inserting more would take longer than the rounds.
const RENEWED: u64 = 1 << 17;

/// More calls per second than any store can do. A store is replaced before a turn in which one
/// key might spend the rest of its burst.
const FASTEST: f64 = 1e8;

/// A store with all its keys, which is kept from one turn to the next.
pub struct Full<S> {
    store: CachePadded<S>,
    life: Life,
    keys: u64,
    round: u32,
    /// Approximate number of calls for the key that is asked for most.
    spent: f64,
    admitted: u64,
    /// Admissions that no turn has reported.
    unreported: u64,
    /// Keys that found no slot, so that all requests for them are refused.
    homeless: u64,
}

impl<S> Full<S> {
    /// Creates a store, and asks it once for each of `keys` keys.
    ///
    /// # Panics
    ///
    /// If it is one of ours, and refuses more than a few keys for an operation that admits them.
    #[must_use]
    pub fn new<K: Key>(op: Op, keys: u64, round: u32) -> Full<S>
    where
        S: Store<K>,
    {
        let life = Life::begin();
        let store = CachePadded::new(S::new(limit(op), keys));
        let admitted = (0..keys).map(|index| u64::from(store.try_one(&K::at(index)))).sum();
        // If one permit is the whole limit, keys that share a counter share that permit.
        let is_right = op == Op::Deny || are_all::<K, S>(admitted, keys);
        verdict::expect(S::NAME, is_right, format_args!("admitted {admitted} of {keys}"));
        let homeless = keys - admitted;
        Full { store, life, keys, round, spent: 1.0, admitted, unreported: admitted, homeless }
    }

    /// The store itself.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns whether the store can be used for another turn in `round`.
    #[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
    fn lasts<K: Key>(&self, task: Task<'_, K>, plan: Plan, round: u32) -> bool
    where
        S: Store<K>,
    {
        let to_come = plan.time.as_secs_f64() * FASTEST * task.skew.share(self.keys);
        let is_spent = self.spent + to_come > limit(task.op).burst as f64 * (1.0 - S::KEPT_BACK);
        (self.keys > RENEWED || self.round == round) && (task.op != Op::Allow || !is_spent)
    }

    /// Returns the most permits that may have been granted since it was created, for all keys
    /// together. Each key is asked from the start, and is granted whole permits.
    fn bound(&self, op: Op) -> u64 {
        let limit = limit(op);
        let earned = self.life.elapsed().as_nanos() * u128::from(limit.permits);
        let of_each = u128::from(limit.burst) + earned / limit.period.as_nanos();
        u64::try_from(of_each * u128::from(self.keys)).expect("a bench lasts seconds")
    }
}

impl<S> fmt::Debug for Full<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Full { keys, round, admitted, homeless, .. } = self;
        f.debug_struct("Full")
            .field("keys", keys)
            .field("round", round)
            .field("admitted", admitted)
            .field("homeless", homeless)
            .finish_non_exhaustive()
    }
}

/// The work of one thread.
struct Lap {
    calls: u64,
    admitted: u64,
    warm_up_calls: u64,
    warm_up_admitted: u64,
    began: Instant,
    ended: Instant,
    queued: Duration,
    sight: Option<Sight>,
}

/// The result of a turn.
#[derive(Debug)]
pub struct Turn {
    /// The number of calls and their cost. In a turn that is watched, this includes the cost of
    /// watching.
    pub round: Round,
    /// The observations, if the turn was watched.
    pub seen: Seen,
}

/// The task of a turn.
#[derive(Debug)]
pub struct Task<'a, K> {
    /// The operation that is asked for.
    pub op: Op,
    /// Number of keys.
    pub keys: u64,
    /// Spread of the calls over the keys.
    pub skew: Skew,
    /// Keys of each thread, in the order in which it asks for them.
    pub sequences: &'a [Arc<[K]>],
}

impl<K> Clone for Task<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Task<'_, K> {}

/// Asks the store in `kept`, or a new one if that is of another round, for the keys of
/// `sequences`, one for each thread.
///
/// Permits that are admitted in a turn that is watched are reported by the next turn of the same
/// store that is not watched.
///
/// # Panics
///
/// If the store does not do what it is timed for.
#[expect(clippy::cast_precision_loss, reason = "they are counts of a second's calls")]
pub fn run<K: Key, S: Store<K>>(
    kept: &mut Option<Full<S>>,
    task: Task<'_, K>,
    plan: Plan,
    round: u32,
    watch: Option<Watch>,
) -> Turn {
    let Task { op, keys, skew, sequences } = task;
    if kept.as_ref().is_some_and(|full| !full.lasts::<K>(task, plan, round)) {
        // Drops the old store first, so that only one takes memory.
        *kept = None;
    }
    let full = kept.get_or_insert_with(|| Full::new::<K>(op, keys, round));
    let store = &*full.store;
    let prepare = |thread: usize| {
        let keys = &*sequences[thread];
        // Starts at a different key in each round.
        let first = (round as usize).wrapping_mul(0x9e37_79b9 * BATCH) & (keys.len() - 1);
        let warm_up = WARM_UP.min(full.keys.next_power_of_two() as usize).max(BATCH);
        let warm_up_admitted = calls(store, &keys[..warm_up]);
        (keys, first, warm_up as u64, warm_up_admitted)
    };
    let mut laps = crew::start(plan, prepare, |prepared, is_over| {
        let (keys, first, warm_up_calls, warm_up_admitted) = prepared;
        let mut sight = watch.map(Sight::new);
        let waited = scheduler::waited();
        let began = Instant::now();
        let (calls, admitted) = match &mut sight {
            None => lap(store, keys, first, is_over),
            Some(sight) => watched(store, keys, first, is_over, sight),
        };
        let ended = Instant::now();
        let queued = scheduler::waited_since(waited);
        Lap { calls, admitted, warm_up_calls, warm_up_admitted, began, ended, queued, sight }
    });
    let seen = Seen::of(laps.iter_mut().filter_map(|lap| lap.sight.take()));

    let calls: u64 = laps.iter().map(|lap| lap.calls).sum();
    let made = calls + laps.iter().map(|lap| lap.warm_up_calls).sum::<u64>();
    let admitted = laps.iter().map(|lap| lap.admitted + lap.warm_up_admitted).sum::<u64>();
    let homeless = full.homeless;
    let is_right = match op {
        Op::Allow if homeless == 0 => admitted == made,
        // Keys without a slot are among the last inserted, which are not the most asked for.
        Op::Allow => admitted * 100 >= made * 99,
        Op::Deny => admitted * 100 <= made,
        _ => true,
    };
    let done = format_args!("{op}: admitted {admitted} of {made}, {homeless} homeless");
    verdict::expect(S::NAME, is_right, done);
    let before = full.admitted - full.unreported;
    full.spent += made as f64 * skew.share(keys);
    full.admitted += admitted;
    let unreported = full.unreported + admitted;
    full.unreported = if watch.is_some() { unreported } else { 0 };

    let began = laps.iter().map(|lap| lap.began).min().expect("there are threads");
    let ended = laps.iter().map(|lap| lap.ended).max().expect("there are threads");
    let time = |lap: &Lap| lap.ended.duration_since(lap.began);
    let nanos = |lap: &Lap| time(lap).as_nanos() as f64 / lap.calls.max(1) as f64;
    let queued = |lap: &Lap| lap.queued.as_secs_f64() / time(lap).as_secs_f64();
    let round = Round {
        ns_per_op: laps.iter().map(nanos).fold(0.0, f64::max),
        mops: calls as f64 / ended.duration_since(began).as_nanos() as f64 * 1e3,
        most_calls: laps.iter().map(|lap| lap.calls).max().unwrap_or(0),
        fewest_calls: laps.iter().map(|lap| lap.calls).min().unwrap_or(0),
        admitted: unreported,
        bound: full.bound(op).saturating_sub(before),
        queued: laps.iter().map(queued).fold(0.0, f64::max),
    };
    Turn { round, seen }
}

/// Calls until the turn is over, and records observations. Returns the number of calls, and of
/// those admitted.
fn watched<K: Key, S: Store<K>>(
    store: &S,
    keys: &[K],
    first: usize,
    is_over: &AtomicBool,
    sight: &mut Sight,
) -> (u64, u64) {
    // Begins at a multiple of the stride, of which the length of a sequence is a multiple.
    let (mut made, mut admitted, mut at) = (0, 0, first & !(STRIDE - 1));
    sight.lap(
        || !is_over.load(Relaxed),
        |count| {
            let end = at + count as usize * S::AT_ONCE;
            admitted += calls(store, &keys[at..end]);
            made += (end - at) as u64;
            at = end & (keys.len() - 1);
        },
    );
    (made, admitted)
}

/// Calls until the turn is over, and at least once. Returns the number of calls, and of those
/// admitted.
fn lap<K: Key, S: Store<K>>(
    store: &S,
    keys: &[K],
    first: usize,
    is_over: &AtomicBool,
) -> (u64, u64) {
    let (mut made, mut admitted, mut at) = (0, 0, first);
    loop {
        admitted += calls(store, &keys[at..at + BATCH]);
        made += BATCH as u64;
        at = (at + BATCH) & (keys.len() - 1);
        if is_over.load(Relaxed) {
            return (made, admitted);
        }
    }
}

/// Asks for a permit of each of `keys`, and returns the number granted. If the store is asked for
/// several keys at once, keys that do not fill a last call are left out.
///
/// The store is hidden from the compiler at every call, as limiters without keys are.
#[inline(never)]
pub fn calls<K: Key, S: Store<K>>(store: &S, keys: &[K]) -> u64 {
    let granted = |keys| black_box(black_box(store).try_next(keys));
    keys.chunks_exact(S::AT_ONCE).map(granted).sum()
}

#[cfg(test)]
mod tests {
    use super::super::{Visitor, sequence, visit_all};
    use super::*;

    const KEYS: u64 = 1_000;

    struct TwoRounds(Op);

    impl<K: Key> Visitor<K> for TwoRounds {
        fn visit<S: Store<K>>(&mut self) {
            let op = self.0;
            if !S::takes(op, Skew::Uniform) {
                return;
            }
            let plan = Plan { threads: 2, time: Duration::from_millis(2), is_pinned: false };
            let sequences = [0, 1].map(|thread| sequence::<K>(Skew::Uniform, KEYS, thread));
            let task = Task { op, keys: KEYS, skew: Skew::Uniform, sequences: &sequences };
            let mut kept: Option<Full<S>> = None;
            let turns = [(1, None), (1, Some(Watch::Calls)), (1, None), (2, Some(Watch::Shares))];
            for (round, watch) in turns {
                let Turn { round, seen } = run(&mut kept, task, plan, round, watch);
                let done = format_args!("{op}: admitted {} too many", round.excess());
                verdict::expect(S::NAME, round.excess() == 0, done);
                assert!(round.most_calls > 0 && round.ns_per_op > 0.0, "{}", S::NAME);
                assert_eq!(seen.ticks.is_some(), watch == Some(Watch::Calls), "{}", S::NAME);
            }
        }
    }

    #[test]
    fn what_is_kept_is_counted_once() {
        for op in [Op::Allow, Op::Deny, Op::Edge] {
            visit_all::<u64>(&mut TwoRounds(op));
        }
        visit_all::<String>(&mut TwoRounds(Op::Deny));
    }

    /// Admits all calls for one in 512 of the keys, and for every other key only the first.
    #[derive(Default)]
    struct Generous(std::sync::Mutex<std::collections::HashSet<u64>>);

    impl Store<u64> for Generous {
        const NAME: &'static str = "generous";

        fn new(_: crate::subject::Limit, _: u64) -> Generous {
            Generous::default()
        }

        fn try_one(&self, key: &u64) -> bool {
            self.0.lock().expect("no holder panics").insert(*key) || key.is_multiple_of(512)
        }
    }

    #[test]
    fn what_is_admitted_beyond_the_sum_of_the_bounds_is_excess() {
        let plan = Plan { threads: 1, time: Duration::from_millis(2), is_pinned: false };
        let sequence = sequence::<u64>(Skew::Uniform, KEYS, 0);
        let sequences = std::slice::from_ref(&sequence);
        let task = Task { op: Op::Deny, keys: KEYS, skew: Skew::Uniform, sequences };
        let mut kept: Option<Full<Generous>> = None;
        let first = run(&mut kept, task, plan, 1, None).round;
        // The next turn reports what was admitted while this one was watched.
        let watched = run(&mut kept, task, plan, 1, Some(Watch::Calls)).round;
        let second = run(&mut kept, task, plan, 1, None).round;
        assert!(second.admitted > watched.admitted && watched.admitted > 0);
        let rounds = [first, second];
        // One permit for each key.
        assert_eq!(rounds[0].bound, KEYS);
        let admitted = rounds[0].admitted + rounds[1].admitted;
        assert!(admitted > KEYS, "{admitted}");
        assert_eq!(rounds[0].excess() + rounds[1].excess(), admitted - KEYS);
    }
}
