//! Divides a line into its fields, which are not looked into.

use memchr::{memchr, memchr2};

use super::{ABSENT, is_no_answer};

/// The fields of a line in common log format, with or without the two quoted fields of the
/// combined one.
///
/// Works on bytes, since what clients send is often not UTF-8. Accepts more fields after the
/// agent, as in nginx's `main` format, and an agent that was cut off at the end of the line.
pub(super) struct Split<'a> {
    pub(super) client: &'a [u8],
    pub(super) identd: &'a [u8],
    /// With the space that follows it.
    pub(super) user: &'a [u8],
    pub(super) time: &'a [u8],
    pub(super) request: &'a [u8],
    pub(super) status: &'a [u8],
    pub(super) bytes: &'a [u8],
    pub(super) referer: &'a [u8],
    pub(super) agent: &'a [u8],
}

impl<'a> Split<'a> {
    /// Divides a line; `None` if it is in neither format.
    pub(super) fn new(text: &'a [u8]) -> Option<Split<'a>> {
        let (client, rest) = word(text)?;
        let (identd, rest) = word(rest)?;
        let (user, rest) = until(b'[', rest)?;
        let (time, rest) = until(b']', rest)?;
        let (request, rest) = quoted(rest.strip_prefix(b" ")?)?;
        let (status, rest) = status(rest.strip_prefix(b" ")?)?;
        let (bytes, rest) = number(rest.strip_prefix(b" ")?)?;
        if user.is_empty() || time.is_empty() {
            return None;
        }
        let (referer, agent) = if rest.is_empty() {
            (ABSENT, ABSENT)
        } else {
            let (referer, rest) = quoted(rest.strip_prefix(b" ")?)?;
            (referer, last_quoted(rest.strip_prefix(b" ")?)?)
        };
        Some(Split { client, identd, user, time, request, status, bytes, referer, agent })
    }
}

/// Divides at the first space. The word before it has a byte at least, and no white space.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b' ', text)?;
    let (word, rest) = (&text[..end], &text[end + 1..]);
    let has_space = word.iter().any(|byte| matches!(byte, b'\t'..=b'\r'));
    (end > 0 && !has_space).then_some((word, rest))
}

/// Divides at the first such byte, which is in neither half.
fn until(byte: u8, text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(byte, text)?;
    Some((&text[..end], &text[end + 1..]))
}

/// Takes a text in quotes, in which a backslash makes the next byte a part of the text.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let end = closing_quote(text).ok()?;
    Some((&text[..end], &text[end + 1..]))
}

/// Takes the last text in quotes, which may be cut off. Anything may follow it after a space.
fn last_quoted(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"\"")?;
    match closing_quote(text) {
        Ok(end) => matches!(text.get(end + 1), None | Some(b' ')).then_some(&text[..end]),
        Err(OpenText { ends_in_escape }) => (!ends_in_escape).then_some(text),
    }
}

/// A text without a closing quote.
struct OpenText {
    ends_in_escape: bool,
}

fn closing_quote(text: &[u8]) -> Result<usize, OpenText> {
    let mut from = 0;
    while let Some(found) = memchr2(b'"', b'\\', &text[from..]) {
        if text[from + found] == b'"' {
            return Ok(from + found);
        }
        from += found + 2;
        if from > text.len() {
            return Err(OpenText { ends_in_escape: true });
        }
    }
    Err(OpenText { ends_in_escape: false })
}

/// Takes three digits, or a number that stands for no answer: `-`, `0`, `-1`.
fn status(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (status, rest) = number(text)?;
    (status.len() == 3 || is_no_answer(status)).then_some((status, rest))
}

/// Takes a number, which may be negative, or a `-`.
fn number(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let digits = text.strip_prefix(ABSENT).unwrap_or(text);
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let end = end + text.len() - digits.len();
    (end > 0).then(|| text.split_at(end))
}
