//! A clock that jumps, both ways and over its whole range, at every kind of window. What is checked:
//!
//! * a jump forward past all that counts leaves nothing of it, if the jump is shorter than [`far`];
//! * after a jump back that is shorter than that, what was granted still counts;
//! * whatever the jump, no more than the limit is granted at once;
//! * the wait that is told is the least that suffices. Once a limiter is healed, it is no longer than a permit
//!   counts; before, longer by no more than a word may be ahead of a thread's clock, a window and a second, and
//!   by no more than windows can be reserved ahead.
//!
//! The numbers of windows wrap, after twice 146 years or more if windows are not very short. So a jump by more
//! than half of that may be taken for one the other way: old counts stand for one window more, or are forgotten.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use sluicegate::FixedWindow;
#[cfg(feature = "calendar")]
use sluicegate::calendar::{Budget, Calendar, CalendarWindow};
use sluicegate::window::WindowFromFirst;
use sluicegate::{Clock, Limiter, ManualClock, Rate};

use super::subject::{KINDS, Kind, least_wait};
use crate::support::cases::cases;

use super::{CENTURY, DAY, MINUTE, SECOND};

/// 219 years. The time of a log goes on from where it stood when the clock is set back, and dates come back after
/// 292 years of it.
const LIFE: u64 = 3 << 61;

/// Returns a time in which no number of a window wraps halfway: nine years, or 2^44 windows.
fn far(length_nanos: u64) -> u64 {
    (1 << 58).min(length_nanos.saturating_mul(1 << 44))
}

#[derive(Clone, Copy, Debug)]
enum Jump {
    To(u64),
    Forward(u64),
    Back(u64),
    /// By so many windows.
    Windows(i64),
}

fn jump() -> impl Strategy<Value = Jump> {
    let near = |at: u64| (0..100 * SECOND).prop_map(move |by| Jump::To(at.saturating_add(by)));
    let by = prop_oneof![0..3_000_u64, 0..3 * SECOND, 0..3 * DAY, 0..4 * CENTURY];
    let powers = (0..63_u32, -2..=2_i64, any::<bool>()).prop_map(|(bits, more, is_back)| {
        let windows = (1_i64 << bits).saturating_add(more);
        Jump::Windows(if is_back { -windows } else { windows })
    });
    prop_oneof![
        any::<u64>().prop_map(Jump::To),
        near(0),
        near(1 << 61),
        near(1 << 62),
        near(1 << 63),
        near(u64::MAX - 100 * SECOND),
        by.clone().prop_map(Jump::Forward),
        by.prop_map(Jump::Back),
        powers,
    ]
}

impl Jump {
    fn from(self, now_nanos: u64, length_nanos: u64) -> u64 {
        match self {
            Jump::To(at_nanos) => at_nanos,
            Jump::Forward(by) => now_nanos.saturating_add(by),
            Jump::Back(by) => now_nanos.saturating_sub(by),
            Jump::Windows(windows) => {
                let by = i128::from(windows) * i128::from(length_nanos);
                (i128::from(now_nanos) + by).clamp(0, u64::MAX.into()) as u64
            }
        }
    }
}

struct Subject<'a> {
    name: String,
    window: Box<dyn Limiter + 'a>,
    limit: u64,
    length_nanos: u64,
    /// The longest that a permit counts.
    counts: Duration,
    /// The longest by which a word may be ahead of the clock.
    ahead: Duration,
}

