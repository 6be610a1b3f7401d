//! Limiters and configurations by name.

use std::future::ready;
use std::sync::{Arc, Barrier};
use std::thread;

use sluicegate_flow::time_limit::CallEvent::{FinishedLate, Succeeded, TimedOut};
use sluicegate_flow::time_limit::{OnTimeout, TimeLimit, TimeLimiter, TimeLimiterRegistry};

use super::watched::{Events, NAME, limit, millis};

fn named(name: &str, limiters: &[TimeLimiter]) -> bool {
    limiters.iter().any(|limiter| limiter.name() == name)
}

#[test]
fn a_registry_by_default_limits_to_a_second_and_cancels() {
    let limiter = TimeLimiterRegistry::default().limiter("search");
    assert_eq!((limiter.name(), limiter.limit()), ("search", TimeLimit::default()));
    assert_eq!(limiter.limit().timeout(), millis(1_000));
    assert_eq!(limiter.limit().on_timeout(), OnTimeout::Cancel);
}

#[test]
fn a_name_always_gives_the_same_limiter() {
    let registry = TimeLimiterRegistry::default();
    assert!(registry.get("search").is_none());
    registry.limiter("search").run(|_| ()).unwrap();
    // Another configuration comes too late.
    let again = registry.limiter_with("search", limit(OnTimeout::LetFinish));
    assert_eq!((again.counts().succeeded, again.limit()), (1, TimeLimit::default()));
    let again = registry.get("search").unwrap();
    assert_eq!(again.counts().succeeded, 1);
    assert_eq!(registry.limiters().len(), 1);
}

#[test]
fn callers_that_ask_for_a_new_name_at_once_get_the_same_limiter() {
    const THREADS: usize = 4;
    for _ in 0..if cfg!(miri) { 4 } else { 50 } {
        let registry = Arc::new(TimeLimiterRegistry::default());
        let begin = Arc::new(Barrier::new(THREADS));
        let threads = [(); THREADS].map(|()| {
            let (registry, begin) = (Arc::clone(&registry), Arc::clone(&begin));
            thread::spawn(move || {
                begin.wait();
                registry.limiter("search").run(|_| ()).unwrap();
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(registry.limiter("search").counts().succeeded, THREADS as u64);
    }
}

#[test]
fn a_limiter_is_made_with_the_configuration_that_it_names() {
    let registry = TimeLimiterRegistry::new(limit(OnTimeout::Cancel));
    let commands = limit(OnTimeout::LetFinish);
    assert_eq!(registry.configure("commands", commands), None);
    assert_eq!(registry.configuration("commands"), Some(commands));
    let pay = registry.limiter_configured("pay", "commands").unwrap();
    assert_eq!(pay.limit(), commands);
    let find = registry.limiter_configured("find", "default").unwrap();
    assert_eq!(find.limit(), limit(OnTimeout::Cancel));

    // A change is for limiters that are made later.
    let slower = commands.with_timeout(millis(20_000)).unwrap();
    assert_eq!(registry.configure("commands", slower), Some(commands));
    assert_eq!(registry.limiter_configured("pay", "commands").unwrap().limit(), commands);
    assert_eq!(registry.limiter_configured("refund", "commands").unwrap().limit(), slower);

    assert_eq!(registry.remove_configuration("commands"), Some(slower));
    let error = registry.limiter_configured("pay", "commands").unwrap_err();
    assert_eq!((error.name(), error.known()), ("commands", &["default".to_owned()][..]));
    assert!(registry.get("charge").is_none());
}

#[test]
fn the_default_configuration_can_be_replaced_and_not_removed() {
    let registry = TimeLimiterRegistry::default();
    let other = limit(OnTimeout::LetFinish);
    assert_eq!(registry.configure("default", other), Some(TimeLimit::default()));
    assert_eq!(registry.remove_configuration("default"), None);
    assert_eq!(registry.configuration("default"), Some(other));
    assert_eq!(registry.limiter("search").limit(), other);
}

#[test]
fn a_limiter_that_was_replaced_or_removed_keeps_working_for_those_that_have_it() {
    let registry = TimeLimiterRegistry::default();
    let first = registry.limiter("search");
    let old = registry.replace("search", limit(OnTimeout::Cancel)).unwrap();
    first.run(|_| ()).unwrap();
    assert_eq!((old.counts().succeeded, old.limit()), (1, TimeLimit::default()));
    let second = registry.limiter("search");
    assert_eq!((second.counts().succeeded, second.limit()), (0, limit(OnTimeout::Cancel)));

    assert!(registry.replace("upload", TimeLimit::default()).is_none());
    assert!(named("upload", &registry.limiters()));
    assert_eq!(registry.remove("upload").unwrap().name(), "upload");
    assert!(registry.remove("upload").is_none());
    assert!(!named("upload", &registry.limiters()));
}

#[test]
fn limiters_are_listed_by_name() {
    let registry = TimeLimiterRegistry::default();
    for name in ["upload", "delete", "search"] {
        let _ = registry.limiter(name);
    }
    let names: Vec<_> =
        registry.limiters().iter().map(|limiter| limiter.name().to_owned()).collect();
    assert_eq!(names, ["delete", "search", "upload"]);
}

#[tokio::test(start_paused = true)]
async fn all_limiters_have_the_timer_the_spawner_and_the_observer_of_their_registry() {
    let events = Events::default();
    let registry =
        TimeLimiterRegistry::with_timer(limit(OnTimeout::LetFinish), sluicegate::wait::TokioTimer)
            .spawner(|task| drop(tokio::spawn(task)))
            .observer(events.clone());
    let limiter = registry.limiter(NAME);
    limiter.execute(ready(())).await.unwrap();
    let slow = tokio::time::sleep(millis(150));
    assert!(limiter.execute(slow).await.is_err());
    tokio::time::sleep(millis(100)).await;
    assert_eq!(events.all(), [Succeeded, TimedOut, FinishedLate]);
}
