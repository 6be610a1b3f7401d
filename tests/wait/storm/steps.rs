//! The steps of threads and of tasks.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use sluicegate::settle::Estimate;
use sluicegate::wait::{AcquireError, Waiting};
use sluicegate::{Clock, Denied, Grant};

use super::ledger::{Between, Terms};
use super::subject::{Mode, Shared, Subject};
use super::{TASKS, THREADS};
use crate::wait::support::NoTimer;

/// Permits of the largest request.
const LARGEST: u64 = 40;

/// All that callers share.
pub(super) struct Storm<L> {
    pub(super) limiter: L,
    clock: Shared,
    mode: Mode,
    first: Terms,
    changes: Mutex<Vec<Between<Terms>>>,
    pub(super) steps: u64,
    begun: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) is_over: AtomicBool,
    /// The verb that each caller is in.
    pub(super) doing: Vec<AtomicUsize>,
}

/// Notes of one caller.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) grants: Vec<Between<u64>>,
    pub(super) beyond: Vec<Between<u64>>,
    pub(super) credits: Vec<Between<u64>>,
    pub(super) resets: Vec<Between<()>>,
    pub(super) credited: u64,
    pub(super) reserved: u64,
    /// Permits that callers asked for which were dropped.
    pub(super) dropped: u64,
}

impl Log {
    pub(super) fn kept(&self) -> u64 {
        let granted: u64 = self.grants.iter().chain(&self.beyond).map(|grant| grant.what).sum();
        granted + self.reserved
    }
}

#[derive(Clone, Copy)]
enum Verb {
    Try,
    UpTo,
    GiveBack,
    Acquire,
    AcquireInTime,
    Drop,
    Settle,
    Change,
    Reset,
    Credit,
    Reserve,
}

const VERBS: [(Verb, &str, u32); 11] = [
    (Verb::Try, "try_acquire", 10),
    (Verb::UpTo, "try_acquire_up_to", 5),
    (Verb::GiveBack, "give_back", 5),
    (Verb::Acquire, "acquire", 15),
    (Verb::AcquireInTime, "acquire, with a timeout", 20),
    (Verb::Drop, "acquire, dropped", 12),
    (Verb::Settle, "settle", 12),
    (Verb::Change, "reconfigure", 4),
    (Verb::Reset, "reset", 2),
    (Verb::Credit, "credit", 5),
    (Verb::Reserve, "reserve", 10),
];

const ENDED: usize = VERBS.len();

pub(super) fn name(verb: &AtomicUsize) -> &'static str {
    VERBS.get(verb.load(Relaxed)).map_or("ended", |verb| verb.1)
}

/// The instructions of a step.
struct Chosen {
    verb: Verb,
    permits: u64,
    timeout: Duration,
}

impl<L: Subject> Storm<L> {
    pub(super) fn new(clock: Shared, mode: Mode, steps: u64) -> Storm<L> {
        let (limiter, first) = L::new(Arc::clone(&clock), mode);
        let doing = (0..THREADS + TASKS).map(|_| AtomicUsize::new(0)).collect();
        let (begun, ended, changes) = Default::default();
        let is_over = AtomicBool::new(false);
        Storm { limiter, clock, mode, first, changes, steps, begun, ended, is_over, doing }
    }

    pub(super) fn terms_at_first(&self) -> Terms {
        self.first
    }

    pub(super) fn changes(&self) -> Vec<Between<Terms>> {
        self.changes.lock().unwrap().clone()
    }

    fn drops(&self) -> bool {
        self.mode != Mode::Standing { drops: false }
    }

    /// The next step, or `None` if there were enough.
    fn choose(&self, caller: usize, random: &mut StdRng) -> Option<Chosen> {
        if self.begun.fetch_add(1, Relaxed) >= self.steps {
            self.doing[caller].store(ENDED, Relaxed);
            return None;
        }
        let mut chosen = random.random_range(0..100);
        let which = VERBS.iter().position(|&(_, _, of)| {
            let is_it = chosen < of;
            chosen = chosen.saturating_sub(of);
            is_it
        });
        let which = which.unwrap();
        self.doing[caller].store(which, Relaxed);
        let permits = if random.random_ratio(1, 20) { 11..=LARGEST } else { 1..=10 };
        let timeout = match self.mode {
            Mode::Running => Duration::from_micros(random.random_range(0..2_000)),
            // Some are refused at once, the others wait for as long as it takes.
            Mode::Standing { .. } => Duration::from_secs(1 << random.random_range(0..60)),
        };
        Some(Chosen { verb: VERBS[which].0, permits: random.random_range(permits), timeout })
    }

