//! The log of single permits: exact to the nanosecond.
//!
//! ```text
//!  bit 63                         1     0
//!     +---------------------------+-----+
//!     |       TIME (63 bits)      | LAP |
//!     +---------------------------+-----+
//! ```
//!
//! **Theorem.** In any span `(t - W, t]` of the time by which permits are dated, no more
//! than the limit are admitted.
//!
//! *Proof.* An entry is admitted only if the one `limit` before it is at least `W`
//! older (or was reset). Times do not go back along the log, so if more than
//! `limit` entries were in a span, some entry and the one `limit` before it would both
//! be in it. ∎

mod leaving;

use alloc::vec::Vec;
use core::fmt;
use core::iter::repeat_n;

use crate::bits::Field;
use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::time::clock::Clock;
use crate::window::limit::{self, Limit, check_between};

use super::MAX_PLACES;
use super::dates::Dates;
use super::entry_ring::{EntryRing, Head, LAP};

const TIME: Field = LAP.then(63);

/// A log in which every entry is one permit.
pub(crate) struct UnitLog<C> {
    ring: EntryRing<C>,
    limit: Limit,
    window_nanos: u64,
    dates: Dates,
}

/// The log as one call sees it.
struct View {
    head: Head,
    /// Number of the first entry that was not reset.
    start: u64,
    limit: u64,
    now_nanos: u64,
    /// Date of the last entry.
    last: u64,
    /// Time by which the log is judged.
    judged: u64,
    /// Number of the newest entry that does not count.
    gone: u64,
}

impl View {
    /// Returns the number of entries that count.
    fn used(&self) -> u64 {
        self.head.number - 1 - self.gone
    }
}

impl<C: Clock> UnitLog<C> {
    pub(crate) fn new(limit: Rate, clock: C) -> Result<UnitLog<C>, ConfigError> {
        let permits = limit.permits();
        if permits > MAX_PLACES {
            return Err(ConfigError::Limit { limit: permits, max: MAX_PLACES });
        }
        UnitLog::sized(permits, permits, limit.period_nanos(), clock)
    }

    /// Returns the same log with room for limits up to `max_limit`, and nothing granted.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, or too large.
    pub(crate) fn with_max_limit(self, max_limit: u64) -> Result<UnitLog<C>, ConfigError> {
        let limit = self.limit.get();
        check_between(max_limit, limit, MAX_PLACES)?;
        UnitLog::sized(limit, max_limit, self.window_nanos, self.ring.into_clock())
    }

    fn sized(
        limit: u64,
        capacity: u64,
        window_nanos: u64,
        clock: C,
    ) -> Result<UnitLog<C>, ConfigError> {
        let dates = Dates::new(TIME, window_nanos);
        Ok(UnitLog {
            ring: EntryRing::new(capacity, |now_nanos| dates.before(now_nanos), clock),
            limit: Limit::new(limit, capacity)?,
            window_nanos,
            dates,
        })
    }

    pub(crate) fn clock(&self) -> &C {
        self.ring.clock()
    }

    /// Returns whether anybody stands in line: nobody can.
    #[expect(clippy::unused_self, reason = "as for limiters that callers can wait for")]
    pub(crate) fn has_line(&self) -> bool {
        false
    }

    pub(crate) fn healed(&self) -> u64 {
        self.ring.healed()
    }

    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Sets the limit, as `Limit::raise` does.
    pub(crate) fn set_limit(&self, permits: u64) -> Result<(), ConfigError> {
        self.limit().raise(permits)
    }

