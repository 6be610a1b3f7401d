//! The functions behind the literals [`rate!`](crate::rate) and [`quota!`](crate::quota), which
//! run when they are compiled.

use core::time::Duration;

use crate::error::ConfigError;
use crate::quota::{Quota, Refill};
use crate::rate::Rate;

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
/// If it is out of range, with the rule that it breaks.
#[must_use]
pub const fn rate(permits: u64, count: u64, nanos_per_unit: u64) -> Rate {
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
