//! The line of every limiter whose permits come back all at once: a new limiter is a row here.

use std::thread;
use std::time::Duration;

use sluicegate::wait::{AcquireError, LineLimits, Queued, WhenLineFull};
use sluicegate::window::{Compact, MultiWindow, WeightedLog, WindowFromFirst};
use sluicegate::{FixedWindow, ManualClock, SlidingWindow, Wait, rate};

use super::support::{Caller, assert_every_verb_denied};

/// A limiter with a line, and its change of the limit.
trait Subject: Wait {
    fn set_limit(&self, limit: u64);
}

macro_rules! subjects {
    ($($Limiter:ty, $set_limit:expr;)*) => {$(
        impl Subject for $Limiter {
            fn set_limit(&self, limit: u64) {
                let set_limit: fn(&$Limiter, u64) -> Result<(), sluicegate::ConfigError> = $set_limit;
                set_limit(self, limit).unwrap();
            }
        }
    )*};
}

subjects! {
    FixedWindow<&ManualClock>, |window, limit| window.reconfigure(limit);
    WindowFromFirst<&ManualClock>, |window, limit| window.reconfigure(limit);
    SlidingWindow<&ManualClock>, |window, limit| window.reconfigure(limit);
    MultiWindow<&ManualClock>, |windows, limit| windows.reconfigure(0, limit);
    Queued<FixedWindow<&ManualClock>, &ManualClock>, |line, limit| line.update(|it| it.reconfigure(limit));
    Queued<SlidingWindow<&ManualClock, Compact>, &ManualClock>, |line, limit| line.update(|it| it.reconfigure(limit));
    Queued<WeightedLog<&ManualClock>, &ManualClock>, |line, limit| line.update(|it| it.reconfigure(limit));
}

/// A limiter of which ten were taken, and the time after which they are back.
struct Row<'c> {
    name: &'static str,
    limiter: Box<dyn Subject + 'c>,
    span: Duration,
}

const MILLI: Duration = Duration::from_millis(1);

/// Those with a line in their own words: they foresee all turns, and take back what was not seen.
fn with_a_line(clock: &ManualClock) -> Vec<Row<'_>> {
    let ten = rate!(10 / 100 ms);
    let fixed = FixedWindow::with_clock(ten, clock).unwrap();
    let from_first = WindowFromFirst::with_clock(ten, clock).unwrap().with_max_limit(20).unwrap();
    // A permit counts in its slot and in the ten after it.
    let ring = SlidingWindow::with_slots(ten, 10, clock).unwrap();
    let several = MultiWindow::with_slots([ten, rate!(40 / second)], 10, clock).unwrap();
    let row = |name, limiter, millis| Row { name, limiter, span: millis * MILLI };
    vec![
        row("fixed window", Box::new(fixed), 100),
        row("window from the first", Box::new(from_first), 100),
        row("sliding window", Box::new(ring), 110),
        row("several windows", Box::new(several), 110),
    ]
}

fn queued(clock: &ManualClock) -> Vec<Row<'_>> {
    let ten = rate!(10 / 100 ms);
    let fixed = FixedWindow::with_clock(ten, clock).unwrap();
    let compact = SlidingWindow::compact(ten, 10, clock).unwrap();
    let log = WeightedLog::with_clock(ten, clock).unwrap().with_max_limit(20).unwrap();
    let row = |name, limiter, millis| Row { name, limiter, span: millis * MILLI };
    vec![
        row("queued fixed window", Box::new(Queued::with_clock(fixed, clock)), 100),
        row("queued compact window", Box::new(Queued::with_clock(compact, clock)), 110),
        row("queued log", Box::new(Queued::with_clock(log, clock)), 100),
    ]
}

