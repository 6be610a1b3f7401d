//! Divides a log into blocks of whole lines.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use super::MAX_LINE_BYTES;

/// Bytes that are read at a time, with the rest of the line before. Fewer than those for which
/// allocators ask the system each time, and more than a line may have.
pub(super) const BLOCK_BYTES: usize = 120 << 10;

/// Opens a text in UTF-8, as some editors write it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Successive lines of a log.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) text: Vec<u8>,
    /// The part of the text that is its lines, each with its end.
    pub(super) lines: Range<usize>,
    /// True if the last line has no end, since the log has none there, or since it is too long.
    pub(super) is_open: bool,
    /// The number of lines before it.
    pub(super) before: u64,
    /// The reason why nothing comes after it, if that is not the log's end.
    pub(super) error: Option<io::Error>,
}

impl Block {
    /// Returns its lines.
    pub(super) fn lines(&self) -> &[u8] {
        &self.text[self.lines.clone()]
    }
}

/// The blocks of a log.
pub(super) struct Blocks<R> {
    log: R,
    /// The number of lines that were read.
    number: u64,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
    /// True while the end of a line that is too long is looked for.
    skips: bool,
    is_started: bool,
    ended: bool,
}

impl<R: BufRead> Blocks<R> {
    pub(super) fn new(log: R) -> Blocks<R> {
        let (skips, is_started, ended) = (false, false, false);
        Blocks { log, number: 0, rest: Vec::new(), skips, is_started, ended }
    }

    /// Reads the next lines. `None` is the end of the log.
    pub(super) fn next(&mut self) -> Option<Block> {
        if self.ended {
            return None;
        }
        let mut text = Vec::with_capacity(BLOCK_BYTES);
        text.append(&mut self.rest);
        let wanted = BLOCK_BYTES - text.len();
        let error = match self.log.by_ref().take(wanted as u64).read_to_end(&mut text) {
            Ok(read) => {
                self.ended = read < wanted;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(error)
            }
        };
        if !std::mem::replace(&mut self.is_started, true) && text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        let mut from = 0;
        if self.skips {
            match memchr(b'\n', &text) {
                Some(end) => (from, self.skips) = (end + 1, false),
                None => from = text.len(),
            }
        }
        let end = memrchr(b'\n', &text[from..]).map_or(from, |end| from + end + 1);
        let rest = end..text.len();
        let is_kept = !self.ended && rest.len() <= MAX_LINE_BYTES;
        let is_open = !is_kept && !rest.is_empty();
        let lines = if is_open { from..text.len() } else { from..end };
        if is_kept {
            self.rest.extend_from_slice(&text[rest]);
        }
        if is_open {
            // A line that is read in parts counts when its first part does.
            self.skips = !self.ended;
        }
        let before = self.number;
        self.number += memchr_iter(b'\n', &text[lines.clone()]).count() as u64 + u64::from(is_open);
        Some(Block { text, lines, is_open, before, error })
    }
}
