//! Lines by a pattern of nginx's `log_format` or Apache's `LogFormat`.
//!
//! The pattern becomes literal texts and fields by turns. A field ends where the text after it is found
//! first; between quotes, a backslash makes the next byte a part of the field.

mod apache;
mod nginx;

use std::ops::Range;

use memchr::{memchr, memchr2, memrchr};

use super::super::columns::{Asked, AskedColumn};
use super::found::Found;
use super::names::{Names, Slot};
use super::{FormatError, Record, Used};
use crate::log::columns::ABSENT;
use crate::log::line::{BadLine, shown};

/// A pattern that has been read.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    steps: Vec<Step>,
    /// The format of the time, if it has one of its own.
    stamp: Option<String>,
    /// The number of columns that a policy asks for.
    columns: usize,
    /// True for squid's: a space stands for one or more, and stamp and result have to be in squid's form.
    is_squids: bool,
    /// The fields whose values have to be valid.
    pub(super) used: Used,
}

/// A field, and the text after it.
#[derive(Clone, Debug)]
struct Step {
    slot: Option<Slot>,
    /// Its name in the pattern; empty before the first field.
    name: String,
    /// The text after it; empty at the end of the pattern.
    then: Vec<u8>,
    is_quoted: bool,
    /// True if a port follows the address, after the last colon: those of an IPv6 address may be without brackets.
    has_port: bool,
    /// The number of times that the text after it is in the field itself.
    passes: usize,
    /// The columns that a policy asks for and that it is, with how good its name is.
    columns: Vec<(usize, usize)>,
}

/// A part of a pattern, with its place there.
enum Piece {
    Text(Vec<u8>),
    Field(Field),
}

struct Field {
    /// Its name, as `--fields` would give it.
    name: String,
    slot: Option<Slot>,
    /// The format of its time, if it has one of its own.
    stamp: Option<String>,
    span: Range<usize>,
}

impl Pattern {
    pub(super) fn parse(text: &str, names: &Names) -> Result<Pattern, FormatError> {
        let pieces = if nginx::is_one(text) { nginx::pieces(text)? } else { apache::pieces(text)? };
        Pattern::of_pieces(text, pieces, names)
    }

