//! A cache of the calendar window that was looked up last.
//!
//! ```text
//!  bit 63                                             0
//!     +---------+------------------------+------------+
//!     |  CARRY  |         START          |   LENGTH   |
//!     +---------+------------------------+------------+
//! ```
//!
//! `START` and `LENGTH` are in seconds. The number of a window of days is the UTC day of its start
//! plus `CARRY`, the days by which the zone's date differs.

use crate::bits::Field;
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;

use super::span::{CalendarSpan, SECONDS_PER_DAY};

/// Up to 48 days.
const LENGTH: Field = Field::low(22);
/// Up to 1000 years before and after the epoch. Like `CARRY`, in two's complement.
const START: Field = LENGTH.then(36);
const CARRY: Field = START.then(6);

const _: () = assert!(CARRY.end() == u64::BITS);

/// One cached window, which any thread may replace.
#[derive(Debug)]
pub(crate) struct Memo {
    word: AtomicWord<u64>,
}

impl Memo {
    pub(crate) fn new() -> Memo {
        // A window of length 0 contains no time.
        Memo { word: AtomicWord::new(0) }
    }

    /// Returns the cached window if it contains `second`.
    #[inline]
    pub(crate) fn recall(&self, second: i64, is_of_days: bool) -> Option<CalendarSpan> {
        // ORDERING: Relaxed. The word is a whole window and refers to no other memory; it is a
        // window of the calendar, no matter which thread stored it and when.
        // MODEL: `a_memo_of_the_calendar_is_whole`.
        let word = self.word.load(Relaxed);
        let start = START.ahead(START.get(word), 0);
        let end = start + LENGTH.get(word) as i64;
        if !(start..end).contains(&second) {
            return None;
        }
        let number = if is_of_days {
            start.div_euclid(SECONDS_PER_DAY) + CARRY.ahead(CARRY.get(word), 0)
        } else {
            start
        };
        Some(CalendarSpan { start, end, number })
    }

    /// Caches `span`.
    pub(crate) fn keep(&self, span: &CalendarSpan, is_of_days: bool) {
        let carry =
            if is_of_days { span.number - span.start.div_euclid(SECONDS_PER_DAY) } else { 0 };
        let length = (span.end - span.start) as u64;
        // In a time zone made by the user, a day may take months.
        if length > LENGTH.max() || !(-32..32).contains(&carry) {
            return;
        }
        let word = LENGTH.put(length) | START.wrap(span.start as u64) | CARRY.wrap(carry as u64);
        // ORDERING: Relaxed, as in `recall`. It does not matter which store is the last: a caller
        // that finds a window other than the one it needs asks the calendar.
        // MODEL: `a_memo_of_the_calendar_is_whole`.
        self.word.store(word, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_recalled_as_it_was_for_each_of_its_seconds_and_no_other() {
        let day = |number: i64, start, end| CalendarSpan { start, end, number };
        for (span, is_of_days) in [
            (day(0, -3_600, 82_800), true),
            (day(-1, -40_000, 3_000_000), true),
            (day(3, 5 * SECONDS_PER_DAY, 6 * SECONDS_PER_DAY), true),
            (day(213_503, 18_446_744_073, 18_446_800_000), true),
            (day(18_446_744_040, 18_446_744_040, 18_446_744_100), false),
            (day(-5, -5, 1), false),
            // The longest window.
            (day(2, 2, (1 << 22) + 1), false),
        ] {
            let memo = Memo::new();
            assert_eq!(memo.recall(0, is_of_days), None);
            memo.keep(&span, is_of_days);
            for second in [span.start, span.end - 1] {
                assert_eq!(memo.recall(second, is_of_days), Some(span));
            }
            assert_eq!(memo.recall(span.start - 1, is_of_days), None);
            assert_eq!(memo.recall(span.end, is_of_days), None);
        }
    }

    #[test]
    fn a_window_that_the_word_cannot_hold_is_not_remembered() {
        let memo = Memo::new();
        memo.keep(&CalendarSpan { start: 0, end: 1 << 22, number: 0 }, true);
        assert_eq!(memo.recall(1, true), None);
        memo.keep(&CalendarSpan { start: 0, end: 5, number: 40 }, true);
        assert_eq!(memo.recall(1, true), None);
    }
}
