//! Lines that are JSON objects.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::found::Found;
use super::names::{Names, Wanted};
use super::record::{Record, Scratch};
use crate::log::line::{BadLine, shown};
use crate::log::presence::Presence;

/// Objects within each other in which names are remembered.
const LEARNT_DEPTH: usize = 6;

/// Reads one line. Its values are copied to `scratch`.
pub(super) fn record<'a>(
    names: &Names,
    line: &[u8],
    scratch: &'a mut Scratch,
    presence: &Presence,
) -> Result<Option<Record<'a>>, BadLine> {
    let json_error = |error: serde_json::Error| BadLine::Json(shown(error.to_string().as_bytes()));
    scratch.text.clear();
    scratch.path.clear();
    let mut found = Found::default();
    let learner = scratch.learns().then_some(presence);
    let object = Object { names, found: &mut found, scratch, learner };
    let mut reader = serde_json::Deserializer::from_slice(line);
    object.deserialize(&mut reader).and_then(|()| reader.end()).map_err(json_error)?;
    found.named_record(&scratch.text, names)
}

/// An object of the line. Names of fields within it follow the names of the objects around it, with
/// points between.
struct Object<'a> {
    names: &'a Names,
    found: &'a mut Found,
    scratch: &'a mut Scratch,
    /// Remembers the names.
    learner: Option<&'a Presence>,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let outer = self.scratch.path.len();
        while let Some(Key(key)) = map.next_key()? {
            self.scratch.path.push_str(&key);
            let names = self.names;
            let wanted = names.get(&self.scratch.path);
            let is_wanted = wanted.is_some() || names.asked.lead_to(&self.scratch.path);
            let learner =
                self.learner.filter(|_| self.scratch.path.matches('.').count() < LEARNT_DEPTH);
            if is_wanted || learner.is_some() {
                let value: &RawValue = map.next_value()?;
                if let Some(learner) = learner.filter(|_| !value.get().starts_with('{')) {
                    learner.learn([self.scratch.path.as_str()]);
                }
                self.value(wanted, value.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            self.scratch.path.truncate(outer);
        }
        Ok(())
    }
}

impl Object<'_> {
    fn value(&mut self, wanted: Option<&Wanted>, raw: &str) {
        if raw.starts_with('{') {
            self.scratch.path.push('.');
            let Object { names, found, scratch, learner } = self;
            let inner = Object { names, found, scratch, learner: *learner };
            // Its syntax was checked when it was read; one too deep has no field.
            let _ = inner.deserialize(&mut serde_json::Deserializer::from_str(raw));
            return;
        }
        let first: Vec<&RawValue>;
        let raw = if raw.starts_with('[') {
            first = serde_json::from_str(raw).unwrap_or_default();
            first.first().map_or("null", |first| first.get())
        } else {
            raw
        };
        let text: Cow<'_, str> = match raw.as_bytes() {
            [b'{' | b'[', ..] | b"null" | b"\"\"" | b"\"-\"" => return,
            [b'"', text @ .., b'"'] if memchr::memchr(b'\\', text).is_none() => {
                Cow::Borrowed(&raw[1..raw.len() - 1])
            }
            [b'"', ..] => match serde_json::from_str::<String>(raw) {
                // Keys separate their fields by line ends.
                Ok(text) => Cow::Owned(text.replace('\n', "\\n")),
                Err(_) => return,
            },
            _ => Cow::Borrowed(raw),
        };
        let start = self.scratch.text.len();
        self.scratch.text.extend_from_slice(text.as_bytes());
        let place = start..self.scratch.text.len();
        self.found.put_named(self.names, (&self.scratch.path, wanted), &place);
    }
}

/// The name of a value.
struct Key<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Key<'de>, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Text)
    }
}
