//! An error as it is shown: a snippet of the policy file with the place of the mistake. The texts
//! are in `check/messages.rs`.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use anstream::adapter::strip_str;

/// A mistake in a policy file.
///
/// Its `Display` shows the place, as a compiler does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    in_colour: String,
}

/// A problem at a place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    span: Range<usize>,
    /// The field, and its mistake.
    title: String,
    /// The value that is expected there.
    label: String,
    /// Another place that is related to it, and the relation.
    context: Option<(Range<usize>, String)>,
}

impl Problem {
    pub(super) fn new(
        span: Range<usize>,
        title: impl Into<String>,
        label: impl Into<String>,
    ) -> Problem {
        Problem { span, title: title.into(), label: label.into(), context: None }
    }

    pub(super) fn with_context(self, span: Range<usize>, label: impl Into<String>) -> Problem {
        Problem { context: Some((span, label.into())), ..self }
    }
}

impl PolicyError {
    pub(super) fn new(path: &str, text: &str, problem: Problem) -> PolicyError {
        let primary = AnnotationKind::Primary.span(problem.span).label(problem.label);
        let context =
            problem.context.map(|(span, label)| AnnotationKind::Context.span(span).label(label));
        let snippet = Snippet::source(text).path(path).annotation(primary).annotations(context);
        let report = Level::ERROR.primary_title(problem.title).element(snippet);
        PolicyError { in_colour: Renderer::styled().render(&[report]) }
    }

    /// Returns the same text as its `Display`, in colours.
    #[must_use]
    pub fn in_colour(&self) -> &str {
        &self.in_colour
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        strip_str(&self.in_colour).fmt(f)
    }
}

impl std::error::Error for PolicyError {}
