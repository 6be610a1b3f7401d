//! The literals [`rate!`](super::rate) and [`quota!`](super::quota), and the functions behind
//! them, which run when they are compiled.

use core::time::Duration;

use super::error::ConfigError;
use super::quota::Quota;
use super::rate::Rate;
use super::refill::Refill;
use super::text::nanos_per;

/// Makes a [`Rate`] literal, checked when it is compiled, also by `cargo check`.
///
/// Permits `/` a period: a unit, or a count of it. The units are `ns`, `us`, `ms`, `second`,
/// `minute`, `hour`, `day`, and the plurals of the last four. The permits may be a constant; a
/// count of units is a literal. The same words can be read at run time: see [`Rate`]'s
/// `FromStr`.
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
/// A rate that is out of range does not build:
///
/// ```compile_fail
/// let never = sluicegate::rate!(0 / second);
/// ```
///
/// Nor does a unit that is none:
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
        // A constant with a name, as `cargo check` does not look at others.
        const __SLUICEGATE_RATE: $crate::Rate = $crate::literal::rate(
            $permits,
            $count,
            ::core::stringify!($unit),
            ::core::concat!(
                "period has the unit `",
                ::core::stringify!($unit),
                "`: must be ns, us, ms, second, minute, hour or day, or a plural of the last four",
            ),
        );
        __SLUICEGATE_RATE
    }};
}

/// Makes a [`Quota`] literal, checked when it is compiled, also by `cargo check`.
///
/// A rate as in [`rate!`](super::rate), then any of these parts, each after a comma. What is left
/// out is as [`Quota::new`] says:
///
/// | part | |
/// |---|---|
/// | `burst 20` | [`with_burst`](Quota::with_burst) |
/// | `refill interval` or `refill smooth` | [`with_refill`](Quota::with_refill) |
/// | `initial 5` | [`with_initial`](Quota::with_initial) |
/// | `max_debt 0` | [`with_max_debt`](Quota::with_max_debt) |
///
/// The same words can be read at run time: see [`Quota`]'s `FromStr`.
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
/// A part that is out of range does not build:
///
/// ```compile_fail
/// let quota = sluicegate::quota!(100 / second, burst 0);
/// ```
///
/// Nor does one that is none:
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
        // A constant with a name, as `cargo check` does not look at others.
        const __SLUICEGATE_QUOTA: $crate::Quota = {
            #[allow(unused_imports, reason = "only a part `refill` needs them")]
            use $crate::literal::{interval, smooth};
            let quota = $crate::Quota::new($crate::rate!($permits / $count $unit));
            $(let quota = $crate::__quota_part!($part quota, $value);)*
            quota
        };
        __SLUICEGATE_QUOTA
    }};
}

/// A quota with one part given, for [`quota!`](super::quota).
#[doc(hidden)]
#[macro_export]
macro_rules! __quota_part {
    (burst $quota:ident, $value:expr) => {
        $crate::literal::quota($quota.with_burst($value))
    };
    (refill $quota:ident, $value:expr) => {
        $quota.with_refill($value)
    };
    (initial $quota:ident, $value:expr) => {
        $crate::literal::quota($quota.with_initial($value))
    };
    (max_debt $quota:ident, $value:expr) => {
        $crate::literal::quota($quota.with_max_debt($value))
    };
    ($part:ident $quota:ident, $value:expr) => {
        ::core::compile_error!(::core::concat!(
            "quota has a part `",
            ::core::stringify!($part),
            "`: must be burst, refill, initial or max_debt",
        ))
    };
}

/// The word of a quota's part `refill`.
#[expect(non_upper_case_globals, reason = "it is a word of the literal")]
pub const interval: Refill = Refill::Interval;

/// The word of a quota's part `refill`.
#[expect(non_upper_case_globals, reason = "it is a word of the literal")]
pub const smooth: Refill = Refill::Smooth;

/// The rate of so many permits per so many units.
///
/// # Panics
///
/// If it is out of range, with the rule that it breaks; if no unit has that name, with the text
/// that is given for this.
#[must_use]
pub const fn rate(permits: u64, count: u64, unit: &str, no_such_unit: &str) -> Rate {
    let Some(nanos_per_unit) = nanos_per(unit) else { panic!("{}", no_such_unit) };
    match Rate::new(permits, Duration::from_nanos(count.saturating_mul(nanos_per_unit))) {
        Ok(rate) => rate,
        Err(error) => refuse(&error),
    }
}

/// The quota, if it is one.
///
/// # Panics
///
/// If it is none, with the rule that it breaks.
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
