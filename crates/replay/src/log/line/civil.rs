//! Dates and times of day as seconds since 1970.

/// Days before each month in a year without a leap day.
const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// Returns the second of a date and a time of day, `east` seconds from UTC; months count from 0. `None` says nothing about
/// leap seconds, the 29th of February and years before the first: the long way knows them.
#[inline(always)]
pub(in crate::log) fn second(
    [year, month, day]: [i64; 3],
    [hour, minute, second]: [i64; 3],
    east: i64,
) -> Option<i64> {
    let before = *BEFORE_MONTH.get(usize::try_from(month).ok()?)?;
    let days = BEFORE_MONTH.get(month as usize + 1).unwrap_or(&365) - before;
    let is_time = hour < 24 && minute < 60 && second < 60;
    if !(1..=days).contains(&day) || year == 0 || !is_time {
        return None;
    }
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let leap_days = |years: i64| years / 4 - years / 100 + years / 400;
    let days = 365 * (year - 1970) + leap_days(year - 1) - leap_days(1969)
        + before
        + i64::from(is_leap && month > 1)
        + day
        - 1;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second - east)
}

/// Returns the seconds of an offset from UTC in hours and minutes, if they are of a clock.
#[inline(always)]
pub(in crate::log) fn offset(sign: u8, hour: i64, minute: i64) -> Option<i64> {
    let seconds = hour * 3600 + minute * 60;
    match sign {
        _ if hour >= 24 || minute >= 60 => None,
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// Returns the number that two digits from a place on are.
#[inline(always)]
pub(in crate::log) fn two(text: &[u8], at: usize) -> Option<i64> {
    let digit =
        |at: usize| Some(i64::from(text.get(at)?.wrapping_sub(b'0'))).filter(|digit| *digit < 10);
    Some(digit(at)? * 10 + digit(at + 1)?)
}
