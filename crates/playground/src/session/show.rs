//! The state of limiters, from what the engine tells.

use std::time::Duration;

use sluicegate::window::History;
use sluicegate::{Gcra, Grant, Limiter, Quota, Rate, Refill};

use crate::algorithm::{AnyLimiter, Terms};
use crate::bounds;
use crate::wire::{InUse, LogEntry, Shape, WindowState};

/// Converts nanoseconds to seconds, with the precision of a microsecond.
pub(super) fn seconds(nanos: u64) -> f64 {
    // Rounded down, so that nothing is told for an instant to come.
    real(nanos / 1_000) / 1e6
}

/// Converts a number that a person sees.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53: 285 years of microseconds")]
pub(super) fn real(number: u64) -> f64 {
    number as f64
}

/// Returns the state of a limiter at an instant. `in_use` is what it has in flight.
pub(super) fn shape(
    limiter: &AnyLimiter,
    terms: &Terms,
    now_nanos: u64,
    in_use: Vec<InUse>,
) -> Shape {
    match limiter {
        AnyLimiter::Gcra(gcra) => of_gcra(gcra, now_nanos),
        AnyLimiter::TokenBucket(bucket) => of_bucket(bucket, bucket.quota(), now_nanos),
        AnyLimiter::LeakyBucket(bucket) => of_bucket(bucket, bucket.quota(), now_nanos),
        AnyLimiter::LeakyQueue(shaper) => {
            let rate = told(shaper.rate());
            Shape::Queue { queued: shaper.queued(), size: shaper.size(), rate }
        }
        AnyLimiter::FixedWindow(window) => {
            let length_nanos = nanos(window.window());
            let from_nanos = now_nanos - now_nanos % length_nanos;
            let span = Span { from_nanos, length_nanos };
            Shape::Windows {
                windows: vec![span.with(window.count(), window.limit(), length_nanos)],
            }
        }
        AnyLimiter::SlidingWindow(window) => {
            let slots = match *terms {
                Terms::SlidingWindow { slots, .. } => slots,
                _ => 1,
            };
            let (length_nanos, limit) = (nanos(window.window()), window.limit());
            let windows = of_slots(&window.snapshot(), now_nanos, length_nanos, slots, limit);
            Shape::Windows { windows }
        }
        AnyLimiter::SlidingCounter(window) => {
            let (length_nanos, limit) = (nanos(window.window()), window.limit());
            let windows = of_two_windows(&window.snapshot(), now_nanos, length_nanos, limit);
            Shape::Windows { windows }
        }
        AnyLimiter::SlidingLog(log) => {
            let log = log.limiter();
            let history = log.snapshot();
            let entries: Vec<_> = history
                .iter()
                .map(|(age, cost)| LogEntry {
                    at: seconds(now_nanos.saturating_sub(nanos(age))),
                    cost,
                })
                .collect();
            let window = log.window().as_secs_f64();
            Shape::Log { entries: condensed(&entries), window, limit: log.limit() }
        }
        AnyLimiter::SeveralWindows(windows) => {
            let shown = windows.windows().enumerate().map(|(which, (limit, length))| {
                let length_nanos = nanos(length);
                let span =
                    Span { from_nanos: now_nanos.saturating_sub(length_nanos), length_nanos };
                let window = span.with(windows.count(which), limit, length_nanos);
                WindowState { to: seconds(now_nanos), ..window }
            });
            Shape::Windows { windows: shown.collect() }
        }
        AnyLimiter::Concurrency(limit) => Shape::Concurrency { in_use, limit: limit.limit() },
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

fn of_bucket(bucket: &impl Limiter, quota: Quota, now_nanos: u64) -> Shape {
    // Asking for no permits is always granted, and changes nothing.
    let Some(grant) = bucket.peek(0).ok() else { return empty() };
    let rate = told(quota.rate());
    let capacity = real(quota.burst());
    match quota.refill() {
        Refill::Smooth => smooth(&grant, capacity, rate, now_nanos),
        Refill::Interval => Shape::IntervalBucket {
            level: real(grant.remaining()),
            capacity,
            next_refill_at: grant
                .next_permit_after()
                .map(|wait| seconds(now_nanos.saturating_add(nanos(wait)))),
            refill: rate,
        },
    }
}

fn of_gcra<C: sluicegate::Clock + Send + Sync>(gcra: &Gcra<C>, now_nanos: u64) -> Shape {
    let Ok(grant) = gcra.peek(0) else { return empty() };
    let interval = gcra.interval().as_secs_f64();
    let capacity = 1.0 + gcra.tolerance().as_secs_f64() / interval;
    smooth(&grant, capacity, (1, interval), now_nanos)
}

/// Returns the state of a bucket that earns continuously. The grant tells to the nanosecond when it is full,
/// and so how much it lacks, with the fraction.
fn smooth(grant: &Grant, capacity: f64, rate: (u64, f64), now_nanos: u64) -> Shape {
    let full_after = grant.reset_after();
    let level = capacity - full_after.as_secs_f64() * real(rate.0) / rate.1;
    Shape::Bucket {
        level,
        capacity,
        rate,
        debt: (-level).max(0.0),
        full_at: seconds(now_nanos.saturating_add(nanos(full_after))),
    }
}

fn empty() -> Shape {
    Shape::Windows { windows: Vec::new() }
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

fn told(rate: Rate) -> (u64, f64) {
    (rate.permits(), rate.period().as_secs_f64())
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
