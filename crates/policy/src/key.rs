//! Key expressions: the parts of a request by which limiters tell requests apart.

mod address;

use std::borrow::Cow;
use std::fmt;

pub(crate) use self::address::network;
pub use self::address::{AddressPrefix, client_address};
use crate::key_field::KeyField;
use crate::paths::{PathTemplates, normal_path};
use crate::request::{self, Named, RequestFields};

/// The longest key, in bytes, that a policy can name, and that a service keeps as it is.
pub const MAX_KEY_BYTES: usize = 256;

/// Separator of the parts of a key. A log has it in none, and HTTP allows it in no header and no path.
const SEPARATOR: u8 = b'\n';

/// The text that stands for a value that is missing and [`Missing::Shared`].
const ABSENT: &[u8] = b"-";

/// The key that paths share for which there is no template.
const OTHER: &[u8] = b"other";

/// A part of a key. Requests that agree in all parts of a key share one limiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// A field that every request may have.
    Field(KeyField, Missing),
    /// The network that the client's address is in, such as `203.0.113.0/24`.
    Client(AddressPrefix),
    /// A header, or a column of a log.
    Named(Named, Missing),
    /// The template that the path matches, such as `/users/{id}`.
    Templates(PathTemplates, Otherwise),
    /// So many segments of the path, from its beginning.
    Segments(u32),
}

/// The treatment of a request that lacks a value of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is denied.
    Deny,
    /// It is admitted, without a limit.
    Admit,
    /// All such requests share the key `-`.
    Shared,
}

/// The key of a path that matches no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// The path itself.
    Itself,
    /// The key `other`, which all such paths share.
    Shared,
    /// None: the request is admitted, without a limit.
    Admit,
}

/// The outcome of making a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOutcome {
    /// The request has a key.
    Limited,
    /// It has none, and is admitted.
    Admitted,
    /// It has none, and is denied.
    Denied,
}

/// The key of a request has been made, or cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The outcome. One missing value that is to be denied decides before others that are admitted.
    pub outcome: KeyOutcome,
    /// True if the request lacks a value because of which it is denied or admitted, or all values: then
    /// it shares a key with all others that lack them.
    pub lacks: bool,
    /// True if its client is to be masked by a prefix, and is not an address: it is a key as it is
    /// written.
    pub is_no_address: bool,
}

impl Written {
    /// A key that was made of all its values.
    pub const WHOLE: Written =
        Written { outcome: KeyOutcome::Limited, lacks: false, is_no_address: false };

    fn lack(&mut self, missing: Missing) {
        match (missing, self.outcome) {
            (Missing::Deny, _) => self.outcome = KeyOutcome::Denied,
            (Missing::Admit, KeyOutcome::Limited) => self.outcome = KeyOutcome::Admitted,
            _ => {}
        }
    }
}

/// Writes the key of a request in place of what `key` holds. Parts have a line end between them.
pub fn write(parts: &[KeyPart], request: &impl RequestFields, key: &mut Vec<u8>) -> Written {
    write_values(parts, parts.iter().map(|part| part.value(request)), key)
}

/// Writes a key that is given as text, with a line end between its parts, as requests with these values have it. An empty
/// part is a value that is missing.
pub(crate) fn write_given(parts: &[KeyPart], given: &[u8], key: &mut Vec<u8>) -> Written {
    let values = parts.iter().zip(given.split(|byte| *byte == SEPARATOR));
    let value = |(part, value): (&KeyPart, _)| match part {
        _ if <[u8]>::is_empty(value) => None,
        part if part.is_of_path() => Some(normal_path(value)),
        _ => Some(Cow::Borrowed(value)),
    };
    write_values(parts, values.map(value), key)
}

fn write_values<'v>(
    parts: &[KeyPart],
    values: impl Iterator<Item = Option<Cow<'v, [u8]>>>,
    key: &mut Vec<u8>,
) -> Written {
    key.clear();
    let mut written = Written { lacks: true, ..Written::WHOLE };
    for (place, (part, value)) in parts.iter().zip(values).enumerate() {
        if place > 0 {
            key.push(SEPARATOR);
        }
        let from = key.len();
        part.write(value.as_deref(), key, &mut written);
        written.lacks &= key[from..] == *ABSENT;
    }
    written.lacks |= written.outcome != KeyOutcome::Limited;
    written
}

