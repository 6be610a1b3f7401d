//! Errors and warnings as they are shown: a snippet of the policy file with the place of the mistake.
//! The texts are in `check/messages.rs`.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::problem::{Problem, escaped};

/// The most errors of a file that are kept; of further ones only the number is.
const MOST_ERRORS: usize = 50;

/// One mistake in a policy file, or a warning.
///
/// Its `Display` shows the place, as a compiler does. What would command a terminal is escaped.
#[derive(Clone, PartialEq, Eq)]
pub struct PolicyError {
    source: Source,
    problem: Problem,
    is_warning: bool,
}

/// All mistakes of a policy file, in the order of their places. At least one.
///
/// Its `Display` shows each of them, with an empty line in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyErrors {
    errors: Vec<PolicyError>,
    more: usize,
}

/// A policy file, for errors to show.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Source {
        Source { name: escaped(name).into(), text: text.into() }
    }

    pub(crate) fn errors(&self, problems: Vec<Problem>) -> PolicyErrors {
        let mut errors = self.sorted(problems, false);
        let more = errors.len().saturating_sub(MOST_ERRORS);
        errors.truncate(MOST_ERRORS);
        PolicyErrors { errors, more }
    }

    pub(crate) fn warnings(&self, problems: Vec<Problem>) -> Vec<PolicyError> {
        let mut warnings = self.sorted(problems, true);
        warnings.truncate(MOST_ERRORS);
        warnings
    }

    fn sorted(&self, mut problems: Vec<Problem>, is_warning: bool) -> Vec<PolicyError> {
        problems.sort_by_key(|problem| problem.span.start);
        problems.dedup();
        let error = |problem| PolicyError { source: self.clone(), problem, is_warning };
        problems.into_iter().map(error).collect()
    }

    /// Returns the part of the range that is in one line of the text.
    fn in_line(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.boundary(span.start);
        let end = self.boundary(span.end).max(start);
        let line = self.text[start..end].split(['\n', '\r']).next().unwrap_or_default();
        start..start + line.trim_end().len()
    }

    /// Returns the start of the character at a place, or the end of the text.
    fn boundary(&self, place: usize) -> usize {
        let is_start = |place: &usize| self.text.is_char_boundary(*place);
        (0..=place.min(self.text.len())).rev().find(is_start).unwrap_or(0)
    }

    /// Returns the line and the column of a place, from 1.
    fn line_and_column(&self, place: usize) -> (usize, usize) {
        let before = &self.text[..self.boundary(place)];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (line, before[start..].chars().count() + 1)
    }
}

impl PolicyError {
    /// Returns the name of the file, escaped.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// Returns the line of the mistake, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.source.line_and_column(self.problem.span.start).0
    }

    /// Returns the column of the mistake in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.source.line_and_column(self.problem.span.start).1
    }

    /// Returns the field that is wrong, such as `rate.amount`; empty for a mistake of no field.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.problem.field
    }

    /// Returns the mistake with the value that was given, such as `` `limit` is 0 ``.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.problem.title
    }

    /// Returns what is allowed there, such as `must be from 1 to 2^32`.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.problem.label
    }

    /// Returns the name that was probably meant, if one is near to the name that was given.
    #[must_use]
    pub fn did_you_mean(&self) -> Option<&str> {
        self.problem.meant.as_deref()
    }

    /// Returns true for a warning, which does not make the policy invalid.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        self.is_warning
    }

    /// Returns the same text as its `Display`, in colours.
    #[must_use]
    pub fn in_colour(&self) -> String {
        self.rendered(&Renderer::styled())
    }

    fn rendered(&self, renderer: &Renderer) -> String {
        let Problem { span, title, label, context, meant, .. } = &self.problem;
        let Source { name, text } = &self.source;
        let primary = AnnotationKind::Primary.span(self.source.in_line(span)).label(label);
        let context = context.as_ref().map(|(span, label)| {
            AnnotationKind::Context.span(self.source.in_line(span)).label(label)
        });
        let snippet =
            Snippet::source(&**text).path(&**name).annotation(primary).annotations(context);
        let level = if self.is_warning { Level::WARNING } else { Level::ERROR };
        let help =
            meant.as_ref().map(|name| Level::HELP.message(format!("did you mean `{name}`?")));
        let report = level.primary_title(&**title).element(snippet).elements(help);
        renderer.render(&[report])
    }
}

impl PolicyErrors {
    /// Iterates over the errors, at most 50.
    pub fn iter(&self) -> std::slice::Iter<'_, PolicyError> {
        self.errors.iter()
    }

    /// Returns the errors, at most 50.
    #[must_use]
    pub fn as_slice(&self) -> &[PolicyError] {
        &self.errors
    }

    /// Returns the number of further errors, which were not kept.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }

    /// Returns the same text as its `Display`, in colours.
    #[must_use]
    pub fn in_colour(&self) -> String {
        self.shown(PolicyError::in_colour)
    }

    fn shown(&self, show: impl Fn(&PolicyError) -> String) -> String {
        let shown: Vec<String> = self.errors.iter().map(show).collect();
        let more = match self.more {
            0 => String::new(),
            more => format!("\n\nerror: {more} more"),
        };
        shown.join("\n\n") + &more
    }
}

impl<'a> IntoIterator for &'a PolicyErrors {
    type Item = &'a PolicyError;
    type IntoIter = std::slice::Iter<'a, PolicyError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered(&Renderer::plain()))
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(PolicyError::to_string))
    }
}

/// Shows the mistake and its place, without the text of the file.
impl fmt::Debug for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyError")
            .field("file", &self.file())
            .field("line", &self.line())
            .field("column", &self.column())
            .field("message", &self.message())
            .field("expected", &self.expected())
            .finish_non_exhaustive()
    }
}

impl std::error::Error for PolicyError {}

impl std::error::Error for PolicyErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_outside_of_the_text_or_in_a_character_is_shown_nearby() {
        for span in [1..2, 0..99, 98..99, 3..3, 2..4] {
            let problem =
                Problem::new(span.clone(), "", "title", "label").with_context(1..9, "there");
            let errors = Source::new("p", "\u{e9}\u{20ac}\n").errors(vec![problem]);
            assert!(errors.to_string().contains("label"), "{span:?}: {errors}");
            assert_eq!(errors.as_slice()[0].line(), 1 + usize::from(span.start > 5));
        }
    }
}
