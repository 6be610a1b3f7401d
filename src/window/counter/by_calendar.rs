//! Windows of a calendar.
//!
//! ```text
//!  bit 63                                          0
//!     +------+------------------+------------------+
//!     | GATE |      WINDOW      |      COUNT       |
//!     +------+------------------+------------------+
//!        1            31                  32            minutes, hours: their first second
//!        1            16                  47            days and above: their first day
//! ```
//!
//! The number of the window wraps after 68 years, or 179. After half of that time
//! without a grant, old counts may stand for one window more.
//!
//! The hot path does not consult the calendar: the present window is in a [`Memo`]. The
//! calendar is consulted once in each window, and while the clock is behind the word.

use core::fmt;

use crate::bits::Field;
use crate::config::error::ConfigError;
use crate::decision::history::History;
use crate::time::calendar::day_amounts::Schedule;
use crate::time::calendar::memo::Memo;
use crate::time::calendar::span::{CalendarSpan, SECONDS_PER_DAY};
use crate::time::calendar::weekday::Weekday;
use crate::time::calendar::{Calendar, CalendarUnit};
use crate::time::units::NANOS_PER_SECOND;
use crate::window::gate::OPEN_BITS;
use crate::window::limit::Limit;
use crate::window_counts::WindowCounts;

use super::WindowCounter;
use super::aligned::{total, within_reach};
use super::settle::CountFields;

/// Counts up to 39 hours in nanoseconds.
const COUNT_OF_DAYS: Field = Field::low(47);
const COUNT_OF_SECONDS: Field = Field::low(32);

/// Maximum count of a window of days.
pub(crate) const MOST_IN_DAYS: u64 = COUNT_OF_DAYS.max();

/// The permits that may be granted in the window with a given number.
pub(crate) trait Amounts {
    fn in_window(&self, number: i64) -> u64;

    /// Returns the most that any window has.
    fn most(&self) -> u64;
}

impl Amounts for Limit {
    #[inline]
    fn in_window(&self, _number: i64) -> u64 {
        self.get()
    }

    fn most(&self) -> u64 {
        self.get()
    }
}

/// Amounts for windows of a day.
impl Amounts for Schedule {
    #[inline]
    fn in_window(&self, number: i64) -> u64 {
        self.on(Weekday::of(number))
    }

    fn most(&self) -> u64 {
        Schedule::most(self)
    }
}

#[derive(Debug)]
pub(crate) struct ByCalendar<A> {
    calendar: Calendar,
    memo: Memo,
    count: Field,
    window: Field,
    amounts: A,
    reserves_nanos: u64,
}

/// A time, and the window that contains it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    nanos: u64,
    span: CalendarSpan,
}

impl ByCalendar<Limit> {
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the word has too few bits for it.
    pub(crate) fn new(limit: u64, calendar: Calendar) -> Result<ByCalendar<Limit>, ConfigError> {
        Ok(ByCalendar::with(Limit::new(limit, count(&calendar).max())?, calendar))
    }
}

/// Returns the field of the count in the words of `calendar`.
fn count(calendar: &Calendar) -> Field {
    if calendar.is_of_days() { COUNT_OF_DAYS } else { COUNT_OF_SECONDS }
}

impl<A: Amounts> ByCalendar<A> {
    /// Creates a counter. No amount may be above the range of the count.
    pub(crate) fn with(amounts: A, calendar: Calendar) -> ByCalendar<A> {
        let count = count(&calendar);
        let window = count.then(OPEN_BITS - count.end());
        ByCalendar { calendar, memo: Memo::new(), count, window, amounts, reserves_nanos: 0 }
    }

    pub(crate) fn amounts(&self) -> &A {
        &self.amounts
    }

    /// Returns the window that contains the time `now_nanos`.
    #[inline]
    pub(crate) fn span(&self, now_nanos: u64) -> CalendarSpan {
        let second = (now_nanos / NANOS_PER_SECOND) as i64;
        let is_of_days = self.calendar.is_of_days();
        self.memo.recall(second, is_of_days).unwrap_or_else(|| self.look_up(second, is_of_days))
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self, second: i64, is_of_days: bool) -> CalendarSpan {
        let span = self.calendar.span(second);
        self.memo.keep(&span, is_of_days);
        span
    }

