//! Models of shards of CPUs: the protocol of owners and thieves, above a sequence that stores only if nothing has
//! interrupted it. What is checked, over every interleaving: while the clock stands, exactly the burst is admitted.
//! Without loom there are no CPUs, and nothing to model.

#![cfg(sluicegate_loom)]

use sluicegate::model::{run_on, sharded_on_cpus};
use sluicegate::{Quota, quota};
use sluicegate_loom_tests::shards::rest;
use sluicegate_loom_tests::{Arc, TestClock, check, race};

type Sharded = sluicegate::Sharded<TestClock>;

/// So few that a CPU hardly refills: by four of 32, with two shards of threads, and then no more.
const FEW: Quota = quota!(1 / second, burst 32);

/// A thread: its CPU, and what it asks for.
type Caller = (usize, &'static [u64]);

/// Asks as `caller` does, and returns the permits that it was granted.
fn ask(limiter: &Sharded, (cpu, sizes): Caller) -> u64 {
    run_on(cpu);
    let grant = |permits: &u64| limiter.shard(cpu).try_acquire(*permits);
    sizes.iter().filter_map(|permits| grant(permits).ok()).map(|grant| grant.permits()).sum()
}

/// Leaves three permits in the slot of the first of two CPUs, and two in the root.
fn nearly_empty() -> (Arc<Sharded>, u64) {
    let limiter = Arc::new(sharded_on_cpus(FEW, 2, 2, TestClock::new()));
    run_on(0);
    drop(limiter.shard(0).lease(3).unwrap());
    let taken = ask(&limiter, (1, &[27]));
    run_on(0);
    (limiter, taken)
}

/// Checks that `callers` are granted all that there is, in the race or after it.
fn all_is_granted<const N: usize>(preemptions: usize, callers: [Caller; N]) {
    check(preemptions, move || {
        let (limiter, taken) = nearly_empty();
        let granted: u64 = race(&limiter, callers, ask).iter().sum();
        assert_eq!(taken + granted + rest(&limiter), FEW.burst());
    });
}

#[test]
fn a_slot_is_robbed_beside_its_owner() {
    all_is_granted(2, [(0, &[1, 1]), (1, &[4])]);
}

#[test]
fn two_thieves_take_a_slot_once() {
    all_is_granted(2, [(1, &[3]), (1, &[3])]);
}

#[test]
fn callers_of_one_cpu_spend_its_tokens_once() {
    all_is_granted(2, [(0, &[2]), (0, &[2])]);
}
