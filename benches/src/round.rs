//! One round: some threads, one limiter, a fixed time.

pub(crate) mod crew;
pub(crate) mod scheduler;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use self::crew::Role;
use crate::life::Life;
use crate::subject::{Op, Subject};
use crate::verdict;

/// Calls between two checks of the flag that ends a round.
const BATCH: u64 = 256;

/// Calls of each thread before the round: caches and branch predictors are warm.
const WARM_UP: u64 = 4_096;

/// The share of a round that a thread may wait for a processor.
pub(crate) const QUIET: f64 = 0.02;

/// The plan of a round.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads that share the limiter.
    pub threads: usize,
    /// The time for which they go on.
    pub time: Duration,
    /// Set if thread i is bound to core i.
    pub is_pinned: bool,
}

/// The findings of a round.
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
    /// Returns true if the threads had the processors to themselves.
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

/// The work of one thread.
struct Lap {
    role: Role,
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
/// If it is one of ours, and does not do what it is timed for.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "they are counts of a second's calls")]
pub fn run<S: Subject>(op: Op, plan: Plan) -> Round {
    let limit = S::limit(op);
    let life = Life::begin();
    let subject = CachePadded::new(S::new(limit));
    let crew = crew::together::<S, Lap>(&subject, (op, limit, plan), lap::<S>);
    let bound = S::bound(limit, life.elapsed());

    let laps = &crew.done;
    let admitted = crew.warm_up_admitted + laps.iter().map(|lap| lap.admitted).sum::<u64>();
    let made = crew.warm_up_calls + laps.iter().map(|lap| lap.calls).sum::<u64>();
    let is_right = match op {
        Op::Allow | Op::Full => admitted == made,
        Op::Deny => admitted * 1_000 < made,
        // What was not there.
        Op::Beside => laps.iter().all(|lap| lap.role == Role::Company || lap.admitted == 0),
        Op::Edge | Op::Insert => true,
    };
    verdict::expect(S::NAME, is_right, format_args!("{op}: admitted {admitted} of {made}"));

    // Threads that only keep the others company are not timed.
    let timed = || laps.iter().filter(|lap| lap.role != Role::Company);
    let calls: u64 = timed().map(|lap| lap.calls).sum();
    let began = timed().map(|lap| lap.began).min().expect("there are threads");
    let ended = timed().map(|lap| lap.ended).max().expect("there are threads");
    let nanos_per_call = |lap: &Lap| lap.time().as_nanos() as f64 / lap.calls.max(1) as f64;
    let queued = |lap: &Lap| lap.queued.as_secs_f64() / lap.time().as_secs_f64();
    Round {
        ns_per_op: timed().map(nanos_per_call).fold(0.0, f64::max),
        mops: calls as f64 / ended.duration_since(began).as_nanos() as f64 * 1e3,
        most_calls: timed().map(|lap| lap.calls).max().unwrap_or(0),
        fewest_calls: timed().map(|lap| lap.calls).min().unwrap_or(0),
        admitted,
        // A clock has no bound.
        bound: if S::OPS == [Op::Allow] { admitted } else { bound },
        queued: laps.iter().map(queued).fold(0.0, f64::max),
    }
}

/// Calls until the round is over.
fn lap<S: Subject>(role: Role, subject: &S, own: &mut S::Own<'_>, is_over: &AtomicBool) -> Lap {
    let (mut made, mut admitted) = (0, 0);
    let waited = scheduler::waited();
    let began = Instant::now();
    while !is_over.load(Relaxed) {
        admitted += role.calls(subject, own, BATCH);
        made += BATCH;
    }
    let ended = Instant::now();
    Lap { role, calls: made, admitted, began, ended, queued: scheduler::waited_since(waited) }
}

/// Makes `count` calls for one permit each, and returns the number admitted.
///
/// The subject is hidden from the compiler at every call, so that nothing is
/// kept in registers from one call to the next: callers in real programs use them
/// for other things.
#[inline(never)]
pub fn calls<S: Subject>(subject: &S, own: &mut S::Own<'_>, count: u64) -> u64 {
    let own = black_box(own);
    (0..count).map(|_| u64::from(call(subject, own))).sum()
}

/// Makes `count` calls for `permits` each, and returns the number admitted.
#[inline(never)]
pub fn calls_for<S: Subject>(subject: &S, own: &mut S::Own<'_>, permits: u64, count: u64) -> u64 {
    let own = black_box(own);
    (0..count).map(|_| u64::from(call_for(subject, own, permits))).sum()
}

/// Makes one call for one permit.
///
/// Hiding the subject makes the compiler reload all memory whose address has escaped. So the
/// thread's own state is hidden as well, if it was hidden once.
#[inline(always)]
pub fn call<S: Subject>(subject: &S, own: &mut S::Own<'_>) -> bool {
    black_box(black_box(subject).try_one(own))
}

/// Makes one call for `permits`.
#[inline(always)]
pub fn call_for<S: Subject>(subject: &S, own: &mut S::Own<'_>, permits: u64) -> bool {
    black_box(black_box(subject).try_many(own, permits))
}
