//! Formats of logs: the common and combined one, patterns as servers have them, and those whose
//! fields have names.

mod csv;
pub(super) mod error;
mod found;
mod iso;
mod json;
mod ltsv;
mod names;
mod pattern;
mod prefix;
mod presets;
mod reader;
mod recognise;
mod record;
mod time;
mod w3c;

use std::sync::Arc;

pub use self::error::{FormatError, HeaderError};
use self::names::{Names, Slot};
use self::pattern::Pattern;
use self::prefix::{Before, PREFIXES, PrefixId};
use self::presets::PRESETS;
pub use self::presets::help;
pub(super) use self::reader::{NoLine, Reader};
pub(super) use self::record::{Record, Scratch};
use super::columns::Asked;
use super::presence::{Absent, Presence, Sought};
use sluicegate_policy::Named;

/// The name of any format, which the first lines of each log tell.
const AUTO: &str = "auto";

/// The format of a log's lines: one, or several of which the first lines of each log tell one.
#[derive(Clone, Debug)]
pub struct Format {
    /// Formats that the lines may have, the likeliest first; at least one.
    candidates: Arc<[Candidate]>,
    /// The text before each line, as far as it was named.
    before: Before,
    /// True if neither the format nor the field of the client was named. Then clients that are no addresses are a sign
    /// that a pattern reads lines of something else.
    is_guessed: bool,
    /// Headers and columns that a policy asks for.
    asked: Asked,
    /// Those of them that lines have had.
    presence: Arc<Presence>,
}

/// One of the forms that the lines may have.
#[derive(Clone, Debug)]
struct Candidate {
    name: &'static str,
    kind: Kind,
}

impl Default for Format {
    /// Returns common or combined format.
    fn default() -> Format {
        Format::of(vec![Candidate { name: "combined", kind: Kind::Common }], Before::default())
    }
}

/// The needs of a policy and its user: no line is left out for an invalid field that nobody asks for.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// True if the status is used.
    pub status: bool,
    /// True if the size of responses is used.
    pub bytes: bool,
    /// The number of proxies that have added to a list of addresses.
    pub proxies: u8,
}

impl Default for Used {
    fn default() -> Used {
        Used { status: true, bytes: true, proxies: 1 }
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
    /// Labels and values.
    Ltsv(Arc<Names>),
    /// Columns under a header.
    Csv(Arc<Names>),
    /// The extended log format of the W3C.
    W3c(Arc<Names>),
}

impl Format {
    fn of(candidates: Vec<Candidate>, before: Before) -> Format {
        let (asked, presence) = (Asked::default(), Arc::default());
        Format { candidates: candidates.into(), before, is_guessed: false, asked, presence }
    }

    /// Reads the values of `--format` and of `--fields`.
    ///
    /// # Errors
    ///
    /// [`FormatError`], with the place of the mistake.
    pub fn parse(format: &str, fields: Option<&str>) -> Result<Format, FormatError> {
        let names = Names::parse(fields.unwrap_or_default())?;
        let (mut before, mut text) = (Before::default(), format.trim());
        loop {
            let (first, rest) = text.split_once(' ').unwrap_or((text, AUTO));
            let Some(more) = PrefixId::of_name(first).and_then(|id| before.with(id)) else { break };
            (before, text) = (more, rest.trim());
        }
        let preset = PRESETS.iter().find(|preset| preset.name == text);
        let forms = match preset {
            Some(preset) => preset.forms.to_vec(),
            None if text == AUTO => presets::all(),
            None if text.contains(['$', '%']) => {
                let kind = Kind::Pattern(Arc::new(Pattern::parse(text, &names)?));
                return Ok(Format::of(vec![Candidate { name: "the pattern", kind }], before));
            }
            None => return Err(unknown(text)),
        };
        let mut candidates = Vec::new();
        for form in forms {
            match form.kind(fields) {
                Ok(Some(kind)) => candidates.push(Candidate { name: form.name(), kind }),
                Ok(None) => {}
                // Of several, those are meant that have these fields.
                Err(_) if text == AUTO => {}
                Err(error) => return Err(error),
            }
        }
        if candidates.is_empty() {
            let label = "only a pattern, json, csv, w3c and ltsv have fields with names";
            let given = fields.unwrap_or_default();
            let title = format!("`--fields` has no use with the {text} format");
            return Err(FormatError::new("--fields", given, 0..given.len(), title, label));
        }
        let has_client = names.iter().any(|name| name.slot == Slot::Client && name.is_given);
        let is_guessed = text == AUTO && !has_client;
        Ok(Format { is_guessed, ..Format::of(candidates, before) })
    }

    /// Returns the format that reads these headers and columns too, where a log has them.
    ///
    /// A header is looked for under the names that servers give it in logs: `x-api-key` also as
    /// `http_x_api_key`, `%{x-api-key}i`, `cs(x-api-key)` and `request.headers.x-api-key`.
    #[must_use]
    pub fn with_columns(mut self, columns: &[Named]) -> Format {
        let asked = Asked::new(columns);
        self.presence = Arc::new(Presence::of(&asked));
        self.change_kinds(|kind| kind.ask_for(&asked));
        Format { asked, ..self }
    }

    /// Returns the format in which only values that are used have to be valid.
    #[must_use]
    pub fn using(mut self, used: Used) -> Format {
        self.change_kinds(|kind| kind.set_used(used));
        self
    }

    fn change_kinds(&mut self, change: impl Fn(&mut Kind)) {
        let mut candidates = self.candidates.to_vec();
        for candidate in &mut candidates {
            change(&mut candidate.kind);
        }
        self.candidates = candidates.into();
    }

    /// Returns names of fields in the logs that were read, if the format has names.
    pub(super) fn names(&self) -> Vec<String> {
        self.presence.names()
    }

    /// Returns the names under which the client was looked for in the logs that were read.
    pub(super) fn sought(&self) -> Sought {
        self.presence.sought()
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

impl Kind {
    /// Reads these headers and columns too; a common log has none.
    fn ask_for(&mut self, asked: &Asked) {
        match self {
            Kind::Common => {}
            Kind::Pattern(pattern) => Arc::make_mut(pattern).ask_for(asked),
            Kind::Json(names) | Kind::Csv(names) | Kind::W3c(names) | Kind::Ltsv(names) => {
                Arc::make_mut(names).asked = asked.clone();
            }
        }
    }

    /// Sets the fields whose values have to be valid.
    fn set_used(&mut self, used: Used) {
        match self {
            Kind::Common => {}
            Kind::Pattern(pattern) => Arc::make_mut(pattern).used = used,
            Kind::Json(names) | Kind::Csv(names) | Kind::W3c(names) | Kind::Ltsv(names) => {
                Arc::make_mut(names).used = used;
            }
        }
    }
}

/// Returns the error about a name that is none.
fn unknown(text: &str) -> FormatError {
    let title = match text {
        "" => "the format is empty".to_owned(),
        _ => format!("`{text}` is no format, and no pattern"),
    };
    let label = "must be one of those that `--format help` lists, or a pattern with `$variables` of nginx \
                 or `%` directives of Apache";
    let names = PRESETS.iter().map(|preset| preset.name);
    let prefixes = PREFIXES.iter().map(|prefix| prefix.name);
    FormatError::new("--format", text, 0..text.len(), title, label)
        .did_you_mean(text, names.chain(prefixes).chain([AUTO]))
}
