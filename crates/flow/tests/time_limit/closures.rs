//! Closures on threads. Limits are short, and what must take longer waits until it is told.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::{Mutex, mpsc};
use std::thread;

use sluicegate_flow::time_limit::CallEvent::{
    Failed, FailedLate, FinishedLate, Lost, Succeeded, TimedOut,
};
use sluicegate_flow::time_limit::{
    CallError, CallEvent, CancelToken, ObserveCalls, OnTimeout, Spawn, SpawnedJob, SpawnedTask,
    TimeLimit, TimeLimiter,
};

use super::watched::{Dropped, millis};

/// Tells of each event, so that a test can wait for the next.
struct Told(mpsc::Sender<CallEvent>);

impl ObserveCalls for Told {
    fn ended(&self, _: &str, event: CallEvent) {
        let _ = self.0.send(event);
    }
}

/// A limiter of a millisecond.
fn short(on_timeout: OnTimeout) -> (TimeLimiter, mpsc::Receiver<CallEvent>) {
    let (sender, events) = mpsc::channel();
    let limit = TimeLimit::new(millis(1)).unwrap().with_on_timeout(on_timeout);
    (TimeLimiter::builder("short").limit(limit).observer(Told(sender)).build(), events)
}

/// A limiter whose time-out is the failure of a test.
fn long() -> TimeLimiter {
    TimeLimiter::new("long", TimeLimit::new(millis(3_600_000)).unwrap())
}

#[test]
fn a_closure_runs_on_another_thread_and_gives_its_result() {
    let limiter = long();
    let (id, cancelled) =
        limiter.run(|token| (thread::current().id(), token.is_cancelled())).unwrap();
    assert_ne!(id, thread::current().id());
    assert!(!cancelled);
    assert_eq!(limiter.counts().succeeded, 1);
}

#[test]
fn a_closure_that_takes_too_long_is_asked_to_stop_and_its_result_is_dropped() {
    let (limiter, events) = short(OnTimeout::Cancel);
    loop {
        let (guard, is_dropped) = Dropped::new();
        let until_asked = move |token: &CancelToken| {
            while !token.is_cancelled() {
                thread::yield_now();
            }
            guard
        };
        let hook = |_| panic!("cancelled, so its result is not wanted");
        let error = limiter.call(until_asked).on_late(hook).run().map(drop).unwrap_err();
        let CallError::TimedOut(error) = error else { panic!("{error}") };
        assert_eq!((error.name(), error.timeout()), ("short", millis(1)));
        assert!(error.may_finish(), "a thread cannot be killed");
        assert_eq!(events.recv(), Ok(TimedOut));
        let end = events.recv().unwrap();
        // The thread drops it after it has told of the end.
        while !*is_dropped.lock().unwrap() {
            thread::yield_now();
        }
        // A thread that was slow to start has not begun with it.
        if end != Lost {
            break assert_eq!(end, FinishedLate);
        }
    }
}

#[test]
fn a_closure_that_is_let_finish_is_not_asked_to_stop_and_hands_its_result_to_the_hook() {
    let (limiter, events) = short(OnTimeout::LetFinish);
    let (go_on, told_to) = mpsc::channel();
    let (sender, late) = mpsc::channel();
    let slow = move |token: &CancelToken| {
        told_to.recv().unwrap();
        token.is_cancelled()
    };
    let call = limiter.call(slow).on_late(move |result| sender.send(result).unwrap());
    assert!(call.run().unwrap_err().is_timeout());
    go_on.send(()).unwrap();
    assert_eq!(late.recv(), Ok(false));
    assert_eq!((events.recv(), events.recv()), (Ok(TimedOut), Ok(FinishedLate)));
}

#[test]
fn a_panic_of_the_closure_reaches_the_caller() {
    let limiter = long();
    let panic = catch_unwind(AssertUnwindSafe(|| limiter.run(|_| panic_any(7_u32))));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&7_u32));
    assert_eq!(limiter.counts().failed, 1);
}

#[test]
fn a_panic_after_the_time_out_is_a_late_failure_and_not_for_the_hook() {
    let (limiter, events) = short(OnTimeout::LetFinish);
    let (go_on, told_to) = mpsc::channel::<()>();
    let call = limiter.call(move |_| {
        told_to.recv().unwrap();
        panic!("late");
    });
    let hook = |(): ()| unreachable!("there is no result");
    assert!(call.on_late(hook).run().unwrap_err().is_timeout());
    go_on.send(()).unwrap();
    assert_eq!((events.recv(), events.recv()), (Ok(TimedOut), Ok(FailedLate)));
}