    fn of_pieces(
        text: &str,
        mut pieces: Vec<Piece>,
        names: &Names,
    ) -> Result<Pattern, FormatError> {
        name_slots(text, &mut pieces, names)?;
        let mut pattern = Pattern {
            steps: Vec::new(),
            stamp: None,
            columns: 0,
            is_squids: false,
            used: Used::default(),
        };
        let mut last: Option<Field> = None;
        let mut then = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(more) => then.extend_from_slice(&more),
                Piece::Field(field) => {
                    if last.is_some() && then.is_empty() {
                        let title =
                            format!("nothing separates `{}` from the field before it", field.name);
                        let label = "must follow a text, such as a space";
                        return Err(FormatError::new("--format", text, field.span, title, label));
                    }
                    pattern.step(last.take(), std::mem::take(&mut then));
                    last = Some(field);
                }
            }
        }
        pattern.step(last, then);
        if pattern.steps.iter().any(|step| step.slot == Some(Slot::Time)) {
            return Ok(pattern);
        }
        let label = "must have one of $time_local, $time_iso8601 and $msec, or %t, or a field that \
                     `--fields time=...` names";
        Err(FormatError::new("--format", text, 0..text.len(), "the pattern has no time", label))
    }

    fn step(&mut self, field: Option<Field>, then: Vec<u8>) {
        let Some(field) = field else {
            let (slot, name) = (None, String::new());
            let (is_quoted, has_port, passes, columns) = (false, false, 0, Vec::new());
            let step = Step { slot, name, then, is_quoted, has_port, passes, columns };
            return self.steps.push(step);
        };
        let before = self.steps.last().map_or(&[][..], |step| &step.then);
        let form = match (field.slot, &field.stamp) {
            (_, Some(format)) => format,
            (Some(Slot::Request), _) => "GET / HTTP/1.1",
            _ if field.name == "time_local" => "17/May/2015:10:05:03 +0000",
            _ => "",
        };
        let is_quoted = before.ends_with(b"\"") && then.starts_with(b"\"");
        let passes = str::from_utf8(&then)
            .ok()
            .filter(|then| !then.is_empty() && !is_quoted)
            .map_or(0, |then| form.matches(then).count());
        self.stamp = self.stamp.take().or(field.stamp);
        let (slot, name, columns) = (field.slot, field.name, Vec::new());
        let has_port = name == "remote_addr_and_port";
        self.steps.push(Step { slot, name, then, is_quoted, has_port, passes, columns });
    }

    /// Returns the pattern with the rules of squid: columns are aligned by spaces, and as all of them are free, lines
    /// are its own only if the stamp and the result have its form.
    pub(super) fn of_squid(self) -> Pattern {
        Pattern { is_squids: true, ..self }
    }

    /// Reads these headers and columns too, as far as the pattern has them.
    pub(super) fn ask_for(&mut self, asked: &Asked) {
        self.columns = asked.0.len();
        for step in &mut self.steps {
            let columns = asked.0.iter().enumerate();
            let ranked = |(column, asked): (usize, &AskedColumn)| {
                (!step.name.is_empty()).then(|| Some((column, asked.rank(&step.name)?)))?
            };
            step.columns = columns.filter_map(ranked).collect();
        }
    }

    /// Returns the names of its fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Returns the name of its field that is the client.
    pub(super) fn client(&self) -> Option<&str> {
        let mut steps = self.steps.iter();
        steps.find(|step| step.slot == Some(Slot::Client)).map(|step| step.name.as_str())
    }

    /// Returns the names of its fields that are nothing but columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        let columns = self.steps.iter().filter(|step| step.slot.is_none() && !step.name.is_empty());
        columns.map(|step| step.name.as_str())
    }

    /// Reads one line.
    pub(super) fn record<'a>(&self, line: &'a [u8]) -> Result<Option<Record<'a>>, BadLine> {
        let mut found = Found::default();
        let mut at = 0;
        for (number, step) in self.steps.iter().enumerate() {
            let rest = &line[at..];
            let is_last = number + 1 == self.steps.len();
            let len = if step.name.is_empty() {
                rest.starts_with(&step.then).then_some(0)
            } else if step.then.is_empty() && is_last {
                Some(rest.len())
            } else {
                step.end(rest)
            };
            let len = len.ok_or_else(|| step.missing(at))?;
            if let Some(slot) = step.slot {
                if slot == Slot::Client && len == 0 {
                    return Err(BadLine::Pattern(format!("`{}` is empty", step.name), at));
                }
                let field = if step.has_port {
                    step.without_port(line, at..at + len)?
                } else {
                    at..at + len
                };
                found.put(slot, field);
            }
            let value = &line[at..at + len];
            if let (true, Some(form)) = (self.is_squids, other_than_squids(&step.name, value)) {
                let (value, name) = (shown(value), &step.name);
                let what = format!("`{value:.40}` is no `{name}` such as squid's `{form}`");
                return Err(BadLine::Pattern(what, at));
            }
            if !step.columns.is_empty() && !value.is_empty() && value != ABSENT {
                for (column, rank) in &step.columns {
                    found.put_column(*column, *rank, at..at + len);
                }
            }
            at += len + step.then.len();
            if self.is_squids && step.then.ends_with(b" ") {
                at += line[at..].iter().take_while(|byte| **byte == b' ').count();
            }
        }
        if at < line.len() {
            return Err(BadLine::Pattern("something follows it".to_owned(), at));
        }
        found.record(line, self.stamp.as_deref(), self.columns, self.used)
    }
}

