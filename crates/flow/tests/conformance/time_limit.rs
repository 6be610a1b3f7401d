//! Replays the cases of a time limiter.
//!
//! Each operation is replayed as a future in paused time. One for which the peer blocks a thread is
//! replayed on a thread besides. There the time is real, and so a thousandth of the file's where
//! the operation must time out, and a thousand times as long where it must not.

use std::future::pending;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use sluicegate_flow::time_limit::{CallError, CancelToken, OnTimeout, TimeLimit, TimeLimiter};
use tokio::time::sleep;

use crate::support::vector_file::{Facts, File, Tally, label, parse};
use sluicegate::wait::TokioTimer;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    from: String,
    #[serde(default)]
    note: String,
    limit: LimitSpec,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitSpec {
    timeout_nanos: Option<u64>,
    cancels: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(rename = "do")]
    verb: Verb,
    /// For `derive`: the other time-out.
    to_nanos: Option<u64>,
    /// When the operation ends by itself; never, if not given.
    takes_nanos: Option<u64>,
    returns: Option<u64>,
    raises: Option<String>,
    #[serde(default = "once")]
    times: u32,
    expect: Facts,
    peer: Option<Facts>,
    why: Option<String>,
}

fn once() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Look,
    Derive,
    /// An operation without a thread.
    Await,
    /// An operation for which the peer blocks a thread.
    Block,
}

const NAME: &str = "conforming";

/// Replays every case of `json`.
///
/// # Panics
///
/// If a result is not the expected one.
pub(crate) fn replay(json: &str) -> Tally {
    let file: File<Case> = parse(json);
    let mut tally = Tally::default();
    for case in &file.cases {
        assert!(file.source.files.iter().any(|path| path.ends_with(&case.from)), "{case:?}");
        assert!(!case.steps.is_empty());
        tally.cases += 1;
        let limit = limit(&case.limit);
        for step in &case.steps {
            let at = label(&case.name, &case.note);
            assert_eq!(step.peer.is_some(), step.why.is_some(), "{at}");
            for (fact, value) in step.peer.iter().flatten() {
                assert!(step.expect.get(fact).is_some_and(|ours| ours != value), "{at}: {fact}");
                tally.differences += 1;
            }
            for _ in 0..step.times {
                for found in run(step, limit) {
                    tally.steps += 1;
                    assert!(!found.is_empty(), "{at}");
                    for (fact, expected) in &step.expect {
                        // A future has no thread that could be stopped.
                        let skips = fact == "stopped_by" && found.contains_key("is_future");
                        assert!(skips || found.get(fact) == Some(expected), "{at}: {found:?}");
                    }
                }
            }
        }
    }
    tally
}

fn limit(spec: &LimitSpec) -> TimeLimit {
    let mut limit = TimeLimit::default();
    if let Some(nanos) = spec.timeout_nanos {
        limit = limit.with_timeout(Duration::from_nanos(nanos)).unwrap();
    }
    match spec.cancels {
        Some(true) => limit.with_on_timeout(OnTimeout::Cancel),
        Some(false) => limit.with_on_timeout(OnTimeout::LetFinish),
        None => limit,
    }
}

fn run(step: &Step, limit: TimeLimit) -> Vec<Facts> {
    match step.verb {
        Verb::Look => vec![shown(limit)],
        Verb::Derive => {
            let timeout = Duration::from_nanos(step.to_nanos.unwrap());
            vec![shown(limit.with_timeout(timeout).unwrap())]
        }
        Verb::Await => vec![as_future(step, limit)],
        Verb::Block => vec![as_future(step, limit), on_thread(step, limit)],
    }
}

fn shown(limit: TimeLimit) -> Facts {
    let cancels = limit.on_timeout() == OnTimeout::Cancel;
    let nanos = limit.timeout().as_nanos() as u64;
    facts([("timeout_nanos", json!(nanos)), ("cancels", json!(cancels))])
}

fn facts<const N: usize>(facts: [(&str, Value); N]) -> Facts {
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The operation's own end.
fn end(step: &Step) -> Result<u64, String> {
    match &step.raises {
        Some(error) => Err(error.clone()),
        None => Ok(step.returns.unwrap_or(0)),
    }
}

fn answer(answer: Result<u64, CallError<String>>) -> Facts {
    match answer {
        Ok(result) => facts([("result", json!(result))]),
        Err(CallError::TimedOut(error)) => {
            let names = error.name() == NAME && error.to_string().contains(NAME);
            facts([("error", json!("timed out")), ("names_limiter", json!(names))])
        }
        Err(error) => facts([("error", json!(error.to_string()))]),
    }
}

/// Notes that the operation was dropped before its end.
struct Unfinished(Arc<Mutex<bool>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = true;
    }
}

fn as_future(step: &Step, limit: TimeLimit) -> Facts {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let is_cancelled = Arc::new(Mutex::new(false));
    let guard = Unfinished(Arc::clone(&is_cancelled));
    let (takes, end) = (step.takes_nanos, end(step));
    let operation = async move {
        match takes {
            Some(nanos) => sleep(Duration::from_nanos(nanos)).await,
            None => pending().await,
        }
        std::mem::forget(guard);
        end
    };
    runtime.block_on(async {
        let limiter = TimeLimiter::builder(NAME)
            .limit(limit)
            .timer(TokioTimer)
            .spawner(|task| drop(tokio::spawn(task)))
            .build();
        let mut found = answer(limiter.try_execute(operation).await);
        sleep(Duration::from_secs(3_600)).await;
        let is_cancelled = *is_cancelled.lock().unwrap();
        found.extend(facts([("cancelled", json!(is_cancelled)), ("is_future", json!(true))]));
        found
    })
}

fn on_thread(step: &Step, limit: TimeLimit) -> Facts {
    let times_out =
        step.takes_nanos.is_none_or(|nanos| u128::from(nanos) > limit.timeout().as_nanos());
    let timeout = if times_out { limit.timeout() / 1_000 } else { limit.timeout() * 1_000 };
    let limiter = TimeLimiter::new(NAME, limit.with_timeout(timeout).unwrap());
    let cancels = limit.on_timeout() == OnTimeout::Cancel;
    loop {
        let (go_on, told_to) = mpsc::channel::<()>();
        let (stopped, was_stopped) = mpsc::channel();
        let end = end(step);
        let operation = move |token: &CancelToken| {
            while times_out && cancels && !token.is_cancelled() {
                std::thread::yield_now();
            }
            if times_out && !cancels {
                // Only once its caller has gone.
                told_to.recv().unwrap();
            }
            let _ = stopped.send(token.is_cancelled());
            end
        };
        let mut found = answer(limiter.try_run(operation));
        let _ = go_on.send(());
        // A thread that was slow to start has not begun with it: once more.
        let Ok(is_cancelled) = was_stopped.recv() else { continue };
        found.insert("cancelled".to_owned(), json!(is_cancelled));
        if is_cancelled {
            found.insert("stopped_by".to_owned(), json!("token"));
        }
        break found;
    }
}
