//! Policies from files and texts.

pub(crate) mod file;

use std::io;

use bytesize::ByteSize;

use self::file::PolicyFile;
use crate::check;
use crate::error_snippet::{PolicyError, PolicyErrors, Source};
use crate::format::Format;
use crate::hierarchy::LevelPolicy;
use crate::limiter::LimiterPolicy;
use crate::problem::Problem;

/// The largest policy, in bytes: 1 MiB. A [`PolicyFile`] may be given another size.
pub const MAX_BYTES: usize = 1 << 20;

/// The limiters of a policy file, which has been checked: each of them can be built.
///
/// # Examples
///
/// ```
/// use sluicegate_policy::Policies;
///
/// let policies = Policies::from_yaml("limits.yaml", "
/// limiters:
///   api:
///     policy: token_bucket
///     limit: 5000
///     rate: { interval: '15 minutes', amount: 500 }
/// ")?;
/// let api = policies.get("api").unwrap();
/// assert_eq!(api.kind.to_string(), "token bucket: 5,000, then 500 per 15m");
/// # Ok::<(), sluicegate_policy::PolicyErrors>(())
/// ```
#[derive(Clone, Debug)]
pub struct Policies {
    limiters: Vec<LimiterPolicy>,
    hierarchy: Vec<LevelPolicy>,
    warnings: Vec<PolicyError>,
    text: String,
    format: Format,
}

/// An error from loading a policy file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{file}: {error}")]
    Io {
        /// The file.
        file: String,
        /// The system's error.
        error: io::Error,
    },
    /// The file has mistakes.
    #[error(transparent)]
    Policy(#[from] PolicyErrors),
}

impl Policies {
    /// Checks a text in TOML. Errors show `name` as that of the file.
    ///
    /// Blocks for as long as the checks take, and reads no clock.
    ///
    /// # Errors
    ///
    /// [`PolicyErrors`], all mistakes of the text.
    pub fn from_toml(name: &str, text: &str) -> Result<Policies, PolicyErrors> {
        Policies::from_text(Format::Toml, name, text)
    }

    /// Checks a text in YAML, otherwise like [`from_toml`](Policies::from_toml).
    ///
    /// # Errors
    ///
    /// [`PolicyErrors`], all mistakes of the text.
    pub fn from_yaml(name: &str, text: &str) -> Result<Policies, PolicyErrors> {
        Policies::from_text(Format::Yaml, name, text)
    }

    /// Checks a text in JSON, otherwise like [`from_toml`](Policies::from_toml).
    ///
    /// # Errors
    ///
    /// [`PolicyErrors`], all mistakes of the text.
    pub fn from_json(name: &str, text: &str) -> Result<Policies, PolicyErrors> {
        Policies::from_text(Format::Json, name, text)
    }

    /// Checks a text in any format, otherwise like [`from_toml`](Policies::from_toml).
    ///
    /// # Errors
    ///
    /// [`PolicyErrors`], all mistakes of the text.
    pub fn from_text(format: Format, name: &str, text: &str) -> Result<Policies, PolicyErrors> {
        if text.len() > MAX_BYTES {
            return Err(too_large(name, text.len(), MAX_BYTES));
        }
        Policies::checked(format, name, text)
    }

    fn checked(format: Format, name: &str, text: &str) -> Result<Policies, PolicyErrors> {
        // Editors of some systems write a byte order mark, which no format wants.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Source::new(name, text);
        match check::policies(format, text) {
            Ok(check::Checked { limiters, hierarchy, warnings }) => {
                let (warnings, text) = (source.warnings(warnings), text.to_owned());
                Ok(Policies { limiters, hierarchy, warnings, text, format })
            }
            Err(problems) => Err(source.errors(problems)),
        }
    }

    /// Checks what a file contains, in a text that is to be UTF-8; otherwise like
    /// [`from_toml`](Policies::from_toml).
    ///
    /// # Errors
    ///
    /// [`PolicyErrors`], all mistakes of the text, or the first byte that is not UTF-8.
    pub fn from_bytes(format: Format, name: &str, bytes: &[u8]) -> Result<Policies, PolicyErrors> {
        Policies::within(MAX_BYTES, format, name, bytes)
    }

    /// Checks what a file contains, of at most so many bytes.
    pub(crate) fn within(
        max_bytes: usize,
        format: Format,
        name: &str,
        bytes: &[u8],
    ) -> Result<Policies, PolicyErrors> {
        if bytes.len() > max_bytes {
            return Err(too_large(name, bytes.len(), max_bytes));
        }
        if is_utf16(bytes) {
            let title = "this is text in UTF-16";
            let problem = Problem::new(0..0, "", title, "save it as UTF-8");
            return Err(Source::new(name, "").errors(vec![problem]));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Policies::checked(format, name, text),
            Err(error) => {
                let text = String::from_utf8_lossy(bytes);
                let place = error.valid_up_to()..error.valid_up_to() + '\u{fffd}'.len_utf8();
                let title = "this is not UTF-8";
                let label = format!("byte {:#04x} is not", bytes[place.start]);
                let problem = Problem::new(place, "", title, label);
                Err(Source::new(name, &text).errors(vec![problem]))
            }
        }
    }

    /// Reads and checks a file, given as a path or a [`PolicyFile`].
    ///
    /// Blocks while it reads.
    ///
    /// # Errors
    ///
    /// [`LoadError::Io`] if the file cannot be read, and [`LoadError::Policy`] with all its mistakes.
    pub fn from_path(file: impl Into<PolicyFile>) -> Result<Policies, LoadError> {
        file.into().policies()
    }

    /// Returns the limiters, in the order of the file. At least one, unless the file has a
    /// hierarchy.
    #[must_use]
    pub fn limiters(&self) -> &[LimiterPolicy] {
        &self.limiters
    }

    /// Returns the limiter of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&LimiterPolicy> {
        self.limiters.iter().find(|limiter| limiter.name == name)
    }

    /// Returns the levels of the file's hierarchy, in its order: for
    /// [`Hierarchy::new`](crate::Hierarchy::new). Empty if the file has none.
    #[must_use]
    pub fn hierarchy(&self) -> &[LevelPolicy] {
        &self.hierarchy
    }

    /// Returns what is valid but probably not meant, at most 50 of these.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyError] {
        &self.warnings
    }

    /// Returns the text that was read, without a byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the format that it was read in.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the limiters and the levels, without the warnings.
    #[cfg(feature = "registry")]
    pub(crate) fn into_parts(self) -> (Vec<LimiterPolicy>, Vec<LevelPolicy>) {
        (self.limiters, self.hierarchy)
    }

    /// Returns the limiters, without the warnings.
    #[must_use]
    pub fn into_limiters(self) -> Vec<LimiterPolicy> {
        self.limiters
    }
}

/// Returns whether a text begins with a byte-order mark of UTF-16, or has a NUL where that has one
/// beside each letter of a policy.
fn is_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..])
}

fn too_large(name: &str, bytes: usize, max_bytes: usize) -> PolicyErrors {
    // No more is read of a file than tells that it is too large.
    let least = if bytes == max_bytes.saturating_add(1) { "at least " } else { "" };
    let label = format!(
        "it has {least}{bytes} bytes: must be at most {}, unless --policy-size allows more; is it a log?",
        ByteSize(max_bytes as u64).display().iec()
    );
    let problem = Problem::new(0..0, "", "this is too large to be a policy", label);
    Source::new(name, "").errors(vec![problem])
}
