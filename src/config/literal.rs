//! The literals [`rate!`](crate::rate) and [`quota!`](crate::quota), and the functions behind them,
//! which run at compile time.

use core::time::Duration;

use super::error::ConfigError;
use super::quota::Quota;
use super::rate::Rate;
use super::refill::Refill;
use super::text::unit::nanos_per;

/// Makes a [`Rate`] literal, checked at compile time, by `cargo check` too.
///
/// The syntax is permits `/` a period, where a period is a unit or a number of units:
///
/// | unit | also |
/// |---|---|
/// | `ns`, `us`, `ms` | `nanoseconds`, `microseconds`, `milliseconds` |
/// | `second`, `minute`, `hour`, `day` (24 hours) | `seconds`, `minutes`, `hours`, `days` |
///
/// The permits may be a constant; the number of units must be a literal. Both are whole numbers:
/// half a permit a second is `1 / 2 seconds`. The permits of a period are from 1 to 2^32, the period
/// is from 1 ns to 100 years, and the rate is at most 2^31 permits a second. Text in the same syntax
/// can be parsed at run time: see [`Rate`]'s `FromStr`.
///
/// A variable does not compile; for that, call [`Rate::new`].
///
/// # Examples
///
/// ```
/// use sluicegate::{Rate, rate};
///
/// const LOGIN: Rate = rate!(5 / minute);
/// let upload = rate!(500 / 15 minutes);
/// let tick = rate!(1 / 250 ms);
/// ```
///
/// A rate that is out of range does not compile:
///
/// ```compile_fail
/// let never = sluicegate::rate!(0 / second);
/// ```
///
/// Nor does an unknown unit:
///
/// ```compile_fail
/// let often = sluicegate::rate!(5 / fortnight);
/// ```
#[macro_export]
macro_rules! rate {
    ($permits:tt / $unit:ident) => {
        $crate::rate!($permits / 1 $unit)
    };
    ($permits:tt / $count:literal $unit:ident) => {{
        // A named constant, because `cargo check` does not evaluate unnamed ones. The compiler shows the name
        // to a caller whose permits are a variable.
        const TAKES_CONSTANTS_ONLY_OTHERWISE_CALL_RATE_NEW: $crate::Rate = $crate::literal::rate(
            $permits,
            $count,
            ::core::stringify!($unit),
            ::core::concat!(
                "period has the unit `",
                ::core::stringify!($unit),
                "`: must be ns, us, ms, second, minute, hour or day, or a plural of the last four",
            ),
        );
        TAKES_CONSTANTS_ONLY_OTHERWISE_CALL_RATE_NEW
    }};
    ($($other:tt)*) => {
        ::core::compile_error!(
            "rate must be permits / period in whole numbers, such as 100 / second or \
             500 / 15 minutes; the units are ns, us, ms, second, minute, hour and day, and the \
             plurals of the last four"
        )
    };
}

