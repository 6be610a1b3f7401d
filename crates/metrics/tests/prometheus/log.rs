//! Refusals as events of `tracing`.

use std::io;
use std::sync::{Mutex, PoisonError};

use sluicegate_metrics::RefusalLog;
use tracing_subscriber::fmt::MakeWriter;

use super::*;

/// The text that was logged.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Text {
    type Writer = Text;

    fn make_writer(&'a self) -> Text {
        self.clone()
    }
}

/// Returns the lines that `act` logs.
fn logged(act: impl FnOnce()) -> Vec<String> {
    let text = Text::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(text.clone())
        .with_ansi(false)
        .without_time()
        .finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = text.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

fn store(log: RefusalLog<TestClock>, clock: &TestClock) -> impl KeyedLimiter<u64> + use<> {
    let buckets = Buckets::with_clock(quota!(1 / hour), Arc::clone(clock));
    Keyed::<u64, _>::builder(buckets).observer(log).build().unwrap()
}

#[test]
fn a_flood_is_a_few_events_which_say_how_many_were_left_out() {
    let clock: TestClock = Arc::default();
    let log = RefusalLog::with_clock("logins", quota!(1 / second, burst 2), Arc::clone(&clock));
    let users = store(log, &clock);
    let lines = logged(|| {
        (0..101).for_each(|_| _ = users.try_acquire(&4711, 1));
        for _ in 0..2 {
            clock.advance(Duration::from_secs(1));
            _ = users.try_acquire(&4711, 1);
        }
    });
    let [first, second, third, last] = &lines[..] else { panic!("{lines:#?}") };
    let fields = "limiter=\"logins\" reason=\"rate\" retry_after_ms=3600000";
    assert!(first.contains(fields) && first.contains("WARN sluicegate"), "{first}");
    assert!(second.contains("suppressed=0"), "{second}");
    assert!(third.contains("suppressed=98"), "{third}");
    assert!(last.contains("suppressed=0"), "each is told once: {last}");
    assert!(!lines.concat().contains("4711"), "keys are not logged: {lines:#?}");
}

#[test]
fn keys_are_logged_if_that_is_wanted_and_grants_never() {
    let clock: TestClock = Arc::default();
    let log = RefusalLog::with_clock("logins", quota!(9 / second), Arc::clone(&clock));
    let users = store(log.with_keys().level(tracing::Level::INFO), &clock);
    let lines = logged(|| [7, 7, 8].iter().for_each(|key| _ = users.try_acquire(key, 1)));
    let [line] = &lines[..] else { panic!("{lines:#?}") };
    assert!(line.contains("key=7") && line.contains("INFO"), "{line}");
}

#[test]
fn events_that_nobody_listens_to_take_nothing_from_the_quota() {
    let clock: TestClock = Arc::default();
    let log = RefusalLog::with_clock("a", quota!(1 / hour), Arc::clone(&clock));
    let log = log.level(tracing::Level::TRACE);
    let denied = Denied::TooLarge { limit: 1, which: 0 };
    assert!(logged(|| log.denied(&denied)).is_empty());
    let log = log.level(tracing::Level::ERROR);
    let lines = logged(|| log.denied(&denied));
    assert!(
        lines[0].contains("reason=\"too_large\"") && !lines[0].contains("retry_after"),
        "{lines:?}"
    );
}
