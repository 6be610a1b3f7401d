//! The text form of rates and quotas, in the grammar of their literals.
//!
//! ```text
//! rate   = permits "/" period          100 / second      500 / 15 minutes      0.5 / hour
//! quota  = rate *( "," part )          500 / 15 minutes, burst 50, refill interval
//! period = [ count ] unit
//! unit   = ns us ms second minute hour day, or a plural of the last four
//! part   = "burst" count | "refill" ( "smooth" | "interval" ) | "max_debt" count
//! ```
//!
//! Digits may be grouped: `5_000`. Permits may have a decimal point, and nothing is rounded: `2.5 /
//! second` is `5 / 2 seconds`. The default burst of a quota is the permits as they are written,
//! rounded up: 3 for this one.
//!
//! The displayed text of a rate or a quota parses to the same rate or quota.

#[cfg(feature = "alloc")]
mod number;
#[cfg(feature = "alloc")]
mod parse;
#[cfg(feature = "alloc")]
pub(crate) mod parse_error;
pub(crate) mod quoted;
#[cfg(all(feature = "alloc", feature = "serde"))]
mod serde;
pub(crate) mod unit;

use core::fmt;

use crate::time::units::NANOS_PER_SECOND;

use super::quota::Quota;
use super::rate::Rate;
use super::refill::Refill;

use self::unit::{UNITS, Unit};

/// Displays the rate in the syntax of its literal: `500 / 15 minutes`.
///
/// # Examples
///
/// ```
/// use sluicegate::rate;
///
/// assert_eq!(rate!(100 / second).to_string(), "100 / second");
/// assert_eq!(rate!(1 / 1500 ms).to_string(), "1 / 1500 ms");
/// ```
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.period_nanos();
        let divides = |unit: &&Unit| nanos.is_multiple_of(unit.nanos);
        let unit = UNITS.iter().find(divides).unwrap_or(&UNITS[UNITS.len() - 1]);
        let is_abbreviated = unit.nanos < NANOS_PER_SECOND;
        match nanos / unit.nanos {
            1 => write!(f, "{} / {}", self.permits(), unit.one),
            count if is_abbreviated => write!(f, "{} / {count} {}", self.permits(), unit.one),
            count => write!(f, "{} / {count} {}", self.permits(), unit.several),
        }
    }
}

/// Displays the quota in the syntax of its literal: `500 / 15 minutes, burst 50`. Parts that have
/// their default value are left out.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Quota::new(self.rate());
        write!(f, "{}", self.rate())?;
        if self.burst() != plain.burst() {
            write!(f, ", burst {}", self.burst())?;
        }
        if self.refill() != plain.refill() {
            write!(f, ", refill {}", self.refill())?;
        }
        if self.max_debt() != self.burst().min(Quota::MAX_DEBT) {
            write!(f, ", max_debt {}", self.max_debt())?;
        }
        Ok(())
    }
}

/// Displays the word of the quota literal: `smooth` or `interval`.
impl fmt::Display for Refill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refill::Smooth => "smooth",
            Refill::Interval => "interval",
        })
    }
}
