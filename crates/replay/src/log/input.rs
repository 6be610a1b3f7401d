//! The sources of a log's bytes.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;

use flate2::bufread::MultiGzDecoder;
use indicatif::ProgressBar;

use self::zstd::ZstdFrames;

mod zstd;

/// The log that is replayed when none is given, compressed.
static SAMPLE: &[u8] = include_bytes!("../../sample/access.log.gz");

/// Bytes by which a format is known.
const HEAD_BYTES: usize = 6;

/// A format that is not text.
enum Format {
    Gzip,
    Zstd,
    /// One that is not read.
    Other {
        what: &'static str,
        /// A command that makes text of it.
        instead: &'static str,
    },
}

/// The formats that are known, and their first bytes.
const FORMATS: [(&[u8], Format); 8] = [
    (b"\x1f\x8b", Format::Gzip),
    (b"\x28\xb5\x2f\xfd", Format::Zstd),
    (b"\xfd7zXZ\0", Format::Other { what: "compressed by xz", instead: "`xz -dc FILE |`" }),
    (b"BZh", Format::Other { what: "compressed by bzip2", instead: "`bzip2 -dc FILE |`" }),
    (b"\x04\x22\x4d\x18", Format::Other { what: "compressed by lz4", instead: "`lz4 -dc FILE |`" }),
    (b"PK\x03\x04", Format::Other { what: "a zip archive", instead: "`unzip -p FILE |`" }),
    (b"\xff\xfe", Format::Other { what: "text in UTF-16", instead: "`iconv -f UTF-16 FILE |`" }),
    (b"\xfe\xff", Format::Other { what: "text in UTF-16", instead: "`iconv -f UTF-16 FILE |`" }),
];

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
    pub fn open(&self, progress: &ProgressBar) -> io::Result<Box<dyn BufRead + Send>> {
        let bytes: Box<dyn Read + Send> = match self {
            Source::Sample => Box::new(SAMPLE),
            Source::Stdin => Box::new(io::stdin()),
            Source::File(path) if path.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
            }
            Source::File(path) => Box::new(File::open(path)?),
        };
        decompressed(progress.wrap_read(bytes))
    }

    /// Returns true if the log can be read more than once.
    pub(super) fn can_be_reopened(&self) -> bool {
        self.bytes().is_some()
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

/// Decompresses the bytes if they are gzip or zstd, whatever the file's name is. Several members
/// one after the other, as rotated logs are often joined, are one log.
fn decompressed(mut bytes: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    bytes.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let found = FORMATS.iter().find(|(magic, _)| head.starts_with(magic));
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(bytes));
    Ok(match found.map(|(_, format)| format) {
        None => Box::new(whole),
        Some(Format::Gzip) => {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
        }
        Some(Format::Zstd) => {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, ZstdFrames::new(whole)))
        }
        Some(Format::Other { what, instead }) => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("is {what}, which is not read; try {instead}"),
            ));
        }
    })
}
