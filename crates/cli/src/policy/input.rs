//! The places that policies are read from: files, and standard input.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use clap::ValueEnum;
use sluicegate_policy::{Format, LoadError, MAX_BYTES, Policies, PolicyErrors};

use super::commands::warn;
use crate::cli::tell;

/// A format of policies, as options name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// TOML 1.0
    Toml,
    /// YAML 1.2
    Yaml,
    /// JSON
    Json,
}

/// A reason why there is no policy.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be read, or has mistakes.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It was taken for TOML, since nothing said what it is, and it is no TOML.
    #[error("{errors}")]
    Guessed {
        /// The mistakes.
        errors: PolicyErrors,
        /// The option that says what it is.
        option: &'static str,
    },
    /// The option and the name of the file contradict each other.
    #[error(
        "`{name}` is {by_name} by the end of its name, and {by_option} by {option}; leave {option} \
         out, or rename the file"
    )]
    Contradiction {
        /// Name of the file.
        name: String,
        /// Its format by the end of its name.
        by_name: Format,
        /// Its format by the option.
        by_option: Format,
        /// The option.
        option: &'static str,
    },
}

/// Returns whether a path is that of standard input.
#[must_use]
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads and checks a policy, and prints warnings on standard error. `-` is standard input. `option`
/// is the one whose value is `format`.
///
/// # Errors
///
/// [`InputError`].
pub fn read(
    path: &Path,
    format: Option<FormatName>,
    option: &'static str,
) -> Result<Policies, InputError> {
    let by_name = format_by_name(path);
    if let (Some(by_name), Some(by_option)) = (by_name, format.map(Format::from))
        && by_name != by_option
    {
        let name = path.display().to_string();
        return Err(InputError::Contradiction { name, by_name, by_option, option });
    }
    let known = format.map(Format::from).or(by_name);
    let format = known.unwrap_or(Format::Toml);
    let policies = if is_stdin(path) {
        if io::stdin().is_terminal() {
            tell(&"reading the policy from standard input");
        }
        let name = "standard input";
        let mut bytes = Vec::new();
        let read = io::stdin().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| LoadError::Io { file: name.to_owned(), error })?;
        Policies::from_bytes(format, name, &bytes).map_err(LoadError::from)
    } else {
        Policies::from_path_as(format, path)
    };
    match policies {
        Ok(policies) => {
            warn(&policies);
            Ok(policies)
        }
        Err(LoadError::Policy(errors)) if known.is_none() && is_no_toml(&errors) => {
            Err(InputError::Guessed { errors, option })
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the format that the end of a name tells, if it tells one.
fn format_by_name(path: &Path) -> Option<Format> {
    let is_toml = path.extension().is_some_and(|end| end.eq_ignore_ascii_case(OsStr::new("toml")));
    match Format::of_path(path) {
        Format::Toml => is_toml.then_some(Format::Toml),
        other => Some(other),
    }
}

fn is_no_toml(errors: &PolicyErrors) -> bool {
    errors.iter().any(|error| error.message() == "this is not TOML")
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Format {
        match name {
            FormatName::Toml => Format::Toml,
            FormatName::Yaml => Format::Yaml,
            FormatName::Json => Format::Json,
        }
    }
}
