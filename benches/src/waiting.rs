//! Tasks that wait for a limiter, as many at a time as are wanted.
//!
//! Each task takes one permit again and again, so that all of them wait at any time. The limiter
//! starts with a few permits, and earns one at every interval: the instants at which an ideal
//! limiter would have granted each permit follow from the first grant. All tasks run on one
//! thread, which does nothing else.

mod outcome;
mod subject;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use tokio::runtime;
use tokio::task::{self, LocalSet};
use tokio::time;

pub use self::outcome::{Outcome, Percentiles};
pub use self::subject::{BURST, Paced, PacedVisitor, visit_all};
use crate::held;

/// The set-up of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of tasks.
    pub waiters: usize,
    /// Time between two permits.
    pub interval: Duration,
    /// Time that is measured.
    pub time: Duration,
    /// Time before that.
    pub warm_up: Duration,
}

/// Notes of the tasks.
#[derive(Default)]
struct Notes {
    /// The instant of each grant.
    grants: RefCell<Vec<Instant>>,
    /// Wake-ups of all tasks.
    wakes: Cell<u64>,
    /// Tasks that have been asked for a permit, and for the first time had to wait.
    standing: Cell<usize>,
}

/// Lets tasks wait for a new `S`.
///
/// # Panics
///
/// If a limiter does, or if the system gives no timer.
#[must_use]
pub fn run<S: Paced>(plan: Plan) -> Outcome {
    let runtime = runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a timer needs nothing of the system");
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, wait_for::<S>(plan))
}

#[expect(clippy::cast_precision_loss, reason = "it is shown to a few digits")]
async fn wait_for<S: Paced>(plan: Plan) -> Outcome {
    // The clocks are set up by the first use; that is not a part of what is measured.
    let first: &'static S = Box::leak(Box::new(S::new(plan.interval)));
    first.take().await;
    let limiter: &'static S = Box::leak(Box::new(S::new(plan.interval)));
    let notes = Rc::new(Notes::default());
    let expected = (plan.warm_up + plan.time).as_secs_f64() / plan.interval.as_secs_f64() * 2.0;
    notes.grants.borrow_mut().reserve(expected as usize + BURST as usize);

    // What a task takes that waits for nothing is not the limiter's.
    let idle = held_by(plan.waiters, |_| std::future::pending::<()>()).await;
    let before = held::bytes();
    let tasks: Vec<_> =
        (0..plan.waiters).map(|_| task::spawn_local(take_on(limiter, Rc::clone(&notes)))).collect();
    while notes.standing.get() < plan.waiters {
        task::yield_now().await;
    }
    let held = held::bytes().saturating_sub(before);

    time::sleep(plan.warm_up).await;
    let (first, wakes, cpu) = (notes.grants.borrow().len(), notes.wakes.get(), ProcessTime::now());
    let began = Instant::now();
    time::sleep(plan.time).await;
    let (cpu, took) = (cpu.elapsed(), began.elapsed());
    let wakes = notes.wakes.get() - wakes;
    let grants = notes.grants.borrow().clone();
    for task in &tasks {
        task.abort();
    }
    let bytes = held.saturating_sub(idle) as f64 / plan.waiters as f64;
    Outcome::of(S::NAME, plan, &grants, first, outcome::Work { wakes, cpu, took, bytes })
}

/// Returns the bytes that are held for that many tasks of which each waits for ever.
async fn held_by<F: Future<Output = ()> + 'static>(
    tasks: usize,
    work: impl Fn(usize) -> F,
) -> usize {
    let before = held::bytes();
    let tasks: Vec<_> = (0..tasks).map(|index| task::spawn_local(work(index))).collect();
    task::yield_now().await;
    let held = held::bytes().saturating_sub(before);
    for task in tasks {
        task.abort();
    }
    task::yield_now().await;
    held
}

/// Takes permits for ever, one at a time.
async fn take_on<S: Paced>(limiter: &'static S, notes: Rc<Notes>) {
    let mut has_waited = false;
    loop {
        let mut take = pin!(limiter.take());
        let mut is_first = true;
        std::future::poll_fn(|context| {
            if !is_first {
                notes.wakes.set(notes.wakes.get() + 1);
            }
            is_first = false;
            let answer = take.as_mut().poll(context);
            if answer.is_pending() && !has_waited {
                has_waited = true;
                notes.standing.set(notes.standing.get() + 1);
            }
            answer
        })
        .await;
        notes.grants.borrow_mut().push(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Short(Vec<Outcome>);

    impl PacedVisitor for Short {
        fn visit<S: Paced>(&mut self) {
            let interval = Duration::from_millis(1);
            let mut time = Duration::from_millis(100);
            // Longer on a machine that is busy: the limiter may have no processor for so long.
            self.0.push(loop {
                let outcome = run::<S>(Plan { waiters: 3, interval, time, warm_up: interval * 20 });
                if outcome.grants > 0 {
                    break outcome;
                }
                time *= 2;
            });
        }
    }

    #[test]
    fn every_limiter_grants_permits_to_tasks_that_wait() {
        let mut short = Short(Vec::new());
        visit_all(&mut short);
        assert_eq!(short.0.len(), 7);
    }
}