/// Runs a test of each of these limiters, on a clock of its own, with `taken` permits taken.
fn each(
    rows: &[fn(&ManualClock) -> Vec<Row<'_>>],
    taken: u64,
    test: impl Fn(&dyn Subject, &ManualClock, Duration),
) {
    for rows in rows {
        for index in 0..rows(&ManualClock::new()).len() {
            // Begins a window of each kind.
            let clock = ManualClock::at(3_600_000_000_000);
            let Row { name, limiter, span } = rows(&clock).swap_remove(index);
            println!("{name}");
            limiter.try_acquire(taken).unwrap();
            test(&*limiter, &clock, span);
        }
    }
}

fn just_before(time: Duration) -> Duration {
    time.saturating_sub(Duration::from_nanos(1))
}

const ALL: &[fn(&ManualClock) -> Vec<Row<'_>>] = &[with_a_line, queued];
const WITH_A_LINE: &[fn(&ManualClock) -> Vec<Row<'_>>] = &[with_a_line];

#[test]
fn callers_are_granted_in_order_each_when_there_is_room_for_it() {
    each(ALL, 10, |limiter, clock, span| {
        let mut callers = [6, 6, 3, 9].map(|permits| Caller::new(limiter, permits));
        // The third would fit beside the first, but then it would overtake the second.
        for granted in
            [[true, false, false, false], [true, true, true, false], [true, true, true, true]]
        {
            let before = callers.each_mut().map(Caller::is_granted);
            clock.advance(just_before(span));
            assert_eq!(callers.each_mut().map(Caller::is_granted), before);
            clock.advance(Duration::from_nanos(1));
            assert_eq!(callers.each_mut().map(Caller::is_granted), granted);
        }
        assert_eq!((limiter.line().waiters(), limiter.peek(0).unwrap().remaining()), (0, 1));
    });
}

#[test]
fn those_in_line_foresee_their_turns() {
    each(WITH_A_LINE, 10, |limiter, _, span| {
        let callers = [6, 6, 3, 9].map(|permits| Caller::new(limiter, permits));
        let sleeps = callers.each_ref().map(Caller::sleeps_for);
        assert_eq!(sleeps, [span, 2 * span, 2 * span, 3 * span]);
    });
}

#[test]
fn no_verb_overtakes_a_caller_in_line() {
    each(ALL, 5, |limiter, clock, span| {
        let mut caller = Caller::new(limiter, 6);
        assert_every_verb_denied(limiter);
        assert!(limiter.line().waiters() == 1 && !limiter.is_idle());
        clock.advance(span / 2);
        assert!(limiter.try_acquire(1).is_err());
        clock.advance(span / 2);
        assert!(caller.is_granted());
        assert!(limiter.try_acquire(4).is_ok(), "the gate is open");
    });
}

#[test]
fn a_try_settles_for_a_line_that_nobody_polls() {
    each(ALL, 10, |limiter, clock, span| {
        let caller = Caller::new(limiter, 5);
        clock.advance(span);
        assert_eq!(limiter.try_acquire(1).unwrap().remaining(), 4);
        assert_eq!((caller.woken(), limiter.line().waiters()), (1, 0));
    });
}

#[test]
fn a_caller_that_leaves_the_line_has_taken_nothing() {
    // Of the other two, only the last two do not fit together.
    for (leaving, spans) in [(0, 1), (1, 1), (2, 2)] {
        each(ALL, 10, |limiter, clock, span| {
            let mut callers: Vec<Caller<'_>> =
                [6, 7, 3].map(|permits| Caller::new(limiter, permits)).into();
            drop(callers.remove(leaving));
            for _ in 0..spans {
                assert!(callers[1].is_waiting());
                clock.advance(span);
                assert!(callers[0].is_granted());
            }
            assert!(callers[1].is_granted(), "{leaving} has left");
        });
    }
}

#[test]
fn a_limiter_that_everybody_has_stopped_waiting_for_is_open() {
    each(ALL, 10, |limiter, clock, span| {
        drop([2, 3].map(|permits| Caller::new(limiter, permits)));
        clock.advance(span);
        assert_eq!(limiter.try_acquire(1).unwrap().remaining(), 9);
    });
}

#[test]
fn the_next_one_is_woken_to_sleep_for_less() {
    each(WITH_A_LINE, 10, |limiter, _, span| {
        let first = Caller::new(limiter, 8);
        let mut second = Caller::with_timeout(limiter, 8, 2 * span);
        assert_eq!(second.sleeps_for(), 2 * span);
        drop(first);
        assert_eq!(second.woken(), 1);
        assert!(second.is_waiting());
        assert_eq!(second.sleeps_for(), span);
    });
}

#[test]
fn a_grant_that_was_not_seen_is_given_back_if_nothing_happened_since() {
    for (between, left) in [(0, 10), (1, 2), (2, 6)] {
        each(WITH_A_LINE, 10, |limiter, clock, span| {
            let unseen = Caller::new(limiter, 4);
            clock.advance(span);
            // Settles for the one in line, and takes three.
            let receipt = limiter.try_acquire_revocable(3).unwrap();
            assert_eq!(unseen.woken(), 1);
            match between {
                // The last one takes its permits back, so it is as if it had not been there.
                0 => assert!(receipt.give_back() && limiter.try_acquire(0).is_ok()),
                1 => assert!(limiter.try_acquire(1).is_ok()),
                _ => {
                    // The count is what it was after the grant, and it is not the grant.
                    limiter.reset();
                    limiter.try_acquire(4).unwrap();
                }
            }
            drop(unseen);
            assert_eq!(limiter.peek(0).unwrap().remaining(), left, "{between}");
            assert!(limiter.try_acquire(1).is_ok(), "the gate is open");
        });
    }
}

#[test]
fn a_deadline_before_its_turn_refuses_a_caller_at_once() {
    each(WITH_A_LINE, 10, |limiter, clock, span| {
        let mut first = Caller::with_timeout(limiter, 4, span);
        assert!(first.is_waiting());
        let late = just_before(2 * span);
        let timed_out = AcquireError::TimedOut { retry_after: 2 * span };
        assert_eq!(Caller::with_timeout(limiter, 7, late).error(), Some(timed_out));
        assert!(Caller::with_timeout(limiter, 6, span).is_waiting());
        clock.advance(span);
        assert!(first.is_granted());
    });
}

#[test]
fn more_than_the_limit_is_an_error_at_once() {
    each(ALL, 10, |limiter, clock, span| {
        let too_large = |limit| Some(AcquireError::TooLarge { limit });
        assert_eq!(Caller::new(limiter, 11).error(), too_large(10));
        let mut callers = [2, 6, 3, 7].map(|permits| Caller::new(limiter, permits));
        assert_eq!(Caller::new(limiter, 11).error(), too_large(10));
        limiter.set_limit(5);
        clock.advance(span);
        let errors = callers.each_mut().map(Caller::error);
        assert_eq!(errors, [None, too_large(5), None, too_large(5)]);
        assert!(callers[2].is_granted() && callers[0].is_granted());
    });
    each(WITH_A_LINE, 10, |limiter, _, _| {
        let mut callers = [2, 6, 3, 7].map(|permits| Caller::new(limiter, permits));
        limiter.set_limit(5);
        assert!(callers[1].error().is_some() && callers[3].error().is_some());
        assert_eq!(limiter.line().permits(), 5);
    });
}

#[test]
fn changes_are_for_those_in_line() {
    each(ALL, 10, |limiter, _, span| {
        let mut callers = [2, 8, 9].map(|permits| Caller::new(limiter, permits));
        limiter.set_limit(20);
        assert_eq!(callers.each_ref().map(Caller::woken), [1, 1, 1]);
        assert_eq!(callers.each_mut().map(Caller::is_granted), [true, true, false]);
        assert_eq!(callers[2].sleeps_for(), span);
        assert!(limiter.try_acquire(0).is_ok() && limiter.peek(0).unwrap().remaining() == 0);
        limiter.set_limit(8);
        assert_eq!(callers[2].error(), Some(AcquireError::TooLarge { limit: 8 }));
        let mut callers = [4, 4, 3].map(|permits| Caller::new(limiter, permits));
        limiter.reset();
        assert_eq!(callers.each_ref().map(Caller::woken), [1, 1, 1]);
        assert_eq!(callers.each_mut().map(Caller::is_granted), [true, true, false]);
        assert!(limiter.try_acquire(1).is_err());
    });
}

#[test]
fn a_grant_that_is_given_back_is_for_those_in_line() {
    each(WITH_A_LINE, 0, |limiter, _, _| {
        let receipt = limiter.try_acquire_revocable(10).unwrap();
        let mut caller = Caller::new(limiter, 5);
        assert!(receipt.give_back());
        assert_eq!(caller.woken(), 1);
        assert!(caller.is_granted());
        assert_eq!(limiter.peek(0).unwrap().remaining(), 5);
    });
}

#[test]
fn a_line_can_be_bounded_and_closed() {
    each(ALL, 10, |limiter, clock, span| {
        let line = limiter.line();
        line.set_limits(LineLimits::new().max_waiters(2));
        let mut callers = [6, 6].map(|permits| Caller::new(limiter, permits));
        let full = |error| matches!(error, Some(AcquireError::LineFull { .. }));
        assert!(full(Caller::new(limiter, 6).error()));
        let evicting = LineLimits::new().max_waiters(2).when_full(WhenLineFull::EvictOldest);
        line.set_limits(evicting);
        let mut third = Caller::with_timeout(limiter, 6, 2 * span);
        assert!(third.is_waiting());
        assert_eq!(callers[0].error(), Some(AcquireError::Evicted));
        line.close();
        let errors = [&mut callers[1], &mut third].map(Caller::error);
        assert_eq!(errors, [Some(AcquireError::Closed); 2]);
        assert_eq!(Caller::new(limiter, 1).error(), Some(AcquireError::Closed));
        assert!(limiter.try_acquire(1).is_err(), "all are taken");
        clock.advance(span);
        assert!(limiter.acquire_blocking(9).is_ok(), "what is there can still be taken");
        assert!(limiter.try_acquire(1).is_ok());
        assert_eq!(limiter.acquire_blocking(1), Err(AcquireError::Closed));
    });
    each(WITH_A_LINE, 10, |limiter, _, span| {
        limiter.line().set_limits(LineLimits::new().max_waiters(2));
        let _callers = [6, 6].map(|permits| Caller::new(limiter, permits));
        let full = AcquireError::LineFull { retry_after: 3 * span };
        assert_eq!(Caller::new(limiter, 6).error(), Some(full));
        // One that is hopeless evicts nobody.
        let evicting = LineLimits::new().max_waiters(2).when_full(WhenLineFull::EvictOldest);
        limiter.line().set_limits(evicting);
        let late = just_before(2 * span);
        let timed_out = AcquireError::TimedOut { retry_after: 2 * span };
        assert_eq!(Caller::with_timeout(limiter, 6, late).error(), Some(timed_out));
    });
}

#[test]
fn a_clock_that_goes_back_holds_nobody_up_for_longer_than_a_window() {
    each(WITH_A_LINE, 10, |limiter, clock, span| {
        let mut caller = Caller::new(limiter, 4);
        clock.set_nanos(5_000_000);
        assert!(limiter.try_acquire(1).is_err());
        assert_eq!((limiter.healed(), caller.woken()), (1, 1));
        assert!(caller.is_waiting());
        // Time goes on from the slot that it was in, or from the one before it.
        assert!(caller.sleeps_for() <= span + span / 10, "{:?}", caller.sleeps_for());
        clock.advance(caller.sleeps_for());
        assert!(caller.is_granted());
    });
}

#[test]
fn nobody_sleeps_for_no_time_at_the_end_of_the_clock() {
    each(WITH_A_LINE, 0, |limiter, clock, _| {
        clock.set_nanos(u64::MAX - 1_000);
        limiter.try_acquire(10).unwrap();
        let mut first = Caller::new(limiter, 4);
        clock.set_nanos(u64::MAX);
        assert!(first.is_waiting());
        assert_eq!(first.sleeps_for(), Duration::MAX);
        assert!(Caller::with_timeout(limiter, 1, MILLI).error().is_some());
    });
}

#[test]
fn threads_that_wait_are_all_granted_their_permits() {
    let three = rate!(3 / 5 ms);
    let limiters: [Box<dyn Wait>; 4] = [
        Box::new(FixedWindow::new(three).unwrap()),
        Box::new(WindowFromFirst::new(three).unwrap()),
        Box::new(SlidingWindow::new(three).unwrap()),
        Box::new(Queued::new(WeightedLog::new(three).unwrap())),
    ];
    for limiter in &limiters {
        let granted: u64 = thread::scope(|scope| {
            let threads = [1, 2, 3, 1].map(|permits| {
                scope.spawn(move || {
                    let grants = (0..5).map(|_| limiter.acquire_blocking(permits).unwrap());
                    grants.map(|grant| grant.permits()).sum::<u64>()
                })
            });
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((granted, limiter.line().waiters()), (35, 0));
    }
}
