//! The log of requests of any size.
//!
//! ```text
//!  bit 63                                         1     0
//!     +---------------------+---------------------+-----+
//!     |        TIME         |        COUNT        | LAP |
//!     +---------------------+---------------------+-----+
//! ```
//!
//! `COUNT` is cumulative, up to and with the entry, and has a bit more than the
//! limit, so that a difference of counts is a difference although they wrap. `TIME`
//! is in ticks of a power of two of nanoseconds, such that 146 years fit; an entry
//! is rounded up to a tick, and so leaves the window up to two ticks late and never
//! early.
//!
//! **Theorem.** In any span `(t - W, t]`, no more than the limit is admitted.
//!
//! *Proof.* A request is admitted only if the count with it, less the count of the
//! newest entry that is at least `W` older, is at most the limit. Times do not go
//! back along the log, so all entries after that one, and only those, can be in a
//! span that ends with the new one. ∎

use alloc::vec::Vec;
use core::fmt;

use crate::bits::Field;
use crate::decision::{Denied, Grant, Outlook, Shortfall, Windowed};
use crate::receipt::Receipt;
use crate::sync::Backoff;
use crate::window::{History, Limit};
use crate::{Clock, ConfigError, Rate};

use super::check_capacity;
use super::dates::Dates;
use super::tape::{Head, LAP, Tape};

/// A log whose entries are requests.
pub(crate) struct WeightedLog<C> {
    tape: Tape<C>,
    limit: Limit,
    window_nanos: u64,
    count: Field,
    dates: Dates,
}

/// The log as a call sees it.
struct View {
    head: Head,
    /// The oldest entry that can be looked at: the newest that does not count
    /// is it or later.
    first: u64,
    /// Whether `first` is known not to count.
    is_first_gone: bool,
    limit: u64,
    now_nanos: u64,
    /// The count up to the last entry, and its date.
    count: u64,
    last: u64,
    /// The tick in which the log is judged.
    judged: u64,
}

impl<C: Clock> WeightedLog<C> {
    pub(crate) fn new(limit: Rate, capacity: u64, clock: C) -> Result<WeightedLog<C>, ConfigError> {
        let count = LAP.then(u64::BITS - limit.permits().leading_zeros() + 1);
        let dates = Dates::new(count.then(u64::BITS - count.end()), limit.period_nanos());
        check_capacity(capacity, 1)?;
        Ok(WeightedLog {
            // One more for the entry that is the newest that does not count, and
            // one for the place at the head.
            tape: Tape::new(capacity + 2, |now_nanos| dates.before(now_nanos), clock),
            limit: Limit::new(limit.permits(), Rate::MAX_PERMITS.min(count.max() >> 1))?,
            window_nanos: limit.period_nanos(),
            count,
            dates,
        })
    }

    pub(crate) fn clock(&self) -> &C {
        self.tape.clock()
    }

