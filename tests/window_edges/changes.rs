//! Denials that change nothing, limits that change, and resets.

use std::time::Duration;

use sluicegate::window::{MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::*;

use super::DAY;
use super::subject::{KINDS, Window, drain};

const LIMIT: Rate = rate!(5 / minute);

/// A limiter with room up to 9, where that has to be said.
fn roomy<'clock>(
    kind: &super::subject::Kind,
    clock: &'clock ManualClock,
) -> Box<dyn Window + 'clock> {
    match kind.name {
        "SlidingLog" => Box::new(
            SlidingLog::with_clock(LIMIT, clock).and_then(|log| log.with_max_limit(9)).unwrap(),
        ),
        "WindowFromFirst" => {
            let window = WindowFromFirst::with_clock(LIMIT, clock).unwrap();
            Box::new(window.with_max_limit(9).unwrap())
        }
        "WeightedLog" => {
            let log = WeightedLog::with_clock(LIMIT, clock).unwrap();
            Box::new(log.with_max_limit(9).unwrap())
        }
        _ => kind.of(LIMIT, clock),
    }
}

/// Those that have no more room than they were made with.
fn with_room<'clock>(
    name: &str,
    limit: Rate,
    max_limit: u64,
    clock: &'clock ManualClock,
) -> Result<Box<dyn Window + 'clock>, ConfigError> {
    Ok(match name {
        "SlidingLog" => Box::new(SlidingLog::with_clock(limit, clock)?.with_max_limit(max_limit)?),
        "WindowFromFirst" => {
            Box::new(WindowFromFirst::with_clock(limit, clock)?.with_max_limit(max_limit)?)
        }
        "WeightedLog" => {
            Box::new(WeightedLog::with_clock(limit, clock)?.with_max_limit(max_limit)?)
        }
        _ => unreachable!("{name} has room by itself"),
    })
}

const SNUG: [&str; 3] = ["SlidingLog", "WindowFromFirst", "WeightedLog"];

#[test]
fn a_limit_can_be_raised_to_what_room_was_made_for() {
    for name in SNUG {
        let clock = ManualClock::at(DAY);
        for max_limit in [100, 101, 1_000, 65_536] {
            let limit = rate!(100 / minute);
            let window = with_room(name, limit, max_limit, &clock).unwrap();
            assert_eq!((window.limit(), drain(&*window)), (100, 100), "{name}");
            window.reconfigure(max_limit).unwrap();
            assert_eq!(drain(&*window), max_limit - 100, "{name}");
            let error = window.reconfigure(u64::MAX).unwrap_err();
            assert_eq!(error.field(), "limit", "{name}");
            let ConfigError::NewLimit { max, .. } = error else {
                panic!("{name}: that is no limit")
            };
            assert!((max_limit..2 * max_limit).contains(&max), "{name}: {max}");
            assert_eq!(window.max_limit(), max, "{name}");
            clock.advance(window.try_acquire(1).unwrap_err().retry_after().unwrap());
            assert!(window.try_acquire(1).is_ok(), "{name}");
        }
    }
}

#[test]
fn room_for_the_limit_in_force_can_be_made_again_though_it_is_above_the_highest_rate() {
    let limit = Rate::new(4, Duration::from_nanos(2)).unwrap();
    let window = WindowFromFirst::with_clock(limit, ManualClock::new()).unwrap();
    window.reconfigure(6).unwrap();
    assert_eq!(window.with_max_limit(6).unwrap().limit(), 6);
}

