//! Calls of one thread, some of which settle what they took.

use sluicegate::settle::Settle;

use crate::TestClock;

/// A part of what one thread does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Takes so many permits.
    Take(u64),
    /// Takes the first, and settles with the second.
    Settle(u64, u64),
    /// Takes the first, in two parts gives back all but the second, and keeps that.
    Parts(u64, u64),
    /// The thread's clock is this far ahead from now on.
    RunAhead(u64),
}

/// Does the part of one thread. Returns the permits that it keeps.
///
/// # Panics
///
/// If a settlement leaves some unpaid.
pub fn act<L: Settle>(limiter: &L, acts: &'static [Act]) -> u64 {
    let one = |act: &Act| match *act {
        Act::Take(permits) => limiter.try_acquire(permits).map_or(0, |grant| grant.permits()),
        Act::Settle(permits, used) => {
            let Ok(estimate) = limiter.try_acquire_settleable(permits) else { return 0 };
            used + estimate.settle(used).expect("all is paid").lost()
        }
        Act::Parts(permits, used) => {
            let Ok(mut estimate) = limiter.try_acquire_settleable(permits) else { return 0 };
            let lost = 1 - estimate.give_back(1);
            used + lost + estimate.settle(used).expect("all is paid").lost()
        }
        Act::RunAhead(nanos) => {
            TestClock::run_ahead(nanos);
            0
        }
    };
    acts.iter().map(one).sum()
}
