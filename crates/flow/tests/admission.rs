//! Admission by a rate, a number in flight and a time limit. What is checked:
//!
//! * the limit that refuses names itself, and a refused call is charged to nothing;
//! * the place in flight is the operation's, whatever becomes of its caller;
//! * nothing is taken before the first poll; limits that are absent admit everything;
//! * calls that wait: one deadline for both waits, in the line in flight and then in that of the rate,
//!   and nothing leaks, wherever a call gives up.

mod storm;
mod threads;
mod waiting;

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use sluicegate::compose::All;
use sluicegate::{Denied, Limiter, ManualClock, TokenBucket, quota};
use sluicegate_flow::admission::{Admission, AdmissionError};
use sluicegate_flow::time_limit::{OnTimeout, TimeLimit, TimeLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::sleep;

use sluicegate::wait::TokioTimer;

type Bucket = Arc<TokenBucket<ManualClock>>;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Ten permits, on a clock that stands still.
fn bucket() -> Bucket {
    Arc::new(TokenBucket::with_clock(quota!(10 / second), ManualClock::new()))
}

fn left(bucket: &Bucket) -> u64 {
    bucket.peek(0).unwrap().remaining()
}

fn enter(
    places: &Arc<Semaphore>,
) -> impl Fn() -> Result<OwnedSemaphorePermit, TryAcquireError> + use<> {
    let places = Arc::clone(places);
    move || Arc::clone(&places).try_acquire_owned()
}

fn time(on_timeout: OnTimeout) -> TimeLimiter<TokioTimer> {
    TimeLimiter::builder("time")
        .limit(TimeLimit::new(millis(100)).unwrap().with_on_timeout(on_timeout))
        .timer(TokioTimer)
        .spawner(|task| drop(tokio::spawn(task)))
        .build()
}

#[tokio::test(start_paused = true)]
async fn the_limit_that_refuses_names_itself_and_nothing_is_charged() {
    let (bucket, places) = (bucket(), Arc::new(Semaphore::new(1)));
    let admission = Admission::new()
        .rate("rate", Arc::clone(&bucket))
        .in_flight("places", enter(&places))
        .time(time(OnTimeout::Cancel));

    let first = admission.try_admit(4).unwrap();
    assert_eq!((first.grant().permits(), left(&bucket)), (4, 6));
    let full = admission.execute(1, ready(())).await.unwrap_err();
    assert_eq!(full.limit_name(), Some("places"));
    assert!(matches!(full, AdmissionError::InFlight { refusal: TryAcquireError::NoPermits, .. }));
    assert!(full.to_string().starts_with("`places` refused: "), "{full}");
    assert_eq!((full.is_refusal(), full.retry_after(), left(&bucket)), (true, None, 6));
    drop(first.into_guard());

    let denied = admission.execute(8, ready(())).await.unwrap_err();
    assert_eq!(denied.to_string(), "`rate` refused: rate limited: try again in 200ms");
    assert_eq!((denied.limit_name(), denied.retry_after()), (Some("rate"), Some(millis(200))));
    assert_eq!((denied.is_refusal(), left(&bucket)), (true, 6));
    assert_eq!(places.available_permits(), 1, "the place is free again");

    let slow = admission.execute(2, pending::<()>()).await.unwrap_err();
    assert_eq!(
        (slow.limit_name(), slow.is_refusal(), slow.retry_after()),
        (Some("time"), false, None)
    );
    assert_eq!((left(&bucket), places.available_permits()), (4, 1));
    assert!(admission.execute(4, ready(())).await.is_ok());
    assert_eq!((left(&bucket), places.available_permits()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_place_of_an_operation_that_is_let_finish_is_free_once_it_has_finished() {
    let places = Arc::new(Semaphore::new(1));
    let admission =
        Admission::new().in_flight("places", enter(&places)).time(time(OnTimeout::LetFinish));
    assert!(admission.execute(1, sleep(millis(150))).await.is_err());
    sleep(millis(49)).await;
    assert_eq!(places.available_permits(), 0);
    sleep(millis(2)).await;
    assert_eq!(places.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_place_of_a_call_that_is_dropped_is_free_and_its_permits_stay_spent() {
    let (bucket, places) = (bucket(), Arc::new(Semaphore::new(1)));
    let admission = Admission::new()
        .rate("rate", Arc::clone(&bucket))
        .in_flight("places", enter(&places))
        .time(time(OnTimeout::Cancel));
    drop(admission.execute(1, pending::<()>()));
    assert_eq!((left(&bucket), places.available_permits()), (10, 1), "it was never polled");
    let call = tokio::time::timeout(millis(50), admission.execute(1, pending::<()>()));
    assert!(call.await.is_err());
    assert_eq!((left(&bucket), places.available_permits()), (9, 1));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_operation_is_its_own_with_and_without_a_time_limit() {
    let without = Admission::new();
    let with = Admission::new().time(time(OnTimeout::Cancel));
    let fails = || ready(Err::<(), _>("no such table"));
    let errors = [
        with.try_execute(1, fails()).await.unwrap_err(),
        without.try_execute(1, fails()).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.limit_name(), error.is_refusal()), (None, false));
        assert_eq!(error, AdmissionError::Failed("no such table"));
    }
    assert_eq!(with.try_execute(1, ready(Ok::<_, &str>(7))).await, Ok(7));
    assert_eq!(without.execute(u64::MAX, ready(7)).await, Ok(7));
}

#[test]
fn a_closure_is_admitted_as_a_future_is() {
    let (bucket, places) = (bucket(), Arc::new(Semaphore::new(1)));
    let limited =
        Admission::new().rate("rate", Arc::clone(&bucket)).in_flight("places", enter(&places));
    let caller = std::thread::current().id();
    let inside = Arc::clone(&places);
    let seen = move |_: &_| (std::thread::current().id() == caller, inside.available_permits());
    assert_eq!(limited.run(3, seen.clone()).unwrap(), (true, 0));
    assert_eq!((left(&bucket), places.available_permits()), (7, 1));

    let limited = limited.time(TimeLimiter::new("time", TimeLimit::new(millis(60_000)).unwrap()));
    assert_eq!(limited.run(3, seen.clone()).unwrap(), (false, 0));
    assert_eq!(limited.run(5, seen).unwrap_err().limit_name(), Some("rate"));
    assert_eq!(left(&bucket), 4);
}

#[test]
fn of_several_rates_the_one_that_refuses_is_told_by_its_index() {
    let clock = ManualClock::new();
    let per_second = TokenBucket::with_clock(quota!(5 / second), &clock);
    let per_hour = TokenBucket::with_clock(quota!(3 / hour), &clock);
    let all = All::new([&per_second as &dyn Limiter, &per_hour]).unwrap();
    let admission = Admission::new().rate("rates", all);
    let error = admission.try_admit(4).unwrap_err();
    assert_eq!(
        error,
        AdmissionError::Rate {
            name: "rates".into(),
            denied: Denied::TooLarge { limit: 3, which: 1 }
        }
    );
}
