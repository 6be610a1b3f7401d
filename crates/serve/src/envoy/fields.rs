//! Descriptors as requests that policies look at.

use sluicegate_policy::{Filter, KeyField, KeyPart, LimiterPolicy, Named, RequestFields};

use super::protocol::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;

/// A descriptor as a request that policies look at: the key of an entry is the name of a header or a column, or that
/// of a field, which Envoy has names of its own for.
pub(super) struct Fields<'r>(pub(super) &'r RateLimitDescriptor);

/// The fields that filters and keys may depend on.
const FIELDS: [KeyField; 8] = [
    KeyField::Client,
    KeyField::Path,
    KeyField::Method,
    KeyField::Status,
    KeyField::StatusClass,
    KeyField::User,
    KeyField::Referer,
    KeyField::Agent,
];

/// Returns the keys of entries that stand for a field. The first one is what Envoy calls it.
fn keys_of(field: KeyField) -> &'static [&'static str] {
    match field {
        KeyField::Client => &["remote_address", "masked_remote_address", "client"],
        KeyField::Path => &["path", ":path", "PATH"],
        KeyField::Method => &["method", ":method"],
        KeyField::Status | KeyField::StatusClass => &["status"],
        KeyField::User => &["user"],
        KeyField::Referer => &["referer"],
        KeyField::Agent => &["agent"],
        KeyField::All => &[],
    }
}

/// Returns the keys and the values, which may be no texts.
pub(super) fn pairs(descriptor: &RateLimitDescriptor) -> impl Iterator<Item = (&[u8], &[u8])> {
    descriptor.entries.iter().map(|entry| (&entry.key[..], &entry.value[..]))
}

impl Fields<'_> {
    fn first(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Option<&[u8]> {
        let mut pairs = pairs(self.0);
        pairs.find(|(key, _)| is_wanted(key)).map(|(_, value)| value)
    }

    /// Returns the entries that the descriptor would need for a limiter whose `match`, `except` and `key` look at them, in words;
    /// `None` if it has all. Without one, the limiter would judge nothing, or all as one, in silence.
    pub(super) fn missing(&self, policy: &LimiterPolicy) -> Option<String> {
        let filters = || std::iter::once(&policy.filter).chain(&policy.except);
        let of_field = |field| filters().any(|filter: &Filter| filter.depends_on(field));
        let in_key = |field| policy.key.iter().any(|part| field_of(part) == Some(field));
        let fields = FIELDS.into_iter().filter(|field| of_field(*field) || in_key(*field));
        let fields = fields.filter(|field| self.field(*field).is_none());
        let fields = fields.map(|field| format!("`{}`", keys_of(field).join("` or `")));
        let named = filters().flat_map(|filter| filter.named.iter().map(|(named, _)| named));
        let named = named.chain(policy.key.iter().filter_map(KeyPart::named));
        // An entry whose value is empty is there.
        let named = named.filter_map(|named| match named {
            Named::Header(name) => self.header(name).is_none().then_some(name),
            Named::Column(name) => self.column(name).is_none().then_some(name),
        });
        let named = named.map(|name| format!("`{name}`"));
        let mut missing: Vec<String> = fields.chain(named).collect();
        missing.dedup();
        let is_missing = !missing.is_empty();
        is_missing.then(|| {
            format!(
                "looks at what no entry of the descriptor has: add one with the key {}",
                missing.join(", and one with ")
            )
        })
    }
}

/// Returns the field that a part of a key is made of, unless it is a header or a column.
fn field_of(part: &KeyPart) -> Option<KeyField> {
    match part {
        KeyPart::Field(field, _) => Some(*field),
        KeyPart::Client(_) => Some(KeyField::Client),
        KeyPart::Templates(..) | KeyPart::Segments(_) => Some(KeyField::Path),
        KeyPart::Named(..) => None,
    }
}

impl RequestFields for Fields<'_> {
    fn field(&self, field: KeyField) -> Option<&[u8]> {
        self.first(|key| keys_of(field).iter().any(|own| own.as_bytes() == key))
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.first(|key| key.eq_ignore_ascii_case(name.as_bytes()))
    }

    fn column(&self, name: &str) -> Option<&[u8]> {
        self.first(|key| key == name.as_bytes())
    }
}
