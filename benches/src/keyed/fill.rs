//! One turn of insertions: stores that are filled from empty, as many as there is time
//! for, and at least one.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::Backoff;

use super::turn::{Turn, calls};
use super::{Key, Store, are_all, limit};
use crate::round::{Plan, Round, scheduler};
use crate::subject::Op;
use crate::verdict;
use crate::watch::{Seen, Sight, Watch};

/// The state that the threads share.
struct Yard<S> {
    store: Mutex<Option<Arc<S>>>,
    barrier: Barrier,
    is_over: AtomicBool,
    /// Threads that have come to the start, in all fillings.
    ready: AtomicUsize,
}

/// The work of one thread.
#[derive(Default)]
struct Laps {
    calls: u64,
    admitted: u64,
    /// The start and the end of each filling.
    times: Vec<(Instant, Instant)>,
    queued: Duration,
    sight: Option<Sight>,
}

impl Laps {
    fn time(&self) -> Duration {
        self.times.iter().map(|(began, ended)| ended.duration_since(*began)).sum()
    }
}

/// Lets the threads insert `keys`, each a part of its own, into new stores. Creating and
/// dropping a store is not timed; its growth is.
///
/// # Panics
///
/// If a new key is refused.
#[expect(clippy::cast_precision_loss, reason = "they are counts of a second's calls")]
pub(super) fn run<K: Key, S: Store<K>>(keys: &[K], plan: Plan, watch: Option<Watch>) -> Turn {
    let yard = Yard {
        store: Mutex::new(None),
        barrier: Barrier::new(plan.threads + 1),
        is_over: AtomicBool::new(false),
        ready: AtomicUsize::new(0),
    };
    let cores = core_affinity::get_core_ids().filter(|_| plan.is_pinned).unwrap_or_default();
    // A multiple of what one call asks for, so that every key of the part is asked for.
    let part = keys.len() / plan.threads / S::AT_ONCE * S::AT_ONCE;
    let mut laps: Vec<Laps> = thread::scope(|scope| {
        let running: Vec<_> = (0..plan.threads)
            .map(|index| {
                let (yard, core) = (&yard, cores.get(index).copied());
                let keys = &keys[index * part..(index + 1) * part];
                scope.spawn(move || {
                    if let Some(core) = core {
                        core_affinity::set_for_current(core);
                    }
                    work::<K, S>(yard, keys, plan.threads, watch)
                })
            })
            .collect();
        let began = Instant::now();
        loop {
            put(&yard, Some(Arc::new(S::new(limit(Op::Insert), keys.len() as u64))));
            yard.barrier.wait();
            yard.barrier.wait();
            put(&yard, None);
            if began.elapsed() >= plan.time {
                break;
            }
        }
        yard.is_over.store(true, Relaxed);
        yard.barrier.wait();
        running.into_iter().map(|thread| thread.join().expect("no call panics")).collect()
    });

    let calls: u64 = laps.iter().map(|laps| laps.calls).sum();
    let admitted: u64 = laps.iter().map(|laps| laps.admitted).sum();
    let is_right = are_all::<K, S>(admitted, calls);
    verdict::expect(S::NAME, is_right, format_args!("admitted {admitted} of {calls}"));
    let fillings = 0..laps[0].times.len();
    let of_filling = |index: usize| laps.iter().map(move |laps| laps.times[index]);
    let time: Duration = fillings
        .map(|index| {
            let began = of_filling(index).map(|(began, _)| began).min();
            let ended = of_filling(index).map(|(_, ended)| ended).max();
            ended.zip(began).map_or(Duration::ZERO, |(ended, began)| ended.duration_since(began))
        })
        .sum();
    let nanos = |laps: &Laps| laps.time().as_nanos() as f64 / laps.calls.max(1) as f64;
    let queued = |laps: &Laps| laps.queued.as_secs_f64() / laps.time().as_secs_f64().max(1e-9);
    let seen = Seen::of(laps.iter_mut().filter_map(|laps| laps.sight.take()));
    let round = Round {
        ns_per_op: laps.iter().map(nanos).fold(0.0, f64::max),
        mops: calls as f64 / time.as_nanos().max(1) as f64 * 1e3,
        most_calls: laps.iter().map(|laps| laps.calls).max().unwrap_or(0),
        fewest_calls: laps.iter().map(|laps| laps.calls).min().unwrap_or(0),
        admitted,
        // One call for each key, of which any limit admits one.
        bound: calls,
        queued: laps.iter().map(queued).fold(0.0, f64::max),
    };
    Turn { round, seen }
}

