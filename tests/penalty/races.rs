//! Threads that offend, ask and clear at once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sluicegate::penalty::{Offence, PenaltyBox};
use sluicegate::*;

use super::rule;

const THREADS: u64 = 4;

/// Turns of each thread.
const TURNS: u64 = if cfg!(miri) { 25 } else { 2_000 };

#[test]
fn of_all_offences_none_is_lost_and_every_tenth_begins_a_penalty() {
    let clock = ManualClock::at(5);
    let rule = rule(rate!(10 / minute), Duration::from_secs(60));
    let penalties = PenaltyBox::with_clock(rule, &clock);
    let (begun, counted) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    match penalties.offend(1) {
                        Offence::Counted { .. } => {
                            counted.fetch_add(1, Relaxed);
                        }
                        Offence::Penalized { .. } => {
                            begun.fetch_add(1, Relaxed);
                            assert!(penalties.try_acquire(1).is_err(), "it holds at once");
                            assert!(penalties.clear(), "nobody else clears it");
                        }
                        _ => {}
                    }
                }
            });
        }
    });
    let (begun, counted) = (begun.into_inner(), counted.into_inner());
    let left = match penalties.offend(0) {
        Offence::Counted { remaining } => 10 - remaining,
        other => panic!("every penalty was cleared: {other:?}"),
    };
    assert_eq!(counted, 9 * begun + left);
    assert!(begun > 0);
}

#[test]
fn no_offence_is_judged_by_parts_of_two_rules() {
    let short = rule(rate!(1 / second), Duration::from_secs(1));
    let long = rule(rate!(3 / hour), Duration::from_secs(3_600));
    let penalties = PenaltyBox::with_clock(short, ManualClock::at(7));
    let second = Duration::from_nanos(1_000_002_048);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..TURNS {
                penalties.reconfigure(long);
                penalties.reconfigure(short);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2 * TURNS {
                    // One offence begins a short penalty or none, three a short or a long one.
                    if let Offence::Penalized { retry_after } = penalties.offend(1) {
                        let seen = penalties.rule();
                        assert!(seen == short || seen == long, "{seen:?}");
                        let is_short = retry_after < second;
                        assert!(is_short || retry_after >= Duration::from_secs(3_600));
                        penalties.clear();
                    }
                }
            });
        }
    });
    assert_eq!(penalties.rule(), short);
}
