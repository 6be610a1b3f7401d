//! The log of requests of any size.
//!
//! ```text
//!  bit 63                                         1     0
//!     +---------------------+---------------------+-----+
//!     |        TIME         |        COUNT        | LAP |
//!     +---------------------+---------------------+-----+
//! ```
//!
//! `COUNT` is cumulative, up to and including the entry, and has one bit more than the
//! limit, so that differences are right although the counts wrap. `TIME`
//! is in ticks of a power of two of nanoseconds, such that 146 years are the past and
//! as many the future. A date is rounded up to a tick, so an entry leaves the window late
//! by less than a tick, and never early.
//!
//! **Theorem.** In any span `(t - W, t]` of the time by which requests are dated, no more
//! than the limit is admitted.
//!
//! *Proof.* A request is admitted only if the count including it, less the count of the
//! newest entry that is at least `W` older, is at most the limit. Times do not go
//! back along the log, so all entries after that one, and only those, can be in a
//! span that ends with the new one. ∎

mod leaving;
mod show;

use alloc::vec::Vec;

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
use crate::window::limit::{Limit, check_between, check_max};

use super::MAX_PLACES;
use super::dates::Dates;
use super::entry_ring::{EntryRing, Head, LAP};

/// Places in addition to those of the requests that count: for the newest that does not,
/// and for the one at the head.
const MORE: u64 = 2;

/// A log in which every entry is a request.
pub(crate) struct WeightedLog<C> {
    ring: EntryRing<C>,
    /// Number of requests that it was asked to remember.
    capacity: u64,
    limit: Limit,
    window_nanos: u64,
    count: Field,
    dates: Dates,
}

/// The log as one call sees it.
struct View {
    head: Head,
    /// Set if there is no room for another entry: after adding one, the oldest entry
    /// that can still be read would count.
    is_full: bool,
    /// Number of the newest entry that does not count.
    gone: u64,
    /// Permits that count.
    used: u64,
    limit: u64,
    now_nanos: u64,
    /// Count up to the last entry; below, its date.
    count: u64,
    last: u64,
}

impl View {
    /// Returns the permits that are available; none if no place is left.
    fn room(&self) -> u64 {
        if self.is_full { 0 } else { self.limit.saturating_sub(self.used) }
    }
}

impl<C: Clock> WeightedLog<C> {
    pub(crate) fn new(limit: Rate, capacity: u64, clock: C) -> Result<WeightedLog<C>, ConfigError> {
        let most = MAX_PLACES - MORE;
        if capacity < 1 || capacity > most {
            return Err(ConfigError::Capacity { capacity, most });
        }
        let permits = limit.permits();
        WeightedLog::sized(permits, permits, limit.period_nanos(), capacity, clock)
    }

    /// Returns the same log with room for limits up to `max_limit`, and nothing granted. If it
    /// had room for as many requests as the limit, it gets room for `max_limit` of them.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, or too large.
    pub(crate) fn with_max_limit(self, max_limit: u64) -> Result<WeightedLog<C>, ConfigError> {
        let limit = self.limit.get();
        check_max(max_limit, limit, self.window_nanos)?;
        let capacity = if self.capacity < limit {
            self.capacity
        } else {
            let most = MAX_PLACES - MORE;
            check_between(max_limit, limit, most)?;
            self.capacity.max(max_limit)
        };
        let clock = self.ring.into_clock();
        WeightedLog::sized(limit, max_limit, self.window_nanos, capacity, clock)
    }