/// Returns the form that a stamp, a result or a status of squid has, if the value has another one.
fn other_than_squids(name: &str, value: &[u8]) -> Option<&'static str> {
    let is_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let (form, is_in_form) = match name {
        "msec" => {
            let point = memchr(b'.', value).unwrap_or(0);
            ("1431857103.000", is_digits(&value[..point]) && is_digits(&value[point + 1..]))
        }
        "result" => {
            let is_one = |byte: &u8| matches!(byte, b'A'..=b'Z' | b'_');
            ("TCP_MISS", !value.is_empty() && value.iter().all(is_one))
        }
        "status" => ("200", value.len() == 3 && is_digits(value)),
        _ => return None,
    };
    (!is_in_form).then_some(form)
}

impl Step {
    /// Returns the length of the field at the beginning of a text.
    fn end(&self, rest: &[u8]) -> Option<usize> {
        if self.is_quoted {
            let mut from = 0;
            while let Some(found) = memchr2(b'"', b'\\', rest.get(from..)?) {
                if rest[from + found] == b'"' {
                    let end = from + found;
                    return rest[end..].starts_with(&self.then).then_some(end);
                }
                from += found + 2;
            }
            return None;
        }
        let (mut from, mut passes) = (0, self.passes);
        while let Some(found) = memchr(*self.then.first()?, rest.get(from..)?) {
            if rest[from + found..].starts_with(&self.then) {
                if passes == 0 {
                    return Some(from + found);
                }
                passes -= 1;
            }
            from += found + 1;
        }
        None
    }

    /// Returns the place of the address in a field of an address and a port, or of `unix:` and a number.
    fn without_port(&self, line: &[u8], place: Range<usize>) -> Result<Range<usize>, BadLine> {
        let text = &line[place.clone()];
        match memrchr(b':', text) {
            Some(colon)
                if text[colon + 1..].iter().all(u8::is_ascii_digit) && !text.contains(&b' ') =>
            {
                Ok(place.start..place.start + colon)
            }
            _ => Err(BadLine::Pattern(format!("no port ends `{}`", self.name), place.start)),
        }
    }

    fn missing(&self, at: usize) -> BadLine {
        let then = shown(&self.then);
        BadLine::Pattern(
            match self.name.as_str() {
                "" => format!("no `{then}`"),
                name => format!("no `{then}` ends `{name}`"),
            },
            at,
        )
    }
}

/// Gives each slot to at most one field: to the one that `--fields` names, or else to the best of those
/// that have it.
fn name_slots(text: &str, pieces: &mut [Piece], names: &Names) -> Result<(), FormatError> {
    let mut fields: Vec<&mut Field> = pieces
        .iter_mut()
        .filter_map(|piece| match piece {
            Piece::Field(field) => Some(field),
            Piece::Text(_) => None,
        })
        .collect();
    let known: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    for given in names.iter().filter(|name| name.is_given) {
        let name = given.names[0].trim_start_matches('$');
        let Some(place) = known.iter().position(|known| known == name) else {
            let title = format!("`{name}` of --fields is not in the pattern");
            let label = format!("must be one of {}", known.join(", "));
            let known = known.iter().map(String::as_str);
            return Err(FormatError::new("--format", text, 0..text.len(), title, label)
                .did_you_mean(name, known));
        };
        for field in fields.iter_mut().filter(|field| field.slot == Some(given.slot)) {
            field.slot = None;
        }
        fields[place].slot = Some(given.slot);
    }
    // The finest stamp is the best: in nginx's names, `msec`.
    let rank = |field: &Field| match field.name.as_str() {
        "msec" | "body_bytes_sent" => 0,
        "time_iso8601" => 2,
        "time_local" => 3,
        _ => 1,
    };
    for slot in [
        Slot::Client,
        Slot::User,
        Slot::Time,
        Slot::Request,
        Slot::Method,
        Slot::Path,
        Slot::Status,
        Slot::Bytes,
        Slot::Referer,
        Slot::Agent,
        Slot::Fraction,
    ] {
        let of_slot = || (0..fields.len()).filter(|place| fields[*place].slot == Some(slot));
        let Some(best) = of_slot().min_by_key(|place| rank(fields[*place])) else { continue };
        for other in of_slot().filter(|place| *place != best).collect::<Vec<_>>() {
            (fields[other].slot, fields[other].stamp) = (None, None);
        }
    }
    Ok(())
}