#[test]
fn room_for_less_than_the_limit_or_more_than_there_can_be_is_an_error_that_says_the_range() {
    let clock = ManualClock::new();
    for (name, most) in [("SlidingLog", 1 << 24), ("WindowFromFirst", 1 << 32)] {
        for max_limit in [0, 99, most + 1, u64::MAX] {
            let error = with_room(name, rate!(100 / minute), max_limit, &clock).map(drop);
            let expected = ConfigError::MaxLimit { max_limit, least: 100, most };
            assert_eq!(error, Err(expected), "{name}");
            let text = format!("max_limit is {max_limit}: must be from 100 to {most}");
            assert_eq!((expected.field(), expected.to_string()), ("max_limit", text));
        }
        assert!(with_room(name, rate!(100 / minute), 100, &clock).is_ok());
    }
    // A log that remembers every request has no place for more.
    let most = (1 << 24) - 2;
    let log =
        |max_limit| with_room("WeightedLog", rate!(100 / minute), max_limit, &clock).map(drop);
    let error = ConfigError::MaxLimit { max_limit: most + 1, least: 100, most };
    assert_eq!((log(99).is_err(), log(100), log(most + 1)), (true, Ok(()), Err(error)));
    // One of a smaller capacity keeps that, and can count to more.
    let log = WeightedLog::with_capacity(rate!(100 / minute), 16, &clock).unwrap();
    let log = log.with_max_limit(1 << 32).unwrap();
    log.reconfigure(1 << 32).unwrap();
    let granted = std::iter::from_fn(|| log.try_acquire(1).ok()).count();
    assert!((16..=30).contains(&granted), "{granted}");
    // No rate is higher than 2^31 in a second.
    let short = rate!(100 / us);
    let most = (1_u64 << 31) / 1_000_000;
    for name in ["WindowFromFirst", "WeightedLog"] {
        assert!(with_room(name, short, most, &clock).is_ok(), "{name}");
        let error = with_room(name, short, most + 1, &clock).map(drop);
        let expected = ConfigError::MaxLimit { max_limit: most + 1, least: 100, most };
        assert_eq!(error, Err(expected), "{name}");
    }
}

/// A counting window has room for higher limits by itself, but a very short one not for all.
#[test]
fn a_counting_window_can_be_made_for_higher_limits_than_it_has_room_for_by_itself() {
    const LIMIT: Rate = rate!(100 / ms);
    const MORE: u64 = 2_000_000;
    let clock = ManualClock::at(DAY);
    let check = |name: &str, before: &dyn Window, after: &dyn Window, more: u64| {
        assert!(before.max_limit() < more, "{name}: {} by itself", before.max_limit());
        assert!((more..4 * more).contains(&after.max_limit()), "{name}: {}", after.max_limit());
        assert_eq!((after.limit(), drain(after)), (100, 100), "{name}");
        assert!(before.reconfigure(more).is_err(), "{name}");
        after.reconfigure(more).unwrap();
        assert_eq!(drain(after), more - 100, "{name}");
        clock.advance(Duration::from_secs(1));
        assert_eq!(drain(after), more, "{name}");
        let denied = after.try_acquire(1).unwrap_err();
        clock.advance(denied.retry_after().unwrap());
        assert!(after.try_acquire(1).is_ok(), "{name}");
    };
    let fixed = |limit| FixedWindow::with_clock(limit, &clock).unwrap();
    let roomy = fixed(rate!(100 / second)).with_max_limit(1 << 31).unwrap();
    check("FixedWindow", &fixed(rate!(100 / second)), &roomy, 1 << 31);
    let counter = || SlidingCounter::with_clock(LIMIT, &clock).unwrap();
    check("SlidingCounter", &counter(), &counter().with_max_limit(MORE).unwrap(), MORE);
    for slots in [1, 7, 60] {
        let window = || SlidingWindow::with_slots(LIMIT, slots, &clock).unwrap();
        check("SlidingWindow", &window(), &window().with_max_limit(MORE).unwrap(), MORE);
        let window = || SlidingWindow::compact(LIMIT, slots, &clock).unwrap();
        check("Compact", &window(), &window().with_max_limit(MORE).unwrap(), MORE);
        let windows = || MultiWindow::with_slots([LIMIT], slots, &clock).unwrap();
        check("MultiWindow", &windows(), &windows().with_max_limit(MORE).unwrap(), MORE);
    }
}

