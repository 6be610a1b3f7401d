//! Two threads on the processor's clock: one asks for no more than its share and one for all it can get.

use std::sync::Barrier;
use std::thread;

use sluicegate::clock::MonotonicClock;
use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::*;

/// Number of decisions of both threads. `FULL_TESTS` makes them ten million.
fn decisions() -> usize {
    match std::env::var_os("FULL_TESTS") {
        _ if cfg!(miri) => 200,
        Some(_) => 10_000_000,
        None => 300_000,
    }
}

/// Calls that are noted as one.
const BATCH: usize = 16;

const QUOTA: Quota = quota!(4_000_000 / second, burst 3_000);
const SHARE: Quota = quota!(1_000_000 / second, burst 1_000);

/// Some calls of a thread: when they began and ended, and how much was granted.
#[derive(Clone, Copy, Debug)]
struct Batch {
    from_nanos: u64,
    to_nanos: u64,
    permits: u64,
}

#[derive(Debug, Default)]
struct Outcome {
    batches: Vec<Batch>,
    borrowed: u64,
    refused: u64,
    /// Refusals of what the tenant's own bucket had to hold.
    wrongly_refused: u64,
}

/// The most that a tenant's bucket can have spent, by the time after each call; in thousandths of a
/// permit, of which it earns one in a nanosecond.
struct Own(i128);

impl Own {
    /// Returns whether the bucket has to hold a permit for a call that begins now.
    fn has_to_hold(&self, now_nanos: u64) -> bool {
        i128::from(now_nanos) - self.0 >= 1_000
    }

    fn took(&mut self, after_nanos: u64) {
        self.0 = self.0.max(i128::from(after_nanos) - 1_000_000) + 1_000;
    }
}

/// Asks for one permit at a time, as much as possible if `is_greedy`, and otherwise within its share. Changes the
/// numbers now and then if `are_changed`, and if it is greedy.
fn ask(
    shares: &Shares<u64, &MonotonicClock>,
    clock: &MonotonicClock,
    is_greedy: bool,
    are_changed: bool,
) -> Outcome {
    let tenant = u64::from(is_greedy);
    let mut outcome = Outcome::default();
    let mut own = Own(i128::MIN / 2);
    for batch in 0..decisions() / 2 / BATCH {
        if are_changed && is_greedy && batch % 512 == 0 {
            // Other numbers for what can be lent, and the same shares.
            let more = quota!(5_000_000 / second, burst 4_000);
            let quota = if batch % 1_024 == 0 { more } else { QUOTA };
            shares.reconfigure(quota, [Share::new(SHARE).with_tenants(2)]).unwrap();
        }
        let from_nanos = clock.now_nanos();
        let mut permits = 0;
        for _ in 0..BATCH {
            let before_nanos = clock.now_nanos();
            if !is_greedy && !own.has_to_hold(before_nanos) {
                continue;
            }
            let answer = shares.try_acquire(0, &tenant, 1);
            permits += u64::from(answer.is_ok());
            match answer {
                Ok(ShareGrant::Assured(_)) => own.took(clock.now_nanos()),
                Ok(ShareGrant::Borrowed(_)) => outcome.borrowed += 1,
                Err(_) => outcome.refused += 1,
            }
            let is_assured = answer.is_ok_and(ShareGrant::is_assured);
            // A change fills the bucket as of its own reading. By one that is older, it holds less by as much as is
            // earned in between: nothing, if that is the burst.
            let is_slow = are_changed && clock.now_nanos() - before_nanos >= 999_000;
            let has_to_hold = own.has_to_hold(before_nanos) && !is_slow;
            outcome.wrongly_refused += u64::from(!is_assured && has_to_hold);
        }
        outcome.batches.push(Batch { from_nanos, to_nanos: clock.now_nanos(), permits });
    }
    outcome
}

/// The most that was granted in any span beyond what the quota for all allows, as nanoseconds of the
/// rate, and the longest batch.
fn excess_nanos(quota: Quota, mut batches: Vec<Batch>) -> (i128, i128) {
    batches.retain(|batch| batch.permits > 0);
    batches.sort_by_key(|batch| batch.to_nanos);
    let rate = i128::from(quota.rate().permits());
    let cost = |permits: u64| i128::from(permits) * 1_000_000_000;
    let (mut level, mut most, mut longest) = (i128::MIN / 2, i128::MIN, 0);
    for &Batch { from_nanos, to_nanos, permits } in &batches {
        let earned = |nanos: u64| rate * i128::from(nanos);
        level = level.max(earned(from_nanos) - cost(quota.burst())) + cost(permits);
        most = most.max(level - earned(to_nanos));
        longest = longest.max(i128::from(to_nanos - from_nanos));
    }
    (most / rate, longest)
}

fn race(are_changed: bool) {
    let clock = &MonotonicClock::new();
    let share = Share::new(SHARE).with_tenants(2);
    let shares = &Shares::<u64, _>::with_clock(QUOTA, [share], clock).unwrap();
    let start = &Barrier::new(2);
    let [modest, greedy] = thread::scope(|scope| {
        let both = [false, true].map(|is_greedy| {
            scope.spawn(move || {
                start.wait();
                ask(shares, clock, is_greedy, are_changed)
            })
        });
        both.map(|thread| thread.join().unwrap())
    });
    assert_eq!((modest.wrongly_refused, greedy.wrongly_refused), (0, 0), "a share was refused");
    assert!(are_changed || modest.refused + modest.borrowed == 0, "{modest:?}");
    let most = if are_changed { quota!(5_000_000 / second, burst 4_000) } else { QUOTA };
    let batches = modest.batches.iter().chain(&greedy.batches).copied().collect();
    let (excess, longest) = excess_nanos(most, batches);
    println!(
        "{} decisions: at most {excess} ns of the rate beyond the bound, longest batch {longest} ns; {} lent",
        decisions(),
        greedy.borrowed
    );
    // Two batches may overlap, and the calls in them.
    assert!(excess <= 2 * longest, "{excess} ns beyond the bound, with batches of {longest} ns");
    assert_eq!(shares.healed(), 0);
}

#[test]
fn two_threads_keep_to_the_bound_and_none_is_refused_its_share() {
    race(false);
}

#[test]
fn two_threads_keep_to_the_bound_while_the_numbers_change() {
    race(true);
}