    fn sized(
        limit: u64,
        max_limit: u64,
        window_nanos: u64,
        capacity: u64,
        clock: C,
    ) -> Result<WeightedLog<C>, ConfigError> {
        let count = LAP.then(u64::BITS - max_limit.leading_zeros() + 1);
        let dates = Dates::new(count.then(u64::BITS - count.end()), window_nanos);
        Ok(WeightedLog {
            ring: EntryRing::new(capacity + MORE, |now_nanos| dates.before(now_nanos), clock),
            capacity,
            limit: Limit::new(limit, Rate::MAX_PERMITS.min(count.max() >> 1))?,
            window_nanos,
            count,
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

    /// Returns the length of a tick; a request leaves the window late by less than this.
    pub(crate) fn resolution_nanos(&self) -> u64 {
        self.dates.tick_nanos()
    }

    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.append(0, |_| permits)
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(permits).map(Receipt::spent)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        // If nothing is available, the denial is that of one permit.
        self.append(0, |room| permits.min(room.max(1)))
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.read(|view| self.decide(permits, 0, view))
    }

    pub(crate) fn count(&self) -> u64 {
        self.read(|view| view.used)
    }

    pub(crate) fn reset(&self) {
        self.ring.reset();
    }

    pub(crate) fn snapshot(&self) -> History {
        self.read(|view| {
            let mut before = self.counted(view.gone);
            let spent = (view.gone + 1..view.head.number).map(|number| {
                let permits = self.difference(self.counted(number), before);
                before = self.counted(number);
                (Dates::age_nanos(self.at(number), view.now_nanos), permits)
            });
            History::of(spent.collect::<Vec<_>>())
        })
    }

    pub(crate) fn restore(&mut self, history: &History, away_nanos: u64) {
        let spent: Vec<_> = history
            .after(away_nanos)
            .filter(|&(age_nanos, _)| age_nanos < self.window_nanos)
            .collect();
        // Entries for which there is no room are counted with the next ones.
        let room = self.ring.places() as usize - 2;
        let (early, late) = spent.split_at(spent.len().saturating_sub(room));
        let early = early.iter().fold(0, |sum: u64, &(_, permits)| sum.saturating_add(permits));
        // If there are more permits than can be counted, the latest count for longest.
        let mut most = self.count.max() >> 1;
        let mut counted: Vec<_> = late
            .iter()
            .rev()
            .map(|&(age_nanos, permits)| {
                let permits = permits.min(most);
                most -= permits;
                (age_nanos, permits)
            })
            .collect();
        counted.reverse();
        let now_nanos = self.ring.now_nanos();
        let date = |age_nanos: u64| self.dates.first(now_nanos.wrapping_sub(age_nanos));
        let mut sum = early.min(most);
        let entries: Vec<_> = counted
            .iter()
            .map(|&(age_nanos, permits)| {
                sum += permits;
                date(age_nanos) | self.count.wrap(sum)
            })
            .collect();
        let oldest = late.first().map_or(0, |&(age_nanos, _)| age_nanos);
        let before = self.dates.before(now_nanos.wrapping_sub(oldest));
        self.ring.rewrite(before, entries.into_iter());
    }

    /// Takes the number of permits that `ask` chooses, given those available, if `reserve` more are there.
    #[inline]
    fn append(&self, reserve: u64, ask: impl Fn(u64) -> u64) -> Result<Grant, Denied> {
        let mut now_nanos = self.ring.now_nanos();
        let mut contender = self.ring.contender();
        loop {
            let view = self.view(now_nanos);
            if self.dates.excess_nanos(view.last, now_nanos) > 0 {
                now_nanos = self.heal();
                continue;
            }
            let permits = ask(view.room());
            let decision = self.decide(permits, reserve, &view);
            if permits == 0 || decision.is_err() {
                if self.ring.still(view.head) {
                    return decision;
                }
            } else {
                if contender.has_stepped_back() {
                    continue;
                }
                let count = self.count.wrap(view.count.wrapping_add(permits));
                if self.ring.append(view.head, self.dated(&view) | count) {
                    self.ring.remember(view.gone);
                    return decision;
                }
                contender.lost_race();
            }
        }
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
            if self.dates.excess_nanos(view.last, view.now_nanos) > 0 {
                return None;
            }
            let value = read(&view);
            if self.ring.still(view.head) {
                return Some(value);
            }
        }
    }

    #[cold]
    fn heal(&self) -> u64 {
        self.ring.heal(|entry, now| self.dates.excess_nanos(self.dates.of(entry), now))
    }

    #[inline]
    fn view(&self, now_nanos: u64) -> View {
        let head = self.ring.head();
        let last = self.ring.entry(head.number - 1);
        let (count, last) = (self.count.get(last), self.dates.of(last));
        let judged = self.dates.judged(now_nanos, last);
        let is_gone = |number| self.dates.is_gone(self.at(number), judged);
        // Entries before the start were reset. The start may be ahead of the head that was
        // read; then the place at the head has been written, and this view will be
        // discarded.
        let start = self.ring.start() - 1;
        // The oldest entry that can be read does not count: an entry is written only if the
        // one after the oldest at that time does not.
        let oldest = head.number - (self.ring.places() - 1);
        let first = start.max(oldest).min(head.number - 1);
        let gone = self.ring.newest_gone(first, head.number, is_gone);
        View {
            head,
            is_full: start <= oldest && gone == first,
            gone,
            used: self.difference(count, self.counted(gone)),
            limit: self.limit.get(),
            now_nanos,
            count,
            last,
        }
    }

    /// Decides a request for all of `permits` or none, if `reserve` more are there: both are no more than `u64::MAX`
    /// together.
    fn decide(&self, permits: u64, reserve: u64, view: &View) -> Result<Grant, Denied> {
        let used = view.used.max(view.limit - view.room());
        let forecast = |used, last: u64, retry_nanos| {
            let left_nanos = self.dates.left_nanos(last, view.now_nanos);
            let reset_nanos = if used == 0 { 0 } else { left_nanos };
            Forecast::Known(KnownForecast { limit: view.limit, used, reset_nanos, retry_nanos })
        };
        let together = permits + reserve;
        if together > view.limit {
            return Err(Denied::TooLarge { limit: view.limit, which: 0 });
        }
        if permits > 0 && (used.saturating_add(together) > view.limit || view.is_full) {
            let retry_nanos = self.wait_nanos(together, view);
            let forecast = forecast(used, view.last, retry_nanos);
            return Err(Denied::Wait(Shortfall { wanted: together as i64, forecast, which: 0 }));
        }
        let last = if permits > 0 { self.dates.of(self.dated(view)) } else { view.last };
        Ok(Grant { permits, forecast: forecast(used.saturating_add(permits), last, 0) })
    }

    /// Returns the date of the entry that comes next.
    #[inline]
    fn dated(&self, view: &View) -> u64 {
        self.dates.entry(view.now_nanos, view.last, self.dates.of(view.head.seen))
    }

    /// Returns the shortest wait after which `permits`, at most the limit, can be granted.
    #[cold]
    fn wait_nanos(&self, permits: u64, view: &View) -> u64 {
        let room = view.limit - permits;
        let fits = |gone| self.difference(view.count, self.counted(gone)) <= room;
        // Finds the first entry that has to be gone; with the last one, all are. At least one
        // more has to go, and among entries that are gone the counts may have wrapped.
        let (mut too_few, mut enough) = (view.gone, view.head.number - 1);
        while enough.saturating_sub(too_few) > 1 {
            let middle = too_few.midpoint(enough);
            if fits(middle) { enough = middle } else { too_few = middle }
        }
        self.dates.left_nanos(self.at(enough), view.now_nanos)
    }

    #[inline]
    fn counted(&self, number: u64) -> u64 {
        self.count.get(self.ring.entry(number))
    }

    #[inline]
    fn difference(&self, to: u64, from: u64) -> u64 {
        to.wrapping_sub(from) & self.count.max()
    }

    /// Returns the date of an entry.
    #[inline]
    fn at(&self, number: u64) -> u64 {
        self.dates.of(self.ring.entry(number))
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests;
