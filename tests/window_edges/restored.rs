//! Grants that are saved and restored.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::window::{History, WeightedLog};
use sluicegate::*;

use super::subject::{Bound, KINDS, Kind, Window, drain};
use super::times::{greedy, most_in};
use super::{DAY, MINUTE, SECOND};

const LIMIT: Rate = rate!(5 / minute);

/// Some traffic on `window`, of which `granted` hears: when, and how much.
fn traffic(
    kind: &Kind,
    window: &dyn Window,
    clock: &ManualClock,
    random: &mut StdRng,
    mut granted: impl FnMut(u64, u64),
) {
    for _ in 0..random.random_range(1..12) {
        clock.advance_nanos(random.random_range(0..15 * SECOND));
        let permits = if kind.is_unit { 1 } else { random.random_range(1..=3) };
        if window.try_acquire(permits).is_ok() {
            granted(clock.now_nanos(), permits);
        }
    }
    clock.advance_nanos(random.random_range(0..20 * SECOND));
}

/// Restores limiters of `kinds` after some time away, on the clock on which they were saved or on another one, and shows
/// the counts of the saved and of the restored one from then on.
fn compare(
    kinds: impl Iterator<Item = &'static Kind>,
    is_elsewhere: bool,
    check: impl Fn(u64, u64) -> bool,
) {
    for kind in kinds {
        for seed in 0..100 {
            let random = &mut StdRng::seed_from_u64(seed);
            let clock = ManualClock::at(DAY + seed * 777_777_777);
            let window = kind.of(LIMIT, &clock);
            traffic(kind, &*window, &clock, random, |_, _| {});
            let history = window.snapshot();
            let away_nanos = random.random_range(0..MINUTE);
            clock.advance_nanos(away_nanos);
            let other = ManualClock::at(random.random_range(0..DAY));
            let mut restored = kind.of(LIMIT, if is_elsewhere { &other } else { &clock });
            restored.restore(&history, Duration::from_nanos(away_nanos));
            for _ in 0..100 {
                let (saved, now) = (window.count(), restored.count());
                let at = format!("{}, seed {seed}, away {away_nanos}: {history:?}", kind.name);
                assert!(check(saved, now), "{at}: {now} of {saved}");
                let step_nanos = random.random_range(0..2 * SECOND);
                clock.advance_nanos(step_nanos);
                other.advance_nanos(step_nanos);
            }
        }
    }
}

/// The kinds are those whose history says of each permit in which window it was.
#[test]
fn a_count_by_windows_is_restored_as_it_was_on_the_same_clock() {
    let by_windows = |kind: &&Kind| ["FixedWindow", "SlidingCounter"].contains(&kind.name);
    compare(KINDS.iter().filter(by_windows), false, |saved, now| now == saved);
}

#[test]
fn a_limiter_of_the_same_kind_never_grants_more_than_the_one_that_was_saved() {
    compare(KINDS.iter(), false, |saved, now| now >= saved);
}

/// Windows and slots that begin with the clock do so elsewhere on another clock: of
/// those that begin with a grant it does not matter. For strict windows see
/// `no_span_has_more_than_the_limit_although_the_limiter_was_exchanged_in_it`.
#[test]
fn a_log_on_another_clock_never_grants_more_than_the_one_that_was_saved() {
    let same = |kind: &&Kind| kind.name.ends_with("Log") || kind.name == "WindowFromFirst";
    compare(KINDS.iter().filter(same), true, |saved, now| now >= saved);
}

/// A limit that holds for any span holds across a restart too: into another kind, and on another
/// clock.
#[test]
fn no_span_has_more_than_the_limit_although_the_limiter_was_exchanged_in_it() {
    let strict = || KINDS.iter().filter(|kind| kind.bound == Bound::Any);
    for (from, to) in strict().flat_map(|from| strict().map(move |to| (from, to))) {
        for seed in 0..20 {
            let random = &mut StdRng::seed_from_u64(seed);
            let clock = ManualClock::at(DAY + seed * 777_777_777);
            let window = from.of(LIMIT, &clock);
            let mut at_nanos = Vec::new();
            traffic(from, &*window, &clock, random, |at, permits| {
                at_nanos.extend((0..permits).map(|_| at));
            });
            let history = window.snapshot();
            let away_nanos = random.random_range(0..MINUTE);
            let ahead_nanos = random.random_range(0..DAY);
            clock.advance_nanos(away_nanos + ahead_nanos);
            let mut restored = to.of(LIMIT, &clock);
            restored.restore(&history, Duration::from_nanos(away_nanos));
            let later = greedy(&*restored, &clock, SECOND / 3, 600);
            assert!(later.len() >= 5, "{} to {}: {later:?}", from.name, to.name);
            at_nanos.extend(later.iter().map(|at| at - ahead_nanos));
            let most = most_in(&at_nanos, MINUTE);
            assert!(most <= 5, "{} to {}, seed {seed}: {most}, {history:?}", from.name, to.name);
        }
    }
}

