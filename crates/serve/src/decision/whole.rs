//! Whole numbers in requests.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Reads a field that may be left out.
pub(crate) fn optional<'de, D: Deserializer<'de>>(number: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Whole>::deserialize(number)?.map(|whole| whole.0))
}

/// Reads a number for each name.
pub(super) fn by_name<'de, D: Deserializer<'de>>(
    numbers: D,
) -> Result<BTreeMap<String, u64>, D::Error> {
    let numbers = BTreeMap::<String, Whole>::deserialize(numbers)?;
    Ok(numbers.into_iter().map(|(name, whole)| (name, whole.0)).collect())
}

/// A whole number, whose mistakes are told without the words of a parser.
struct Whole(u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Whole, D::Error> {
        deserializer.deserialize_u64(Digits).map(Whole)
    }
}

struct Digits;

impl Visitor<'_> for Digits {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {}", u64::MAX)
    }

    fn visit_u64<E>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(|_| wrong(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        Err(wrong(number))
    }
}

fn wrong<E: Error>(number: impl fmt::Display) -> E {
    E::custom(format_args!(
        "{number} is not allowed: must be a whole number from 0 to {}",
        u64::MAX
    ))
}
