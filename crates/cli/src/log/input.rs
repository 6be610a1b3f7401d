//! The sources of a log's bytes.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;

use flate2::bufread::MultiGzDecoder;
use indicatif::ProgressBar;

/// The log that is replayed when none is given, compressed.
static SAMPLE: &[u8] = include_bytes!("../../sample/access.log.gz");

/// The first two bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

const BUFFER_BYTES: usize = 1 << 17;

/// A place to read a log from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The bundled sample.
    Sample,
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// Returns the number of bytes to read, if it is known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Source::Sample => Some(SAMPLE.len() as u64),
            Source::Stdin => None,
            Source::File(path) => {
                path.metadata().ok().filter(Metadata::is_file).map(|file| file.len())
            }
        }
    }

    /// Opens the log, and decompresses it if it is compressed. `progress` counts the
    /// bytes before they are decompressed.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, or its first bytes cannot be read.
    pub fn open(&self, progress: &ProgressBar) -> io::Result<Box<dyn BufRead>> {
        let bytes: Box<dyn Read> = match self {
            Source::Sample => Box::new(SAMPLE),
            Source::Stdin => Box::new(io::stdin().lock()),
            Source::File(path) => Box::new(File::open(path)?),
        };
        decompressed(progress.wrap_read(bytes))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Sample => f.write_str("the bundled sample"),
            Source::Stdin => f.write_str("standard input"),
            Source::File(path) => path.display().fmt(f),
        }
    }
}

/// Decompresses the bytes if they are gzip, whatever the file's name is. Several
/// members one after the other, as rotated logs are often joined, are one log.
fn decompressed(mut bytes: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut head = Vec::with_capacity(GZIP_MAGIC.len());
    bytes.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head)?;
    let compressed = head == GZIP_MAGIC;
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(bytes));
    Ok(if compressed {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
    } else {
        Box::new(whole)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(bytes: impl Read + 'static) -> io::Result<String> {
        io::read_to_string(decompressed(bytes)?)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_known_by_its_content() {
        assert_eq!(read("plain".as_bytes()).unwrap(), "plain");
        assert_eq!(read(Cursor::new(gzip("packed"))).unwrap(), "packed");
        assert_eq!(read("".as_bytes()).unwrap(), "");
        assert_eq!(read("\x1f".as_bytes()).unwrap(), "\x1f");
    }

    #[test]
    fn joined_gzip_files_are_one_log() {
        let both = [gzip("one\n"), gzip("two\n")].concat();
        assert_eq!(read(Cursor::new(both)).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_cut_gzip_file_is_an_error_and_not_a_short_log() {
        let mut cut = gzip("a line that is long enough to be cut\n");
        cut.truncate(cut.len() - 9);
        assert_eq!(read(Cursor::new(cut)).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
