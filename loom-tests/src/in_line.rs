//! Models of callers in line, for a limiter of any kind.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use sluicegate::settle::Receipt;
use sluicegate::wait::{LineWeights, Queued, Tenant};
use sluicegate::{FixedWindow, Limiter, Rate, SlidingCounter, SlidingLog, SlidingWindow, Wait};

use crate::line::{acquire, poll, poll_again, stand_and_ask, stand_and_then, wait};
use crate::{Arc, SECOND, TestClock, check, race};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, Ordering};

/// A limiter of a few permits, before which callers stand in line.
pub trait Lined: Wait + 'static {
    /// Nanoseconds after which permits that were taken at 0 are there again.
    const LATER_NANOS: u64;

    /// Creates one of `limit` permits, of which `taken` are taken.
    fn of(limit: u64, taken: u64) -> Self;

    /// Returns the permits that are taken.
    fn taken(&self) -> u64;

    /// Gives a grant back, so that those in line learn of it.
    fn give_back(&self, receipt: Receipt<'_>) -> bool {
        receipt.give_back()
    }
}

impl Lined for FixedWindow<TestClock> {
    const LATER_NANOS: u64 = SECOND;

    fn of(limit: u64, taken: u64) -> Self {
        with_taken(FixedWindow::with_clock(rate(limit), TestClock::new()).unwrap(), taken)
    }

    fn taken(&self) -> u64 {
        self.count()
    }
}

impl Lined for SlidingCounter<TestClock> {
    /// The window before has faded.
    const LATER_NANOS: u64 = 2 * SECOND;

    fn of(limit: u64, taken: u64) -> Self {
        with_taken(SlidingCounter::with_clock(rate(limit), TestClock::new()).unwrap(), taken)
    }

    fn taken(&self) -> u64 {
        self.count()
    }
}

impl Lined for SlidingWindow<TestClock> {
    /// The two slots have ended.
    const LATER_NANOS: u64 = 2 * SECOND;

    fn of(limit: u64, taken: u64) -> Self {
        with_taken(SlidingWindow::with_slots(rate(limit), 1, TestClock::new()).unwrap(), taken)
    }

    fn taken(&self) -> u64 {
        self.count()
    }
}

/// A window with a line, and a tenant of it.
pub type OfTenant = Tenant<std::sync::Arc<Window>, FixedWindow<TestClock>, TestClock>;

/// A window with a line.
pub type Window = Queued<FixedWindow<TestClock>, TestClock>;

impl Lined for OfTenant {
    const LATER_NANOS: u64 = SECOND;

    fn of(limit: u64, taken: u64) -> Self {
        let line = Window::of(limit, taken).with_weights(LineWeights::new(2)).unwrap();
        Tenant::new(std::sync::Arc::new(line), "tenant")
    }

    fn taken(&self) -> u64 {
        self.queued().taken()
    }

    fn give_back(&self, receipt: Receipt<'_>) -> bool {
        self.queued().update(|_| receipt.give_back())
    }
}

impl Lined for Window {
    const LATER_NANOS: u64 = SECOND;

    fn of(limit: u64, taken: u64) -> Self {
        Queued::with_clock(FixedWindow::of(limit, taken), TestClock::new())
    }

    fn taken(&self) -> u64 {
        self.limiter().count()
    }

    fn give_back(&self, receipt: Receipt<'_>) -> bool {
        self.update(|_| receipt.give_back())
    }
}

impl Lined for Queued<SlidingLog<TestClock>, TestClock> {
    const LATER_NANOS: u64 = SECOND;

    fn of(limit: u64, taken: u64) -> Self {
        let log = SlidingLog::with_clock(rate(limit), TestClock::new()).unwrap();
        Queued::with_clock(with_taken(log, taken), TestClock::new())
    }

    fn taken(&self) -> u64 {
        self.limiter().count()
    }
}

fn rate(limit: u64) -> Rate {
    Rate::new(limit, Duration::from_secs(1)).unwrap()
}

fn with_taken<L: Limiter>(limiter: L, taken: u64) -> L {
    limiter.try_acquire(taken).unwrap();
    limiter
}

/// Creates a limiter at 0. On real threads, the calling one may have run ahead in the race before.
#[must_use]
pub fn fresh<L: Lined>(limit: u64, taken: u64) -> Arc<L> {
    TestClock::run_ahead(0);
    Arc::new(L::of(limit, taken))
}

struct Overtaken<L> {
    limiter: Arc<L>,
    stands: AtomicBool,
}

impl<L: Lined> Overtaken<L> {
    /// Creates a limiter of one permit, which is taken, with nobody in line.
    fn fresh() -> Arc<Overtaken<L>> {
        Arc::new(Overtaken { limiter: fresh(1, 1), stands: AtomicBool::new(false) })
    }

    /// Tries `later`. Returns whether somebody stood in line before, and whether the try was granted.
    fn try_acquire(&self, later: u64) -> (bool, bool) {
        let stands = self.stands.load(Ordering::Acquire);
        TestClock::run_ahead(later);
        (stands, self.limiter.try_acquire(1).is_ok())
    }
}

