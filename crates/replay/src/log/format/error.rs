//! A mistake in an option that describes a format.

use std::ops::Range;
use std::{fmt, io};

use sluicegate_policy::escaped;

/// A mistake in the value of `--format` or `--fields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError(Box<Mistake>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mistake {
    option: &'static str,
    /// The line of the value that has the mistake, and the line's number.
    line: String,
    number: usize,
    /// The mistake's place in that line, in characters.
    columns: Range<usize>,
    title: String,
    label: String,
    meant: Option<String>,
}

impl FormatError {
    /// Creates an error about the bytes `span` of `text`. `label` says what is allowed there.
    pub(super) fn new(
        option: &'static str,
        text: &str,
        span: Range<usize>,
        title: impl Into<String>,
        label: impl Into<String>,
    ) -> FormatError {
        let start = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
        let end = text[start..].find('\n').map_or(text.len(), |len| start + len);
        let width = |range: Range<usize>| escaped(&text[range]).chars().count();
        let from = width(start..span.start);
        FormatError(Box::new(Mistake {
            option,
            line: escaped(&text[start..end]),
            number: 1 + text[..start].matches('\n').count(),
            columns: from..from + width(span.start..span.end.clamp(span.start, end)).max(1),
            title: escaped(&title.into()),
            label: label.into(),
            meant: None,
        }))
    }

    /// Adds the one of `names` that is nearest to `given`, if one is near.
    pub(super) fn did_you_mean<'a>(
        mut self,
        given: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> FormatError {
        let most = given.chars().count().div_ceil(3);
        self.0.meant = nearest(given, names, most).map(str::to_owned);
        self
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake { option, line, number, columns, title, label, meant } = &*self.0;
        let margin = " ".repeat(number.to_string().len());
        let mark = "^".repeat(columns.len());
        writeln!(f, "{title}")?;
        writeln!(f, "{margin}--> {option}:{number}:{}", columns.start + 1)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {line}")?;
        write!(f, "{margin} | {}{mark} {label}", " ".repeat(columns.start))?;
        if let Some(name) = meant {
            write!(f, "\n{margin} |\nhelp: did you mean `{name}`?")?;
        }
        Ok(())
    }
}

impl std::error::Error for FormatError {}

/// A header that lacks what is wanted of it, so that no line after it can be read. It is the cause of
/// an [`io::Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HeaderError(pub(super) String);

impl HeaderError {
    /// Returns whether an error has such a cause.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        matches!(error.get_ref(), Some(cause) if cause.is::<HeaderError>())
    }
}

impl From<HeaderError> for io::Error {
    fn from(error: HeaderError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// Returns the name that differs from the given one by at most `most` edits, and least.
pub(in crate::log) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Option<&'a str> {
    // The distance of long texts takes long, and no name is longer.
    if given.len() > 40 {
        return None;
    }
    let given = given.to_lowercase();
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&given, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