#[test]
fn a_counting_window_says_how_far_its_limit_can_be_raised() {
    let clock = ManualClock::new();
    let error = |max_limit, most| Err(ConfigError::MaxLimit { max_limit, least: 100, most });
    let (rate, top) = (rate!(100 / minute), 1_u64 << 32);
    let fixed = |max| FixedWindow::with_clock(rate, &clock).unwrap().with_max_limit(max).map(drop);
    assert_eq!((fixed(99), fixed(top + 1)), (error(99, top), error(top + 1, top)));
    assert_eq!((fixed(100), fixed(top)), (Ok(()), Ok(())));
    let counter =
        |max| SlidingCounter::with_clock(rate, &clock).unwrap().with_max_limit(max).map(drop);
    let most = (1 << 24) - 1;
    assert_eq!((counter(99), counter(most + 1)), (error(99, top), error(most + 1, most)));
    assert_eq!((counter(100), counter(most)), (Ok(()), Ok(())));
    // The numbers of the slots take the rest of the word.
    let sliding = |slots: u32, max| {
        let window = SlidingWindow::with_slots(rate!(100 / day), slots, &clock).unwrap();
        window.with_max_limit(max).map(|window| window.max_limit())
    };
    assert_eq!(sliding(60, 99), error(99, top).map(|()| 0));
    assert_eq!(sliding(60, top), Ok(top));
    assert_eq!(sliding(65_536, top), Ok(top));
    let windows = |max| {
        let limits = [rate!(100 / ms), rate!(100 / day)];
        MultiWindow::with_slots(limits, 60, &clock).unwrap().with_max_limit(max)
    };
    let most = match windows(top) {
        Err(ConfigError::MaxLimit { least: 100, most, .. }) => most,
        other => panic!("{other:?}"),
    };
    let windows = windows(most).unwrap();
    assert_eq!(windows.max_limit(), most);
    windows.reconfigure(1, most).unwrap();
}

#[test]
fn a_limit_out_of_range_is_an_error_that_says_the_range_and_changes_nothing() {
    for kind in KINDS {
        let clock = ManualClock::at(DAY);
        let window = roomy(kind, &clock);
        kind.take(&*window, 3);
        let before = window.snapshot();
        let Err(ConfigError::Limit { limit: 0, max }) = window.reconfigure(0) else {
            panic!("{}: none is no limit", kind.name)
        };
        assert!(max >= 9, "{}: {max}", kind.name);
        for limit in [max + 1, u64::MAX] {
            let error = window.reconfigure(limit).unwrap_err();
            assert_eq!(error, ConfigError::NewLimit { limit, max }, "{}", kind.name);
            assert_eq!(window.max_limit(), max, "{}", kind.name);
            let text = format!(
                "limit is {limit}: must be from 1 to {max}, which this window was made for; \
                 `with_max_limit` makes it for more"
            );
            assert_eq!((error.field(), error.to_string()), ("limit", text));
        }
        assert_eq!((window.limit(), window.count()), (5, 3), "{}", kind.name);
        assert_eq!(window.snapshot(), before, "{}", kind.name);

        window.reconfigure(max).unwrap();
        assert_eq!(window.peek(0).unwrap().remaining(), max - 3, "{}", kind.name);
        if max < 1 << 40 && !kind.is_unit {
            assert_eq!(drain(&*window), max - 3, "{}: all of it can be counted", kind.name);
        }
        window.reconfigure(1).unwrap();
        assert!(window.try_acquire(1).is_err(), "{}", kind.name);
    }
}

#[test]
fn windows_of_several_change_one_by_one() {
    let clock = ManualClock::new();
    let windows = MultiWindow::with_slots([rate!(5 / second), rate!(9 / minute)], 10, &clock);
    let windows = windows.unwrap();
    windows.reconfigure(1, 3).unwrap();
    assert_eq!(windows.windows().map(|(limit, _)| limit).collect::<Vec<_>>(), [5, 3]);
    assert_eq!(windows.try_acquire(4), Err(Denied::TooLarge { limit: 3, which: 1 }));
    let error = windows.reconfigure(2, 3).unwrap_err();
    assert_eq!(error, ConfigError::Which { which: 2, count: 2 });
    assert!(windows.reconfigure(0, 0).is_err());
    assert_eq!(windows.windows().map(|(limit, _)| limit).collect::<Vec<_>>(), [5, 3]);
    assert_eq!((windows.count(0), windows.count(2)), (0, 0));
}
