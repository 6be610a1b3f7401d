//! One round: some threads, one limiter, a fixed time.

mod queue;

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::life::Life;
use crate::subject::{Op, Subject};

/// Calls between two looks at the flag that ends a round.
const BATCH: u64 = 256;

/// Calls of each thread before the round: caches and branch predictors are warm.
const WARM_UP: u64 = 4_096;

/// The share of a round that a thread may wait for a processor.
const QUIET: f64 = 0.02;

/// How a round is run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads that share the limiter.
    pub threads: usize,
    /// How long they go on.
    pub time: Duration,
    /// Whether thread i is bound to core i.
    pub is_pinned: bool,
}

/// What a round found.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Time per call of the slowest thread: its own time over its own calls.
    pub ns_per_op: f64,
    /// Calls of all threads per microsecond.
    pub mops: f64,
    /// Calls of the thread that made the most.
    pub most_calls: u64,
    /// Calls of the thread that made the fewest.
    pub fewest_calls: u64,
    /// Permits granted since the limiter was made, warm-up included.
    pub admitted: u64,
    /// The most that the limiter may grant from before it was made until after
    /// the last call.
    pub bound: u64,
    /// The share of its time for which a thread stood in the scheduler's queue:
    /// that of the thread that waited most.
    pub queued: f64,
}

impl Round {
    /// Whether the threads had the processors to themselves.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.queued <= QUIET
    }

    /// Permits granted beyond the bound.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.admitted.saturating_sub(self.bound)
    }
}

/// What one thread did.
struct Lap {
    calls: u64,
    admitted: u64,
    began: Instant,
    ended: Instant,
    queued: Duration,
}

impl Lap {
    fn time(&self) -> Duration {
        self.ended.duration_since(self.began)
    }
}

/// Runs one round of `op` on a new `S`.
///
/// # Panics
///
/// If the limiter does not do what it is timed for.
#[expect(clippy::cast_precision_loss, reason = "they are counts of a second's calls")]
pub fn run<S: Subject>(op: Op, plan: Plan) -> Round {
    let limit = S::limit(op);
    let cores = core_affinity::get_core_ids().filter(|_| plan.is_pinned).unwrap_or_default();
    let life = Life::begin();
    // What the threads share is on lines of its own.
    let subject = CachePadded::new(S::new(limit));
    let is_over = CachePadded::new(AtomicBool::new(false));
    let start = CachePadded::new(Barrier::new(plan.threads + 1));

    let laps: Vec<Lap> = thread::scope(|scope| {
        let running: Vec<_> = (0..plan.threads)
            .map(|index| {
                let (subject, is_over, start) = (&subject, &is_over, &start);
                let core = cores.get(index).copied();
                scope.spawn(move || {
                    if let Some(core) = core {
                        core_affinity::set_for_current(core);
                    }
                    let warm_up = calls::<S>(subject, WARM_UP);
                    start.wait();
                    let lap = lap::<S>(subject, is_over);
                    Lap { admitted: lap.admitted + warm_up, ..lap }
                })
            })
            .collect();
        start.wait();
        thread::sleep(plan.time);
        is_over.store(true, Relaxed);
        running.into_iter().map(|thread| thread.join().expect("no call panics")).collect()
    });
    let bound = S::bound(limit, life.elapsed());

    let calls: u64 = laps.iter().map(|lap| lap.calls).sum();
    let admitted: u64 = laps.iter().map(|lap| lap.admitted).sum();
    let made = calls + WARM_UP * plan.threads as u64;
    match op {
        Op::Allow | Op::Full => assert_eq!(admitted, made, "{} denied a call", S::NAME),
        Op::Deny => assert!(admitted * 1_000 < made, "{} admitted {admitted}", S::NAME),
        Op::Edge => {}
    }

    let began = laps.iter().map(|lap| lap.began).min().expect("there are threads");
    let ended = laps.iter().map(|lap| lap.ended).max().expect("there are threads");
    let nanos_per_call = |lap: &Lap| lap.time().as_nanos() as f64 / lap.calls.max(1) as f64;
    let queued = |lap: &Lap| lap.queued.as_secs_f64() / lap.time().as_secs_f64();
    Round {
        ns_per_op: laps.iter().map(nanos_per_call).fold(0.0, f64::max),
        mops: calls as f64 / ended.duration_since(began).as_nanos() as f64 * 1e3,
        most_calls: laps.iter().map(|lap| lap.calls).max().unwrap_or(0),
        fewest_calls: laps.iter().map(|lap| lap.calls).min().unwrap_or(0),
        admitted,
        // A clock has no bound.
        bound: if S::OPS == [Op::Allow] { admitted } else { bound },
        queued: laps.iter().map(queued).fold(0.0, f64::max),
    }
}

/// Calls until the round is over.
fn lap<S: Subject>(subject: &S, is_over: &AtomicBool) -> Lap {
    let (mut made, mut admitted) = (0, 0);
    let waited = queue::waited();
    let began = Instant::now();
    while !is_over.load(Relaxed) {
        admitted += calls::<S>(subject, BATCH);
        made += BATCH;
    }
    let ended = Instant::now();
    let queued = queue::waited()
        .zip(waited)
        .map_or(Duration::ZERO, |(after, before)| after.saturating_sub(before));
    Lap { calls: made, admitted, began, ended, queued }
}

/// Makes `count` calls; how many were admitted.
///
/// The subject is hidden from the compiler at every call, so that nothing is
/// kept in registers from one call to the next: callers in real programs have
/// other things in them.
#[inline(never)]
pub fn calls<S: Subject>(subject: &S, count: u64) -> u64 {
    let mut admitted = 0;
    for _ in 0..count {
        admitted += u64::from(black_box(black_box(subject).try_one()));
    }
    admitted
}
