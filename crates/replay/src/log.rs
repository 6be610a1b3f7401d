//! Access logs: the sources of their bytes, the fields of a line, and the order of lines from
//! several logs.

mod batch;
mod batches;
mod blocks;
mod columns;
mod copies;
mod format;
mod input;
mod line;
mod merge;
mod parser;
mod presence;
mod reorder;
mod shared;
mod vet;

pub use self::batch::{Batch, Entry};
pub use self::columns::Columns;
pub use self::format::help as formats_help;
pub use self::format::{Format, FormatError, HeaderError, Used};
pub use self::input::Source;
pub use self::line::printable;
pub use self::line::{BadLine, Line};
pub use self::merge::{Merged, Run};
pub use self::presence::Absent;
pub(crate) use self::presence::{Had, Sought, forwarded, likely_clients, likely_names};
pub use self::reorder::Order;
pub(crate) use self::vet::check_range;

/// The most bytes of a line: a longer one is skipped.
pub const MAX_LINE_BYTES: usize = 1 << 16;

/// The number of skipped lines of a log that are kept to be shown.
pub const SHOWN_SKIPPED: usize = 5;

/// A line that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Name of the log.
    pub log: String,
    /// The line's number in it, from 1.
    pub number: u64,
    /// The reason why it cannot be judged.
    pub why: BadLine,
}
