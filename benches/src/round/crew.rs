//! Threads that share one limiter for a while.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use crossbeam_utils::CachePadded;

use super::{Plan, WARM_UP, calls, calls_for};
use crate::subject::{Limit, Op, Subject};

/// The request that one thread makes, call after call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// One permit.
    One,
    /// That many permits at once, which are not there.
    Many(u64),
    /// One permit, so that the others have company. Its calls are not counted.
    Company,
}

impl Role {
    fn of(op: Op, limit: Limit, plan: Plan, index: usize) -> Role {
        match op {
            Op::Beside if index == 0 && plan.threads > 1 => Role::Company,
            Op::Beside => Role::Many(limit.burst),
            Op::Allow | Op::Full | Op::Deny | Op::Edge | Op::Insert => Role::One,
        }
    }

    /// Makes `count` calls, and returns the number of permits granted.
    pub(crate) fn calls<S: Subject>(self, subject: &S, own: &mut S::Own<'_>, count: u64) -> u64 {
        match self {
            Role::One | Role::Company => calls(subject, own, count),
            Role::Many(permits) => permits * calls_for(subject, own, permits, count),
        }
    }
}

/// The results of the threads of a round.
pub(crate) struct Crew<T> {
    /// Return values of the threads' work.
    pub(crate) done: Vec<T>,
    /// Calls that were made before it, to warm up.
    pub(crate) warm_up_calls: u64,
    /// Permits granted to those calls.
    pub(crate) warm_up_admitted: u64,
}

/// Lets `plan.threads` threads do `work` together, each with its own of `subject`,
/// until the flag is raised after `plan.time`.
pub(crate) fn together<S: Subject, T: Send>(
    subject: &S,
    (op, limit, plan): (Op, Limit, Plan),
    work: impl Fn(Role, &S, &mut S::Own<'_>, &AtomicBool) -> T + Sync,
) -> Crew<T> {
    let mut warm_up_calls = WARM_UP * plan.threads as u64;
    let mut before = 0;
    if op == Op::Beside {
        // Spends some of the burst before any thread asks for the whole.
        warm_up_calls += WARM_UP;
        before = calls(subject, &mut subject.own(), WARM_UP);
    }

    let prepare = |index| {
        let role = Role::of(op, limit, plan, index);
        let mut own = subject.own();
        let admitted = role.calls(subject, &mut own, WARM_UP);
        (role, own, admitted)
    };
    let run = |(role, mut own, admitted): (Role, S::Own<'_>, u64), is_over: &AtomicBool| {
        (work(role, subject, &mut own, is_over), admitted)
    };
    let (done, admitted): (Vec<T>, Vec<u64>) = start(plan, prepare, run).into_iter().unzip();
    Crew { done, warm_up_calls, warm_up_admitted: before + admitted.iter().sum::<u64>() }
}

/// Lets `plan.threads` threads, numbered from 0, `prepare` and then `work`, all at the
/// same time, until the flag is raised after `plan.time`. Returns the results of `work`.
pub(crate) fn start<P, T: Send>(
    plan: Plan,
    prepare: impl Fn(usize) -> P + Sync,
    work: impl Fn(P, &AtomicBool) -> T + Sync,
) -> Vec<T> {
    let cores = core_affinity::get_core_ids().filter(|_| plan.is_pinned).unwrap_or_default();
    // The state that the threads share is on cache lines of its own.
    let is_over = CachePadded::new(AtomicBool::new(false));
    let barrier = CachePadded::new(Barrier::new(plan.threads + 1));
    thread::scope(|scope| {
        let running: Vec<_> = (0..plan.threads)
            .map(|index| {
                let (prepare, work, is_over, barrier) = (&prepare, &work, &is_over, &barrier);
                let core = cores.get(index).copied();
                scope.spawn(move || {
                    if let Some(core) = core {
                        core_affinity::set_for_current(core);
                    }
                    let prepared = prepare(index);
                    barrier.wait();
                    work(prepared, is_over)
                })
            })
            .collect();
        barrier.wait();
        thread::sleep(plan.time);
        is_over.store(true, Relaxed);
        running.into_iter().map(|thread| thread.join().expect("no call panics")).collect()
    })
}
