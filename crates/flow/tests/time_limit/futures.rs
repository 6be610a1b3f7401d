//! Futures, in paused time.

use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::wait::Timer;
use sluicegate_flow::time_limit::CallEvent::{
    Failed, FailedLate, FinishedLate, Lost, Succeeded, TimedOut,
};
use sluicegate_flow::time_limit::{CallError, CallEvent, OnTimeout, TimeLimit, TimeLimiter};
use tokio::time::{Instant, sleep};

use super::watched::{Dropped, Events, NAME, limit, limiter, millis};
use sluicegate::wait::TokioTimer;

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_ends_in_time_gives_its_result() {
    let (limiter, events) = limiter(OnTimeout::Cancel);
    for takes in [0, 1, 99, 100] {
        let operation = async move {
            sleep(millis(takes)).await;
            takes
        };
        assert_eq!(limiter.execute(operation).await, Ok(takes), "after {takes} ms");
    }
    assert_eq!(events.all(), [Succeeded; 4]);
    assert_eq!(limiter.counts().succeeded, 4);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_takes_too_long_is_dropped_before_its_caller_is_told() {
    let (limiter, events) = limiter(OnTimeout::Cancel);
    let (guard, is_dropped) = Dropped::new();
    let operation = async move {
        sleep(millis(101)).await;
        drop(guard);
    };
    let began = Instant::now();
    let error = limiter.execute(operation).await.unwrap_err();
    assert!(*is_dropped.lock().unwrap());
    // The time is the test's own: it stands still but for the sleeps.
    assert_eq!(began.elapsed(), millis(100));
    assert_eq!((error.name(), error.timeout(), error.may_finish()), (NAME, millis(100), false));
    assert_eq!(events.all(), [TimedOut]);
}

/// A timer whose sleeps must not be polled.
#[derive(Clone)]
struct Unused;

impl Timer for Unused {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        Box::pin(async { panic!("the timer is set") })
    }
}