    /// Does `what` between two readings.
    fn between<T>(&self, what: impl FnOnce() -> T) -> Between<T> {
        let began = self.clock.now_nanos();
        let what = what();
        Between { began, ended: self.clock.now_nanos(), what }
    }

    #[expect(clippy::needless_pass_by_value, reason = "nobody has another use for an answer")]
    fn note<E>(&self, began: u64, answer: Result<Grant, E>, log: &mut Log) {
        let ended = self.clock.now_nanos();
        if let Ok(grant) = answer {
            log.grants.push(Between { began, ended, what: grant.permits() });
        }
    }

    fn change(&self, random: &mut StdRng) {
        // One after another, so that it is known which terms are in force.
        let mut changes = self.changes.lock().unwrap();
        changes.push(self.between(|| self.limiter.change(self.mode, random)));
    }

    fn reset(&self, log: &mut Log) {
        // It would forget what is to be accounted for.
        if self.mode == Mode::Running {
            log.resets.push(self.between(|| self.limiter.reset()));
        }
    }

    fn credit(&self, permits: u64, log: &mut Log) {
        let credit = self.between(|| if self.limiter.credit(permits) { permits } else { 0 });
        log.credited += credit.what;
        log.credits.push(credit);
    }

    /// Does a step that never waits.
    fn act<'a>(
        &'a self,
        chosen: &Chosen,
        open: &mut VecDeque<(usize, Estimate<'a>)>,
        random: &mut StdRng,
        log: &mut Log,
    ) {
        let permits = chosen.permits;
        let began = self.clock.now_nanos();
        match chosen.verb {
            Verb::UpTo => self.note(began, self.limiter.try_acquire_up_to(permits), log),
            Verb::GiveBack => {
                let receipt = self.limiter.try_acquire_revocable(permits);
                let answer = receipt.and_then(|receipt| {
                    let grant = receipt.grant();
                    // As if it had been denied.
                    if receipt.give_back() {
                        Err(Denied::TooLarge { limit: 0, which: 0 })
                    } else {
                        Ok(grant)
                    }
                });
                self.note(began, answer, log);
            }
            Verb::Settle => {
                if let Some(Ok(estimate)) = self.limiter.estimate(permits) {
                    self.note(began, Ok::<_, ()>(estimate.grant()), log);
                    open.push_back((log.grants.len() - 1, estimate));
                }
                if open.len() > random.random_range(0..4) {
                    let (which, estimate) = open.pop_front().unwrap();
                    let used = random.random_range(0..=estimate.permits() + 2);
                    let settled = self.between(|| estimate.settle(used).unwrap());
                    log.grants[which].what -= settled.what.given_back();
                    let what = settled.what.taken_beyond();
                    log.beyond.push(Between { began: settled.began, ended: settled.ended, what });
                }
            }
            Verb::Change => self.change(random),
            Verb::Reset => self.reset(log),
            Verb::Credit => self.credit(permits, log),
            // On a clock that runs, changes move others to before the instants that were told.
            Verb::Reserve if self.mode != Mode::Running => {
                if let Some(Ok(reservation)) = self.limiter.reserve(permits) {
                    // Some are cancelled by callers, in line or later, and the others are dropped.
                    let keeps = random.random_ratio(1, 2);
                    thread::yield_now();
                    if keeps || !reservation.cancel() {
                        log.reserved += permits;
                    }
                }
            }
            _ => self.note(began, self.limiter.try_acquire(permits), log),
        }
    }

    pub(super) fn run_thread(&self, caller: usize, mut random: StdRng) -> Log {
        let (mut log, mut open) = (Log::default(), VecDeque::new());
        while let Some(chosen) = self.choose(caller, &mut random) {
            let began = self.clock.now_nanos();
            let permits = chosen.permits;
            match chosen.verb {
                Verb::Acquire => self.note(began, self.limiter.acquire_blocking(permits), &mut log),
                Verb::AcquireInTime => {
                    let answer =
                        self.limiter.acquire(permits).timeout(chosen.timeout).wait_blocking();
                    self.note(began, answer, &mut log);
                }
                Verb::Drop if self.drops() => {
                    let future = pin!(self.limiter.acquire(permits).timer(NoTimer));
                    match poll_for_a_while(future, random.random_range(1..4)) {
                        Some(answer) => self.note(began, answer, &mut log),
                        None => log.dropped += permits,
                    }
                }
                _ => self.act(&chosen, &mut open, &mut random, &mut log),
            }
            self.ended.fetch_add(1, Relaxed);
        }
        log
    }