    /// Returns the start, in seconds, of the first window in which `permits` may be granted,
    /// beginning with the one that contains `now_nanos`.
    ///
    /// Looks at three weeks of windows of a day: that includes each weekday, even if
    /// the zone skipped one.
    pub(crate) fn first_with(&self, permits: u64, now_nanos: u64) -> Option<i64> {
        let mut second = (now_nanos / NANOS_PER_SECOND) as i64;
        (0..21).find_map(|_| {
            let span = self.calendar.span(second);
            second = span.end;
            (self.amounts.in_window(span.number) >= permits).then_some(span.start)
        })
    }

    /// Returns by how many windows `word` is ahead of now; less than 0 if it
    /// is behind.
    #[inline]
    fn ahead(&self, word: u64, now: &Now) -> i64 {
        self.window.ahead(self.window.get(word), now.span.number as u64)
    }

    /// Returns the window that is `ahead` windows after that of now.
    #[cold]
    fn later(&self, ahead: i64, now: &Now) -> CalendarSpan {
        self.calendar.numbered(now.span.number + ahead)
    }
}

impl<A: Amounts> WindowCounter for ByCalendar<A> {
    type Now = Now;

    #[inline]
    fn now(&self, now_nanos: u64) -> Now {
        Now { nanos: now_nanos, span: self.span(now_nanos) }
    }

    fn empty(&self, now: &Now) -> u64 {
        self.window.wrap(now.span.number as u64)
    }

    #[inline]
    fn at(&self, word: u64, now: &Now) -> Option<u64> {
        match self.ahead(word, now) {
            0 => Some(word),
            ..0 => Some(self.empty(now)),
            // It may be reserved.
            _ if self.reserves_nanos > 0 => None,
            // The next window, in which a correct clock may be too: no window
            // is shorter than a second, by which threads' clocks may differ.
            ahead => (self.later(ahead, now).start <= now.span.end).then_some(word),
        }
    }

    fn reserve_ahead(&mut self, ahead_nanos: u64) {
        self.reserves_nanos = ahead_nanos.min(self.range_nanos() / 4);
    }

    fn reserves_nanos(&self) -> u64 {
        self.reserves_nanos
    }

    fn begins_in(&self, word: u64, now: &Now) -> Option<u64> {
        let ahead = self.ahead(word, now);
        if self.reserves_nanos == 0 || ahead <= 0 {
            return None;
        }
        // In seconds first, as in `counted`.
        let seconds = self.later(ahead, now).start as u64 - now.nanos / NANOS_PER_SECOND;
        let wait_nanos = seconds.saturating_mul(NANOS_PER_SECOND) - now.nanos % NANOS_PER_SECOND;
        within_reach(wait_nanos, self.reserves_nanos)
    }

    #[inline]
    fn counted(&self, word: u64, now: &Now) -> WindowCounts {
        let ahead = self.ahead(word, now);
        let span = if ahead == 0 { now.span } else { self.later(ahead, now) };
        // In seconds first: the end may be beyond the range of nanoseconds.
        let left = span.end as u64 - now.nanos / NANOS_PER_SECOND;
        WindowCounts {
            limit: self.amounts.in_window(span.number),
            current: self.count.get(word),
            previous: 0,
            left_nanos: left * NANOS_PER_SECOND - now.nanos % NANOS_PER_SECOND,
            length_nanos: (span.end - span.start) as u64 * NANOS_PER_SECOND,
            slides: false,
        }
    }

    fn at_another_time(&self, now_nanos: u64) -> Now {
        let second = (now_nanos / NANOS_PER_SECOND) as i64;
        let known = self.memo.recall(second, self.calendar.is_of_days());
        Now { nanos: now_nanos, span: known.unwrap_or_else(|| self.calendar.span(second)) }
    }

    fn most(&self) -> u64 {
        self.amounts.most()
    }

    #[inline]
    fn plus(&self, word: u64, permits: u64, _now: &Now) -> u64 {
        word + self.count.put(permits)
    }

    fn fields(&self) -> CountFields {
        CountFields { window: self.window, current: self.count, previous: None }
    }

