//! Windows from the first grant, whose beginnings are rounded to a tick.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::wait::Reserve;
use sluicegate::window::WindowFromFirst;
use sluicegate::*;

use crate::support::cases::cases;

/// A window of which permits were taken.
#[derive(Clone, Copy, Debug)]
struct Window {
    begin: u64,
    end: u64,
    kept: u64,
}

#[derive(Clone, Debug)]
struct Reference {
    limit: u64,
    length: u64,
    tick: u64,
    windows: Vec<Window>,
}

impl Reference {
    /// A window whose first grant is at `now`.
    fn fresh(&self, now: u64) -> Window {
        let start = now.next_multiple_of(self.tick);
        Window { begin: now, end: start + self.length, kept: 0 }
    }

    fn take(&mut self, window: Window, permits: u64, at: u64) {
        if window.kept == 0 {
            let earlier = self.windows.last().map_or(0, |earlier| earlier.end);
            assert!(window.begin >= earlier, "{window:?} begins before {earlier}");
            self.windows.push(window);
        }
        let last = self.windows.last_mut().unwrap();
        assert!((last.begin..last.end).contains(&at), "{at} is not in {last:?}");
        last.kept += permits;
        assert!(last.kept <= self.limit, "{last:?} of {}", self.limit);
        assert!(last.end - last.begin < self.length + self.tick, "{last:?} is too long");
    }

    fn acquire(&mut self, now: u64, permits: u64) -> bool {
        let window = match self.windows.last() {
            // What is up to a tick early counts in a window that begins with it.
            Some(last) if now < last.begin => return false,
            Some(last) if now < last.end => *last,
            _ => self.fresh(now),
        };
        let fits = window.kept + permits <= self.limit;
        if fits {
            self.take(window, permits, now);
        }
        fits
    }

    /// Reserves `permits`, and returns the instant.
    fn reserve(&mut self, now: u64, permits: u64) -> u64 {
        let (mut window, mut at) = match self.windows.last() {
            Some(last) if now < last.end => (*last, now.max(last.begin)),
            _ => (self.fresh(now), now),
        };
        if window.kept + permits > self.limit {
            // The first time from the end on that is one after a multiple of a tick.
            at = (window.end + self.tick - 1).next_multiple_of(self.tick) - (self.tick - 1);
            window = self.fresh(at);
        }
        self.take(window, permits, at);
        at
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Advance(u64),
    Take(u64),
    Reserve(u64),
    ReserveAndCancel(u64),
}

fn op(limit: u64, length: u64) -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..length).prop_map(Op::Advance),
        1 => (0..40_u64).prop_map(Op::Advance),
        1 => (0..3_u64).prop_map(move |more| Op::Advance(length - 1 + more)),
        3 => (1..=limit).prop_map(Op::Take),
        3 => (1..=limit).prop_map(Op::Reserve),
        1 => (1..=limit).prop_map(Op::ReserveAndCancel),
    ]
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn windows_follow_one_another_and_each_keeps_to_the_limit(
        (limit, length, ops) in (1..40_u64, 1..4_u64).prop_flat_map(|(limit, size)| {
            let length = size * 700_001;
            (Just(limit), Just(length), vec(op(limit, length), 1..60))
        }),
        start in 0..3_000_u64,
    ) {
        let clock = ManualClock::at(start);
        let rate = Rate::new(limit, Duration::from_nanos(length)).unwrap();
        let window = WindowFromFirst::with_clock(rate, &clock).unwrap();
        let window = window.with_reservations(Duration::from_secs(1));
        let tick = window.resolution().as_nanos() as u64;
        let mut reference = Reference { limit, length, tick, windows: Vec::new() };
        for op in ops {
            let now = clock.now_nanos();
            match op {
                Op::Advance(nanos) => clock.advance_nanos(nanos),
                Op::Take(permits) => {
                    let granted = window.try_acquire(permits);
                    prop_assert_eq!(granted.is_ok(), reference.acquire(now, permits));
                    if let Err(denied) = granted {
                        let wait = denied.retry_after().unwrap();
                        let [early, due] = [-1_i128, 0].map(|more| {
                            let at = i128::from(now) + wait.as_nanos() as i128 + more;
                            reference.clone().acquire(u64::try_from(at).unwrap(), permits)
                        });
                        prop_assert!(!early && due, "{:?}", wait);
                    }
                }
                Op::Reserve(permits) => {
                    let at_nanos = window.reserve(permits).unwrap().at_nanos();
                    prop_assert_eq!(at_nanos, reference.reserve(now, permits));
                }
                Op::ReserveAndCancel(permits) => {
                    prop_assert!(window.reserve(permits).unwrap().cancel());
                }
            }
        }
        prop_assert_eq!(window.healed(), 0);
    }
}
