//! Windows.

use std::sync::Arc;

use sluicegate::wait::Queued;
use sluicegate::window::{History, MultiWindow, WeightedLog};
use sluicegate::{FixedWindow, SlidingCounter, SlidingWindow};
use sluicegate_http::fields::QuotaPolicy;

use super::parameter::*;
use super::{Algorithm, AnyLimiter, Drawn, Numbers, SharedClock};
use crate::bounds;
use crate::units::{nanos, real, seconds};
use crate::wire::{LogEntry, Shape, WindowState};

pub(super) static WINDOWS: [Algorithm; 5] = [
    Algorithm {
        id: "fixed_window",
        name: "Fixed window",
        summary: "Counts requests in windows that begin at fixed times. Each starts at zero, so up to twice the limit can pass around an edge.",
        good_for: "quotas per hour or day, read off a clock",
        bad_for: "bursts: twice the limit passes at an edge",
        parameters: &[LIMIT, WINDOW],
        limiter: |numbers, clock| {
            Ok(AnyLimiter::rate(FixedWindow::with_clock(numbers.window()?, clock)?))
        },
        policies: of_window,
    },
    Algorithm {
        id: "sliding_window",
        name: "Sliding window of slots",
        summary: "Counts requests in short slots and adds up the latest ones, so the limit holds in any window. A slot stops counting as a whole.",
        good_for: "a limit in every window, at any size",
        bad_for: "steady release: permits come back by the slot",
        parameters: &[LIMIT, WINDOW, SLOTS],
        limiter: |numbers, clock| {
            let window = SlidingWindow::with_slots(numbers.window()?, numbers.slots(), clock)?;
            Ok(AnyLimiter::rate(window))
        },
        policies: of_window,
    },
    Algorithm {
        id: "sliding_counter",
        name: "Sliding counter",
        summary: "Counts this window, and adds a share of the one before: an estimate of the last window from two counts.",
        good_for: "many keys: it keeps two counts for each",
        bad_for: "exactness: it takes the past window for even",
        parameters: &[LIMIT, WINDOW],
        limiter: |numbers, clock| {
            Ok(AnyLimiter::rate(SlidingCounter::with_clock(numbers.window()?, clock)?))
        },
        policies: of_window,
    },
    Algorithm {
        id: "sliding_log",
        name: "Sliding log",
        summary: "Remembers when each request was granted, so the limit holds exactly in any window.",
        good_for: "small exact limits, such as attempts to log in",
        bad_for: "large limits: it remembers each request",
        parameters: &[LOG_LIMIT, WINDOW],
        limiter: |numbers, clock| {
            // With room for any limit, so that it can be changed in place.
            let log = WeightedLog::with_clock(numbers.window()?, Arc::clone(&clock))?;
            let log = log.with_max_limit(bounds::REMEMBERED as u64)?;
            Ok(AnyLimiter::rate(Queued::with_clock(log, clock)))
        },
        policies: of_window,
    },
    Algorithm {
        id: "several_windows",
        name: "Several sliding windows",
        summary: "Grants a request only if a short and a long window both have room for it.",
        good_for: "a limit on bursts and a quota per day in one",
        bad_for: "callers who expect one limit to plan with",
        parameters: &[SHORT_LIMIT, SHORT_WINDOW, LONG_LIMIT, LONG_WINDOW, SLOTS],
        limiter: |numbers, clock| {
            let limits = [
                numbers.rate("short_limit", "short_window")?,
                numbers.rate("long_limit", "long_window")?,
            ];
            let windows = MultiWindow::with_slots(limits, numbers.slots(), clock)?;
            Ok(AnyLimiter::rate(windows))
        },
        policies: |numbers| {
            let named =
                [("short", "short_limit", "short_window"), ("long", "long_limit", "long_window")];
            let policies = named.into_iter().filter_map(|(name, limit, window)| {
                let policy = QuotaPolicy::new(numbers.permits(limit)).per(numbers.time(window));
                policy.named(name).ok()
            });
            policies.collect()
        },
    },
];

/// The limits of several windows, in their order.
const LIMITS: [&str; 2] = ["short_limit", "long_limit"];

fn of_window(numbers: &Numbers) -> Vec<QuotaPolicy> {
    vec![QuotaPolicy::new(numbers.permits("limit")).per(numbers.time("window"))]
}

impl Drawn for FixedWindow<SharedClock> {
    fn shape(&self, _: &Numbers, now_nanos: u64) -> Shape {
        let length_nanos = nanos(self.window());
        let from_nanos = now_nanos - now_nanos % length_nanos;
        let span = Span { from_nanos, length_nanos };
        Shape::Windows { windows: vec![span.with(self.count(), self.limit(), length_nanos)] }
    }

    fn reconfigure(&self, old: &Numbers, new: &Numbers) -> bool {
        old.equals(new, &["limit"]) && self.reconfigure(new.permits("limit")).is_ok()
    }
}

impl Drawn for SlidingWindow<SharedClock> {
    fn shape(&self, numbers: &Numbers, now_nanos: u64) -> Shape {
        let (length_nanos, limit) = (nanos(self.window()), self.limit());
        let windows = of_slots(&self.snapshot(), now_nanos, length_nanos, numbers.slots(), limit);
        Shape::Windows { windows }
    }

    fn reconfigure(&self, old: &Numbers, new: &Numbers) -> bool {
        old.equals(new, &["limit"]) && self.reconfigure(new.permits("limit")).is_ok()
    }
}

