//! Models of reservations of windows to come. What is checked, over every interleaving:
//!
//! * in each window, what is granted, reserved and used beyond estimates is at most the limit, also
//!   while a window begins and while reservations are cancelled;
//! * a reservation that is cancelled was never there, and one from before a reset stays forgotten;
//! * callers in line are granted what is cancelled;
//! * what was done before a reservation is seen after the next grant.

use sluicegate::wait::{Reservation, Reserve};
use sluicegate::window::WindowFromFirst;
use sluicegate::{FixedWindow, Limiter, Rate, Wait, rate};
use sluicegate_loom_tests::line::wait;
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race};

type Fixed = FixedWindow<TestClock>;

const ONE: Rate = rate!(1 / second);
const TWO: Rate = rate!(2 / second);
const NOW: u64 = 10 * SECOND;
const AHEAD: std::time::Duration = std::time::Duration::from_secs(5);

/// On real threads, the calling one may have run ahead in the race before.
fn clock() -> TestClock {
    TestClock::run_ahead(0);
    let clock = TestClock::new();
    clock.set(NOW);
    clock
}

fn fixed(limit: Rate) -> Arc<Fixed> {
    Arc::new(Fixed::with_clock(limit, clock()).unwrap().with_reservations(AHEAD))
}

/// Does the part of one thread.
#[derive(Clone, Copy)]
enum Act {
    Take(u64),
    Reserve(u64),
    /// Cancels the newest of its reservations.
    Cancel,
    RunAhead(u64),
}

/// Permits that are kept of each of the windows from that of `NOW` on.
type Kept = [u64; 4];

fn act<L: Reserve>(window: &L, acts: &'static [Act]) -> Kept {
    let mut kept = Kept::default();
    let mut reserved: Vec<Reservation<'_>> = Vec::new();
    let number = |nanos: u64| ((nanos - NOW) / SECOND) as usize;
    for act in acts {
        match *act {
            Act::Take(permits) => {
                if window.try_acquire(permits).is_ok() {
                    kept[number(TestClock::last_reading())] += permits;
                }
            }
            Act::Reserve(permits) => reserved.push(window.reserve(permits).unwrap()),
            Act::Cancel => {
                let newest = reserved.pop().unwrap();
                let (permits, at_nanos) = (newest.permits(), newest.at_nanos());
                if !newest.cancel() {
                    kept[number(at_nanos)] += permits;
                }
            }
            Act::RunAhead(nanos) => TestClock::run_ahead(nanos),
        }
    }
    for reservation in reserved {
        kept[number(reservation.at_nanos())] += reservation.permits();
    }
    kept
}

/// Checks that no window has more than its limit, and that the last one of which anything was taken
/// has the rest of it. `before` is taken first.
fn each_keeps_to_its_limit<L: Reserve + 'static, const N: usize>(
    preemptions: usize,
    new: fn(TestClock) -> L,
    limit: u64,
    before: &'static [Act],
    acts: [&'static [Act]; N],
) {
    check(preemptions, move || {
        let window = Arc::new(new(clock()));
        let first = act(&*window, before);
        let mut kept = first;
        for more in race(&window, acts, act::<L>) {
            kept.iter_mut().zip(more).for_each(|(kept, more)| *kept += more);
        }
        for (number, taken) in kept.into_iter().enumerate() {
            TestClock::run_ahead(number as u64 * SECOND);
            let left = window.try_acquire_up_to(9).map_or(0, |grant| grant.permits());
            assert!(taken + left <= limit, "{kept:?}, and {left} left in window {number}");
            let is_last = kept[number + 1..].iter().all(|&later| later == 0);
            assert!(!is_last || taken == 0 || taken + left == limit, "{kept:?}: {left} left");
        }
    });
}

#[test]
fn reservations_and_grants_keep_to_the_limit_of_each_window() {
    use Act::{Reserve, RunAhead, Take};

    let one = |clock| Fixed::with_clock(ONE, clock).unwrap().with_reservations(AHEAD);
    each_keeps_to_its_limit(ANY, one, 1, &[], [&[Reserve(1)], &[Take(1)]]);
    each_keeps_to_its_limit(
        3,
        one,
        1,
        &[],
        [&[Reserve(1), Reserve(1)], &[RunAhead(SECOND), Take(1)]],
    );
    let two = |clock| Fixed::with_clock(TWO, clock).unwrap().with_reservations(AHEAD);
    each_keeps_to_its_limit(3, two, 2, &[Take(2)], [&[Reserve(1)], &[Take(1), Reserve(2)]]);
    each_keeps_to_its_limit(2, two, 2, &[Take(1)], [&[Reserve(2)], &[Reserve(1)], &[Take(1)]]);
    let first = |clock| WindowFromFirst::with_clock(TWO, clock).unwrap().with_reservations(AHEAD);
    each_keeps_to_its_limit(3, first, 2, &[Take(2)], [&[Reserve(1)], &[Take(1), Reserve(1)]]);
}