    pub(super) async fn run_task(self: Arc<Self>, caller: usize, mut random: StdRng) -> Log {
        let (mut log, mut open) = (Log::default(), VecDeque::new());
        while let Some(chosen) = self.choose(caller, &mut random) {
            let began = self.clock.now_nanos();
            let permits = chosen.permits;
            let waiting = self.limiter.acquire(permits);
            match chosen.verb {
                Verb::Acquire => {
                    let answer = until_woken(waiting, self.mode, caller).await;
                    self.note(began, answer, &mut log);
                }
                Verb::AcquireInTime => {
                    let waiting = waiting.timeout(chosen.timeout);
                    let answer = until_woken(waiting, self.mode, caller).await;
                    self.note(began, answer, &mut log);
                }
                Verb::Drop if self.drops() => {
                    let storm = Arc::clone(&self);
                    let task = tokio::spawn(async move {
                        let waiting = storm.limiter.acquire(permits);
                        until_woken(waiting, storm.mode, caller).await
                    });
                    for _ in 0..random.random_range(0..8) {
                        tokio::task::yield_now().await;
                    }
                    task.abort();
                    match task.await {
                        Ok(answer) => self.note(began, answer, &mut log),
                        Err(ended) => {
                            assert!(ended.is_cancelled(), "{ended}");
                            log.dropped += permits;
                        }
                    }
                }
                _ => self.act(&chosen, &mut open, &mut random, &mut log),
            }
            self.ended.fetch_add(1, Relaxed);
            if random.random_ratio(1, 8) {
                tokio::task::yield_now().await;
            }
        }
        log
    }

    /// Brings permits, as long as callers are in line, until all have ended. On a clock that stands
    /// still, brings none if there are enough for anybody: then those who brought them have to have
    /// told those in line.
    pub(super) fn feed(&self, mut random: StdRng) -> Log {
        let (mut log, mut open) = (Log::default(), VecDeque::new());
        while !self.is_over.load(Relaxed) {
            let is_short = self.limiter.line().waiters() <= random.random_range(0..THREADS + TASKS);
            let is_standing = self.mode != Mode::Running;
            if is_short || is_standing && self.limiter.space() >= LARGEST {
                let began = self.clock.now_nanos();
                if open.len() < 8
                    && let Some(Ok(estimate)) = self.limiter.estimate(random.random_range(1..=10))
                {
                    self.note(began, Ok::<_, ()>(estimate.grant()), &mut log);
                    open.push_back((log.grants.len() - 1, estimate));
                }
                // On a clock that runs, most is earned.
                if !is_standing {
                    thread::sleep(Duration::from_micros(200));
                }
                thread::yield_now();
                continue;
            }
            match random.random_range(0..6) {
                0 => self.reset(&mut log),
                1 => self.change(&mut random),
                2 | 3 => self.credit(random.random_range(1..=20), &mut log),
                _ => {
                    if let Some((which, estimate)) = open.pop_front() {
                        log.grants[which].what -= estimate.settle(0).unwrap().given_back();
                    }
                }
            }
        }
        log
    }
}

/// Polls `future` so many times, without being woken.
fn poll_for_a_while<F: Future>(mut future: std::pin::Pin<&mut F>, times: u32) -> Option<F::Output> {
    for _ in 0..times {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending => thread::yield_now(),
        }
    }
    None
}

/// Waits in a task: by a timer if the clock runs, or else until somebody wakes it.
async fn until_woken(
    waiting: Waiting<'_>,
    mode: Mode,
    #[cfg_attr(not(feature = "tokio"), expect(unused_variables, reason = "one timer"))]
    caller: usize,
) -> Result<Grant, AcquireError> {
    match mode {
        Mode::Standing { .. } => waiting.timer(NoTimer).await,
        #[cfg(feature = "tokio")]
        Mode::Running if caller.is_multiple_of(2) => {
            waiting.timer(sluicegate::wait::TokioTimer).await
        }
        Mode::Running => waiting.await,
    }
}