#[test]
fn a_future_that_is_ready_at_once_sets_no_timer() {
    let limiter = TimeLimiter::builder(NAME).timer(Unused).build();
    assert_eq!(poll_once(pin!(limiter.execute(ready(7)))), Poll::Ready(Ok(7)));
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_is_let_finish_hands_its_result_to_the_hook() {
    let (limiter, events) = limiter(OnTimeout::LetFinish);
    let (sender, late) = mpsc::channel();
    let operation = async {
        sleep(millis(150)).await;
        42
    };
    let call = limiter.execute(operation).on_late(move |result| sender.send(result).unwrap());
    let error = call.await.unwrap_err();
    assert!(error.may_finish());
    sleep(millis(49)).await;
    assert_eq!((late.try_recv(), events.all()), (Err(mpsc::TryRecvError::Empty), vec![TimedOut]));
    sleep(millis(2)).await;
    assert_eq!((late.try_recv(), events.all()), (Ok(42), vec![TimedOut, FinishedLate]));
}

#[tokio::test(start_paused = true)]
async fn a_result_in_time_is_not_for_the_hook() {
    let (limiter, _) = limiter(OnTimeout::LetFinish);
    let hook = |_| panic!("the caller has it");
    assert_eq!(limiter.execute(ready(42)).on_late(hook).await, Ok(42));
}

#[tokio::test(start_paused = true)]
async fn a_future_that_cannot_move_is_dropped_whatever_the_configuration_says() {
    let (limiter, events) = limiter(OnTimeout::LetFinish);
    let not_send = std::rc::Rc::new(());
    let operation = async {
        pending::<()>().await;
        drop(not_send);
    };
    assert!(!limiter.execute_cancelling(operation).await.unwrap_err().may_finish());
    assert_eq!(events.all(), [TimedOut]);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_operation_is_a_failure_in_time_and_late() {
    let (limiter, events) = limiter(OnTimeout::LetFinish);
    let fails_after = |takes| async move {
        sleep(millis(takes)).await;
        Err::<(), _>("no such table")
    };
    let error = limiter.try_execute(fails_after(50)).await.unwrap_err();
    assert_eq!(error, CallError::Failed("no such table"));
    assert_eq!(error.failure(), Some("no such table"));
    // Where errors do not count, it is a result as any.
    assert_eq!(limiter.execute(fails_after(50)).await, Ok(Err("no such table")));
    assert!(limiter.try_execute(fails_after(150)).await.unwrap_err().is_timeout());
    sleep(millis(100)).await;
    assert_eq!(events.all(), [Failed, Succeeded, TimedOut, FailedLate]);
}

#[test]
fn a_call_that_is_never_polled_has_not_begun() {
    for on_timeout in [OnTimeout::Cancel, OnTimeout::LetFinish] {
        let (limiter, events) = limiter(on_timeout);
        let (guard, is_dropped) = Dropped::new();
        // No runtime is needed either.
        drop(limiter.execute(async move { drop(guard) }));
        assert!(*is_dropped.lock().unwrap());
        assert_eq!(events.all(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_reaches_the_caller_and_the_operation_is_not_polled_again() {
    for on_timeout in [OnTimeout::Cancel, OnTimeout::LetFinish] {
        let (limiter, events) = limiter(on_timeout);
        let mut call = Box::pin(limiter.execute(async { panic!("at first") }));
        let panic = catch_unwind(AssertUnwindSafe(|| poll_once(call.as_mut()))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"at first"));
        drop(call);
        sleep(millis(200)).await;
        assert_eq!(events.all(), [Failed]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_without_its_caller_is_a_late_failure_and_not_for_the_hook() {
    let (limiter, events) = limiter(OnTimeout::LetFinish);
    let operation = async {
        sleep(millis(150)).await;
        panic!("late");
    };
    let hook = |(): ()| unreachable!("there is no result");
    assert!(limiter.execute(operation).on_late(hook).await.is_err());
    sleep(millis(100)).await;
    assert_eq!(events.all(), [TimedOut, FailedLate]);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_no_spawner_takes_is_lost() {
    let drops = |task| drop(task);
    let panics = |_| panic!("no runtime");
    for is_dropping in [true, false] {
        let events = Events::default();
        let builder =
            TimeLimiter::builder(NAME).limit(limit(OnTimeout::LetFinish)).timer(TokioTimer);
        let builder = builder.observer(events.clone());
        let limiter =
            if is_dropping { builder.spawner(drops) } else { builder.spawner(panics) }.build();
        assert!(limiter.execute(pending::<()>()).await.is_err());
        assert_eq!(events.all(), [TimedOut, Lost]);

        // From a destructor too.
        let mut call = Box::pin(limiter.execute(pending::<()>()));
        assert!(poll_once(call.as_mut()).is_pending());
        drop(call);
        assert_eq!(events.all()[2..], [CallEvent::Dropped, Lost]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_its_runtime_drops_is_lost() {
    let (limiter, events) = limiter(OnTimeout::LetFinish);
    let elsewhere = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            drop(limiter.execute(pending::<()>()).await);
            // One of them has been polled as a task, the other has not.
            tokio::task::yield_now().await;
            drop(limiter.execute(pending::<()>()).await);
        });
        // It is dropped here, with the tasks in it.
    });
    elsewhere.join().unwrap();
    assert_eq!(events.all(), [TimedOut, TimedOut, Lost, Lost]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_ended_is_pending_if_it_is_polled_again() {
    let (limiter, events) = limiter(OnTimeout::LetFinish);
    let mut call = pin!(limiter.execute(ready(1)));
    assert!(poll_once(call.as_mut()).is_ready());
    assert!(poll_once(call.as_mut()).is_pending());
    let mut call = pin!(limiter.execute(pending::<()>()));
    assert!(poll_fn(|context| call.as_mut().poll(context)).await.is_err());
    assert!(poll_once(call.as_mut()).is_pending());
    assert_eq!(events.all(), [Succeeded, TimedOut]);
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_a_task_of_its_own() {
    for on_timeout in [OnTimeout::Cancel, OnTimeout::LetFinish] {
        let (limiter, _) = limiter(on_timeout);
        let call = tokio::spawn(limiter.execute(sleep(millis(1))));
        drop(limiter);
        assert_eq!(call.await.unwrap(), Ok(()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_decorated_function_limits_each_call() {
    let (limiter, _) = limiter(OnTimeout::Cancel);
    let nap = limiter.decorate(|takes| async move {
        sleep(millis(takes)).await;
        takes
    });
    assert_eq!(nap(60).await, Ok(60));
    assert_eq!(nap(60).await, Ok(60), "each has the whole time");
    assert!(nap(160).await.is_err());
}

#[test]
fn a_limiter_by_default_needs_no_runtime() {
    let limit = TimeLimit::new(millis(1)).unwrap().with_on_timeout(OnTimeout::LetFinish);
    let limiter = TimeLimiter::new("alone", limit);
    let (go_on, told_to) = mpsc::channel::<()>();
    let told_to = Mutex::new(told_to);
    let (sender, late) = mpsc::channel();
    // Not ready until it is told so, which is after its time-out.
    let operation = poll_fn(move |context| {
        context.waker().wake_by_ref();
        let is_told = told_to.lock().unwrap().try_recv().is_ok();
        if is_told { Poll::Ready(42) } else { Poll::Pending }
    });
    let call = limiter.execute(operation).on_late(move |result| sender.send(result).unwrap());
    assert!(park_until(call).is_err());
    go_on.send(()).unwrap();
    assert_eq!(late.recv(), Ok(42));
    assert_eq!(limiter.counts().finished_late, 1);
}

/// Runs a future on this thread, which parks in between.
fn park_until<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