    pub(crate) fn window_nanos(&self) -> u64 {
        self.window_nanos
    }

    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        match permits {
            0 => self.peek(0),
            1 => self.append(),
            _ => Err(TOO_LARGE),
        }
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(permits).map(Receipt::spent)
    }

    /// Takes permits one by one until no more are available. At most the limit, because
    /// time passes meanwhile and makes room for more.
    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        let permits = permits.min(self.limit.get());
        let mut grant = self.try_acquire(permits.min(1))?;
        while grant.permits < permits {
            match self.append() {
                Ok(next) => grant = Grant { permits: grant.permits + 1, ..next },
                Err(_) => break,
            }
        }
        Ok(grant)
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        if permits > 1 {
            return Err(TOO_LARGE);
        }
        self.read(|view| {
            if permits == 1 && self.is_full(view) {
                return Err(self.denied(view));
            }
            Ok(self.granted(permits, view))
        })
    }

    /// Returns the answer to the last of so many requests for one permit each.
    pub(crate) fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.read(|view| match self.denial_ahead(permits, view) {
            Some(denied) => Err(denied),
            None => Ok(self.granted(permits, view)),
        })
    }

    /// Returns the denial of the last of so many requests for one permit each.
    fn denial_ahead(&self, permits: u64, view: &View) -> Option<Denied> {
        if permits > view.limit {
            return Some(Denied::TooLarge { limit: view.limit, which: 0 });
        }
        // None of them is in the log yet, so those that have to leave it are.
        let leaves = view.head.number - view.limit + permits;
        let counts =
            |number| number >= view.start && !self.dates.is_gone(self.at(number), view.judged);
        let number = leaves.checked_sub(1).filter(|number| permits > 0 && counts(*number))?;
        Some(self.denied_until(number, permits, view))
    }

    pub(crate) fn count(&self) -> u64 {
        self.read(View::used)
    }

    pub(crate) fn reset(&self) {
        self.ring.reset();
    }

    pub(crate) fn snapshot(&self) -> History {
        self.read(|view| {
            let first = view.gone + 1;
            let age = |number| Dates::age_nanos(self.at(number), view.now_nanos);
            History::of((first..view.head.number).map(|number| (age(number), 1)))
        })
    }

    pub(crate) fn restore(&mut self, history: &History, away_nanos: u64) {
        // The latest permits are those that count for longest.
        let places = self.ring.places() as usize;
        let mut ages: Vec<u64> = history
            .after(away_nanos)
            .rev()
            .take_while(|&(age_nanos, _)| age_nanos < self.dates.window_nanos())
            .flat_map(|(age, permits)| repeat_n(age, permits.min(places as u64) as usize))
            .take(places)
            .collect();
        ages.reverse();
        let now_nanos = self.ring.now_nanos();
        let date = |age_nanos: u64| self.dates.first(now_nanos.wrapping_sub(age_nanos));
        let entries: Vec<_> = ages.iter().map(|&age_nanos| date(age_nanos)).collect();
        let oldest = ages.first().copied().unwrap_or(0);
        let before = self.dates.before(now_nanos.wrapping_sub(oldest));
        self.ring.rewrite(before, entries.into_iter());
    }

    /// Takes one permit.
    #[inline]
    fn append(&self) -> Result<Grant, Denied> {
        self.append_unless(|view| self.is_full(view).then(|| self.denied(view)))
    }

    /// Takes one permit, unless it is denied.
    #[inline(always)]
    fn append_unless(&self, denial: impl Fn(&View) -> Option<Denied>) -> Result<Grant, Denied> {
        let mut now_nanos = self.ring.now_nanos();
        let mut contender = self.ring.contender();
        loop {
            let view = self.view(now_nanos);
            if self.is_behind(&view) {
                now_nanos = self.heal();
                continue;
            }
            if let Some(denied) = denial(&view) {
                if self.ring.still(view.head) {
                    return Err(denied);
                }
            } else {
                if contender.has_stepped_back() {
                    continue;
                }
                let grant = self.granted(1, &view);
                if self.ring.append(view.head, self.dated(&view)) {
                    self.ring.remember(view.gone);
                    return Ok(grant);
                }
                contender.lost_race();
            }
        }
    }

    /// Adds the limit and the permits that remain to the output of `Debug`.
    pub(crate) fn show(&self, shown: &mut fmt::DebugStruct<'_, '_>) {
        let used = self.read_at(self.ring.now_nanos(), View::used);
        limit::show(shown, (self.limit.get(), self.window_nanos), used);
    }

    /// Returns the value that `read` computes from the log as it was at one moment.
    fn read<T>(&self, read: impl Fn(&View) -> T) -> T {
        let mut now_nanos = self.ring.now_nanos();
        loop {
            match self.read_at(now_nanos, &read) {
                Some(value) => return value,
                None => now_nanos = self.heal(),
            }
        }
    }

    /// Does the same at `now_nanos`; `None` if the clock was set back.
    fn read_at<T>(&self, now_nanos: u64, read: impl Fn(&View) -> T) -> Option<T> {
        loop {
            let view = self.view(now_nanos);
            if self.is_behind(&view) {
                return None;
            }
            let value = read(&view);
            if self.ring.still(view.head) {
                return Some(value);
            }
        }
    }

    #[inline]
    fn view(&self, now_nanos: u64) -> View {
        let head = self.ring.head();
        let last = self.at(head.number - 1);
        let judged = self.dates.judged(now_nanos, last);
        // Entries before the start were reset. The start may be ahead of the head that was
        // read; then the place at the head has been written, and this view will be
        // discarded.
        let start = self.ring.start();
        let first = start.max(head.number - self.ring.places()).min(head.number) - 1;
        let is_gone = |number| self.dates.is_gone(self.at(number), judged);
        let gone = self.ring.newest_gone(first, head.number, is_gone);
        View { head, start, limit: self.limit.get(), now_nanos, last, judged, gone }
    }

    #[inline]
    fn at(&self, number: u64) -> u64 {
        self.dates.of(self.ring.entry(number))
    }

    /// Returns the entry that comes next.
    #[inline]
    fn dated(&self, view: &View) -> u64 {
        self.dates.entry(view.now_nanos, view.last, self.dates.of(view.head.seen))
    }

    #[inline]
    fn is_behind(&self, view: &View) -> bool {
        self.dates.excess_nanos(view.last, view.now_nanos) > 0
    }

    #[cold]
    fn heal(&self) -> u64 {
        self.ring.heal(|entry, now| self.dates.excess_nanos(self.dates.of(entry), now))
    }

    /// Returns the entry that has to leave the window before another one fits.
    #[inline]
    fn oldest(view: &View) -> Option<u64> {
        let number = view.head.number - view.limit;
        (number >= view.start).then_some(number)
    }

    #[inline]
    fn is_full(&self, view: &View) -> bool {
        Self::oldest(view).is_some_and(|number| !self.dates.is_gone(self.at(number), view.judged))
    }

    fn granted(&self, permits: u64, view: &View) -> Grant {
        let last = if permits > 0 { self.dates.of(self.dated(view)) } else { view.last };
        Grant { permits, forecast: self.forecast(view.used() + permits, last, 0, view) }
    }

    #[cold]
    fn denied(&self, view: &View) -> Denied {
        let left = |number| self.dates.left_nanos(self.at(number), view.now_nanos);
        let retry_nanos = Self::oldest(view).map_or(0, left);
        let forecast = self.forecast(view.used(), view.last, retry_nanos, view);
        Denied::Wait(Shortfall { wanted: 1, forecast, which: 0 })
    }

    /// Returns the denial of `permits` until the entry `number` has left the window.
    fn denied_until(&self, number: u64, permits: u64, view: &View) -> Denied {
        let retry_nanos = self.dates.left_nanos(self.at(number), view.now_nanos);
        let forecast = self.forecast(view.used(), view.last, retry_nanos, view);
        Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 })
    }

    fn forecast(&self, used: u64, last: u64, retry_nanos: u64, view: &View) -> Forecast {
        let reset_nanos = if used == 0 { 0 } else { self.dates.left_nanos(last, view.now_nanos) };
        Forecast::Known(KnownForecast { limit: view.limit, used, reset_nanos, retry_nanos })
    }
}

/// Error for a request of several permits: an entry is one permit.
const TOO_LARGE: Denied = Denied::TooLarge { limit: 1, which: 0 };

impl<C> fmt::Debug for UnitLog<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnitLog")
            .field("limit", &self.limit)
            .field("ring", &self.ring)
            .finish_non_exhaustive()
    }
}
