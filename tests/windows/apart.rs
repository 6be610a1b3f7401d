//! Threads whose clocks are apart.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::window::{MultiWindow, WeightedLog};
use sluicegate::*;

use super::any;
use super::bounds::Admissions;
use super::counts_for;
use super::setup::Setup;
use crate::support::cases::cases;

const SECOND: u64 = 1_000_000_000;

/// The true time, and by how much the caller's clock is behind it.
struct Apart {
    true_nanos: AtomicU64,
    behind_nanos: AtomicU64,
}

impl Apart {
    fn at(true_nanos: u64) -> Apart {
        Apart { true_nanos: AtomicU64::new(true_nanos), behind_nanos: AtomicU64::new(0) }
    }

    /// Returns what is granted to a caller whose clock is so much behind.
    fn ask(&self, limiter: &dyn Limiter, permits: u64, behind_nanos: u64) -> u64 {
        self.behind_nanos.store(behind_nanos, SeqCst);
        limiter.try_acquire(permits).map_or(0, |grant| grant.permits())
    }
}

impl Clock for Apart {
    fn now_nanos(&self) -> u64 {
        self.true_nanos.load(SeqCst) - self.behind_nanos.load(SeqCst)
    }
}

/// Calls of two threads: after how many 64ths of the window, permits, and whether by the
/// clock that is behind.
fn calls() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    let after = prop_oneof![2 => Just(0), 4 => 0..24_u64, 1 => 24..160_u64];
    let permits = prop_oneof![3 => 1..4_u64, 1 => 1..12_u64];
    vec((after, permits, any::<bool>()), 1..60)
}

/// Admits what it does, and returns it by the true time.
fn admissions(setup: &Setup, apart_nanos: u64, calls: &[(u64, u64, bool)]) -> Admissions {
    let clock = Apart::at(1 << 60);
    let subject = setup.subject(&clock);
    let mut admissions = Admissions::default();
    for &(after, permits, is_behind) in calls {
        let after_nanos = (setup.window_nanos() / 64).saturating_mul(after);
        clock.true_nanos.store(clock.true_nanos.load(SeqCst) + after_nanos, SeqCst);
        admissions.pass(after_nanos);
        let permits =
            clock.ask(subject.limiter(), permits, if is_behind { apart_nanos } else { 0 });
        if permits > 0 {
            admissions.add(permits);
        }
    }
    assert_eq!(subject.healed(), 0, "clocks may be a second apart");
    admissions
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn no_window_less_what_clocks_are_apart_admits_more_than_the_limit(
        setup in any::setup_of(any::sliding()),
        apart_nanos in prop_oneof![Just(SECOND), 0..=SECOND, 0..1_000_u64],
        calls in calls(),
    ) {
        let admissions = admissions(&setup, apart_nanos, &calls);
        for (&(limit, _), (least_nanos, _)) in setup.limits.iter().zip(counts_for(&setup)) {
            let span = least_nanos.saturating_sub(apart_nanos);
            let most = admissions.most_in(span);
            prop_assert!(most <= limit, "{} of {} in {} ns", most, limit, span);
        }
    }

    #[test]
    fn no_span_of_windows_one_after_the_other_less_what_clocks_are_apart_admits_twice_the_limit(
        setup in any::setup_of(any::stepping()),
        apart_nanos in prop_oneof![Just(SECOND), 0..=SECOND, 0..1_000_u64],
        calls in calls(),
    ) {
        let admissions = admissions(&setup, apart_nanos, &calls);
        let (limit, length_nanos) = setup.limits[0];
        let span = length_nanos.saturating_sub(apart_nanos);
        let most = admissions.most_in(span);
        prop_assert!(most <= 2 * limit, "{} of 2 * {} in {} ns", most, limit, span);
    }
}

/// The clock of one thread is half a second behind the other's: what it takes is dated
/// so long ago, and leaves so early.
#[test]
fn a_whole_window_of_true_time_may_see_twice_the_limit_if_clocks_are_apart() {
    let limit = rate!(10 / second);
    let clock = Apart::at(90 * SECOND);
    let ring = SlidingWindow::with_slots(limit, 10, &clock).unwrap();
    let several = MultiWindow::with_slots([limit], 10, &clock).unwrap();
    let log = SlidingLog::with_clock(limit, &clock).unwrap();
    let weighted = WeightedLog::with_clock(limit, &clock).unwrap();
    let all: [&dyn Limiter; 4] = [&ring, &several, &log, &weighted];
    let take = |behind: Duration| {
        all.map(|limiter| {
            (0..10).map(|_| clock.ask(limiter, 1, behind.as_nanos() as u64)).sum::<u64>()
        })
    };
    let half = Duration::from_millis(500);
    clock.true_nanos.store(100 * SECOND, SeqCst);
    assert_eq!(take(half), [10; 4]);
    // In less than half a second more there are none, by either clock.
    clock.true_nanos.store(100 * SECOND + SECOND / 2 - 1, SeqCst);
    assert_eq!((take(Duration::ZERO), take(half)), ([0; 4], [0; 4]));
    // A slot later the ring's window has gone on as well.
    clock.true_nanos.store(100 * SECOND + 650_000_000, SeqCst);
    assert_eq!(take(Duration::ZERO), [10; 4], "20 in 0.65 s");
}
