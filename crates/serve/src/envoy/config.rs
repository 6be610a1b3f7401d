//! The configuration of envoyproxy/ratelimit: a YAML file for each domain.

mod file;
mod metadata;
mod reader;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use self::reader::Reader;
use super::domains::Domains;
use crate::limiters::InForce;

/// A reason why there are no limits.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EnvoyError {
    /// A file or a folder cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A folder has no file whose name ends with `.yaml` or `.yml`.
    #[error("{}: there is no file whose name ends with .yaml or .yml", path.display())]
    Empty {
        /// Its path.
        path: PathBuf,
    },
    /// There cannot be so many counts.
    #[error("the most descriptors: {0}")]
    Room(sluicegate::ConfigError),
    /// Files have mistakes: all that were found.
    #[error("{}", list(mistakes))]
    Mistakes {
        /// The mistakes.
        mistakes: Vec<EnvoyMistake>,
    },
}

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvoyMistake {
    /// The file.
    pub file: String,
    /// The place in it, such as `descriptors[1].rate_limit.unit`. Empty if the text of `what` says it.
    pub place: String,
    /// The mistake, and what is right.
    pub what: String,
}

impl fmt::Display for EnvoyMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EnvoyMistake { file, place, what } = self;
        if place.is_empty() {
            write!(f, "{file}: {what}")
        } else {
            write!(f, "{file}: {place}: {what}")
        }
    }
}

fn list(mistakes: &[EnvoyMistake]) -> String {
    mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Reads a file, or all YAML files of a folder. Limits may name one of `limiters`.
pub(super) fn read(path: &Path, limiters: Option<&InForce>) -> Result<Domains, EnvoyError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| EnvoyError::Io { path, error }
    };
    let mut files = Vec::new();
    if fs::metadata(path).map_err(io(path))?.is_dir() {
        for entry in fs::read_dir(path).map_err(io(path))? {
            let file = entry.map_err(io(path))?.path();
            let end = file.extension().map(std::ffi::OsStr::to_ascii_lowercase);
            if end.is_some_and(|end| end == "yaml" || end == "yml") {
                files.push(file);
            }
        }
        // Mistakes, and the first of two domains of a name, do not depend on the file system.
        files.sort();
        if files.is_empty() {
            return Err(EnvoyError::Empty { path: path.to_owned() });
        }
    } else {
        files.push(path.to_owned());
    }
    let mut texts = Vec::with_capacity(files.len());
    for file in files {
        let text = fs::read_to_string(&file).map_err(io(&file))?;
        texts.push((file.display().to_string(), text));
    }
    let mut reader = Reader::new(limiters);
    for (file, text) in &texts {
        reader.read(file, text);
    }
    reader.finish().map_err(|mistakes| EnvoyError::Mistakes { mistakes })
}