    fn range_nanos(&self) -> u64 {
        let step = if self.calendar.is_of_days() { SECONDS_PER_DAY as u64 } else { 1 };
        self.window.max().saturating_mul(step * NANOS_PER_SECOND)
    }

    fn moved(&self, word: u64, now: &Now) -> u64 {
        self.empty(now) | self.count.put(self.count.get(word))
    }

    fn show_limit(&self, limit: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.calendar.unit() {
            CalendarUnit::Minute => "minute",
            CalendarUnit::Hour => "hour",
            CalendarUnit::Day => "day",
            CalendarUnit::Week => "week",
            CalendarUnit::Month => "month",
        };
        write!(f, "{limit} / {unit}")
    }

    fn history(&self, word: u64, _now: &Now) -> History {
        History::of([(0, self.count.get(word))])
    }

    fn restored(&self, spent: impl Iterator<Item = (u64, u64)>, now: &Now) -> u64 {
        let start_nanos = i128::from(now.span.start) * i128::from(NANOS_PER_SECOND);
        let into_nanos = i128::from(now.nanos) - start_nanos;
        let present = spent.filter(|&(age_nanos, _)| i128::from(age_nanos) <= into_nanos);
        self.empty(now) | self.count.put(total(present).min(self.count.max()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 60 * 60 * NANOS_PER_SECOND;

    fn days(limit: u64) -> ByCalendar<Limit> {
        ByCalendar::new(limit, Calendar::days("UTC").unwrap()).unwrap()
    }

    #[test]
    fn the_word_holds_every_count_and_the_clocks_whole_range() {
        let hours = Calendar::hours("America/New_York").unwrap();
        let most = ByCalendar::new(COUNT_OF_SECONDS.max(), hours.clone()).unwrap();
        let wide = days(MOST_IN_DAYS);
        assert_eq!(
            ByCalendar::new(1 << 32, hours).unwrap_err(),
            ConfigError::Limit { limit: 1 << 32, max: (1 << 32) - 1 }
        );
        for nanos in [0, 1, DAY - 1, 1 << 62, u64::MAX - 1, u64::MAX] {
            for counter in [&most, &wide] {
                let now = counter.now(nanos);
                let word = counter.plus(counter.empty(&now), counter.count.max(), &now);
                assert_eq!(counter.at(word, &now), Some(word));
                let counted = counter.counted(word, &now);
                assert_eq!(counted.current, counter.count.max());
                assert!((1..=counted.length_nanos).contains(&counted.left_nanos), "{counted:?}");
            }
        }
    }

    #[test]
    fn a_number_that_wraps_begins_a_new_window() {
        let counter = days(3);
        let wrap = 1 << 17;
        let (last, first) = (counter.now((wrap - 1) * DAY), counter.now(wrap * DAY));
        let word = counter.plus(counter.empty(&last), 2, &last);
        assert_eq!(counter.at(word, &first), Some(counter.empty(&first)));
        let word = counter.plus(counter.empty(&first), 2, &first);
        assert_eq!(counter.at(word, &last), Some(word));
        assert_eq!(counter.counted(word, &last).left_nanos, 2 * DAY);
    }

    #[cfg(all(feature = "wait", not(sluicegate_loom)))]
    #[test]
    fn a_look_at_the_limit_and_at_days_to_come_leaves_the_present_day_in_the_memo() {
        use crate::time::clock::manual::ManualClock;
        use crate::wait::turn::{TakesTurns, Turn};
        use crate::window::counter::CounterCore;

        let now_nanos = 20_000 * DAY;
        let clock = ManualClock::at(now_nanos);
        let core = CounterCore::new(days(5), &clock);
        core.try_acquire(5).unwrap();
        let memo = || core.counter().memo.recall((now_nanos / NANOS_PER_SECOND) as i64, true);
        assert!(memo().is_some());
        assert_eq!(TakesTurns::limit(&core), 5);
        assert!(memo().is_some(), "after a look at the limit");
        let turn = Turn {
            permits: 10,
            since_nanos: 0,
            now_nanos,
            has_others: false,
            may_heal: false,
            told_nanos: None,
        };
        assert_eq!(core.last_due(turn, None, &mut [5, 5].into_iter()).due_nanos, 20_002 * DAY);
        assert!(memo().is_some(), "after a look at two days to come");
    }
}
