//! Days of the week.

/// A day of the week.
///
/// # Examples
///
/// ```
/// use sluicegate::calendar::{Budget, Weekday};
///
/// let budget = Budget::daily(1_000, "Europe/Berlin")?.on(Weekday::Sunday, 0)?;
/// assert_eq!(budget.amount(Weekday::Sunday), 0);
/// # Ok::<(), sluicegate::calendar::CalendarError>(())
/// ```
// Not jiff's, so that a new major version of jiff concerns only callers that bring a time zone of
// their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weekday {
    /// The first day of a week, by ISO 8601.
    Monday,
    /// The second.
    Tuesday,
    /// The third.
    Wednesday,
    /// The fourth.
    Thursday,
    /// The fifth.
    Friday,
    /// The sixth.
    Saturday,
    /// The seventh.
    Sunday,
}

impl Weekday {
    /// All days, starting with Monday.
    pub const ALL: [Weekday; 7] = [
        Weekday::Monday,
        Weekday::Tuesday,
        Weekday::Wednesday,
        Weekday::Thursday,
        Weekday::Friday,
        Weekday::Saturday,
        Weekday::Sunday,
    ];

    /// Returns the weekday of the day with this number, where day 0 is 1970-01-01.
    pub(crate) fn of(day: i64) -> Weekday {
        // Day 0 was a Thursday.
        Weekday::ALL[(day + Weekday::Thursday as i64).rem_euclid(7) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekdays_go_round_before_and_after_the_epoch() {
        assert_eq!(Weekday::of(0), Weekday::Thursday);
        assert_eq!(Weekday::of(-3), Weekday::Monday);
        assert_eq!(Weekday::of(4), Weekday::Monday);
        assert!((-15..15).all(|day| Weekday::of(day) == Weekday::of(day + 7)));
    }
}