impl Drawn for SlidingCounter<SharedClock> {
    fn shape(&self, _: &Numbers, now_nanos: u64) -> Shape {
        let (length_nanos, limit) = (nanos(self.window()), self.limit());
        let windows = of_two_windows(&self.snapshot(), now_nanos, length_nanos, limit);
        Shape::Windows { windows }
    }

    fn reconfigure(&self, old: &Numbers, new: &Numbers) -> bool {
        old.equals(new, &["limit"]) && self.reconfigure(new.permits("limit")).is_ok()
    }
}

impl Drawn for Queued<WeightedLog<SharedClock>, SharedClock> {
    fn shape(&self, _: &Numbers, now_nanos: u64) -> Shape {
        let log = self.limiter();
        let history = log.snapshot();
        let entries: Vec<_> = history
            .iter()
            .map(|(age, cost)| LogEntry { at: seconds(now_nanos.saturating_sub(nanos(age))), cost })
            .collect();
        let window = log.window().as_secs_f64();
        Shape::Log { entries: condensed(&entries), window, limit: log.limit() }
    }

    fn reconfigure(&self, old: &Numbers, new: &Numbers) -> bool {
        let limit = new.permits("limit");
        old.equals(new, &["limit"]) && self.update(|log| log.reconfigure(limit)).is_ok()
    }
}

impl Drawn for MultiWindow<SharedClock> {
    fn shape(&self, _: &Numbers, now_nanos: u64) -> Shape {
        let shown = self.windows().enumerate().map(|(which, (limit, length))| {
            let length_nanos = nanos(length);
            let span = Span { from_nanos: now_nanos.saturating_sub(length_nanos), length_nanos };
            let window = span.with(self.count(which), limit, length_nanos);
            WindowState { to: seconds(now_nanos), ..window }
        });
        Shape::Windows { windows: shown.collect() }
    }

    fn reconfigure(&self, old: &Numbers, new: &Numbers) -> bool {
        old.equals(new, &LIMITS)
            && LIMITS
                .into_iter()
                .enumerate()
                .all(|(which, limit)| self.reconfigure(which, new.permits(limit)).is_ok())
    }

    fn tightest(&self) -> usize {
        let left = self
            .windows()
            .enumerate()
            .map(|(which, (limit, _))| (limit.saturating_sub(self.count(which)), which));
        left.min().map_or(0, |(_, which)| which)
    }
}

/// Returns no more entries than a frame has room for: if there are more, neighbours are one, with the time of
/// the latest.
fn condensed(entries: &[LogEntry]) -> Vec<LogEntry> {
    let neighbours = entries.len().div_ceil(bounds::ENTRIES).max(1);
    let groups = entries.chunks(neighbours).filter_map(|group| {
        let cost = group.iter().map(|entry| entry.cost).sum();
        group.last().map(|latest| LogEntry { cost, ..*latest })
    });
    groups.collect()
}

/// A span of the session's clock.
#[derive(Clone, Copy)]
struct Span {
    from_nanos: u64,
    length_nanos: u64,
}

impl Span {
    fn with(self, count: u64, limit: u64, window_nanos: u64) -> WindowState {
        WindowState {
            from: seconds(self.from_nanos),
            to: seconds(self.from_nanos.saturating_add(self.length_nanos)),
            count,
            limit,
            weight: None,
            window: seconds(window_nanos),
        }
    }
}

/// Returns the slots of a sliding window that count, oldest first. One more than the window has counts,
/// because the oldest is in it with a part.
fn of_slots(
    history: &History,
    now_nanos: u64,
    window_nanos: u64,
    slots: u32,
    limit: u64,
) -> Vec<WindowState> {
    let length_nanos = window_nanos.div_ceil(u64::from(slots.max(1))).max(1);
    let present = now_nanos / length_nanos;
    let first = present.saturating_sub(u64::from(slots));
    let mut windows: Vec<_> = (first..=present)
        .map(|slot| {
            let span = Span { from_nanos: slot * length_nanos, length_nanos };
            span.with(0, limit, window_nanos)
        })
        .collect();
    for (age, permits) in history.iter() {
        // An age is that of the last instant of a slot, or of the present one.
        let slot = now_nanos.saturating_sub(nanos(age)) / length_nanos;
        let place = usize::try_from(slot.saturating_sub(first)).unwrap_or(usize::MAX);
        if let Some(window) = windows.get_mut(place) {
            window.count += permits;
        }
    }
    windows
}

/// Returns the previous window, which counts in part, and the present one.
fn of_two_windows(
    history: &History,
    now_nanos: u64,
    length_nanos: u64,
    limit: u64,
) -> Vec<WindowState> {
    let into_nanos = now_nanos % length_nanos;
    let from_nanos = now_nanos - into_nanos;
    let count = |is_present: bool| {
        let spent = history.iter().filter(|(age, _)| age.is_zero() == is_present);
        spent.map(|(_, permits)| permits).sum()
    };
    let present = Span { from_nanos, length_nanos }.with(count(true), limit, length_nanos);
    let Some(before_nanos) = from_nanos.checked_sub(length_nanos) else { return vec![present] };
    let previous = Span { from_nanos: before_nanos, length_nanos };
    let weight = 1.0 - real(into_nanos) / real(length_nanos);
    let previous =
        WindowState { weight: Some(weight), ..previous.with(count(false), limit, length_nanos) };
    vec![previous, present]
}
