//! Patterns of Apache's `LogFormat`.

use super::super::FormatError;
use super::super::names::Slot;
use super::{Field, Piece};

/// Directives of one letter that are read, but not used.
const OTHERS: &str = "ABCDefHIkKlLnopPqRSTvVX^";

/// Directives that are used, for messages.
const USED: &str =
    "%h, %a, %u, %t, %{...}t, %r, %m, %U, %s, %b, %B, %O, %{Referer}i and %{User-Agent}i";

/// Divides a pattern into its parts. It may be the whole directive, or its quoted part.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, FormatError> {
    let body = text.trim_start();
    let body = body.strip_prefix("LogFormat ").unwrap_or(body).trim_start();
    let start = text.len() - body.len();
    // In the pattern itself, only the first of several quotes would be without a backslash.
    let is_string =
        body.starts_with('"') && (start > 0 || body.contains("\\\"") || body.ends_with('"'));
    let (mut at, end) = if is_string {
        let inside = &body[1..];
        let mut escaped = false;
        let end = inside.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(len) = end else {
            let label = "must have a closing quote";
            let span = start..text.len();
            return Err(FormatError::new("--format", text, span, "a quote is open", label));
        };
        (start + 1, start + 1 + len)
    } else {
        (start, text.len())
    };
    let mut pieces = Vec::new();
    while at < end {
        let rest = &text[at..end];
        if let Some(directive) = rest.strip_prefix('%') {
            at += 1 + field(text, at, directive, &mut pieces)?;
        } else if let Some(next) = rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) {
            let mut space = [0; 4];
            pieces.push(Piece::Text(match next {
                't' => b"\t".to_vec(),
                'n' => b"\n".to_vec(),
                _ => next.encode_utf8(&mut space).as_bytes().to_vec(),
            }));
            at += 1 + next.len_utf8();
        } else {
            let len = rest[1..].find(['%', '\\']).map_or(rest.len(), |len| len + 1);
            pieces.push(Piece::Text(rest.as_bytes()[..len].to_vec()));
            at += len;
        }
    }
    Ok(pieces)
}

/// Reads a directive after its `%`, and returns its length.
fn field(
    text: &str,
    at: usize,
    directive: &str,
    pieces: &mut Vec<Piece>,
) -> Result<usize, FormatError> {
    let conditions = directive.find(|c: char| !(c.is_ascii_digit() || "!,<>".contains(c)));
    let start = conditions.unwrap_or(directive.len());
    let rest = &directive[start..];
    let (argument, rest) = match rest.strip_prefix('{') {
        None => (None, rest),
        Some(argument) => {
            let Some((argument, rest)) = argument.split_once('}') else {
                let (title, label) = ("a brace is open", "must end with a `}` and a letter");
                let span = at..at + 1 + directive.len();
                return Err(FormatError::new("--format", text, span, title, label));
            };
            (Some(argument), rest)
        }
    };
    let letter = rest.chars().next();
    let len = directive.len() - rest.len() + letter.map_or(0, char::len_utf8);
    // `%^FB` and the like have two letters more.
    let len = if letter == Some('^') { (len + 2).min(directive.len()) } else { len };
    let span = at..at + 1 + len;
    if !text.is_char_boundary(span.end) || letter.is_none() {
        let label = "must be followed by a letter, such as `%h`, or be `%%`";
        return Err(FormatError::new(
            "--format",
            text,
            at..at + 1,
            "a `%` has no directive",
            label,
        ));
    }
    if letter == Some('%') {
        pieces.push(Piece::Text(b"%".to_vec()));
        return Ok(len);
    }
    let name = text[span.clone()].to_owned();
    let mut put = |slot, stamp| {
        pieces.push(Piece::Field(Field { name: name.clone(), slot, stamp, span: span.clone() }));
    };
    match (letter, argument) {
        (Some('t'), None) => {
            put(Some(Slot::Time), None);
            let field = pieces.pop();
            pieces.push(Piece::Text(b"[".to_vec()));
            pieces.extend(field);
            pieces.push(Piece::Text(b"]".to_vec()));
        }
        (Some('t'), Some(form)) => {
            let form = form.strip_prefix("begin:").or(form.strip_prefix("end:")).unwrap_or(form);
            match form {
                "sec" | "msec" | "usec" => put(Some(Slot::Time), None),
                "msec_frac" | "usec_frac" => put(Some(Slot::Fraction), None),
                _ => put(Some(Slot::Time), Some(form.to_owned())),
            }
        }
        (Some('i'), Some(header)) => put(
            match header.to_ascii_lowercase().as_str() {
                "referer" => Some(Slot::Referer),
                "user-agent" => Some(Slot::Agent),
                _ => None,
            },
            None,
        ),
        (Some('h' | 'a'), _) => put(Some(Slot::Client), None),
        (Some('u'), None) => put(Some(Slot::User), None),
        (Some('r'), None) => put(Some(Slot::Request), None),
        (Some('m'), None) => put(Some(Slot::Method), None),
        (Some('U'), None) => put(Some(Slot::Path), None),
        (Some('s'), None) => put(Some(Slot::Status), None),
        (Some('b' | 'B' | 'O'), None) => put(Some(Slot::Bytes), None),
        (Some(letter), _) if OTHERS.contains(letter) => put(None, None),
        _ => {
            let title = format!("`{name}` is not a directive of Apache");
            let label = format!(
                "must be one of those that are used ({USED}), or another of Apache's, which is passed over"
            );
            return Err(FormatError::new("--format", text, span, title, label));
        }
    }
    Ok(len)
}
