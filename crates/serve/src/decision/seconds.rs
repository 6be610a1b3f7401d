//! Waits as numbers.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// A wait in seconds, as a decimal number with at most six digits behind the point, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = f64, example = 0.25, minimum = 0)]
pub struct Seconds(pub Duration);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let micros = self.0.as_nanos().div_ceil(1_000);
        // Exact up to 2^53 microseconds, which is 285 years; beyond that a microsecond says nothing.
        #[expect(clippy::cast_precision_loss, reason = "see above")]
        serializer.serialize_f64(micros as f64 / 1e6)
    }
}

/// Reads a number from 0 on. One that is too large counts as the longest time there is.
impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        deserializer.deserialize_f64(Number)
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds, such as 0.25")
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<Seconds, E> {
        if seconds >= 0.0 {
            return Ok(Seconds(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)));
        }
        Err(E::custom(format_args!("{seconds} is no time: must be 0 seconds or more")))
    }

    fn visit_u64<E>(self, seconds: u64) -> Result<Seconds, E> {
        Ok(Seconds(Duration::from_secs(seconds)))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
        // One that is not negative comes as the other type.
        Err(E::custom(format_args!("{seconds} is no time: must be 0 seconds or more")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(nanos: u64) -> String {
        serde_json::to_string(&Seconds(Duration::from_nanos(nanos))).unwrap()
    }

    #[test]
    fn a_time_is_0_or_more_and_at_most_the_longest() {
        let read = |text| serde_json::from_str::<Seconds>(text).map(|seconds| seconds.0);
        assert_eq!(read("0").unwrap(), Duration::ZERO);
        assert_eq!(read("0.25").unwrap(), Duration::from_millis(250));
        assert_eq!(read("1e300").unwrap(), Duration::MAX);
        for wrong in ["-1", "-0.5", "1e999", "\"1\"", "null"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let error = read("\"3s\"").unwrap_err().to_string();
        assert!(error.contains("\"3s\", expected a number of seconds, such as 0.25"), "{error}");
    }

    #[test]
    fn a_wait_is_rounded_up_and_never_to_zero() {
        assert_eq!(shown(0), "0.0");
        assert_eq!(shown(1), "1e-6");
        assert_eq!(shown(1_000), "1e-6");
        assert_eq!(shown(300_000_000), "0.3");
        assert_eq!(shown(300_000_001), "0.300001");
        assert_eq!(shown(86_400_000_000_000), "86400.0");
        assert_eq!(shown(u64::MAX), "18446744073.709553");
    }
}
