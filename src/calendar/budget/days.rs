//! The core of the budgets: a counter of days, and waits that may take several days.

use core::fmt;
use core::ops::Range;
use core::time::Duration;

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::settle::estimate::Estimate;
use crate::settle::estimate::detached::Detached;
use crate::time::calendar::Calendar;
use crate::time::calendar::day_amounts::Schedule;
use crate::time::calendar::error::CalendarError;
use crate::time::calendar::weekday::Weekday;
use crate::time::clock::Clock;
use crate::time::units::NANOS_PER_SECOND;
use crate::window::counter::CounterCore;
use crate::window::counter::by_calendar::ByCalendar;
use crate::window_counts::WindowCounts;

/// Number of times that a stale denial is retried.
const MOST_TRIES: u32 = 3;

/// Provides the methods of [`CounterCore`] and corrects its denials, which know one window
/// only: they call a request too large that must wait for a day with a larger amount,
/// and they ignore that the next day may have a smaller one.
pub(super) struct Days<C> {
    pub(super) core: CounterCore<ByCalendar<Schedule>, C>,
}

impl<C: Clock> Days<C> {
    pub(super) fn new(amount: u64, zone: &str, clock: C) -> Result<Days<C>, CalendarError> {
        let counter = ByCalendar::with(Schedule::same(amount), Calendar::days(zone)?);
        Ok(Days { core: CounterCore::new(counter, clock) })
    }

    pub(super) fn schedule(&self) -> &Schedule {
        self.core.counter().amounts()
    }

    pub(super) fn set_amount(&self, weekday: Weekday, amount: u64) {
        self.core.changed(|counter| counter.amounts().set(weekday, amount));
    }

    pub(super) fn day(&self) -> Range<Duration> {
        self.core.counter().span(self.clock().now_nanos()).durations()
    }

    pub(super) fn remaining(&self) -> u64 {
        self.core.peek(0).map_or(0, |grant| grant.remaining())
    }

    #[inline]
    pub(super) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.ask(permits, 0, || self.core.try_acquire(permits))
    }

    pub(super) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        // A denial is then the denial of one permit.
        self.ask(permits.min(1), 0, || self.core.try_acquire_up_to(permits))
    }

    pub(super) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.ask(permits, 0, || self.core.peek(permits))
    }

    pub(super) fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.ask(permits, reserve, || self.core.try_acquire_leaving(permits, reserve))
    }

    pub(super) fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.ask(permits, reserve, || self.core.peek_leaving(permits, reserve))
    }

    pub(super) fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.ask(permits, reserve, || self.core.try_acquire_leaving_revocable(permits, reserve))
    }

    pub(super) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.ask(permits, 0, || self.core.try_acquire_revocable(permits))
    }

    pub(super) fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied>
    where
        C: Sync,
    {
        self.ask(permits, 0, || self.core.try_acquire_settleable(permits))
    }

    pub(super) fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>>
    where
        C: Sync,
    {
        self.core.take_up(slot)
    }

    pub(super) fn count(&self) -> u64 {
        self.core.count()
    }

    pub(super) fn reset(&self) {
        self.core.reset();
    }

    pub(super) fn snapshot(&self) -> History {
        self.core.snapshot()
    }

    pub(super) fn restore(&mut self, history: &History, away_nanos: u64) {
        self.core.restore(history, away_nanos);
    }

    pub(super) fn has_line(&self) -> bool {
        self.core.has_line()
    }

    pub(super) fn healed(&self) -> u64 {
        self.core.healed()
    }

    pub(super) fn show(&self, shown: &mut fmt::DebugStruct<'_, '_>) {
        self.core.show(shown);
    }

    pub(super) fn clock(&self) -> &C {
        self.core.clock()
    }

    /// Calls a verb for `permits` that leaves `reserve`, and corrects its denial.
    #[inline]
    fn ask<T>(
        &self,
        permits: u64,
        reserve: u64,
        verb: impl Fn() -> Result<T, Denied>,
    ) -> Result<T, Denied> {
        // A day with enough permits begins at most once between two readings. If it happens
        // more often, the clock is at fault.
        for _ in 0..MOST_TRIES {
            match verb() {
                Ok(granted) => return Ok(granted),
                Err(denied) => {
                    if let Some(denied) = self.over_days(permits.saturating_add(reserve), denied) {
                        return Err(denied.leaving(reserve));
                    }
                }
            }
        }
        verb()
    }

    /// Returns `denied` with the wait for a day that has enough; `None` if such a day has
    /// begun in the meantime.
    #[cold]
    fn over_days(&self, permits: u64, denied: Denied) -> Option<Denied> {
        let counted = match denied {
            // Every day has enough.
            Denied::Wait(_) if permits <= self.schedule().least() => return Some(denied),
            // Others stand in line: the wait is for them.
            Denied::Wait(Shortfall { forecast: Forecast::Known(_), .. }) => return Some(denied),
            Denied::Wait(Shortfall { forecast: Forecast::Window(counted), .. }) => counted,
            _ => {
                let most = self.schedule().most();
                if permits > most {
                    return Some(Denied::TooLarge { limit: most, which: 0 });
                }
                let counted = self.present()?;
                if permits <= counted.limit {
                    return None;
                }
                counted
            }
        };
        // This reading is later than the one that decided, so the wait counts from when the
        // caller gets to know it. The end of the day that counts is before `next`.
        let now_nanos = self.clock().now_nanos();
        let next_nanos = now_nanos.saturating_add(counted.left_nanos);
        let Some(start) = self.core.counter().first_with(permits, next_nanos) else {
            return Some(Denied::TooLarge { limit: self.schedule().most(), which: 0 });
        };
        let window = KnownForecast {
            limit: counted.limit,
            used: counted.used(),
            reset_nanos: counted.wait_nanos(counted.limit),
            // At least a nanosecond, however late the second reading was.
            retry_nanos: (start.max(0) as u64)
                .saturating_mul(NANOS_PER_SECOND)
                .saturating_sub(now_nanos)
                .max(1),
        };
        let forecast = Forecast::Known(window);
        Some(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 }))
    }

    /// Returns the counts of the present day.
    fn present(&self) -> Option<WindowCounts> {
        match self.core.peek(0).ok()?.forecast {
            Forecast::Window(counted) => Some(counted),
            _ => None,
        }
    }
}

impl<C> fmt::Debug for Days<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}
