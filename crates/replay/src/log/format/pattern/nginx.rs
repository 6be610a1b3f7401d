//! Patterns of nginx's `log_format`.

use super::super::FormatError;
use super::super::error::nearest;
use super::super::names::Slot;
use super::{Field, Piece};

/// The variables that are used.
const USED: [(&str, Slot); 16] = [
    ("remote_addr", Slot::Client),
    ("remote_addr_and_port", Slot::Client),
    ("remote_user", Slot::User),
    ("time_local", Slot::Time),
    ("time_iso8601", Slot::Time),
    ("msec", Slot::Time),
    ("request", Slot::Request),
    ("request_method", Slot::Method),
    ("request_uri", Slot::Path),
    ("uri", Slot::Path),
    ("document_uri", Slot::Path),
    ("status", Slot::Status),
    ("body_bytes_sent", Slot::Bytes),
    ("bytes_sent", Slot::Bytes),
    ("http_referer", Slot::Referer),
    ("http_user_agent", Slot::Agent),
];

/// Variables that are not used, and whose names are near to one that is.
const OTHERS: [&str; 8] = [
    "remote_port",
    "request_id",
    "request_time",
    "request_body",
    "server_addr",
    "time",
    "http_host",
    "url",
];

/// Returns true for a pattern of nginx: the first sign in it that can begin a field is a `$`.
pub(super) fn is_one(text: &str) -> bool {
    text.find(['$', '%']).is_some_and(|sign| text[sign..].starts_with('$'))
}

/// Divides a pattern into its parts. The directive's name and quotes around it may be left out.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, FormatError> {
    let mut pieces = Vec::new();
    let body = text.trim_start();
    let from = text.len() - body.len();
    if !body.starts_with("log_format ") && !body.starts_with('\'') {
        divide(text, 0..text.len(), &mut pieces)?;
        return Ok(pieces);
    }
    // The strings of the directive, which nginx joins.
    let mut at = from + body.find('\'').unwrap_or(body.len());
    if at == text.len() {
        let label = "must have the pattern in single quotes";
        return Err(FormatError::new(
            "--format",
            text,
            from..at,
            "the directive has no pattern",
            label,
        ));
    }
    while let Some(string) = text[at..].strip_prefix('\'') {
        let Some(len) = string.find('\'') else {
            let label = "must have a closing quote";
            return Err(FormatError::new(
                "--format",
                text,
                at..text.len(),
                "a quote is open",
                label,
            ));
        };
        divide(text, at + 1..at + 1 + len, &mut pieces)?;
        at += len + 2;
        at += text[at..].len() - text[at..].trim_start().len();
    }
    match text[at..].trim_end() {
        "" | ";" => Ok(pieces),
        rest => {
            let title = format!("`{rest}` follows the pattern");
            let label = "must be another string in quotes, a `;`, or nothing";
            Err(FormatError::new("--format", text, at..text.len(), title, label))
        }
    }
}

/// Returns true if a pattern has that variable, so that another one is not its misspelling.
fn is_in(text: &str, variable: &str) -> bool {
    text.match_indices(variable).any(|(start, _)| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text[..start].ends_with(['$', '{']) && !text[start + variable.len()..].starts_with(is_part)
    })
}

fn divide(
    text: &str,
    range: std::ops::Range<usize>,
    pieces: &mut Vec<Piece>,
) -> Result<(), FormatError> {
    let mut at = range.start;
    while at < range.end {
        let rest = &text[at..range.end];
        let Some(name) = rest.strip_prefix('$') else {
            let len = rest.find('$').unwrap_or(rest.len());
            pieces.push(Piece::Text(rest.as_bytes()[..len].to_vec()));
            at += len;
            continue;
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, len) = if let Some(braced) = name.strip_prefix('{') {
            let Some((name, _)) = braced.split_once('}') else {
                let (title, label) = ("a brace is open", "must end with a `}`");
                return Err(FormatError::new("--format", text, at..range.end, title, label));
            };
            (name, name.len() + 3)
        } else {
            let len = name.find(|c| !is_part(c)).unwrap_or(name.len());
            (&name[..len], len + 1)
        };
        let span = at..at + len;
        if name.is_empty() || !name.chars().all(is_part) {
            let label = "must be `$` and a name, such as `$remote_addr`";
            return Err(FormatError::new("--format", text, span, "a `$` has no name", label));
        }
        let slot = USED.iter().find(|(used, _)| *used == name).map(|(_, slot)| *slot);
        let used = USED.iter().map(|(name, _)| *name);
        if slot.is_none()
            && !OTHERS.contains(&name)
            && let Some(meant) = nearest(name, used, name.len() / 5)
            && !is_in(text, meant)
        {
            let title = format!("`${name}` is not a variable of nginx");
            let used: Vec<&str> = USED.iter().map(|(name, _)| *name).collect();
            let label = format!(
                "must not be this near to one that is used ({}): if it is your own, write another name here",
                used.join(", ")
            );
            return Err(
                FormatError::new("--format", text, span, title, label).did_you_mean(name, [meant])
            );
        }
        pieces.push(Piece::Field(Field {
            name: name.to_owned(),
            slot,
            stamp: None,
            span: span.clone(),
        }));
        at = span.end;
    }
    Ok(())
}