    pub(crate) fn healed(&self) -> u64 {
        self.tape.healed()
    }

    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }

    pub(crate) fn window_nanos(&self) -> u64 {
        self.window_nanos
    }

    #[inline]
    pub(crate) fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.append(|_| permits)
    }

    pub(crate) fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(permits).map(Receipt::spent)
    }

    pub(crate) fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        // If there is nothing, it is the first permit that is refused.
        self.append(|room| permits.min(room.max(1)))
    }

    pub(crate) fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.read(|view| self.decide(permits, view))
    }

    pub(crate) fn count(&self) -> u64 {
        self.read(|view| self.used(view))
    }

    pub(crate) fn reset(&self) {
        self.tape.reset();
    }

    pub(crate) fn snapshot(&self) -> History {
        self.read(|view| {
            let gone = self.newest_gone(view);
            let mut before = self.counted(gone);
            let spent = (gone + 1..view.head.number).map(|number| {
                let permits = self.difference(self.counted(number), before);
                before = self.counted(number);
                (self.dates.age_nanos(self.at(number), view.now_nanos), permits)
            });
            History::of(spent.collect::<Vec<_>>())
        })
    }

    pub(crate) fn restore(&mut self, history: &History, away_nanos: u64) {
        let spent: Vec<_> = history
            .after(away_nanos)
            .filter(|&(age_nanos, _)| age_nanos < self.window_nanos)
            .collect();
        // Those for which there is no room are counted with the next ones.
        let room = self.tape.places() as usize - 2;
        let (early, late) = spent.split_at(spent.len().saturating_sub(room));
        let mut sum = early.iter().fold(0, |sum: u64, &(_, permits)| sum.saturating_add(permits));
        let most = self.count.max() >> 1;
        let now_nanos = self.tape.now_nanos();
        let date = |age_nanos: u64| self.dates.first(now_nanos.wrapping_sub(age_nanos));
        let entries: Vec<_> = late
            .iter()
            .map(|&(age_nanos, permits)| {
                sum = sum.saturating_add(permits).min(most);
                date(age_nanos) | self.count.wrap(sum)
            })
            .collect();
        let oldest = late.first().map_or(0, |&(age_nanos, _)| age_nanos);
        let before = self.dates.before(now_nanos.wrapping_sub(oldest));
        self.tape.rewrite(before, entries.into_iter());
    }

    /// Takes what `ask` makes of the room that there is.
    #[inline]
    fn append(&self, ask: impl Fn(u64) -> u64) -> Result<Grant, Denied> {
        let mut now_nanos = self.tape.now_nanos();
        let backoff = Backoff::new();
        loop {
            let view = self.view(now_nanos);
            if self.dates.excess_nanos(view.last, now_nanos) > 0 {
                now_nanos = self.heal();
                continue;
            }
            let permits = ask(view.limit.saturating_sub(self.used(&view)));
            let decision = self.decide(permits, &view);
            if permits == 0 || decision.is_err() {
                if self.tape.still(view.head) {
                    return decision;
                }
            } else {
                let count = self.count.wrap(view.count.wrapping_add(permits));
                if self.tape.append(view.head, self.dated(&view) | count) {
                    return decision;
                }
            }
            backoff.spin();
        }
    }

    /// What `read` makes of the log at one moment.
    fn read<T>(&self, read: impl Fn(&View) -> T) -> T {
        let mut now_nanos = self.tape.now_nanos();
        loop {
            let view = self.view(now_nanos);
            if self.dates.excess_nanos(view.last, now_nanos) > 0 {
                now_nanos = self.heal();
                continue;
            }
            let value = read(&view);
            if self.tape.still(view.head) {
                return value;
            }
        }
    }

    #[cold]
    fn heal(&self) -> u64 {
        self.tape.heal(|entry, now| self.dates.excess_nanos(self.dates.of(entry), now))
    }

    #[inline]
    fn view(&self, now_nanos: u64) -> View {
        let head = self.tape.head();
        let last = self.tape.entry(head.number - 1);
        let start = self.tape.start() - 1;
        let oldest = head.number - (self.tape.places() - 1);
        View {
            head,
            first: start.max(oldest),
            is_first_gone: start >= oldest,
            limit: self.limit.get(),
            now_nanos,
            count: self.count.get(last),
            last: self.dates.of(last),
            judged: self.dates.judged(now_nanos, self.dates.of(last)),
        }
    }

    /// All of `permits` or none.
    fn decide(&self, permits: u64, view: &View) -> Result<Grant, Denied> {
        let used = self.used(view);
        let outlook = |used, last: u64, retry_nanos| {
            let left_nanos = self.dates.left_nanos(last, view.now_nanos);
            let reset_nanos = if used == 0 { 0 } else { left_nanos };
            Outlook::Windowed(Windowed { limit: view.limit, used, reset_nanos, retry_nanos })
        };
        if permits > view.limit {
            return Err(Denied::TooLarge { limit: view.limit, which: 0 });
        }
        let after = used.saturating_add(permits);
        if permits > 0 && (after > view.limit || self.is_full(view)) {
            let retry_nanos = self.wait_nanos(permits, view);
            let outlook = outlook(used, view.last, retry_nanos);
            return Err(Denied::Wait(Shortfall { wanted: permits as i64, outlook, which: 0 }));
        }
        let last = if permits > 0 { self.dates.of(self.dated(view)) } else { view.last };
        Ok(Grant { permits, outlook: outlook(after, last, 0) })
    }

    /// The date of the entry that comes next.
    #[inline]
    fn dated(&self, view: &View) -> u64 {
        self.dates.entry(view.now_nanos, view.last, self.dates.of(view.head.seen))
    }

    /// The permits that count.
    fn used(&self, view: &View) -> u64 {
        self.difference(view.count, self.counted(self.newest_gone(view)))
    }

    /// The newest entry that does not count; the first one if the log is full.
    fn newest_gone(&self, view: &View) -> u64 {
        // Behind `gone` is the newest that is gone, before `counts`.
        let (mut gone, mut counts) = (view.first, view.head.number);
        while counts - gone > 1 {
            let middle = gone.midpoint(counts);
            if self.is_gone(middle, view) { gone = middle } else { counts = middle }
        }
        gone
    }

    #[inline]
    fn is_gone(&self, number: u64, view: &View) -> bool {
        self.dates.is_gone(self.at(number), view.judged)
    }

    /// Whether there is no room for another entry: all that there are still count.
    #[inline]
    fn is_full(&self, view: &View) -> bool {
        !view.is_first_gone && !self.is_gone(view.first, view)
    }

    /// The least wait after which `permits`, at most the limit, can be granted.
    #[cold]
    fn wait_nanos(&self, permits: u64, view: &View) -> u64 {
        let room = view.limit - permits;
        let fits = |gone| self.difference(view.count, self.counted(gone)) <= room;
        // The least entry that has to be gone; with the last one, all are.
        let (mut too_few, mut enough) = (view.first, view.head.number - 1);
        if self.is_full(view) && fits(view.first) {
            enough = view.first;
        }
        while enough.saturating_sub(too_few) > 1 {
            let middle = too_few.midpoint(enough);
            if fits(middle) { enough = middle } else { too_few = middle }
        }
        self.dates.left_nanos(self.at(enough), view.now_nanos)
    }

    #[inline]
    fn counted(&self, number: u64) -> u64 {
        self.count.get(self.tape.entry(number))
    }

    #[inline]
    fn difference(&self, to: u64, from: u64) -> u64 {
        to.wrapping_sub(from) & self.count.max()
    }

    /// The date of an entry.
    #[inline]
    fn at(&self, number: u64) -> u64 {
        self.dates.of(self.tape.entry(number))
    }
}

impl<C> fmt::Debug for WeightedLog<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeightedLog")
            .field("limit", &self.limit)
            .field("tape", &self.tape)
            .finish_non_exhaustive()
    }
}
