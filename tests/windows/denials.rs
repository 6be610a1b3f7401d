//! The paths of a denial by a ring: one is for the usual case, one for a denial that was told before,
//! and a look takes the third.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::settle::Receipt;
use sluicegate::window::History;
use sluicegate::*;

use super::any;
use super::reference::Said;
use crate::support::cases::cases;

const SECOND: u64 = 1_000_000_000;

/// By how much the clock moves: 64ths of the window, and nanoseconds; seldom back.
fn step() -> impl Strategy<Value = (u64, i64)> {
    let parts = prop_oneof![2 => Just(0), 5 => 0..12_u64, 2 => 12..160_u64];
    let nanos = prop_oneof![
        8 => 0..3_i64,
        1 => -3..0_i64,
        1 => -(2 * SECOND as i64)..0,
    ];
    (parts, nanos)
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_denial_says_what_a_look_says_whatever_the_window_covers(
        setup in any::setup_of(any::ring()),
        start_nanos in any::start(),
        calls in vec((step(), 1..9_u64, 1..12_u64), 1..60),
    ) {
        let clock = ManualClock::at(start_nanos + 2 * SECOND);
        let subject = setup.subject(&clock);
        let limiter = subject.limiter();
        for ((parts, nanos), taken, asked) in calls {
            let on = (setup.window_nanos() / 64).saturating_mul(parts);
            clock.set_nanos(clock.now_nanos().saturating_add(on).saturating_add_signed(nanos));
            let _ = limiter.try_acquire(taken);
            for permits in [asked, 1] {
                let look = limiter.peek(permits);
                if look.is_err() {
                    prop_assert_eq!(Said::from(limiter.try_acquire(permits)), Said::from(look));
                }
            }
        }
    }

    #[test]
    fn a_denial_that_is_asked_for_again_says_what_a_look_says_whatever_has_changed(
        slots in 1..=9_u32,
        start_nanos in any::start(),
        changes in vec((change(), 1..12_u64), 1..60),
    ) {
        let clock = ManualClock::at(start_nanos + 2 * SECOND);
        let rate = Rate::new(9, Duration::from_secs(1)).unwrap();
        let mut window = SlidingWindow::with_slots(rate, slots, &clock).unwrap();
        for (change, asked) in changes {
            change.apply(&mut window);
            // The second one is kept, and the third is told by it.
            for permits in [asked, asked, asked, 1, asked] {
                let look = window.peek(permits);
                if look.is_err() {
                    let denied = window.try_acquire(permits);
                    prop_assert_eq!(Said::from(denied), Said::from(look), "after {:?}", change);
                }
            }
        }
    }
}

/// Anything that changes the denials of a window of nine permits in a second.
#[derive(Clone, Copy, Debug)]
enum Change {
    Take(u64),
    /// Takes the permits, is refused, and gives all of them back.
    GiveBack(u64),
    /// Takes the permits, is refused, and gives a part of them back.
    Settle(u64),
    Limit(u64),
    Reset,
    /// So many permits, of half a window ago.
    Restore(u64),
    Move((u64, i64)),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (1..9_u64).prop_map(Change::Take),
        2 => (1..9_u64).prop_map(Change::GiveBack),
        2 => (1..9_u64).prop_map(Change::Settle),
        2 => (1..12_u64).prop_map(Change::Limit),
        1 => Just(Change::Reset),
        1 => (1..12_u64).prop_map(Change::Restore),
        6 => step().prop_map(Change::Move),
    ]
}

impl Change {
    fn apply(self, window: &mut SlidingWindow<&ManualClock>) {
        let is_refused = |window: &SlidingWindow<_>| {
            (0..3).for_each(|_| _ = window.try_acquire(window.limit()));
        };
        match self {
            Change::Take(permits) => _ = window.try_acquire(permits),
            Change::GiveBack(permits) => {
                let receipt = window.try_acquire_revocable(permits);
                is_refused(window);
                _ = receipt.map(Receipt::give_back);
            }
            Change::Settle(permits) => {
                let estimate = window.try_acquire_settleable(permits);
                is_refused(window);
                _ = estimate.map(|estimate| estimate.settle(permits / 2).unwrap());
            }
            Change::Limit(limit) => window.reconfigure(limit).unwrap(),
            Change::Reset => window.reset(),
            Change::Restore(permits) => {
                let half = Duration::from_millis(500);
                window.restore(&History::new([(half, permits)]), Duration::ZERO);
            }
            Change::Move((parts, nanos)) => {
                let clock = *window.clock();
                let on = (SECOND / 64).saturating_mul(parts);
                clock.set_nanos(clock.now_nanos().saturating_add(on).saturating_add_signed(nanos));
            }
        }
    }
}