/// Makes a [`Quota`] literal, checked at compile time, by `cargo check` too.
///
/// The syntax is a rate as in [`rate!`](crate::rate), permits `/` a period, with these units:
///
/// | unit | also |
/// |---|---|
/// | `ns`, `us`, `ms` | `nanoseconds`, `microseconds`, `milliseconds` |
/// | `second`, `minute`, `hour`, `day` (24 hours) | `seconds`, `minutes`, `hours`, `days` |
///
/// Then come any of these parts, each after a comma. Parts left out have the defaults of
/// [`Quota::new`]:
///
/// | part | range | |
/// |---|---|---|
/// | `burst 20` | 1 to 2^32 | [`with_burst`](Quota::with_burst) |
/// | `refill interval` or `refill smooth` | | [`with_refill`](Quota::with_refill) |
/// | `max_debt 0` | 0 to 2^32 - 1 | [`with_max_debt`](Quota::with_max_debt) |
///
/// Text in the same syntax can be parsed at run time: see [`Quota`]'s `FromStr`.
///
/// A variable does not compile; for that, call [`Quota::per_second`] and the like, or [`Quota::new`].
///
/// # Examples
///
/// ```
/// use sluicegate::{Quota, quota};
///
/// const API: Quota = quota!(100 / second, burst 20);
/// let hourly = quota!(5_000 / hour, refill interval);
/// assert_eq!(hourly.burst(), 5_000);
/// ```
///
/// A part that is out of range does not compile:
///
/// ```compile_fail
/// let quota = sluicegate::quota!(100 / second, burst 0);
/// ```
///
/// Nor does an unknown part:
///
/// ```compile_fail
/// let quota = sluicegate::quota!(100 / second, bust 20);
/// ```
#[macro_export]
macro_rules! quota {
    ($permits:tt / $unit:ident $(, $part:ident $value:expr)* $(,)?) => {
        $crate::quota!($permits / 1 $unit $(, $part $value)*)
    };
    ($permits:tt / $count:literal $unit:ident $(, $part:ident $value:expr)* $(,)?) => {{
        // A named constant, as in `rate!`.
        const TAKES_CONSTANTS_ONLY_OTHERWISE_CALL_QUOTA_NEW: $crate::Quota = {
            #[allow(unused_imports, reason = "only a part `refill` needs them")]
            use $crate::literal::{interval, smooth};
            let quota = $crate::Quota::new($crate::rate!($permits / $count $unit));
            $(let quota = $crate::__quota_part!($part quota, $value);)*
            quota
        };
        TAKES_CONSTANTS_ONLY_OTHERWISE_CALL_QUOTA_NEW
    }};
    ($($other:tt)*) => {
        ::core::compile_error!(
            "quota must be permits / period and then parts, each after a comma, such as \
             100 / second or 500 / 15 minutes, burst 50; the units are ns, us, ms, second, minute, \
             hour and day, and the plurals of the last four"
        )
    };
}

/// Sets one part of a quota, for [`quota!`](crate::quota).
#[doc(hidden)]
#[macro_export]
macro_rules! __quota_part {
    (burst $quota:ident, $value:expr) => {
        $crate::literal::quota($quota.with_burst($value))
    };
    (refill $quota:ident, $value:expr) => {
        $quota.with_refill($value)
    };
    (max_debt $quota:ident, $value:expr) => {
        $crate::literal::quota($quota.with_max_debt($value))
    };
    ($part:ident $quota:ident, $value:expr) => {
        ::core::compile_error!(::core::concat!(
            "quota has a part `",
            ::core::stringify!($part),
            "`: must be burst, refill or max_debt",
        ))
    };
}

/// The word `interval` in `refill interval`.
#[expect(non_upper_case_globals, reason = "it is a word of the literal")]
pub const interval: Refill = Refill::Interval;

/// The word `smooth` in `refill smooth`.
#[expect(non_upper_case_globals, reason = "it is a word of the literal")]
pub const smooth: Refill = Refill::Smooth;

/// Returns the rate of `permits` per `count` units.
///
/// # Panics
///
/// Panics if the rate is out of range, with the rule that it breaks; or if no unit has the name
/// `unit`, with the text `no_such_unit`.
#[must_use]
pub const fn rate(permits: u64, count: u64, unit: &str, no_such_unit: &str) -> Rate {
    let Some(nanos_per_unit) = nanos_per(unit) else { panic!("{}", no_such_unit) };
    match Rate::new(permits, Duration::from_nanos(count.saturating_mul(nanos_per_unit))) {
        Ok(rate) => rate,
        Err(error) => refuse(&error),
    }
}

/// Returns the quota if it is valid.
///
/// # Panics
///
/// Panics if it is not, with the rule that it breaks.
#[must_use]
pub const fn quota(checked: Result<Quota, ConfigError>) -> Quota {
    match checked {
        Ok(quota) => quota,
        Err(error) => refuse(&error),
    }
}

const fn refuse(error: &ConfigError) -> ! {
    panic!("{}", error.literal())
}
