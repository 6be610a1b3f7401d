//! The store of a limiter's keys, as it is written.

use std::fmt;

use bytesize::ByteSize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use toml::Spanned;

use super::{RawRate, Whole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreName {
    Exact,
    Table,
}

/// The treatment of a key for which the store has no space.
#[derive(Debug)]
pub(crate) enum RawWhenFull {
    Deny,
    Admit,
    Share(RawShare),
}

/// The bucket that all such keys share.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawShare {
    pub(crate) limit: Spanned<Whole>,
    pub(crate) rate: Spanned<RawRate>,
}

// By hand, because serde's untagged enums lose the places.
impl<'de> Deserialize<'de> for RawWhenFull {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawWhenFull, D::Error> {
        struct WhenFullVisitor;

        impl<'de> Visitor<'de> for WhenFullVisitor {
            type Value = RawWhenFull;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "\"deny\", \"admit\" or a bucket to share, such as \
                     { limit = 100, rate = { amount = 50, interval = \"1 second\" } }",
                )
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<RawWhenFull, E> {
                match word {
                    "deny" => Ok(RawWhenFull::Deny),
                    "admit" => Ok(RawWhenFull::Admit),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<RawWhenFull, A::Error> {
                RawShare::deserialize(MapAccessDeserializer::new(fields)).map(RawWhenFull::Share)
            }
        }

        deserializer.deserialize_any(WhenFullVisitor)
    }
}

/// An amount of memory in words, such as `64 MiB`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes(pub(crate) u64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct BytesVisitor;

        impl Visitor<'_> for BytesVisitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount of memory in quotes, such as \"64 MiB\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
                let size: Result<ByteSize, _> = text.trim().parse();
                size.map(|size| Bytes(size.as_u64())).map_err(|_| {
                    E::custom(format_args!(
                        "\"{text}\" is not an amount of memory, such as \"64 MiB\" or \"500 kB\""
                    ))
                })
            }
        }

        deserializer.deserialize_str(BytesVisitor)
    }
}
