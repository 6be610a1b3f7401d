//! No limiter refuses a larger part of a steady rate of exactly its limit than it says.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::{ManualClock, Rate};
use sluicegate_policy::Kind;

/// A multiple of all periods here, long after 1970.
const START_NANOS: u64 = 1_767_571_200_000_000_000;

/// The number of windows for which requests come.
const WINDOWS: u64 = 20;

/// The number of parts of a window at which the first request comes.
const PHASES: u64 = 11;

/// Lets requests come at exactly the rate of `limit`, the first at a part of the window. Returns the
/// number of those that are refused.
fn refused(kind: &Kind, limit: Rate, phase: u64) -> u64 {
    let clock = Arc::new(ManualClock::at(START_NANOS));
    let limiter = kind.limiter(clock.clone()).unwrap();
    let length = limit.period().as_nanos();
    let first = length * u128::from(phase) / u128::from(PHASES);
    let requests = 0..limit.permits() * WINDOWS;
    let mut refused = 0;
    for request in requests {
        let after = first + (u128::from(request) * length).div_ceil(u128::from(limit.permits()));
        clock.set_nanos(START_NANOS + u64::try_from(after).unwrap());
        refused += u64::from(limiter.try_acquire(1).is_err());
    }
    refused
}

/// Returns the largest part of all phases, in thousandths, and the part that is told.
fn parts(kind: &Kind, limit: Rate) -> (u64, u64) {
    let most = (0..PHASES).map(|phase| refused(kind, limit, phase)).max().unwrap();
    let all = limit.permits() * WINDOWS;
    let (refused, of) = kind.refused_of_steady().unwrap_or((0, 1));
    // The last window may end before all of it has passed.
    assert!(most * of <= refused * (all + of), "{kind}: {most} of {all}, not {refused} of {of}");
    (most * 1000 / all, refused * 1000 / of)
}

#[test]
fn no_larger_part_of_a_steady_rate_is_refused_than_is_said() {
    for permits in [1, 2, 3, 7, 10, 60, 61, 200] {
        for period in [Duration::from_secs(1), Duration::from_nanos(999_999_937)] {
            let limit = Rate::new(permits, period).unwrap();
            for slots in [1, 2, 7, 60, 1000] {
                for kind in [
                    Kind::SlidingWindow { limit, slots },
                    Kind::MultiWindow { limits: vec![limit], slots },
                    Kind::MultiWindow {
                        limits: vec![limit, Rate::new(permits * 100, period * 3 / 2).unwrap()],
                        slots,
                    },
                ] {
                    let (seen, said) = parts(&kind, limit);
                    // Where slots divide no window, a part may be twice as large as any that is seen.
                    assert!(2 * seen + 60 >= said, "{kind}: {seen} of 1000, and {said} said");
                }
            }
            let (seen, said) = parts(&Kind::SlidingCounter(limit), limit);
            assert!(seen + 60 >= said, "a counter of {limit:?}: {seen} of 1000, and {said} said");
            for kind in [Kind::SlidingLog(limit), Kind::FixedWindow(limit)] {
                assert_eq!(parts(&kind, limit), (0, 0), "{kind}");
            }
        }
    }
}

#[test]
fn the_sentence_has_the_slot_and_the_part() {
    let limit = Rate::new(10, Duration::from_secs(1)).unwrap();
    assert_eq!(
        Kind::SlidingWindow { limit, slots: 60 }.about_steady().unwrap(),
        "Counts requests for up to a slot (16.7ms) too long: of a steady rate of exactly 10 per 1s, it \
         denies up to 1 in 11."
    );
    assert_eq!(
        Kind::SlidingCounter(limit).about_steady().unwrap(),
        "Assumes that its first requests come with all of the previous window's: of a steady rate of \
         exactly 10 per 1s, it denies up to 1 in 10."
    );
    assert_eq!(Kind::SlidingLog(limit).about_steady(), None);
}
