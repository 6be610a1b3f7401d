//! The units of time in the text of rates, with their names.

use crate::time::units::{NANOS_PER_DAY, NANOS_PER_HOUR, NANOS_PER_MINUTE, NANOS_PER_SECOND};

/// A unit of time with its names.
pub(super) struct Unit {
    pub(super) one: &'static str,
    pub(super) several: &'static str,
    pub(super) nanos: u64,
}

/// All units, the longest first. The last divides every period.
pub(super) const UNITS: [Unit; 7] = [
    Unit { one: "day", several: "days", nanos: NANOS_PER_DAY },
    Unit { one: "hour", several: "hours", nanos: NANOS_PER_HOUR },
    Unit { one: "minute", several: "minutes", nanos: NANOS_PER_MINUTE },
    Unit { one: "second", several: "seconds", nanos: NANOS_PER_SECOND },
    Unit { one: "ms", several: "milliseconds", nanos: 1_000_000 },
    Unit { one: "us", several: "microseconds", nanos: 1_000 },
    Unit { one: "ns", several: "nanoseconds", nanos: 1 },
];

/// Returns the length of the unit with this name, singular or plural.
pub(crate) const fn nanos_per(name: &str) -> Option<u64> {
    let mut at = 0;
    while at < UNITS.len() {
        let unit = &UNITS[at];
        if is_same(name, unit.one) || is_same(name, unit.several) {
            return Some(unit.nanos);
        }
        at += 1;
    }
    None
}

/// Compares two texts in a constant expression, where `==` cannot be used.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
