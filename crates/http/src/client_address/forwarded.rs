//! Elements of `Forwarded` (RFC 7239): `for="[2001:db8::1]:4711";proto=https`.

use std::borrow::Cow;

use super::unknown::UnknownClient;

/// Splits off the last piece behind a separator that is not in quotes: what is before it, and the piece.
///
/// Reads from the end, so that the pieces which trusted proxies have added are found whatever a client has
/// written before them, such as a quote that never ends.
pub(super) fn split_last(text: &[u8], separator: u8) -> (Option<&[u8]>, &[u8]) {
    let mut is_quoted = false;
    for at in (0..text.len()).rev() {
        match text[at] {
            b'"' if !is_escaped(text, at) => is_quoted = !is_quoted,
            byte if byte == separator && !is_quoted => {
                return (Some(&text[..at]), &text[at + 1..]);
            }
            _ => {}
        }
    }
    (None, text)
}

/// Returns true if an odd number of backslashes is before the byte.
fn is_escaped(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Returns the value of `for` of an element, without quotes. There has to be exactly one.
pub(super) fn node(element: &[u8]) -> Result<Cow<'_, [u8]>, UnknownClient> {
    let mut found = None;
    let mut rest = Some(element);
    while let Some(text) = rest {
        let (before, pair) = split_last(text, b';');
        rest = before;
        let pair = pair.trim_ascii();
        if pair.is_empty() {
            continue;
        }
        let equals = pair.iter().position(|byte| *byte == b'=').ok_or(UnknownClient::Malformed)?;
        let (name, value) = (&pair[..equals], &pair[equals + 1..]);
        if name.eq_ignore_ascii_case(b"for") && found.replace(unquoted(value)?).is_some() {
            return Err(UnknownClient::Malformed);
        }
    }
    found.ok_or(UnknownClient::Malformed)
}

/// Returns the content of a quoted string, or the value if it has no quotes.
fn unquoted(value: &[u8]) -> Result<Cow<'_, [u8]>, UnknownClient> {
    let Some(content) = value.strip_prefix(b"\"") else {
        return if value.contains(&b'"') {
            Err(UnknownClient::Malformed)
        } else {
            Ok(value.into())
        };
    };
    let content = content.strip_suffix(b"\"").ok_or(UnknownClient::Malformed)?;
    if !content.iter().any(|byte| b"\"\\".contains(byte)) {
        return Ok(content.into());
    }
    // No address needs an escape, and nobody else writes one.
    Err(UnknownClient::Malformed)
}
