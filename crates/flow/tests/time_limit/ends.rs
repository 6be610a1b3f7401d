//! Every order in which an operation can end, time out, and lose its caller.

use std::sync::{Arc, Mutex};

use sluicegate_flow::time_limit::CallEvent::{
    Dropped, Failed, FailedLate, FinishedLate, Succeeded, TimedOut,
};
use sluicegate_flow::time_limit::{CallCounts, CallError, CallEvent, OnTimeout};
use tokio::time::{sleep, timeout};

use super::watched::{limiter, millis};

/// The events that must come, in their order, of an operation that ends after `ends` milliseconds
/// with a limit of 100, and of a caller that goes after `goes`. In a tie the operation is first,
/// and the caller's going last.
fn expected(ends: Option<u64>, goes: u64, fails: bool, on_timeout: OnTimeout) -> Vec<CallEvent> {
    let by = 100.min(goes);
    if ends.is_some_and(|ends| ends <= by) {
        return vec![if fails { Failed } else { Succeeded }];
    }
    let mut events = vec![if goes < 100 { Dropped } else { TimedOut }];
    if on_timeout == OnTimeout::LetFinish && ends.is_some() {
        events.push(if fails { FailedLate } else { FinishedLate });
    }
    events
}

#[tokio::test(start_paused = true)]
async fn in_every_order_of_the_ends_each_result_goes_to_one_and_each_end_is_counted_once() {
    let instants = [0, 1, 50, 99, 100, 101, 150];
    let mut cases = 0;
    for on_timeout in [OnTimeout::Cancel, OnTimeout::LetFinish] {
        for ends in instants.map(Some).into_iter().chain([None]) {
            for goes in [1, 50, 99, 100, 101, 1_000] {
                for fails in [false, true] {
                    one(ends, goes, fails, on_timeout).await;
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 2 * 8 * 6 * 2);
}

async fn one(ends: Option<u64>, goes: u64, fails: bool, on_timeout: OnTimeout) {
    let (limiter, events) = limiter(on_timeout);
    let results = Arc::new(Mutex::new(Vec::new()));
    let operation = async move {
        match ends {
            Some(0) => {}
            Some(ends) => sleep(millis(ends)).await,
            None => std::future::pending().await,
        }
        if fails { Err("failed") } else { Ok(42) }
    };
    let late = Arc::clone(&results);
    let hook = move |result: Result<_, _>| {
        late.lock().unwrap().push(result.map_err(CallError::Failed));
    };
    let call = limiter.try_execute(operation).on_late(hook);
    // The sleeps of the call are asked before the one of its caller.
    if let Ok(answer) = timeout(millis(goes), call).await {
        results.lock().unwrap().push(answer);
    }
    sleep(millis(1_000)).await;

    let case = format!("ends {ends:?}, goes {goes}, fails {fails}, {on_timeout:?}");
    let expected = expected(ends, goes, fails, on_timeout);
    assert_eq!(events.all(), expected, "{case}");
    let count = |event| expected.iter().filter(|&&seen| seen == event).count() as u64;
    let mut counts = CallCounts::default();
    counts.succeeded = count(Succeeded);
    counts.failed = count(Failed);
    counts.timed_out = count(TimedOut);
    counts.dropped = count(Dropped);
    counts.finished_late = count(FinishedLate);
    counts.failed_late = count(FailedLate);
    assert_eq!(limiter.counts(), counts, "{case}");
    let results = results.lock().unwrap();
    let ended = results.iter().filter(|result| !matches!(result, Err(error) if error.is_timeout()));
    assert_eq!(
        ended.count() as u64,
        expected.len() as u64 - count(TimedOut) - count(Dropped),
        "{case}"
    );
}
