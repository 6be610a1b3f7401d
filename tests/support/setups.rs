//! Setups out of bytes: none panics, and what is refused is explained.

use std::time::Duration;

use sluicegate::bucket::Snapshot;
use sluicegate::*;

use super::decode::Bytes;

/// Makes everything that can be made of `bytes`.
pub(crate) fn check(bytes: &[u8]) {
    let mut numbers = Bytes(bytes);
    let mut number = || numbers.number();

    let period = Duration::new(number(), number() as u32 % 1_000_000_000);
    explained(Rate::new(number(), period));
    explained(Rate::per_second(number()));
    explained(Rate::per_minute(number()));
    explained(Rate::per_hour(number()));
    explained(Rate::per_day(number()));
    explained(Rate::every(Duration::from_nanos(number())));

    let rate = Rate::new(number(), Duration::from_nanos(number()));
    let Some(rate) = explained(rate) else { return };
    let mut quota = Quota::from(rate);
    for change in [quota.with_burst(number()), quota.with_max_debt(number())] {
        quota = explained(change).unwrap_or(quota);
    }
    let clock = ManualClock::at(number());
    let initial = number();
    let bucket = explained(TokenBucket::with_clock(quota, &clock).starting_with(initial));
    assert_eq!(bucket.is_some(), initial <= quota.burst());
    let bucket = bucket.unwrap_or_else(|| TokenBucket::with_clock(quota, &clock));
    assert_eq!((bucket.quota().rate(), bucket.quota().burst()), (rate, quota.burst()));
    assert_eq!(bucket.peek(0).unwrap().remaining(), initial.min(quota.burst()));
    let too_large = Denied::TooLarge { limit: quota.burst(), which: 0 };
    assert_eq!(bucket.try_acquire(quota.burst() + 1), Err(too_large));

    let [interval, tolerance] = [number(), number()].map(Duration::from_nanos);
    let cells = Gcra::with_clock(interval, tolerance, &clock);
    if let Some(cells) = explained(cells) {
        assert!(cells.try_acquire(1).is_ok());
        assert_eq!(cells.interval(), interval);
    }

    let mut saved = [0; Snapshot::LEN];
    for byte in &mut saved {
        *byte = numbers.byte();
    }
    saved[0] %= 3;
    match Snapshot::from_bytes(saved) {
        Ok(snapshot) => {
            assert_eq!(snapshot.to_bytes(), saved);
            bucket.restore(&snapshot, Duration::from_nanos(numbers.number()));
            assert!(bucket.peek(0).unwrap().remaining() <= quota.burst());
        }
        Err(error) => assert!(error.to_string().contains(": must be "), "{error}"),
    }
}

/// The value, or nothing if the error says which field is wrong and how.
fn explained<T>(checked: Result<T, ConfigError>) -> Option<T> {
    checked
        .inspect_err(|error| {
            let text = error.to_string();
            assert!(text.starts_with(error.field()), "{text}");
            assert!(text.ends_with(error.rule()), "{text}");
        })
        .ok()
}
