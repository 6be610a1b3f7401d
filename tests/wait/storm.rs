//! Threads and tasks that do everything at once to one limiter and its line. What is checked:
//!
//! * on a clock that runs, no span and no window has more than its bound, across every change of the
//!   terms, every reset and every credit;
//! * on a clock that stands still, where each caller in line has to be woken by others, each permit is
//!   accounted for: what was brought is what was granted, given back, or is left;
//! * every caller comes to an end, the line is empty then, and the gate is open. If no step ends for a
//!   while, the test fails and names what each caller is doing.
//!
//! `STORM_STEPS` is the number of steps of each storm: `ci/storm.sh` takes a million.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use sluicegate::wait::{LineLimits, WhenLineFull};
use sluicegate::{FixedWindow, SlidingCounter, SlidingWindow, TokenBucket};

use self::ledger::Ledger;
use self::steps::{Log, Storm};
use self::subject::{Mode, StormClock, Subject};

mod ledger;
mod steps;
mod subject;

const THREADS: usize = 3;
const TASKS: usize = 4;

/// Steps of one limiter, which has a count that only grows while its clock stands still.
const LONGEST_ROUND: u64 = 20_000;

/// Seconds in which no step ends, after which a wake-up is taken to be lost.
const STUCK: u32 = 60;

fn steps() -> u64 {
    steps_or(50_000)
}

/// Returns the number of steps that was asked for, or `usual`.
pub(crate) fn steps_or(usual: u64) -> u64 {
    let asked = std::env::var("STORM_STEPS").ok().and_then(|steps| steps.parse().ok());
    asked.unwrap_or(usual)
}

/// Runs the feeder and the callers until all have ended.
fn run<L: Subject>(storm: &Arc<Storm<L>>, seed: u64) -> Vec<Log> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let random = |caller: usize| StdRng::seed_from_u64(seed << 8 | caller as u64);
    let threads: Vec<_> = (0..THREADS)
        .map(|caller| {
            let (storm, random) = (Arc::clone(storm), random(caller));
            thread::spawn(move || storm.run_thread(caller, random))
        })
        .collect();
    let tasks: Vec<_> = (THREADS..THREADS + TASKS)
        .map(|caller| runtime.spawn(Arc::clone(storm).run_task(caller, random(caller))))
        .collect();
    let feeder = {
        let (storm, random) = (Arc::clone(storm), random(THREADS + TASKS));
        thread::spawn(move || storm.feed(random))
    };
    let (mut last, mut same) = (0, 0);
    while !threads.iter().all(thread::JoinHandle::is_finished)
        || !tasks.iter().all(tokio::task::JoinHandle::is_finished)
    {
        thread::sleep(Duration::from_millis(1));
        let ended = storm.ended.load(Relaxed);
        same = if ended == last { same + 1 } else { 0 };
        last = ended;
        if same > STUCK * 1_000 {
            // Nobody could join those that are stuck.
            runtime.shutdown_background();
            panic!("no step has ended for {STUCK} seconds: {storm:#?}");
        }
    }
    storm.is_over.store(true, Relaxed);
    let mut logs: Vec<Log> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    logs.extend(tasks.into_iter().map(|task| runtime.block_on(task).unwrap()));
    logs.push(feeder.join().unwrap());
    logs
}

fn limits(round: u64) -> LineLimits {
    match round % 3 {
        0 => LineLimits::new(),
        1 => LineLimits::new().max_waiters(4).when_full(WhenLineFull::RefuseNewest),
        _ => LineLimits::new().max_waiters(4).when_full(WhenLineFull::EvictOldest),
    }
}

fn assert_nobody_is_left<L: Subject>(limiter: &L) {
    assert_eq!((limiter.line().waiters(), limiter.line().permits()), (0, 0));
    assert_eq!(limiter.healed(), 0);
    limiter.reset();
    assert!(limiter.try_acquire(1).is_ok(), "the gate is open: {limiter:?}");
}

/// Callers of all kinds on a clock that runs.
fn on_a_clock_that_runs<L: Subject>() {
    let mut left = steps();
    for round in 0.. {
        let clock = Arc::new(StormClock::running());
        let storm = Arc::new(Storm::<L>::new(clock, Mode::Running, left.min(10 * LONGEST_ROUND)));
        storm.limiter.line().set_limits(limits(round));
        let ledger = Ledger::new(storm.terms_at_first(), run(&storm, round), storm.changes());
        L::assert_bounded(&ledger);
        assert_nobody_is_left(&storm.limiter);
        left = left.saturating_sub(10 * LONGEST_ROUND);
        if left == 0 {
            break;
        }
    }
}

/// The same on a clock that stands still: nobody is woken by a timer.
fn on_a_clock_that_stands_still<L: Subject>() {
    let rounds = steps().div_ceil(LONGEST_ROUND).max(4);
    for round in 0..rounds {
        let mode = Mode::Standing { drops: round % 2 == 1 };
        let storm = Storm::<L>::new(Arc::new(StormClock::Standing), mode, steps() / rounds);
        let storm = Arc::new(storm);
        storm.limiter.line().set_limits(limits(round / 2));
        let logs = run(&storm, round);
        let sum = |of: fn(&Log) -> u64| logs.iter().map(of).sum::<u64>();
        let (kept, dropped) = (sum(Log::kept), sum(|log| log.dropped));
        let spent = storm.limiter.spent(sum(|log| log.credited));
        // A caller that is dropped after its grant gives it back or loses it.
        assert!(
            (kept..=kept + dropped).contains(&spent),
            "{spent} spent, {kept} kept, {dropped} dropped: {storm:#?}",
        );
        assert!(matches!(mode, Mode::Standing { drops: true }) || dropped == 0);
        assert_nobody_is_left(&storm.limiter);
    }
}

macro_rules! storms {
    ($($name:ident $Limiter:ident)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn a_storm_keeps_the_bound_and_leaves_nobody_in_line() {
                on_a_clock_that_runs::<$Limiter<Arc<StormClock>>>();
            }

            #[test]
            fn a_storm_whose_callers_wake_each_other_loses_no_permit_and_no_wake_up() {
                on_a_clock_that_stands_still::<$Limiter<Arc<StormClock>>>();
            }
        }
    )*};
}

storms! {
    token_bucket TokenBucket
    fixed_window FixedWindow
    sliding_counter SlidingCounter
    sliding_window SlidingWindow
}

impl<L: Subject> fmt::Debug for Storm<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing: Vec<&str> = self.doing.iter().map(|verb| steps::name(verb)).collect();
        f.debug_struct("Storm")
            .field("limiter", &self.limiter)
            .field("in line", &self.limiter.line().waiters())
            .field("ended", &self.ended)
            .field("of", &self.steps)
            .field("threads", &&doing[..THREADS])
            .field("tasks", &&doing[THREADS..])
            .finish_non_exhaustive()
    }
}