#[test]
fn a_history_restores_into_a_lower_limit_which_is_then_full() {
    for (from, to) in KINDS.iter().flat_map(|from| KINDS.iter().map(move |to| (from, to))) {
        let clock = ManualClock::at(DAY + 30 * SECOND);
        let window = from.of(LIMIT, &clock);
        from.take(&*window, 5);
        let mut restored = to.of(rate!(2 / minute), &clock);
        restored.restore(&window.snapshot(), Duration::ZERO);
        let at = format!("{} to {}", from.name, to.name);
        assert!(restored.count() >= 2 && restored.try_acquire(1).is_err(), "{at}");
        let wait = restored.peek(1).unwrap_err().retry_after().unwrap();
        assert!(wait <= to.longest(LIMIT) + Duration::from_secs(61), "{at}: {wait:?}");
        clock.advance(wait);
        assert!(restored.try_acquire(1).is_ok(), "{at}");
    }
}

#[test]
fn what_is_restored_beyond_the_limit_counts_in_a_higher_one() {
    let clock = ManualClock::at(DAY);
    let mut window = FixedWindow::with_clock(LIMIT, &clock).unwrap();
    window.restore(&History::new([(Duration::ZERO, 8)]), Duration::ZERO);
    assert_eq!(window.count(), 8);
    window.reconfigure(10).unwrap();
    assert_eq!(window.try_acquire_up_to(10).unwrap().permits(), 2);
}

#[test]
fn a_log_is_full_however_many_permits_the_entries_without_room_have() {
    // Some of these sums would wrap to zero in the word of an entry.
    for permits in 3..=65 {
        let clock = ManualClock::at(DAY);
        let mut log = WeightedLog::with_capacity(rate!(3 / minute), 2, &clock).unwrap();
        let ages = [(3, permits), (2, 1), (1, 1)];
        let history = ages.map(|(seconds, permits)| (Duration::from_secs(seconds), permits));
        log.restore(&History::new(history), Duration::ZERO);
        assert_eq!(log.count(), 3, "{permits}");
    }
}

#[test]
fn what_is_older_than_the_window_is_forgotten_and_the_rest_is_not() {
    for kind in KINDS {
        let clock = ManualClock::at(DAY + 59 * SECOND);
        let seconds = Duration::from_secs;
        let history = History::new([(seconds(200), 3), (seconds(1), 2), (seconds(9_999), 1)]);
        let mut window = kind.of(LIMIT, &clock);
        window.restore(&history, Duration::ZERO);
        assert_eq!(window.count(), 2, "{}", kind.name);
        window.restore(&history, seconds(150));
        assert_eq!(window.count(), 0, "{}: what was there before is gone", kind.name);
        window.restore(&History::default(), Duration::ZERO);
        assert_eq!(drain(&*window), 5, "{}", kind.name);
    }
}

#[test]
fn a_history_of_extremes_neither_panics_nor_lets_anybody_through() {
    let endless = History::new([
        (Duration::ZERO, u64::MAX),
        (Duration::MAX, u64::MAX),
        (Duration::from_nanos(u64::MAX), 7),
        (Duration::from_secs(1), u64::MAX),
    ]);
    for at_nanos in [0, 1, DAY, 1 << 62, 1 << 63, u64::MAX] {
        for kind in KINDS {
            let clock = ManualClock::at(at_nanos);
            let mut window = kind.of(LIMIT, &clock);
            for away in [Duration::ZERO, Duration::from_secs(3)] {
                window.restore(&endless, away);
                let at = format!("{} at {at_nanos}, away {away:?}", kind.name);
                if away.is_zero() {
                    assert!(window.count() >= 5 && window.try_acquire(1).is_err(), "{at}");
                }
                let _ = (window.snapshot(), drain(&*window));
            }
            window.restore(&endless, Duration::MAX);
            assert_eq!(window.count(), 0, "{} at {at_nanos}", kind.name);
        }
    }
}

#[cfg(feature = "serde")]
#[test]
fn a_history_goes_through_json_and_back() {
    let clock = ManualClock::at(DAY);
    for kind in KINDS {
        let window = kind.of(LIMIT, &clock);
        kind.take(&*window, 2);
        clock.advance_nanos(7 * SECOND);
        kind.take(&*window, 3);
        let history = window.snapshot();
        let text = serde_json::to_string(&history).unwrap();
        let read: History = serde_json::from_str(&text).unwrap();
        assert_eq!(read, history, "{}: {text}", kind.name);
        let mut restored = kind.of(LIMIT, &clock);
        restored.restore(&read, Duration::ZERO);
        assert_eq!(restored.count(), window.count(), "{}", kind.name);
    }
    let wrong: [&str; 3] = ["{}", "[{\"age_nanos\":-1,\"permits\":1}]", "[{\"age_nanos\":1}]"];
    for text in wrong {
        assert!(serde_json::from_str::<History>(text).is_err(), "{text}");
    }
}
