//! The places that policies are read from: files, and standard input.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use sluicegate_policy::{Format, LoadError, MAX_BYTES, Policies, PolicyErrors, PolicyFile};

use crate::console::tell;

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
    #[error("{0}")]
    Guessed(PolicyErrors),
    /// The option and the name of the file contradict each other.
    #[error(
        "`{name}` is {by_name} by the end of its name, and {by_option} by --policy-format; leave \
         --policy-format out, or rename the file"
    )]
    Contradiction {
        /// Name of the file.
        name: String,
        /// Its format by the end of its name.
        by_name: Format,
        /// Its format by the option.
        by_option: Format,
    },
}

/// Returns whether a path is that of standard input.
#[must_use]
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The ways in which policies are read.
#[derive(Clone, Debug, Args)]
pub struct PolicyArgs {
    /// Format of the policy, if its name does not tell it
    #[arg(long, value_name = "FORMAT", requires = "policy")]
    policy_format: Option<FormatName>,
    /// The most bytes that a policy may have
    #[arg(long, value_name = "SIZE", default_value = "1 MiB", value_parser = size)]
    policy_size: ByteSize,
}

impl Default for PolicyArgs {
    fn default() -> PolicyArgs {
        PolicyArgs { policy_format: None, policy_size: ByteSize::b(MAX_BYTES as u64) }
    }
}

impl PolicyArgs {
    /// Returns the file that is read, and whether its format is told by its name or by an option.
    ///
    /// # Errors
    ///
    /// [`InputError::Contradiction`].
    pub fn file(&self, path: &Path) -> Result<(PolicyFile, bool), InputError> {
        let by_name = format_by_name(path);
        let by_option = self.policy_format.map(Format::from);
        if let (Some(by_name), Some(by_option)) = (by_name, by_option)
            && by_name != by_option
        {
            let name = path.display().to_string();
            return Err(InputError::Contradiction { name, by_name, by_option });
        }
        let known = by_option.or(by_name);
        let name = if is_stdin(path) { Path::new("standard input") } else { path };
        let size = usize::try_from(self.policy_size.as_u64()).unwrap_or(usize::MAX);
        let file = PolicyFile::from(name).with_max_bytes(size);
        Ok((file.with_format(known.unwrap_or(Format::Toml)), known.is_some()))
    }

    /// Returns the arguments that read the policy in the same way.
    pub(crate) fn words(&self) -> Vec<String> {
        let format = self.policy_format.and_then(|format| format.to_possible_value());
        let format =
            format.map(|format| ["--policy-format".to_owned(), format.get_name().to_owned()]);
        let size = self.policy_size.as_u64();
        let size =
            (size != MAX_BYTES as u64).then(|| ["--policy-size".to_owned(), format!("{size}B")]);
        format.into_iter().chain(size).flatten().collect()
    }

    /// Reads and checks a policy, and prints warnings on standard error. `-` is standard input.
    ///
    /// # Errors
    ///
    /// [`InputError`].
    pub fn read(&self, path: &Path) -> Result<Policies, InputError> {
        let (file, is_known) = self.file(path)?;
        let policies = if is_stdin(path) {
            if io::stdin().is_terminal() {
                tell(&"reading the policy from standard input");
            }
            let mut bytes = Vec::new();
            let most = self.policy_size.as_u64().saturating_add(1);
            let read = io::stdin().take(most).read_to_end(&mut bytes);
            let name = file.path().display().to_string();
            read.map_err(|error| LoadError::Io { file: name, error })?;
            file.check(&bytes).map_err(LoadError::from)
        } else {
            Policies::from_path(file)
        };
        match policies {
            Ok(policies) => {
                warn(&policies);
                Ok(policies)
            }
            Err(LoadError::Policy(errors)) if !is_known && is_no_toml(&errors) => {
                Err(InputError::Guessed(errors))
            }
            Err(error) => Err(error.into()),
        }
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

/// Prints the warnings about a policy on standard error.
fn warn(policies: &Policies) {
    for warning in policies.warnings() {
        tell(&format_args!("{}\n", warning.in_colour()));
    }
}

/// Reads a number of bytes.
pub(crate) fn size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "not a size; write, for example, `512 MiB` or `4 GiB`".to_owned())
}
