//! Formats of logs: the common and combined one, patterns as servers have them, and those whose
//! fields have names.

mod csv;
mod error;
mod found;
mod json;
mod names;
mod pattern;
mod reader;
mod time;
mod w3c;

use std::sync::Arc;

pub(super) use self::error::nearest;
pub use self::error::{FormatError, HeaderError};
use self::names::Names;
use self::pattern::Pattern;
pub(super) use self::reader::{NoLine, Reader, Record, Scratch};
use super::columns::Asked;
use super::presence::{Absent, Presence};
use sluicegate_policy::Named;

/// The names that `--format` takes, beside a pattern.
const NAMES: [&str; 5] = ["common", "combined", "json", "csv", "w3c"];

/// The format of a log's lines.
#[derive(Clone, Debug, Default)]
pub struct Format {
    kind: Kind,
    /// Headers and columns that a policy asks for; none of a common log, which has no others.
    asked: Asked,
    /// Those of them that lines have had.
    presence: Arc<Presence>,
}

/// The fields whose values have to be valid, since a policy uses them: a line is not left out for a field
/// that nobody asks for.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// True if the status is used.
    pub status: bool,
    /// True if the size of responses is used.
    pub bytes: bool,
}

impl Default for Used {
    fn default() -> Used {
        Used { status: true, bytes: true }
    }
}

#[derive(Clone, Debug, Default)]
enum Kind {
    /// Common or combined format, which are told apart line by line.
    #[default]
    Common,
    /// A pattern of nginx or Apache.
    Pattern(Arc<Pattern>),
    /// An object on each line.
    Json(Arc<Names>),
    /// Columns under a header.
    Csv(Arc<Names>),
    /// The extended log format of the W3C.
    W3c(Arc<Names>),
}

impl Format {
    /// Reads the values of `--format` and of `--fields`.
    ///
    /// # Errors
    ///
    /// [`FormatError`], with the place of the mistake.
    pub fn parse(format: &str, fields: Option<&str>) -> Result<Format, FormatError> {
        let names = Names::parse(fields.unwrap_or_default())?;
        let kind = match format.trim() {
            "common" | "combined" if fields.is_none() => Kind::Common,
            name @ ("common" | "combined") => {
                let label = "only a pattern, json, csv and w3c have fields with names";
                let text = fields.unwrap_or_default();
                let title = format!("`--fields` has no use with the {name} format");
                return Err(FormatError::new("--fields", text, 0..text.len(), title, label));
            }
            "json" => Kind::Json(Arc::new(names)),
            "csv" => Kind::Csv(Arc::new(names)),
            "w3c" => Kind::W3c(Arc::new(names)),
            text if text.contains(['$', '%']) => {
                Kind::Pattern(Arc::new(Pattern::parse(text, &names)?))
            }
            text => {
                let title = match text {
                    "" => "the format is empty".to_owned(),
                    _ => format!("`{text}` is no format, and no pattern"),
                };
                let label = "must be common, combined, json, csv, w3c, or a pattern with `$variables` \
                             of nginx or `%` directives of Apache";
                return Err(FormatError::new("--format", text, 0..text.len(), title, label)
                    .did_you_mean(text, NAMES));
            }
        };
        Ok(Format { kind, ..Format::default() })
    }

    /// Returns the format that reads these headers and columns too, where a log has them.
    ///
    /// A header is looked for under the names that servers give it in logs: `x-api-key` also as
    /// `http_x_api_key`, `%{x-api-key}i`, `cs(x-api-key)` and `request.headers.x-api-key`.
    #[must_use]
    pub fn with_columns(mut self, columns: &[Named]) -> Format {
        let asked = Asked::new(columns);
        self.presence = Arc::new(asked.presence());
        match &mut self.kind {
            Kind::Common => return self,
            Kind::Pattern(pattern) => {
                let pattern = Arc::make_mut(pattern);
                pattern.ask_for(&asked);
                self.presence.learn(pattern.names());
            }
            Kind::Json(names) | Kind::Csv(names) | Kind::W3c(names) => {
                Arc::make_mut(names).asked = asked.clone();
            }
        }
        Format { asked, ..self }
    }

    /// Returns the format in which only values that are used have to be valid.
    #[must_use]
    pub fn using(mut self, used: Used) -> Format {
        match &mut self.kind {
            Kind::Common => {}
            Kind::Pattern(pattern) => Arc::make_mut(pattern).used = used,
            Kind::Json(names) | Kind::Csv(names) | Kind::W3c(names) => {
                Arc::make_mut(names).used = used;
            }
        }
        self
    }

    /// Returns names of fields in the logs that were read, if the format has names.
    pub(super) fn names(&self) -> Vec<String> {
        self.presence.names()
    }

    /// Returns the headers and columns that no line had which was read in this format so far, but for
    /// the two headers that every format has as fields.
    pub(super) fn absent(&self) -> Vec<Absent> {
        let mut absent = self.presence.absent();
        absent.retain(|Absent { named, .. }| {
            let Named::Header(name) = named else { return true };
            !["user-agent", "referer"].iter().any(|field| name.eq_ignore_ascii_case(field))
        });
        absent
    }
}