#[test]
fn an_error_of_the_closure_is_a_failure() {
    let limiter = long();
    let answer = limiter.try_run(|_| "six".parse::<u32>());
    let error = answer.unwrap_err();
    assert_eq!(error.to_string(), "invalid digit found in string");
    assert_eq!(
        error.failure().map(|error| error.to_string()).as_deref(),
        Some("invalid digit found in string")
    );
    assert_eq!(limiter.try_run(|_| "6".parse::<u32>()), Ok(6));
    let counts = limiter.counts();
    assert_eq!((counts.failed, counts.succeeded), (1, 1));

    let (limiter, _) = short(OnTimeout::LetFinish);
    let (go_on, told_to) = mpsc::channel::<()>();
    let answer = limiter.try_run(move |_| told_to.recv());
    assert!(answer.unwrap_err().is_timeout());
    drop(go_on);
}

#[test]
fn a_decorated_function_runs_each_call_on_a_thread() {
    let limiter = long();
    let count = limiter.decorate_blocking(|word: &str, _| word.len());
    assert_eq!((count("sluice"), count("gate")), (Ok(6), Ok(4)));
    assert_eq!(limiter.counts().succeeded, 2);
}

/// Drops every job, or panics.
struct Refusing {
    panics: bool,
}

impl Spawn for Refusing {
    fn spawn(&self, _: SpawnedTask) {}

    fn spawn_blocking(&self, _: SpawnedJob) {
        assert!(!self.panics, "no threads left");
    }
}

#[test]
fn a_caller_whose_closure_no_thread_takes_is_told_so_at_once() {
    for panics in [false, true] {
        let builder = TimeLimiter::builder("refused").limit(long().limit());
        let limiter = builder.spawner(Refusing { panics }).build();
        let error = limiter.run(|_| ()).unwrap_err();
        assert!(matches!(error, CallError::NotRun { .. }));
        let text = "no thread took `refused`: nothing was done, so it can be tried again";
        assert_eq!(error.to_string(), text);
        assert_eq!(limiter.counts().failed, 1);
    }
}

/// A pool that has no thread free until the test runs its jobs.
struct Queue(Mutex<mpsc::Sender<SpawnedJob>>);

impl Spawn for Queue {
    fn spawn(&self, _: SpawnedTask) {}

    fn spawn_blocking(&self, job: SpawnedJob) {
        self.0.lock().unwrap().send(job).unwrap();
    }
}

#[test]
fn a_closure_that_was_cancelled_in_a_queue_does_not_begin_and_another_one_does() {
    for on_timeout in [OnTimeout::Cancel, OnTimeout::LetFinish] {
        let (sender, jobs) = mpsc::channel();
        let (told, events) = mpsc::channel();
        let limiter = TimeLimiter::builder("queued")
            .limit(TimeLimit::new(millis(1)).unwrap().with_on_timeout(on_timeout))
            .spawner(Queue(Mutex::new(sender)))
            .observer(Told(told))
            .build();
        let (began, has_begun) = mpsc::channel();
        assert!(limiter.run(move |_| began.send(()).unwrap()).unwrap_err().is_timeout());
        jobs.recv().unwrap()();
        let begins = on_timeout == OnTimeout::LetFinish;
        assert_eq!(has_begun.recv().is_ok(), begins);
        let end = if begins { FinishedLate } else { Lost };
        assert_eq!((events.recv(), events.recv()), (Ok(TimedOut), Ok(end)));
    }
}

#[test]
fn closures_that_end_about_when_they_time_out_give_each_result_to_one() {
    const CALLS: u64 = if cfg!(miri) { 20 } else { 200 };
    for on_timeout in [OnTimeout::Cancel, OnTimeout::LetFinish] {
        let (limiter, events) = short(on_timeout);
        let (sender, late) = mpsc::channel();
        let (mut in_time, mut timed_out) = (0, 0);
        for call in 0..CALLS {
            let sender = sender.clone();
            let busy = move |_: &_| thread::sleep(millis(call % 3));
            match limiter.call(busy).on_late(move |()| sender.send(()).unwrap()).run() {
                Ok(()) => in_time += 1,
                Err(error) => timed_out += u64::from(error.is_timeout()),
            }
        }
        drop(sender);
        assert_eq!(in_time + timed_out, CALLS);
        // Ends once the last closure that went on has ended.
        let handed_over = late.iter().count() as u64;
        assert_eq!(handed_over, if on_timeout == OnTimeout::Cancel { 0 } else { timed_out });
        let told: Vec<_> = events.iter().take((CALLS + timed_out) as usize).collect();
        let count = |event| told.iter().filter(|&&seen| seen == event).count() as u64;
        assert_eq!((count(Succeeded), count(TimedOut), count(Failed)), (in_time, timed_out, 0));
        // One that had not begun when it was cancelled never did.
        assert_eq!(count(FinishedLate) + count(Lost), timed_out);
        let counts = limiter.counts();
        assert_eq!((counts.finished_late, counts.lost), (count(FinishedLate), count(Lost)));
    }
}
