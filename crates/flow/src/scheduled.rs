//! Permits that were taken for a later instant, of a limiter whose state is behind a lock.

use std::fmt;
use std::time::Duration;

use sluicegate::clock::Timeline;
use sluicegate::wait::Timer;

use crate::latest::ToldInstant;
use crate::sleep::{Look, block_until, sleep_until};

/// Permits of a [`Shaper`](crate::shaper::Shaper) or a [`WarmUp`](crate::warm_up::WarmUp) that are the caller's, to be used
/// from an instant on.
///
/// The instant is fixed, and is by the limiter's clock: no later request, and no change of the rate or of a
/// size moves it. To drop this is to keep the permits, and a shaper's place in the queue.
///
/// If the clock is set back by more than a second, the instant moves back with it, so that callers go in
/// the order in which they were told to, and an interval apart. The time that has passed meanwhile is that
/// since the latest reading before; or more, if the caller that finds the clock set back was to go later:
/// it is taken to have slept until its instant.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, rate};
/// use sluicegate_flow::shaper::Shaper;
/// use sluicegate_flow::warm_up::WarmUp;
///
/// let shaper = Shaper::with_clock(rate!(10 / second), 5, ManualClock::new());
/// let departure = shaper.shape(3)?;
/// assert_eq!(departure.ready_after(), Duration::from_millis(300));
/// assert!(departure.cancel());
/// assert_eq!(shaper.queued(), 0);
///
/// let pool = WarmUp::with_clock(rate!(2 / second), Duration::from_secs(4), ManualClock::new())?;
/// let first = pool.reserve(1)?;
/// let second = pool.reserve(1)?;
/// assert_eq!(first.ready_after(), Duration::ZERO);
/// assert_eq!(second.ready_after(), Duration::from_millis(1_375));
/// assert!(second.cancel() && first.cancel());
/// assert_eq!(pool.ready_after(), Duration::ZERO);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "to drop this is to keep its permits"]
pub struct Scheduled<'a, L> {
    limiter: &'a L,
    permits: u64,
    /// `None` for no permits.
    taken: Option<Taken>,
    at: ToldInstant,
    wait: Duration,
}

/// Permits that were taken of a stretch of a schedule, in which one comes after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub(crate) serial: u64,
    pub(crate) before: u128,
    pub(crate) after: u128,
}

/// A limiter that tells instants.
pub trait Schedules {
    /// Returns the timeline of its clock.
    fn timeline(&self) -> Timeline;

    /// Looks at the clock, for a caller that may have slept until the instant.
    fn look(&self, at: ToldInstant, has_slept: bool) -> Look;

    /// Gives `taken` back, if nothing was taken or changed since. Returns whether it did.
    fn take_back(&self, taken: Taken) -> bool;
}

impl<'a, L: Schedules> Scheduled<'a, L> {
    pub(crate) fn new(
        limiter: &'a L,
        permits: u64,
        taken: Option<Taken>,
        at: ToldInstant,
        wait: Duration,
    ) -> Scheduled<'a, L> {
        Scheduled { limiter, permits, taken, at, wait }
    }
}

impl<L: Schedules> Scheduled<'_, L> {
    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the instant from which the permits may be used, by the limiter's clock as it was when they
    /// were taken: the least nanosecond, or the end of the clock's range. A shaper's permits leave one
    /// after the other; this is the instant of the last of them.
    #[must_use]
    pub fn at_nanos(&self) -> u64 {
        self.at.nanos()
    }

    /// Returns the wait that there was when the permits were taken. Reads no clock.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.wait
    }

    /// Returns the wait that is left. Takes the limiter's lock for a moment, and reads its clock.
    ///
    /// While the clock is behind its latest reading, by a second at most, that time has to be waited for
    /// too, unless the instant is no later than the latest reading. The time by which the clock is set
    /// back further does not. A caller that finds the clock set back by this call is told that no wait is
    /// left: it may have slept, and the clock cannot tell for how long.
    #[must_use]
    pub fn wait_left(&self) -> Duration {
        self.look(true).left
    }

    /// Blocks the thread until the permits may be used.
    pub fn wait_blocking(self) {
        block_until(|has_slept| self.look(has_slept));
    }

    /// Sleeps by `timer` until the permits may be used. To drop the future is to keep the permits.
    pub async fn wait<T: Timer>(self, timer: T) {
        let timeline = self.limiter.timeline();
        sleep_until(timer, timeline, |has_slept| self.look(has_slept)).await;
    }

    /// Gives the permits back, if no other request was granted since, and the rate was not changed.
    /// Returns whether it did; otherwise they stay taken, as the others were told instants after
    /// them.
    ///
    /// So the newest can be given back, then the one before it: in a `WarmUp`, as far as there was no idle
    /// time between them. What is given back is exact: the limiter is as if the request had never come.
    /// Takes the limiter's lock for a moment; reads no clock.
    #[doc(alias = "refund")]
    #[expect(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn cancel(self) -> bool {
        self.take_back()
    }

    /// Sleeps by `timer` until the permits may be used. To drop the future is to give them back.
    pub(crate) async fn wait_or_cancel<T: Timer>(self, timer: T) {
        let mut unused = Unused(Some(self));
        if let Some(scheduled) = &unused.0 {
            let timeline = scheduled.limiter.timeline();
            sleep_until(timer, timeline, |has_slept| scheduled.look(has_slept)).await;
        }
        // Its instant has come.
        unused.0 = None;
    }

    fn look(&self, has_slept: bool) -> Look {
        self.limiter.look(self.at, has_slept)
    }

    fn take_back(&self) -> bool {
        self.taken.is_none_or(|taken| self.limiter.take_back(taken))
    }
}

/// Permits that are given back when dropped.
struct Unused<'a, L: Schedules>(Option<Scheduled<'a, L>>);

impl<L: Schedules> Drop for Unused<'_, L> {
    fn drop(&mut self) {
        if let Some(scheduled) = &self.0 {
            scheduled.take_back();
        }
    }
}

impl<L> fmt::Debug for Scheduled<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduled")
            .field("permits", &self.permits)
            .field("at_nanos", &self.at.nanos())
            .finish_non_exhaustive()
    }
}
