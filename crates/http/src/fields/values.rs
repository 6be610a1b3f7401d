//! Numbers, lists and dictionaries of structured fields, with the bounds of what is parsed.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use sfv::{BareItem, Dictionary, Integer, Item, List, ListEntry, Parameters, Parser};

/// The most bytes of a field that are parsed, over all of its lines. A longer field is ignored.
pub const MAX_FIELD_BYTES: usize = 8_192;

/// The most policies of a response. A field with more of them is ignored.
pub const MAX_ITEMS: usize = 32;

/// The largest integer of a structured field (RFC 9651, section 3.3.1).
const MAX_INTEGER: u64 = 999_999_999_999_999;

/// Returns a duration in whole seconds, rounded up.
pub(super) fn seconds_up(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0))
}

/// Returns a duration in whole seconds, rounded up, as far as an integer goes.
pub(super) fn seconds(duration: Duration) -> Integer {
    integer(seconds_up(duration))
}

/// Returns a number as far as an integer goes.
pub(super) fn integer(number: u64) -> Integer {
    // It is in range, so the default stands for nothing.
    Integer::try_from(number.min(MAX_INTEGER)).unwrap_or_default()
}

/// Sets a field to a number. Allocates no more than its value.
pub(super) fn set_number(headers: &mut HeaderMap, name: HeaderName, number: impl Into<i64>) {
    set_text(headers, name, itoa::Buffer::new().format(number.into()));
}

/// Appends a number to a value.
pub(super) fn push_number(text: &mut String, number: impl Into<i64>) {
    text.push_str(itoa::Buffer::new().format(number.into()));
}

/// Returns a buffer with space for the value of most fields, so that it is allocated once.
pub(super) fn buffer() -> String {
    String::with_capacity(64)
}

/// Sets a field to what a serializer of structured fields has written. Without members, removes it:
/// an empty list is no field.
pub(super) fn set_text(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    match HeaderValue::from_str(text) {
        Ok(value) if !text.is_empty() => drop(headers.insert(name, value)),
        _ => drop(headers.remove(name)),
    }
}

/// Returns all lines of a field as one value, or `None` if there are none or it is too long.
fn combined<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<std::borrow::Cow<'h, [u8]>> {
    let mut lines = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let mut value = std::borrow::Cow::Borrowed(lines.next()?);
    for line in lines {
        if value.len() + line.len() > MAX_FIELD_BYTES {
            return None;
        }
        let value = value.to_mut();
        value.extend_from_slice(b", ");
        value.extend_from_slice(line);
    }
    (value.len() <= MAX_FIELD_BYTES).then_some(value)
}

/// Returns the items of a list. Malformed lists, and those with too many members, have none.
pub(super) fn list(headers: &HeaderMap, name: &HeaderName) -> Vec<Item> {
    let parsed = combined(headers, name).and_then(|value| Parser::new(&value).parse::<List>().ok());
    let items = parsed.filter(|list| list.len() <= MAX_ITEMS).unwrap_or_default();
    items.into_iter().filter_map(item).collect()
}

/// Returns the members of a dictionary. A malformed one has none.
pub(super) fn dictionary(headers: &HeaderMap, name: &HeaderName) -> Dictionary {
    let value = combined(headers, name);
    let parsed = value.and_then(|value| Parser::new(&value).parse::<Dictionary>().ok());
    parsed.unwrap_or_default()
}

/// Returns the member if it is one item, not a list of them.
fn item(entry: ListEntry) -> Option<Item> {
    match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    }
}

/// Returns the value of a member that is an integer of at least 0.
pub(super) fn member(dictionary: &Dictionary, key: &str) -> Option<u64> {
    match dictionary.get(key)? {
        ListEntry::Item(item) => number(&item.bare_item),
        ListEntry::InnerList(_) => None,
    }
}

/// Returns an integer of at least 0.
pub(super) fn number(value: &BareItem) -> Option<u64> {
    match value {
        BareItem::Integer(number) => u64::try_from(i64::from(*number)).ok(),
        _ => None,
    }
}

/// Returns the value of a parameter that is an integer of at least 0; `Err` if it is anything else.
pub(super) fn number_parameter(parameters: &Parameters, key: &str) -> Result<Option<u64>, ()> {
    parameters.get(key).map(|value| number(value).ok_or(())).transpose()
}

/// Returns the text of a parameter or an item. (Drafts before the eighth had tokens for strings.)
pub(super) fn text(value: &BareItem) -> Option<&str> {
    match value {
        BareItem::String(text) => Some(text.as_str()),
        BareItem::Token(text) => Some(text.as_str()),
        _ => None,
    }
}