#[test]
fn a_reservation_that_is_cancelled_beside_grants_was_never_there() {
    use Act::{Cancel, Reserve, RunAhead, Take};

    let two = |clock| Fixed::with_clock(TWO, clock).unwrap().with_reservations(AHEAD);
    let cancels: &[Act] = &[Reserve(1), Cancel];
    each_keeps_to_its_limit(ANY, two, 2, &[Take(2)], [cancels, &[RunAhead(SECOND), Take(1)]]);
    each_keeps_to_its_limit(3, two, 2, &[Take(1)], [&[Reserve(2), Cancel], &[Take(1), Reserve(1)]]);
    each_keeps_to_its_limit(3, two, 2, &[Take(2)], [cancels, &[Reserve(2), Reserve(1)]]);
    each_keeps_to_its_limit(2, two, 2, &[Take(2)], [cancels, &[Reserve(1), Cancel, Reserve(2)]]);
    each_keeps_to_its_limit(2, two, 2, &[], [cancels, &[Reserve(2), Cancel], &[Take(1)]]);
}

/// A reservation after the reset is as large as the one before, so the word repeats.
#[test]
fn a_reservation_of_before_a_reset_is_not_given_back_after_it() {
    check(3, || {
        let window = fixed(ONE);
        window.try_acquire(1).unwrap();
        let [_, at_nanos] = race(&window, [true, false], |window, cancels| {
            if cancels {
                window.reserve(1).unwrap().cancel();
                return 0;
            }
            window.reset();
            let _ = window.try_acquire(1);
            window.reserve(1).unwrap().at_nanos()
        });
        TestClock::run_ahead(at_nanos - NOW);
        assert!(window.try_acquire(1).is_err(), "the one that was reserved is taken");
    });
}

#[test]
fn what_is_used_beyond_an_estimate_is_taken_of_the_windows_to_come() {
    check(ANY, || {
        let window = Fixed::with_clock(TWO, clock()).unwrap();
        let window = Arc::new(window.with_reservations(std::time::Duration::from_secs(1)));
        race(&window, [true, false], |window, settles| {
            if settles {
                let _ = window.try_acquire_settleable(0).unwrap().settle(3);
                return;
            }
            TestClock::run_ahead(SECOND);
            window.try_acquire(1).unwrap();
        });
        TestClock::run_ahead(SECOND);
        assert_eq!((window.count(), window.try_acquire(1).is_ok()), (2, false));
    });
}

#[test]
fn what_is_cancelled_of_a_window_wakes_its_line() {
    check(ANY, || {
        let window = fixed(ONE);
        race(&window, [true, false], |window, waits| {
            if waits {
                wait(window, 1).unwrap();
            } else if let Ok(reservation) = window.reserve(1) {
                assert!(reservation.cancel());
            }
        });
        assert_eq!((window.count(), window.line().waiters()), (1, 0));
    });
}

/// To reserve is a grant, and so is to take what was used beyond an estimate.
#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_a_window_was_reserved_is_seen_after_the_next_grant() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    // The first reserves, or uses more than its estimate.
    for first in [0, 3] {
        check(3, move || {
            let window = Fixed::with_clock(rate!(4 / second), clock()).unwrap();
            let shared = Arc::new((window.with_reservations(AHEAD), Atomic::new(0)));
            race(&shared, [first, 1, 2], |(window, done), who| match who {
                0 | 3 => {
                    done.store(1, Relaxed);
                    if who == 3 {
                        window.try_acquire_settleable(0).unwrap().settle(2).unwrap();
                    } else {
                        let _ = window.reserve(2).unwrap();
                    }
                }
                // Passes on what it finds.
                1 => _ = window.reserve(1).unwrap(),
                _ => {
                    if window.try_acquire(1).unwrap().remaining() < 2 {
                        assert_eq!(done.load(Relaxed), 1, "what was done before was not seen");
                    }
                }
            });
        });
    }
}