impl KeyPart {
    /// Returns the value that it is made of.
    fn value<'r>(&self, request: &'r impl RequestFields) -> Option<Cow<'r, [u8]>> {
        let value = match self {
            part if part.is_of_path() => return request::path(request),
            KeyPart::Named(named, _) => named.of(request),
            KeyPart::Field(field, _) => request::field(request, *field),
            _ => request::field(request, KeyField::Client),
        };
        value.map(Cow::Borrowed)
    }

    fn is_of_path(&self) -> bool {
        matches!(
            self,
            KeyPart::Field(KeyField::Path, _) | KeyPart::Templates(..) | KeyPart::Segments(_)
        )
    }

    fn write(&self, value: Option<&[u8]>, key: &mut Vec<u8>, written: &mut Written) {
        let text = value.unwrap_or(ABSENT);
        match self {
            KeyPart::Field(_, missing) | KeyPart::Named(_, missing) if value.is_none() => {
                written.lack(*missing);
                key.extend_from_slice(ABSENT);
            }
            KeyPart::Field(KeyField::Client, _) => _ = AddressPrefix::CLIENT.write(text, key),
            KeyPart::Field(..) | KeyPart::Named(..) => key.extend_from_slice(text),
            KeyPart::Client(prefix) => written.is_no_address |= !prefix.write(text, key),
            KeyPart::Templates(templates, otherwise) => match (templates.of(text), otherwise) {
                (Some(template), _) => key.extend_from_slice(template.as_bytes()),
                (None, Otherwise::Itself) => key.extend_from_slice(text),
                (None, Otherwise::Shared) => key.extend_from_slice(OTHER),
                (None, Otherwise::Admit) if written.outcome == KeyOutcome::Limited => {
                    written.outcome = KeyOutcome::Admitted;
                }
                (None, Otherwise::Admit) => {}
            },
            KeyPart::Segments(segments) => key.extend_from_slice(first_segments(text, *segments)),
        }
    }

    /// Returns the header or the column that it needs, if it needs one.
    #[must_use]
    pub fn named(&self) -> Option<&Named> {
        match self {
            KeyPart::Named(named, _) => Some(named),
            _ => None,
        }
    }
}

/// Returns the path up to the slash after so many segments.
fn first_segments(path: &[u8], segments: u32) -> &[u8] {
    let mut slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    match slashes.nth(segments as usize) {
        Some((end, _)) => &path[..end],
        None => path,
    }
}

/// A field by its name alone. Requests that lack it share the key `-`.
impl From<KeyField> for KeyPart {
    fn from(field: KeyField) -> KeyPart {
        KeyPart::Field(field, Missing::Shared)
    }
}

impl PartialEq<KeyField> for KeyPart {
    fn eq(&self, field: &KeyField) -> bool {
        matches!(self, KeyPart::Field(own, Missing::Shared) if own == field)
    }
}

/// Writes it in words, such as `client /24, /64`.
impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyPart::Field(field, _) => f.write_str(field.name()),
            KeyPart::Client(prefix) => write!(f, "client network ({prefix})"),
            KeyPart::Named(named, _) => write!(f, "{named}"),
            KeyPart::Templates(..) => f.write_str("path template"),
            KeyPart::Segments(1) => f.write_str("first segment of the path"),
            KeyPart::Segments(segments) => write!(f, "first {segments} segments of the path"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request without any field.
    struct Nothing;

    impl RequestFields for Nothing {
        fn field(&self, _: KeyField) -> Option<&[u8]> {
            None
        }
    }

    #[test]
    fn a_missing_value_that_is_denied_counts_before_one_that_is_admitted() {
        let part = |missing| KeyPart::Field(KeyField::User, missing);
        let (deny, admit, shared) =
            (part(Missing::Deny), part(Missing::Admit), part(Missing::Shared));
        let outcome = |parts: &[&KeyPart]| {
            let parts: Vec<KeyPart> = parts.iter().copied().cloned().collect();
            write(&parts, &Nothing, &mut Vec::new()).outcome
        };
        assert_eq!(outcome(&[&deny, &admit]), KeyOutcome::Denied);
        assert_eq!(outcome(&[&admit, &deny]), KeyOutcome::Denied);
        assert_eq!(outcome(&[&shared, &admit]), KeyOutcome::Admitted);
        assert_eq!(outcome(&[&shared]), KeyOutcome::Limited);
    }

    #[test]
    fn segments_are_counted_from_the_beginning() {
        let first = |path: &str, segments| {
            String::from_utf8(first_segments(path.as_bytes(), segments).to_vec()).unwrap()
        };
        assert_eq!(first("/users/7/posts", 1), "/users");
        assert_eq!(first("/users/7/posts", 2), "/users/7");
        assert_eq!(first("/users/7/posts", 3), "/users/7/posts");
        assert_eq!(first("/users/7/posts", 9), "/users/7/posts");
        assert_eq!(first("/users/", 1), "/users");
        assert_eq!(first("/", 1), "/");
        assert_eq!(first("-", 1), "-");
        assert_eq!(first("//a/b", 2), "//a");
    }
}
