//! The file that a page is written to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use sluicegate_replay::log::Source;

use super::Failure;
use crate::policy::input::is_stdin;

/// Opens the file of a page, if one is wanted, before anything is read of the logs and the policies.
pub(super) fn page_file<'a>(
    path: Option<&Path>,
    logs: &'a [Source],
    policies: impl Iterator<Item = &'a Path> + Clone,
) -> Result<Option<PageFile>, Failure> {
    let reads_stdin = logs.contains(&Source::Stdin) || policies.clone().any(is_stdin);
    let logs = logs.iter().filter_map(|source| match source {
        Source::File(path) => Some(path.as_path()),
        _ => None,
    });
    let inputs: Vec<&Path> = logs.chain(policies).collect();
    path.map(|path| PageFile::open(path, &inputs, reads_stdin)).transpose()
}

/// A file that can be written to, and has not been yet.
#[derive(Debug)]
pub(super) struct PageFile {
    file: File,
    path: PathBuf,
    /// True if it is to be removed unless a page is written.
    is_new: bool,
}

impl PageFile {
    /// Opens the file without changing it, or creates it. `inputs` are the files that are read, and
    /// standard input may be one of them.
    fn open(path: &Path, inputs: &[&Path], stdin: bool) -> Result<PageFile, Failure> {
        let name = path.display();
        if path.as_os_str() == "-" {
            return Err(Failure::Use(
                "--html - names no file; name one for the page, such as report.html (or ./- for a \
                 file of that name)"
                    .to_owned(),
            ));
        }
        let is_stdin = || {
            let [read, own] = [same_file::Handle::stdin(), same_file::Handle::from_path(path)];
            // The same terminal may be read and be written to.
            path.is_file() && read.is_ok_and(|read| own.is_ok_and(|own| read == own))
        };
        if stdin && is_stdin() {
            return Err(Failure::Use(format!(
                "--html {name} would replace the file that standard input reads; name another one \
                 for the page"
            )));
        }
        if inputs.iter().any(|input| same_file::is_same_file(input, path).unwrap_or(false)) {
            return Err(Failure::Use(format!(
                "--html {name} would replace a file that is read; name another one for the page"
            )));
        }
        let unwritable = |error: io::Error| {
            Failure::Use(format!("--html {name}: {error}; name a file that can be written"))
        };
        let new = OpenOptions::new().write(true).create_new(true).open(path);
        match new {
            Ok(file) => Ok(PageFile { file, path: path.to_owned(), is_new: true }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = OpenOptions::new().write(true).open(path).map_err(unwritable)?;
                Ok(PageFile { file, path: path.to_owned(), is_new: false })
            }
            Err(error) => Err(unwritable(error)),
        }
    }

    /// Replaces what is in the file.
    pub(super) fn write(mut self, page: &str) -> Result<(), Failure> {
        self.is_new = false;
        let written = self.replace(page);
        written.map_err(|error| Failure::Io { what: self.path.display().to_string(), error })
    }

    fn replace(&mut self, page: &str) -> io::Result<()> {
        // A pipe or a device has no length and no beginning.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
            self.file.rewind()?;
        }
        self.file.write_all(page.as_bytes())?;
        self.file.flush()
    }
}

impl Drop for PageFile {
    fn drop(&mut self) {
        if self.is_new {
            let _ = fs::remove_file(&self.path);
        }
    }
}