impl<'a> Subject<'a> {
    fn of(kind: &Kind, rate: Rate, clock: &'a ManualClock) -> Subject<'a> {
        let length_nanos = rate.period().as_nanos() as u64;
        Subject {
            name: format!("{} of {rate}", kind.name),
            window: Box::new(kind.of(rate, clock)),
            limit: rate.permits(),
            length_nanos,
            counts: kind.longest_after_set_back(rate),
            ahead: Duration::from_nanos(length_nanos + SECOND),
        }
    }

    /// A window of up to `days`.
    #[cfg(feature = "calendar")]
    fn of_days(name: &str, window: impl Limiter + 'a, limit: u64, days: u64) -> Subject<'a> {
        let length_nanos = days * DAY + DAY / 24;
        let (counts, ahead) =
            (Duration::from_nanos(length_nanos), Duration::from_nanos(length_nanos));
        let window = Box::new(window);
        Subject { name: name.to_owned(), window, limit, length_nanos, counts, ahead }
    }

    fn drain(&self) -> u64 {
        self.window.try_acquire_up_to(u64::MAX).map_or(0, |grant| grant.permits())
    }

    /// Jumps, and takes all there is after each. After some it waits for a permit first.
    fn assert_contract(&self, clock: &ManualClock, jumps: &[(Jump, bool)]) {
        let Subject { name, window, limit, length_nanos, counts, ahead } = self;
        let far = Duration::from_nanos(far(*length_nanos));
        assert_eq!(self.drain(), *limit, "{name}");
        let (mut lived_nanos, mut is_known) = (0_u64, true);
        for &(jump, waits) in jumps {
            let (before_nanos, healed) = (clock.now_nanos(), window.healed());
            let now_nanos = jump.from(before_nanos, *length_nanos);
            lived_nanos = lived_nanos.saturating_add(now_nanos.saturating_sub(before_nanos));
            if lived_nanos > LIFE && name.contains("Log") {
                return;
            }
            clock.set_nanos(now_nanos);
            let at = format!("{name}, {before_nanos} to {now_nanos}");
            let taken = self.drain();
            assert!(taken <= *limit, "{at}: {taken}");
            if let Some(forward) = now_nanos.checked_sub(before_nanos) {
                if (*counts + *ahead..far).contains(&Duration::from_nanos(forward)) {
                    assert_eq!(taken, *limit, "{at}");
                }
            } else if Duration::from_nanos(before_nanos - now_nanos) < far {
                // A sliding counter counts both its windows as before, but the older one by where the
                // present one stands now.
                let is_weighed = name.contains("SlidingCounter");
                assert!(taken == 0 || is_weighed, "{at}: {taken} granted twice");
            }
            let wait = window.try_acquire(1).unwrap_err().retry_after().unwrap();
            let longest = if window.healed() == healed { *counts + *ahead } else { *counts };
            assert!(wait <= longest, "{at}: {wait:?}");
            // The number of a window of a calendar that comes back need not be that of a first day.
            is_known =
                taken > 0 || is_known && now_nanos.abs_diff(before_nanos) < far.as_nanos() as u64;
            let is_exact = is_known || !name.contains("calendar");
            // A wait that goes on beyond the last instant of the clock may be cut there.
            if is_exact && now_nanos.saturating_add(wait.as_nanos() as u64) < u64::MAX {
                assert_eq!(least_wait(window, 1, clock), wait, "{at}");
                if waits {
                    clock.advance(wait);
                    assert!(self.drain() > 0, "{at}");
                }
            }
        }
    }
}

fn assert_contract(kind: &Kind, rate: Rate, first: u64, jumps: &[(Jump, bool)]) {
    let clock = ManualClock::at(first);
    Subject::of(kind, rate, &clock).assert_contract(&clock, jumps);
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_clock_that_jumps_gets_nobody_more_and_makes_nobody_wait_for_longer(
        kind in 0..KINDS.len(),
        length_nanos in prop_oneof![
            60..3_000_u64,
            Just(SECOND),
            Just(40 * SECOND),
            MINUTE..3 * MINUTE,
            Just(DAY),
            Just(CENTURY / 100),
        ],
        limit in 1..6_u64,
        first in jump(),
        jumps in vec((jump(), any::<bool>()), 1..12),
    ) {
        let rate = Rate::new(limit, Duration::from_nanos(length_nanos)).unwrap();
        assert_contract(&KINDS[kind], rate, first.from(0, length_nanos), &jumps);
    }

    /// A window that others may have reserved is closed until the clock is where it was.
    #[test]
    fn it_does_so_where_windows_can_be_reserved(
        begins_with_a_grant in any::<bool>(),
        length_nanos in prop_oneof![60..3_000_u64, Just(SECOND), MINUTE..3 * MINUTE],
        ahead_nanos in prop_oneof![1..3_000_u64, SECOND..2 * DAY],
        first in jump(),
        jumps in vec((jump(), any::<bool>()), 1..12),
    ) {
        let clock = ManualClock::at(first.from(0, length_nanos));
        let rate = Rate::new(3, Duration::from_nanos(length_nanos)).unwrap();
        let ahead = Duration::from_nanos(ahead_nanos);
        let window: Box<dyn Limiter> = if begins_with_a_grant {
            let window = WindowFromFirst::with_clock(rate, &clock).unwrap();
            Box::new(window.with_reservations(ahead))
        } else {
            Box::new(FixedWindow::with_clock(rate, &clock).unwrap().with_reservations(ahead))
        };
        let subject = Subject::of(&KINDS[usize::from(begins_with_a_grant)], rate, &clock);
        let name = format!("{} with {ahead:?} reserved", subject.name);
        let subject = Subject { name, window, ahead: subject.ahead + ahead, ..subject };
        subject.assert_contract(&clock, &jumps);
    }

    #[cfg(feature = "calendar")]
    #[test]
    fn it_does_so_for_windows_of_calendars(
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "Pacific/Apia"]),
        unit in 0..4,
        first in jump(),
        jumps in vec((jump(), any::<bool>()), 1..12),
    ) {
        let clock = ManualClock::at(first.from(0, DAY));
        let of = |calendar: Result<Calendar, _>, name, days| {
            let window = CalendarWindow::with_clock(3, calendar.unwrap(), &clock).unwrap();
            Subject::of_days(name, window, 3, days)
        };
        let subject = match unit {
            0 => of(Calendar::hours(zone), "calendar: hours", 1),
            1 => of(Calendar::days(zone), "calendar: days", 2),
            2 => of(Calendar::months(zone), "calendar: months", 31),
            _ => {
                let budget = Budget::with_clock(3, zone, &clock).unwrap();
                Subject::of_days("calendar: budget", budget, 3, 2)
            }
        };
        subject.assert_contract(&clock, &jumps);
    }
}

