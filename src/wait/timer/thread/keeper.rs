//! The thread that keeps the sleeps of a process.
//!
//! A child of `fork` has none of its parent's threads, and locks are as they were in that moment, held by
//! nobody that will ever let them go. So a process that is not the one before has a keeper of its own,
//! behind that of its parent.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::task::Waker;
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use std::{process, thread};

use super::alarms::{Alarm, Alarms};
use super::slack::be_punctual;

/// Number of tasks woken between two looks at the sleeps.
const BATCH: usize = 64;

/// Sleeps, and the thread that ends them.
pub(super) struct Keeper {
    /// The process that they are of.
    process: u32,
    kept: Mutex<Kept>,
    /// A sleep has begun that ends before all others.
    sooner: Condvar,
    /// The keeper of a child.
    of_child: OnceLock<Box<Keeper>>,
}

struct Kept {
    alarms: Alarms,
    has_thread: bool,
}

/// Returns the nanoseconds of the system's monotonic clock since it was first asked.
pub(super) fn now_nanos() -> u64 {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    u64::try_from(EPOCH.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Keeper {
    /// Returns the keeper of this process: after `fork`, another one.
    pub(super) fn here() -> &'static Keeper {
        static FIRST: OnceLock<Keeper> = OnceLock::new();
        let process = process::id();
        let mut keeper = FIRST.get_or_init(|| Keeper::of(process));
        while keeper.process != process {
            keeper = keeper.of_child.get_or_init(|| Box::new(Keeper::of(process)));
        }
        keeper
    }

    fn of(process: u32) -> Keeper {
        // A sleep that began in a parent has the number of no sleep of this process.
        let first_id = NonZeroU64::MIN.saturating_add(u64::from(process) << u32::BITS);
        Keeper {
            process,
            kept: Mutex::new(Kept { alarms: Alarms::from(first_id), has_thread: false }),
            sooner: Condvar::new(),
            of_child: OnceLock::new(),
        }
    }

    /// Lets a task sleep. `None` if there is no thread that could wake it, as the system refuses to
    /// start one.
    pub(super) fn begin(&'static self, end_nanos: u64, waker: Waker) -> Option<Alarm> {
        let mut kept = self.lock();
        if !kept.has_thread {
            let thread = thread::Builder::new().name("sluicegate-timer".into());
            thread.spawn(|| self.run()).ok()?;
            kept.has_thread = true;
        }
        let (alarm, is_first) = kept.alarms.begin(end_nanos, waker);
        drop(kept);
        if is_first {
            self.sooner.notify_one();
        }
        Some(alarm)
    }

    /// Lets another task be woken. Returns whether the sleep goes on.
    pub(super) fn renew(&self, alarm: Alarm, waker: Waker) -> bool {
        // A waker is a user's code: the other one is dropped after the lock.
        let other = self.lock().alarms.renew(alarm, waker);
        other.is_ok()
    }

    /// Ends a sleep without a wake-up.
    pub(super) fn cancel(&self, alarm: Alarm) {
        let waker = self.lock().alarms.cancel(alarm);
        drop(waker);
    }

    /// Wakes each task at its time, for ever.
    fn run(&self) -> ! {
        be_punctual();
        let mut due = Vec::with_capacity(BATCH);
        let mut kept = self.lock();
        loop {
            let now_nanos = now_nanos();
            kept.alarms.take_due(now_nanos, &mut due);
            kept = if due.is_empty() {
                self.sleep(kept, now_nanos)
            } else {
                drop(kept);
                wake_all(&mut due);
                self.lock()
            };
        }
    }

    /// Sleeps until the first alarm, or until there is a sooner one.
    fn sleep<'a>(&self, kept: MutexGuard<'a, Kept>, now_nanos: u64) -> MutexGuard<'a, Kept> {
        let Some(end_nanos) = kept.alarms.first_end_nanos() else {
            return self.sooner.wait(kept).unwrap_or_else(PoisonError::into_inner);
        };
        let left = Duration::from_nanos(end_nanos.saturating_sub(now_nanos));
        self.sooner.wait_timeout(kept, left).unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes tasks. One whose waker panics holds up no others.
fn wake_all(due: &mut Vec<Waker>) {
    for waker in due.drain(..) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            // It may panic when it is dropped.
            core::mem::forget(panic);
        }
    }
}
