//! Decisions: a request is granted by one CAS of the place at the head, as the log was read.

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::super::count::Count;
use super::super::entry_ring::Head;
use super::RequestLog;

/// The log as one call sees it.
pub(super) struct View {
    pub(super) head: Head,
    /// Set if there is no room for another entry: after adding one, the oldest entry
    /// that can still be read would count.
    pub(super) is_full: bool,
    /// Number of the newest entry that does not count.
    pub(super) gone: u64,
    /// Permits that count.
    pub(super) used: u64,
    pub(super) limit: u64,
    pub(super) now_nanos: u64,
    /// Count up to the last entry; below, its date.
    pub(super) count: u64,
    pub(super) last: u64,
}

impl View {
    /// Returns the permits that are available; none if no place is left.
    pub(super) fn room(&self) -> u64 {
        if self.is_full { 0 } else { self.limit.saturating_sub(self.used) }
    }
}

impl<C: Clock, N: Count> RequestLog<C, N> {
    /// Takes the number of permits that `ask` chooses, given those available, if `reserve` more are there.
    #[inline]
    pub(super) fn append(&self, reserve: u64, ask: impl Fn(u64) -> u64) -> Result<Grant, Denied> {
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
                let count = self.count.part(view.count.wrapping_add(permits));
                if self.ring.append(view.head, self.dated(&view) | count) {
                    self.ring.remember(view.gone);
                    return decision;
                }
                contender.lost_race();
            }
        }
    }

    /// Returns the value that `read` computes from the log as it was at one moment.
    pub(super) fn read<T>(&self, read: impl Fn(&View) -> T) -> T {
        let mut now_nanos = self.ring.now_nanos();
        loop {
            match self.read_at(now_nanos, &read) {
                Some(value) => return value,
                None => now_nanos = self.heal(),
            }
        }
    }

    /// Does the same at `now_nanos`; `None` if the clock was set back.
    pub(super) fn read_at<T>(&self, now_nanos: u64, read: impl Fn(&View) -> T) -> Option<T> {
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
        let (count, last) = (self.count.up_to(head.number - 1, || last), self.dates.of(last));
        let judged = self.dates.judged(now_nanos, last);
        let is_gone = |number| self.dates.is_gone(self.at(number), judged);
        // Entries before the start were reset. The start may be ahead of the head that was
        // read; then the place at the head has been written, and this view will be
        // discarded.
        let start = self.ring.start();
        // The entry before the oldest place for one that counts does not count, and its count can be read: an entry is
        // written only if the one after it does not count, either.
        let oldest = head.number + N::MORE_PLACES - self.ring.places();
        let first = start.max(oldest).min(head.number) - 1;
        let gone = self.ring.newest_gone(first, head.number, is_gone);
        View {
            head,
            is_full: start <= oldest && gone == first,
            gone,
            used: self.count.difference(count, self.counted(gone)),
            limit: self.limit.get(),
            now_nanos,
            count,
            last,
        }
    }

    /// Decides a request for all of `permits` or none, if `reserve` more are there: both are no more than `u64::MAX`
    /// together.
    pub(super) fn decide(&self, permits: u64, reserve: u64, view: &View) -> Result<Grant, Denied> {
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
        // At least one more than is gone has to go; with the last one, all are.
        let all = (view.gone, view.head.number - 1);
        let enough =
            self.count.first_within(room, view.count, all, |number| self.ring.entry(number));
        self.dates.left_nanos(self.at(enough), view.now_nanos)
    }

    #[inline]
    pub(super) fn counted(&self, number: u64) -> u64 {
        self.count.up_to(number, || self.ring.entry(number))
    }

    /// Returns the date of an entry.
    #[inline]
    pub(super) fn at(&self, number: u64) -> u64 {
        self.dates.of(self.ring.entry(number))
    }
}
