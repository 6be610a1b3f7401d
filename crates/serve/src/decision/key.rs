//! The key that a check names.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{OneOf, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Separates the parts of a key.
const SEPARATOR: char = '\n';

/// The key of a caller: one text, or one for each part of the policy's key. Borrows a text that has no escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key<'b> {
    /// The parts with line ends between them.
    text: Cow<'b, str>,
}

impl Key<'_> {
    /// Returns the same key, which borrows from nothing.
    pub(super) fn into_owned(self) -> Key<'static> {
        Key { text: Cow::Owned(self.text.into_owned()) }
    }

    /// Returns the key as the limiter has it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of its parts. One with a line end counts as two.
    pub(super) fn parts(&self) -> usize {
        self.text.split(SEPARATOR).count()
    }
}

impl<'b> From<&'b str> for Key<'b> {
    fn from(text: &'b str) -> Key<'b> {
        Key { text: Cow::Borrowed(text) }
    }
}

impl<'de: 'b, 'b> Deserialize<'de> for Key<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key<'b>, D::Error> {
        deserializer.deserialize_any(TextOrParts).map(|text| Key { text })
    }
}

struct TextOrParts;

impl<'de> Visitor<'de> for TextOrParts {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a list of texts: one for each part of the policy's key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Cow<'de, str>, A::Error> {
        let mut text: String = parts.next_element()?.unwrap_or_default();
        while let Some(part) = parts.next_element::<Cow<'de, str>>()? {
            text.push(SEPARATOR);
            text.push_str(&part);
        }
        Ok(Cow::Owned(text))
    }
}

impl PartialSchema for Key<'_> {
    fn schema() -> RefOr<Schema> {
        let description =
            "The key of a caller: one text, or one for each part of the policy's key.";
        let either = OneOf::builder().description(Some(description));
        either.item(String::schema()).item(Vec::<String>::schema()).into()
    }
}

impl ToSchema for Key<'_> {}