fn work<K: Key, S: Store<K>>(
    yard: &Yard<S>,
    keys: &[K],
    threads: usize,
    watch: Option<Watch>,
) -> Laps {
    let mut laps = Laps { sight: watch.map(Sight::new), ..Laps::default() };
    for filling in 1.. {
        yard.barrier.wait();
        if yard.is_over.load(Relaxed) {
            break;
        }
        let store = yard.store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let store = store.expect("there is a store before the start");
        settle_allocator();
        // Spins, because a thread that waits at a barrier wakes long after others have begun.
        yard.ready.fetch_add(1, Relaxed);
        let backoff = Backoff::new();
        while yard.ready.load(Relaxed) < filling * threads {
            backoff.snooze();
        }
        let waited = scheduler::waited();
        let began = Instant::now();
        laps.admitted += match &mut laps.sight {
            None => calls(&*store, keys),
            Some(sight) => watched(&*store, keys, sight),
        };
        let ended = Instant::now();
        laps.queued += scheduler::waited_since(waited);
        laps.calls += keys.len() as u64;
        laps.times.push((began, ended));
        drop(store);
        yard.barrier.wait();
    }
    laps
}

/// Inserts all keys, and records observations in `sight`.
fn watched<K: Key, S: Store<K>>(store: &S, keys: &[K], sight: &mut Sight) -> u64 {
    let (at, mut admitted) = (Cell::new(0), 0);
    let goes_on = || at.get() < keys.len();
    sight.lap(goes_on, |count| {
        let end = keys.len().min(at.get() + count as usize * S::AT_ONCE);
        admitted += calls(store, &keys[at.get()..end]);
        at.set(end);
    });
    admitted
}

/// Makes the allocator do work that is left over from earlier stores now, before the time is taken.
///
/// The stores before this one were filled by threads like this one, in many small pieces, and
/// the main thread has freed them. glibc leaves such pieces in the arena that they came from, and
/// merges them when a thread of that arena asks for a large piece for the first time. For ten
/// million pieces that takes most of a second, which would be charged to whichever store is
/// the first to grow.
fn settle_allocator() {
    const LARGE: usize = 1 << 17;
    drop(black_box(Vec::<u8>::with_capacity(LARGE)));
}

/// Replaces the store. The old one is dropped outside the lock, because that takes long.
fn put<S>(yard: &Yard<S>, store: Option<Arc<S>>) {
    let before = {
        let mut place = yard.store.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *place, store)
    };
    drop(before);
}

#[cfg(test)]
mod tests {
    use super::super::{Skew, Visitor, each, visit_all};
    use super::*;

    struct OneTurn;

    impl<K: Key> Visitor<K> for OneTurn {
        fn visit<S: Store<K>>(&mut self) {
            if !S::takes(Op::Insert, Skew::Uniform) {
                return;
            }
            let plan = Plan { threads: 2, time: Duration::from_millis(2), is_pinned: false };
            for watch in [None, Some(Watch::Calls), Some(Watch::Shares)] {
                let Turn { round, seen } = run::<K, S>(&each(1_024), plan, watch);
                let is_right = round.admitted > 1_000 && round.excess() == 0;
                verdict::expect(S::NAME, is_right, format_args!("admitted {}", round.admitted));
                assert_eq!(round.most_calls, round.fewest_calls, "{}", S::NAME);
                assert_eq!(seen.ticks.is_some(), watch == Some(Watch::Calls), "{}", S::NAME);
            }
        }
    }

    #[test]
    fn every_key_is_inserted_into_every_store() {
        visit_all::<u64>(&mut OneTurn);
        visit_all::<String>(&mut OneTurn);
    }
}
