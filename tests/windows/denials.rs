//! The two paths of a denial by a ring: one is for the usual case, and a look takes the
//! other.

use proptest::collection::vec;
use proptest::prelude::*;
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
}
