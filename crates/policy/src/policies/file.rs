//! A file of policies, and how it is read.

#[cfg(feature = "registry")]
use std::fs;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{LoadError, MAX_BYTES, Policies};
use crate::error_snippet::PolicyErrors;
use crate::format::Format;

/// A file of policies, and how it is read.
///
/// Made from a path: its format is told by the end of its name, TOML unless that is `.yaml`, `.yml` or `.json`, and it has
/// at most [`MAX_BYTES`].
///
/// # Examples
///
/// ```no_run
/// use sluicegate_policy::{Format, PolicyFile, Registry};
///
/// let file = PolicyFile::from("limits.conf").with_format(Format::Yaml).with_max_bytes(8 << 20);
/// let registry = Registry::open(file)?;
/// # Ok::<(), sluicegate_policy::ReloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PolicyFile {
    path: PathBuf,
    format: Format,
    max_bytes: usize,
}

impl<P: AsRef<Path>> From<P> for PolicyFile {
    fn from(path: P) -> PolicyFile {
        let path = path.as_ref().to_owned();
        PolicyFile { format: Format::of_path(&path), path, max_bytes: MAX_BYTES }
    }
}

impl PolicyFile {
    /// Sets the format, whatever the name of the file.
    #[must_use]
    pub fn with_format(self, format: Format) -> PolicyFile {
        PolicyFile { format, ..self }
    }

    /// Sets the most bytes that it may have. A larger file is a mistake, and no more of it is read.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize) -> PolicyFile {
        PolicyFile { max_bytes, ..self }
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads and checks it: [`Policies::from_path`].
    pub(crate) fn policies(&self) -> Result<Policies, LoadError> {
        let bytes = self.bytes().map_err(|error| self.unreadable(error))?;
        Ok(self.check(&bytes)?)
    }

    /// Reads and checks it again.
    #[cfg(feature = "registry")]
    pub(crate) fn policies_again(&self) -> Result<Policies, LoadError> {
        let bytes = self.bytes_again().map_err(|error| self.unreadable(error))?;
        Ok(self.check(&bytes)?)
    }

    /// Reads it, and one byte more than it may have.
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = u64::try_from(self.max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        File::open(&self.path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads it again: a pipe, which may wait for a writer without end, is an error.
    #[cfg(feature = "registry")]
    pub(crate) fn bytes_again(&self) -> io::Result<Vec<u8>> {
        if fs::metadata(&self.path)?.is_file() {
            return self.bytes();
        }
        let why = "it is no regular file, so it cannot be read again";
        Err(io::Error::new(io::ErrorKind::InvalidInput, why))
    }

    /// Checks what the file contains, which somebody has read.
    ///
    /// # Errors
    ///
    /// [`PolicyErrors`], all mistakes of the text, or the first byte that is not UTF-8.
    pub fn check(&self, bytes: &[u8]) -> Result<Policies, PolicyErrors> {
        Policies::within(self.max_bytes, self.format, &self.path.display().to_string(), bytes)
    }

    pub(crate) fn unreadable(&self, error: io::Error) -> LoadError {
        LoadError::Io { file: self.path.display().to_string(), error }
    }
}
