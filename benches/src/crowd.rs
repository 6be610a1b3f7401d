//! One limiter and far more threads than processors.
//!
//! The shares that threads get in a fixed time do not show whether a limiter starves a caller:
//! the scheduler decides which of them run, and how often, and with thousands of
//! threads on a few processors such a figure shows nothing else. So here a thread
//! stops asking as soon as it has its share, the same for all, and gives up its
//! processor whenever it is refused. The rate is such that all shares together are
//! earned in a set time. Then
//!
//! * if the limiter is fair, all threads have their shares soon after that time;
//! * the number of times that a thread was refused, and its time on a processor until it
//!   had its share, depend on the thread and the limiter alone: they are large for a
//!   thread that runs and asks, and does not get what others get;
//! * the wall-clock time that it took depends on the scheduler as well.
//!
//! A limiter without a queue guarantees no caller a turn: it serves a caller that asks at the
//! right moment. These figures show how that turns out.

mod outcome;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use self::outcome::Tally;
pub use self::outcome::{Outcome, Percentiles, TooFew};
use crate::life::Life;
use crate::memory;
use crate::round::{call, scheduler};
use crate::subject::{Limit, Subject};

/// Divisor of all shares: the quotient is the burst, with which the limiter starts.
const SHARES_AT_ONCE: u64 = 100;

/// Time between two checks of whether all threads are up.
const LOOK: Duration = Duration::from_millis(1);

/// The set-up of a crowd.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of threads.
    pub threads: usize,
    /// Bytes of stack for each.
    pub stack: usize,
    /// Permits that each wants.
    pub share: u64,
    /// Time in which all shares together are earned.
    pub time: Duration,
    /// Number of those times after which a thread gives up.
    pub patience: u32,
}

impl Plan {
    /// Permits that all want together.
    #[must_use]
    pub fn permits(self) -> u64 {
        self.share * self.threads as u64
    }

    /// Returns whether permits are at least a nanosecond apart, and their number is from 1 to
    /// `u32::MAX`.
    #[must_use]
    pub fn is_in_range(self) -> bool {
        let permits = u128::from(self.permits());
        (1..=self.time.as_nanos()).contains(&permits) && u32::try_from(permits).is_ok()
    }

    /// Returns a limit whose permits are whole nanoseconds apart: some limiters support no other,
    /// and what they would round does not count as excess.
    fn limit(self) -> Limit {
        let permits = self.permits();
        let nanos = self.time.as_nanos() as u64 / permits * permits;
        let period = Duration::from_nanos(nanos);
        Limit { permits, period, burst: permits.div_ceil(SHARES_AT_ONCE) }
    }
}

/// The state that the threads find when they are let in.
struct Inside<S> {
    life: Life,
    subject: S,
}

/// Lets a crowd ask a new `S`.
///
/// # Errors
///
/// [`TooFew`] if the system does not give as many threads; those that it gave have
/// ended then.
///
/// # Panics
///
/// If a call does.
pub fn run<S: Subject>(plan: Plan) -> Result<Outcome, TooFew> {
    if let Some(room) = memory::room_for_threads().filter(|room| *room < plan.threads) {
        let cause = format!("vm.max_map_count has room for {room}");
        return Err(TooFew { started: 0, wanted: plan.threads, cause: io::Error::other(cause) });
    }
    let limit = plan.limit();
    let doors: OnceLock<Option<Inside<S>>> = OnceLock::new();
    let up = AtomicUsize::new(0);
    let (done, leave) = (Barrier::new(plan.threads + 1), Barrier::new(plan.threads + 1));
    // What a first call does to a thread, such as touching its stack, happens on a
    // limiter of its own, before memory is measured.
    let rehearsal = S::new(limit);
    let asker = || {
        call(&rehearsal, &mut rehearsal.own());
        let _ = scheduler::ran();
        up.fetch_add(1, Relaxed);
        let Inside { life, subject } = doors.wait().as_ref()?;
        let tally = ask(subject, life, plan);
        done.wait();
        leave.wait();
        Some(tally)
    };

    thread::scope(|scope| {
        let mut running = Vec::with_capacity(plan.threads);
        while running.len() < plan.threads {
            match thread::Builder::new().stack_size(plan.stack).spawn_scoped(scope, asker) {
                Ok(thread) => running.push(thread),
                Err(cause) => {
                    doors.get_or_init(|| None);
                    return Err(TooFew { started: running.len(), wanted: plan.threads, cause });
                }
            }
        }
        while up.load(Relaxed) < plan.threads {
            thread::sleep(LOOK);
        }
        let before_kib = memory::resident_kib();
        doors.get_or_init(|| Some(Inside { life: Life::begin(), subject: S::new(limit) }));
        done.wait();
        let after_kib = memory::resident_kib();
        leave.wait();
        let tallies = running.into_iter().map(|thread| thread.join().expect("no call panics"));
        let tallies: Vec<Tally> = tallies.flatten().collect();
        let life = tallies.iter().map(|tally| tally.took).max().unwrap_or_default();
        let bound = S::bound(limit, life);
        Ok(Outcome::of(S::NAME, plan.share, &tallies, bound, (before_kib, after_kib)))
    })
}

/// Asks until the share is had, or patience is at an end.
fn ask<S: Subject>(subject: &S, life: &Life, plan: Plan) -> Tally {
    let own = &mut subject.own();
    let ran_before = scheduler::ran();
    let (mut calls, mut admitted) = (0, 0);
    while admitted < plan.share {
        calls += 1;
        if call(subject, own) {
            admitted += 1;
        } else if life.age() < plan.time * plan.patience {
            thread::yield_now();
        } else {
            break;
        }
    }
    let took = life.elapsed();
    // Yielding makes the scheduler update the time for which the thread ran.
    thread::yield_now();
    let ran = scheduler::ran().zip(ran_before);
    Tally { admitted, calls, took, busy: ran.map(|(after, before)| after.saturating_sub(before)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::{self, Visitor};
    use crate::verdict;

    const PLAN: Plan = Plan {
        threads: 40,
        stack: 256 << 10,
        share: 3,
        time: Duration::from_millis(20),
        // An hour, for a machine that is busy.
        patience: 180_000,
    };

    struct Small(Vec<Outcome>);

    impl Visitor for Small {
        fn visit<S: Subject>(&mut self) {
            if ["sluicegate/token_bucket", "sluicegate/sharded", "governor"].contains(&S::NAME) {
                self.0.push(run::<S>(PLAN).expect("40 threads can be had"));
            }
        }
    }

    #[test]
    fn everybody_has_a_share_and_none_has_more() {
        let mut small = Small(Vec::new());
        subject::visit_all(&mut small);
        assert_eq!(small.0.len(), 3);
        for outcome in small.0 {
            let Outcome { admitted, got_none, got_less, excess, .. } = outcome;
            let is_right = (admitted, got_none, got_less, excess) == (PLAN.permits(), 0, 0, 0);
            verdict::expect(outcome.limiter, is_right, format_args!("{outcome:?}"));
        }
    }

    #[test]
    fn permits_of_a_crowd_are_whole_nanoseconds_apart() {
        let limit = Plan { threads: 7, ..PLAN }.limit();
        assert_eq!(limit.period.as_nanos() % u128::from(limit.permits), 0);
        assert!(PLAN.is_in_range());
        assert!(!Plan { time: Duration::from_nanos(119), ..PLAN }.is_in_range());
    }
}
