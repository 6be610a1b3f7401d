//! Limiters as `Debug` shows them. What is checked, to the letter:
//!
//! * the quota or the limit in the syntax of its literal, and the permits that remain now;
//! * a change of the quota, a debt and a clock that goes back are shown, and to show them heals
//!   nothing;
//! * answers, rates and quotas as a person writes them; `{:#?}` tells apart those that look alike.

use std::time::Duration;

use sluicegate::bucket::Carry;
#[cfg(feature = "calendar")]
use sluicegate::calendar::{Budget, Calendar, CalendarWindow};
use sluicegate::compose::{All, Counted};
use sluicegate::keyed::{Buckets, HotKeys};
use sluicegate::wait::Queued;
use sluicegate::window::*;
use sluicegate::*;

use crate::support::limiters::windows;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn clock() -> ManualClock {
    ManualClock::at(HOUR.as_nanos() as u64 * 48)
}

#[test]
fn a_bucket_shows_its_quota_and_what_remains() {
    let clock = clock();
    let bucket = TokenBucket::with_clock(quota!(100 / second, burst 20), &clock);
    bucket.try_acquire(3).unwrap();
    assert_eq!(
        format!("{bucket:?}"),
        r#"TokenBucket { quota: "100 / second, burst 20", remaining: 17 }"#
    );
    bucket.reconfigure(quota!(5 / 15 minutes).with_refill(Refill::Interval), Carry::Keep);
    bucket.force(8).unwrap();
    assert_eq!(
        format!("{bucket:?}"),
        r#"TokenBucket { quota: "5 / 15 minutes, refill interval", remaining: 0 }"#
    );
    let meter = LeakyBucket::meter_with_clock(quota!(2 / hour), &clock);
    assert_eq!(format!("{meter:?}"), r#"LeakyBucket { quota: "2 / hour", remaining: 2 }"#);
    let spaced = LeakyBucket::min_interval_with_clock(rate!(4 / second), &clock);
    spaced.try_acquire(1).unwrap();
    let shown = format!("{spaced:?}");
    assert!(shown.starts_with(r#"LeakyBucket { quota: "4 / second, burst 1"#), "{shown}");
    assert!(shown.ends_with("remaining: 0 }"), "{shown}");
    let cells = Gcra::with_clock(SECOND / 2, SECOND * 2, &clock).unwrap();
    cells.try_acquire(1).unwrap();
    assert_eq!(format!("{cells:?}"), "Gcra { interval: 500ms, tolerance: 2s, remaining: 4 }");
}

#[test]
fn an_answer_shows_what_was_granted_or_missing_and_the_wait() {
    let bucket = TokenBucket::with_clock(quota!(100 / second, burst 20), clock());
    let grant = bucket.try_acquire(3).unwrap();
    assert_eq!(format!("{grant:?}"), "Grant { permits: 3, remaining: 17, reset_after: 30ms }");
    let denied = bucket.try_acquire(19).unwrap_err();
    assert_eq!(
        format!("{denied:?}"),
        "Wait(Shortfall { missing: 2, remaining: 17, retry_after: 20ms })"
    );
    let forced = bucket.force(19).unwrap();
    assert_eq!(format!("{forced:?}"), "Grant { permits: 19, balance: -2, reset_after: 220ms }");
    let denied = bucket.try_acquire(1).unwrap_err();
    assert_eq!(
        format!("{denied:?}"),
        "Wait(Shortfall { missing: 3, balance: -2, retry_after: 30ms })"
    );
    let large = bucket.try_acquire(21).unwrap_err();
    assert_eq!(format!("{large:?}"), "TooLarge { limit: 20, which: 0 }");
}

#[test]
fn a_denial_by_another_limiter_than_the_first_shows_which() {
    let clock = clock();
    let buckets = [quota!(5 / second), quota!(2 / second)];
    let all = All::new(buckets.map(|quota| TokenBucket::with_clock(quota, &clock))).unwrap();
    all.try_acquire(2).unwrap();
    let denied = all.try_acquire(1).unwrap_err();
    assert_eq!(
        format!("{denied:?}"),
        "Wait(Shortfall { missing: 1, remaining: 0, retry_after: 500ms, which: 1 })"
    );
}

#[test]
fn answers_that_look_alike_are_told_apart_by_long_debug() {
    let grant = |quota| TokenBucket::with_clock(quota, clock()).try_acquire(0).unwrap();
    let (bucket, other) = (grant(quota!(5 / second)), grant(quota!(5 / minute)));
    assert_ne!(bucket, other);
    assert_eq!(format!("{bucket:?}"), format!("{other:?}"));
    assert_ne!(format!("{bucket:#?}"), format!("{other:#?}"));
    let denied = |quota| {
        let bucket = TokenBucket::with_clock(quota, clock());
        bucket.drain();
        format!("{:#?}", bucket.try_acquire(1).unwrap_err())
    };
    assert_ne!(denied(quota!(5 / second)), denied(quota!(5 / second, burst 9)));
}

#[test]
fn a_rate_and_a_quota_show_their_literals() {
    let shown = format!("{:?} {:?}", rate!(500 / 15 minutes), quota!(100 / second, burst 20));
    assert_eq!(shown, r#""500 / 15 minutes" "100 / second, burst 20""#);
}

#[test]
fn long_debug_shows_the_words_too() {
    let clock = clock();
    let bucket = TokenBucket::with_clock(quota!(100 / second), &clock);
    let shown = format!("{bucket:#?}");
    assert!(shown.starts_with("TokenBucket {\n    quota: \"100 / second\",\n"), "{shown}");
    assert!(shown.contains("    remaining: 100,\n    core: BucketCore {\n"), "{shown}");
    let cells = Gcra::with_clock(SECOND, SECOND, &clock).unwrap();
    let meter = LeakyBucket::meter_with_clock(quota!(4 / second), &clock);
    for shown in [shown, format!("{cells:#?}"), format!("{meter:#?}")] {
        assert!(shown.contains("units") && shown.contains("healed"), "{shown}");
    }
}

#[test]
fn a_window_shows_its_limit_and_what_remains() {
    let (clock, limit) = (clock(), rate!(100 / minute));
    let shown = |limiter: &dyn Limiter, show: &dyn Fn() -> String| {
        let full = show();
        limiter.try_acquire(1).unwrap();
        (full, show())
    };
    macro_rules! check {
        ($((
            $Kind:ident, $shown:literal, $Window:ident,
            |$limit:ident, $slots:ident, $entries:ident, $clock:ident| $make:block,
            $state:expr, $facts:tt
        ))*) => {$({
            let ($limit, $slots, $entries, $clock) = (limit, 60, limit.permits(), &clock);
            let (limiter, name) = ($make.unwrap(), stringify!($Window));
            assert_eq!(
                shown(&limiter, &|| format!("{limiter:?}")),
                (
                    format!("{name} {{ limit: \"100 / minute\", remaining: 100 }}"),
                    format!("{name} {{ limit: \"100 / minute\", remaining: 99 }}"),
                )
            );
            limiter.reconfigure(1).unwrap();
            let lowered = format!("{name} {{ limit: \"1 / minute\", remaining: 0 }}");
            assert_eq!(format!("{limiter:?}"), lowered);
        })*};
    }
    windows!(check);
    let both = MultiWindow::with_slots([limit, rate!(500 / 2 days)], 60, &clock).unwrap();
    both.try_acquire(7).unwrap();
    assert_eq!(
        format!("{both:?}"),
        r#"MultiWindow { limits: ["100 / minute", "500 / 2 days"], remaining: 93 }"#
    );
}

#[test]
#[cfg(feature = "calendar")]
fn a_window_of_a_calendar_shows_its_unit() {
    let clock = clock();
    let month = CalendarWindow::with_clock(9, Calendar::months("UTC").unwrap(), &clock).unwrap();
    month.try_acquire(2).unwrap();
    assert_eq!(format!("{month:?}"), r#"CalendarWindow { limit: "9 / month", remaining: 7 }"#);
    let days = Budget::with_clock(5, "UTC", &clock).unwrap();
    assert_eq!(format!("{days:?}"), r#"Budget { limit: "5 / day", remaining: 5 }"#);
}

#[test]
fn wrappers_show_what_they_hold() {
    let clock = clock();
    let sharded = Sharded::builder(quota!(1_000 / second)).shards(4).clock(&clock).build().unwrap();
    sharded.try_acquire(100).unwrap();
    sharded.shard(1).try_acquire(1).unwrap();
    let shown = r#"Sharded { quota: "1000 / second", remaining: 899, shards: 4 }"#;
    assert_eq!(format!("{sharded:?}"), shown);
    let window = || FixedWindow::with_clock(rate!(5 / minute), &clock).unwrap();
    let five = r#"FixedWindow { limit: "5 / minute", remaining: 5 }"#;
    let all = All::new([window(), window()]).unwrap();
    assert_eq!(format!("{all:?}"), format!("All {{ limiters: [{five}, {five}] }}"));
    let queued = format!("Queued {{ limiter: {five}, waiting: 0 }}");
    assert_eq!(format!("{:?}", Queued::with_clock(window(), &clock)), queued);
    let counted = Counted::new(window());
    assert!(counted.try_acquire(2).is_ok() && counted.try_acquire(4).is_err());
    let three = five.replace("remaining: 5", "remaining: 3");
    let shown = format!("Counted {{ limiter: {three}, granted: 1, denied: 1, permits: 2 }}");
    assert_eq!(format!("{counted:?}"), shown);
}

#[test]
fn stores_show_what_they_hold() {
    let clock = clock();
    let keyed = Keyed::<u64, _>::builder(Buckets::with_clock(quota!(2 / second), &clock));
    let keyed = keyed.max_keys(1_000).build().unwrap();
    keyed.try_acquire(&7, 1).unwrap();
    assert_eq!(format!("{keyed:?}"), "Keyed { len: 1, max_keys: 1000 }");
    let builder = || KeyTable::<u64>::builder(quota!(10 / second, burst 4));
    let table = builder().memory(640).unwrap();
    let shown = r#"KeyTable { quota: "10 / second, burst 4", slots: 80 }"#;
    assert_eq!(format!("{table:?}"), shown);
    let tier = table.tier(0).unwrap();
    assert_eq!(format!("{tier:?}"), r#"TableTier { quota: "10 / second, burst 4" }"#);
    let tiers = builder().tier(quota!(20 / second)).memory(640).unwrap();
    let shown = r#"KeyTable { quotas: ["10 / second, burst 4", "20 / second"], slots: 80 }"#;
    assert_eq!(format!("{tiers:?}"), shown);
    let hot = HotKeys::with_places(keyed, 2).unwrap();
    let shown = "HotKeys { store: Keyed { len: 1, max_keys: 1000 }, places: 2 }";
    assert_eq!(format!("{hot:?}"), shown);
}

#[test]
fn a_limiter_that_is_shown_heals_nothing() {
    let (clock, limit) = (clock(), rate!(5 / minute));
    let bucket = TokenBucket::with_clock(quota!(5 / minute), &clock);
    let fixed = FixedWindow::with_clock(limit, &clock).unwrap();
    let ring = SlidingWindow::with_slots(limit, 60, &clock).unwrap();
    let log = SlidingLog::with_clock(limit, &clock).unwrap();
    let weighted = WeightedLog::with_clock(limit, &clock).unwrap();
    let limiters: [&dyn Limiter; 5] = [&bucket, &fixed, &ring, &log, &weighted];
    for limiter in limiters {
        limiter.try_acquire(1).unwrap();
    }
    for back in [HOUR, HOUR * 40] {
        clock.rewind(back);
        for _ in 0..2 {
            let limit = r#"limit: "5 / minute", remaining"#;
            assert_eq!(
                format!("{bucket:?} {fixed:?}"),
                format!(
                    r#"TokenBucket {{ quota: "5 / minute", remaining: 4 }} FixedWindow {{ {limit}: 4 }}"#
                )
            );
            assert_eq!(
                format!("{ring:?} {log:?} {weighted:?}"),
                format!(
                    "SlidingWindow {{ {limit}: unknown }} SlidingLog {{ {limit}: unknown }} \
                     WeightedLog {{ {limit}: unknown }}"
                )
            );
        }
        assert!(limiters.iter().all(|limiter| limiter.healed() == 0));
    }
    assert!(limiters.iter().all(|limiter| limiter.peek(0).is_ok() && limiter.healed() == 1));
    assert_eq!(format!("{ring:?}"), r#"SlidingWindow { limit: "5 / minute", remaining: 4 }"#);
}
