//! Serialization of rates and quotas: as text or as a table of their parts in human-readable
//! formats, as numbers in all others.

use alloc::string::{String, ToString};
use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;
use core::time::Duration;

use ::serde::de::value::MapAccessDeserializer;
use ::serde::de::{Error, MapAccess, Visitor};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::config::refill::Refill;

use super::number::Decimal;
use super::parse::{Parts, WrittenRate, period_of, permits_of};
use super::parse_error::ParseError;

/// The parts of a rate, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateParts {
    #[serde(deserialize_with = "permits_as_written")]
    permits: Decimal,
    #[serde(deserialize_with = "period_of_text")]
    period: Duration,
}

fn permits_as_written<'de, D: Deserializer<'de>>(from: D) -> Result<Decimal, D::Error> {
    from.deserialize_any(WrittenPermits)
}

/// Reads permits from a number or its text.
struct WrittenPermits;

impl Visitor<'_> for WrittenPermits {
    type Value = Decimal;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of permits")
    }

    fn visit_u64<E: Error>(self, permits: u64) -> Result<Decimal, E> {
        Ok(Decimal { digits: permits, scale: 1 })
    }

    fn visit_i64<E: Error>(self, permits: i64) -> Result<Decimal, E> {
        self.visit_str(&permits.to_string())
    }

    // The displayed text of a binary number is the shortest that stands for it: the digits that
    // were in the file, if those were at most 15.
    fn visit_f64<E: Error>(self, permits: f64) -> Result<Decimal, E> {
        self.visit_str(&permits.to_string())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Decimal, E> {
        permits_of(text).map_err(E::custom)
    }
}

fn period_of_text<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    period_of(&String::deserialize(from)?).map_err(D::Error::custom)
}

impl TryFrom<RateParts> for WrittenRate {
    type Error = ParseError;

    fn try_from(RateParts { permits, period }: RateParts) -> Result<WrittenRate, ParseError> {
        WrittenRate::new(permits, period)
    }
}

/// The parts of a quota, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaParts {
    rate: WrittenRate,
    burst: Option<u64>,
    refill: Option<Refill>,
    max_debt: Option<u64>,
}

impl TryFrom<QuotaParts> for Quota {
    type Error = ParseError;

    fn try_from(parts: QuotaParts) -> Result<Quota, ParseError> {
        let QuotaParts { rate, burst, refill, max_debt } = parts;
        Parts { burst, refill, max_debt }.quota(rate)
    }
}

/// Reads a `T` from text, or from its `P`arts by name.
struct Written<T, P> {
    example: &'static str,
    parts: PhantomData<(T, P)>,
}

impl<'de, T, P> Visitor<'de> for Written<T, P>
where
    T: FromStr<Err = ParseError> + TryFrom<P, Error = ParseError>,
    P: Deserialize<'de>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.example)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let parts = P::deserialize(MapAccessDeserializer::new(map))?;
        T::try_from(parts).map_err(A::Error::custom)
    }
}

/// Serializes as text, such as `"500 / 15 minutes"`; in formats that are not human-readable, as
/// permits and nanoseconds.
impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            return to.collect_str(self);
        }
        (self.permits(), self.period_nanos()).serialize(to)
    }
}

/// Deserializes from text, from a table of `permits` and `period`, or from the form in which it was
/// serialized.
///
/// The permits of a table may be a number, with or without a decimal point, or its text. Text is
/// exact; a number with a decimal point is exact up to 15 digits.
impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Rate, D::Error> {
        if from.is_human_readable() {
            return Ok(WrittenRate::deserialize(from)?.rate);
        }
        let (permits, period_nanos) = Deserialize::deserialize(from)?;
        Rate::new(permits, Duration::from_nanos(period_nanos)).map_err(D::Error::custom)
    }
}

/// Deserializes from text or from a table: in human-readable formats only.
impl<'de> Deserialize<'de> for WrittenRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<WrittenRate, D::Error> {
        let example = "a rate, such as \"500 / 15 minutes\"";
        let written = Written::<WrittenRate, RateParts> { example, parts: PhantomData };
        from.deserialize_any(written)
    }
}

/// Serializes as text, such as `"500 / 15 minutes, burst 50"`; in formats that are not
/// human-readable, as numbers.
impl Serialize for Quota {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            return to.collect_str(self);
        }
        let is_interval = self.refill() == Refill::Interval;
        (self.rate(), self.burst(), is_interval, self.max_debt()).serialize(to)
    }
}

/// Deserializes from text, from a table of `rate`, `burst`, `refill` and `max_debt` (all but the
/// rate are optional), or from the form in which it was serialized.
///
/// Without a burst, it is the permits as written, rounded up: 34 for `"33.333 / second"`, and for a
/// table with that rate.
impl<'de> Deserialize<'de> for Quota {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Quota, D::Error> {
        if from.is_human_readable() {
            let example = "a quota, such as \"500 / 15 minutes, burst 50\"";
            let written = Written::<Quota, QuotaParts> { example, parts: PhantomData };
            return from.deserialize_any(written);
        }
        let (rate, burst, is_interval, max_debt): (Rate, _, _, _) = Deserialize::deserialize(from)?;
        let refill = if is_interval { Refill::Interval } else { Refill::Smooth };
        let parts = Parts { burst: Some(burst), refill: Some(refill), max_debt: Some(max_debt) };
        parts.quota(rate.into()).map_err(D::Error::custom)
    }
}