/// Checks that nobody overtakes a caller that waits for the only permit.
///
/// # Panics
///
/// If somebody does.
pub fn nobody_overtakes<L: Lined>(preemptions: usize) {
    check(preemptions, || {
        let shared = Overtaken::<L>::fresh();
        let [waited, tried] = race(&shared, [true, false], |shared, waits| {
            if !waits {
                return shared.try_acquire(L::LATER_NANOS);
            }
            let is_granted = stand_and_then(&*shared.limiter, || {
                shared.stands.store(true, Ordering::Release);
                TestClock::run_ahead(L::LATER_NANOS);
            });
            (true, is_granted)
        });
        assert_ne!(waited.1, tried.1, "there is one permit");
        assert!(!tried.0 || waited.1, "overtaken");
    });
}

/// Checks that nobody overtakes the second of two callers in line.
///
/// # Panics
///
/// If somebody does.
pub fn nobody_overtakes_the_second<L: Lined>(preemptions: usize) {
    check(preemptions, || {
        let shared = Overtaken::<L>::fresh();
        let [waited, tried] = race(&shared, [true, false], |shared, waits| {
            if !waits {
                return shared.try_acquire(2 * L::LATER_NANOS);
            }
            let mut first = pin!(acquire(&*shared.limiter, 1));
            let mut second = pin!(acquire(&*shared.limiter, 1));
            let in_line = (poll(&mut first), poll(&mut second));
            shared.stands.store(true, Ordering::Release);
            TestClock::run_ahead(L::LATER_NANOS);
            let _granted = poll_again(&mut first, in_line.0);
            TestClock::run_ahead(2 * L::LATER_NANOS);
            (true, matches!(poll_again(&mut second, in_line.1), Poll::Ready(Ok(_))))
        });
        // The second is not granted its permit if the first one was settled late.
        assert!(!tried.1 || !(tried.0 || waited.1), "overtaken");
    });
}

/// Checks that the next in line is granted what there is, when the first gives up.
///
/// # Panics
///
/// If it is not.
pub fn the_next_is_granted_when_the_first_gives_up<L: Lined>(preemptions: usize) {
    check(preemptions, || {
        let limiter = fresh::<L>(2, 1);
        race(&limiter, [2, 1], |limiter, permits| {
            if permits == 1 {
                wait(limiter, 1).unwrap();
            } else {
                let mut caller = pin!(acquire(limiter, 2));
                assert!(poll(&mut caller).is_pending());
            }
        });
        assert_eq!((limiter.taken(), limiter.line().waiters()), (2, 0));
    });
}

/// Checks that a caller in line is granted its permit when `change` has made room for it, and that
/// `taken` are taken then.
///
/// # Panics
///
/// If it is not.
pub fn a_change_is_seen<L: Lined>(preemptions: usize, change: fn(&L), taken: u64) {
    check(preemptions, move || {
        let limiter = fresh::<L>(1, 1);
        race(&limiter, [(true, change), (false, change)], |limiter, (waits, change)| {
            if waits {
                wait(limiter, 1).unwrap();
            } else {
                change(limiter);
            }
        });
        assert_eq!((limiter.taken(), limiter.line().waiters()), (taken, 0));
    });
}

/// Checks that a grant that is given back while others wait is theirs.
///
/// # Panics
///
/// If it is not.
pub fn a_grant_given_back_is_theirs<L: Lined>(preemptions: usize) {
    check(preemptions, || {
        let limiter = fresh::<L>(1, 0);
        race(&limiter, [true, false], |limiter, waits| {
            if waits {
                wait(limiter, 1).unwrap();
            } else if let Ok(receipt) = limiter.try_acquire_revocable(1) {
                assert!(limiter.give_back(receipt));
            }
        });
        assert_eq!((limiter.taken(), limiter.line().waiters()), (1, 0));
    });
}

/// A part in a race of [`a_caller_is_seen_by_those_after_it`].
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Leaves a note, and stands in line.
    Waits,
    /// Lets the line settle.
    Settles,
    /// Looks for the note of a caller that was granted a permit before it.
    Looks,
    /// Both.
    SettlesAndLooks,
}

/// Checks that a caller that is granted a permit sees what one in line did before it was granted its
/// own.
///
/// # Panics
///
/// If it does not.
pub fn a_caller_is_seen_by_those_after_it<L: Lined, const N: usize>(
    preemptions: usize,
    parts: [Part; N],
) {
    check(preemptions, move || {
        let shared = Arc::new((fresh::<L>(2, 2), AtomicBool::new(false)));
        race(&shared, parts, |(limiter, note), part| {
            if matches!(part, Part::Waits) {
                note.store(true, Ordering::Relaxed);
                stand_and_ask(&**limiter, L::LATER_NANOS);
                return;
            }
            TestClock::run_ahead(L::LATER_NANOS);
            if !matches!(part, Part::Looks) {
                let _settles = limiter.peek(1);
            }
            // None is left if the other was granted one before. (Denied if the line is locked.)
            if !matches!(part, Part::Settles)
                && let Ok(grant) = limiter.try_acquire(1)
            {
                assert!(grant.remaining() > 0 || note.load(Ordering::Relaxed));
            }
        });
    });
}