/// The present window counts what was granted near the end of the clock's range, until it ends.
#[test]
fn a_clock_that_comes_from_near_the_end_of_its_range_makes_nobody_wait_longer_than_a_window() {
    for kind in KINDS {
        for seconds in [1, 7, 10, 20, 40, 59, 60, 3_600] {
            let rate = Rate::new(1, Duration::from_secs(seconds)).unwrap();
            for early in [0, 1, SECOND, 5 * SECOND, 40 * SECOND, MINUTE] {
                let late = Jump::To(u64::MAX - early);
                let soon = Jump::To(5 * SECOND);
                let jumps = [soon, late, soon, late, late, soon, soon].map(|jump| (jump, false));
                assert_contract(kind, rate, u64::MAX - early, &jumps);
                assert_contract(kind, rate, 5 * SECOND, &jumps[1..]);
            }
        }
    }
}

/// The oldest date in the log is of more than 146 years ago then, and seems to come.
#[test]
fn a_log_that_has_dates_of_more_than_146_years_ago_dates_the_next_ones_right() {
    let jumps = [1 << 61, (1 << 62) + 1, (1 << 62) + 2 * SECOND].map(|at| (Jump::To(at), false));
    for kind in KINDS.iter().filter(|kind| kind.name.contains("Log")) {
        for (limit, length_nanos) in [(3, 60), (3, SECOND), (80, 40)] {
            let rate = Rate::new(limit, Duration::from_nanos(length_nanos)).unwrap();
            assert_contract(kind, rate, 0, &jumps);
        }
    }
}
