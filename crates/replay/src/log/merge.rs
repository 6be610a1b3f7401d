//! Merges logs by time.
//!
//! A log is opened when the lines of those before it reach the time of its first line, so that only
//! logs that overlap are open together.

use std::io::{self, BufRead};
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::{fmt, mem, thread};

use indicatif::ProgressBar;
use jiff::Timestamp;

use super::batch::Batch;
use super::copies::copies;
use super::format::{Format, HeaderError};
use super::input::Source;
use super::parser::Item;
use super::presence::{Absent, Had, Sought};
use super::reorder::{Order, Reordered};
use super::{SHOWN_SKIPPED, Skipped};

/// The most logs that are kept open from the start.
const MOST_KEPT_OPEN: usize = 16;

type Log = Box<dyn BufRead + Send>;

/// The lines of several logs, by time; those of one time by the order of the logs.
#[derive(Debug, Default)]
pub struct Merged {
    /// The logs that are still to be read, the last first.
    waiting: Vec<Waiting>,
    open: Vec<Open>,
    skipped: u64,
    outliers: u64,
    first_skipped: Vec<Skipped>,
    failures: Vec<(String, io::Error)>,
    format: Format,
    order: Order,
    /// The logs that are not in the usual format, and the names of theirs.
    formats: Vec<(String, String)>,
    had: Had,
    /// Pairs of logs that look like copies of each other.
    copies: Vec<(String, String)>,
}

/// Successive lines of one log.
#[derive(Clone, Debug)]
pub struct Run {
    /// The batch that has them.
    pub batch: Arc<Batch>,
    /// Their places among its entries; at least one.
    pub range: Range<usize>,
}

struct Waiting {
    name: String,
    /// The place of the log among the arguments.
    place: usize,
    /// Time of its first line, if it has one.
    first: Option<Timestamp>,
    log: Unread,
}

enum Unread {
    /// It is opened again when it is its turn.
    Closed(Source, ProgressBar),
    /// The items that were read of it, and the rest.
    Open(Box<(Vec<Item>, Reordered<Log>)>),
}

struct Open {
    name: String,
    place: usize,
    batches: Box<dyn Iterator<Item = Item>>,
    batch: Arc<Batch>,
    next: usize,
}

impl Merged {
    /// Opens logs in common or combined format: see [`open_as`](Merged::open_as).
    ///
    /// # Errors
    ///
    /// If a log cannot be opened, or nothing can be read of it: its name, and why.
    pub fn open(sources: &[Source], progress: &ProgressBar) -> Result<Merged, (String, io::Error)> {
        Merged::open_as(&Format::default(), Order::OfLog, sources, progress)
    }

    /// Opens each log, and reads its first lines. `progress` counts the bytes that are read. A log that cannot be
    /// opened is one of the [failures](Merged::failures), and the others are read.
    ///
    /// # Errors
    ///
    /// If no log can be opened, or the header of one does not fit: its name, and why.
    pub fn open_as(
        format: &Format,
        order: Order,
        sources: &[Source],
        progress: &ProgressBar,
    ) -> Result<Merged, (String, io::Error)> {
        let copies = copies(sources);
        let mut merged = Merged { format: format.clone(), order, copies, ..Merged::default() };
        for (place, source) in sources.iter().enumerate() {
            let name = source.to_string();
            let is_kept = place < MOST_KEPT_OPEN || !source.can_be_reopened();
            let counted = if is_kept { progress } else { &ProgressBar::hidden() };
            let log = match source.open(counted) {
                Ok(log) => log,
                Err(error) => {
                    merged.failures.push((name, error));
                    continue;
                }
            };
            let log = Reordered::new(log, format, order);
            let mut waiting = Waiting::new(name, place, log);
            merged.formats.extend(waiting.format_name());
            if let Some(error) = waiting.take_header_error() {
                return Err((waiting.name, error));
            }
            merged.waiting.push(if is_kept {
                waiting
            } else {
                Waiting { log: Unread::Closed(source.clone(), progress.clone()), ..waiting }
            });
        }
        if merged.waiting.is_empty()
            && let Some(failure) = merged.failures.pop()
        {
            return Err(failure);
        }
        merged.sort();
        Ok(merged)
    }

    /// Reads one log that is open already.
    pub fn of_log(name: &str, log: impl BufRead + Send + 'static) -> Merged {
        let log: Log = Box::new(log);
        let log = Reordered::new(log, &Format::default(), Order::OfLog);
        let waiting = Waiting::new(name.to_owned(), 0, log);
        Merged { waiting: vec![waiting], ..Merged::default() }
    }

    fn sort(&mut self) {
        self.waiting.sort_by_key(|log| (log.first, log.place));
        self.waiting.reverse();
    }

    /// Returns the next lines. `None` is the end of all logs.
    pub fn next_run(&mut self) -> Option<Run> {
        loop {
            let least = (0..self.open.len()).min_by_key(|open| self.open[*open].head());
            match (least, self.waiting.last()) {
                (None, None) => return None,
                (Some(least), waiting)
                    if waiting
                        .is_none_or(|log| (log.first, log.place) > self.open[least].key()) =>
                {
                    return Some(self.run_of(least));
                }
                _ => {}
            }
            if let Some(waiting) = self.waiting.pop() {
                self.start(waiting);
            }
        }
    }

    /// Takes the lines of the log at that place that are before those of the others.
    fn run_of(&mut self, least: usize) -> Run {
        let others = self.open.iter().enumerate().filter(|(place, _)| *place != least);
        let bound = others
            .map(|(_, open)| open.key())
            .chain(self.waiting.last().map(|log| (log.first, log.place)))
            .min();
        let open = &mut self.open[least];
        let entries = &open.batch.entries()[open.next..];
        let len = match bound {
            None => entries.len(),
            Some((at, place)) => {
                entries.partition_point(|entry| (Some(entry.at), open.place) < (at, place))
            }
        };
        let run = Run { batch: Arc::clone(&open.batch), range: open.next..open.next + len };
        open.next += len;
        if open.next == open.batch.entries().len() {
            self.refill(least);
        }
        run
    }

    fn start(&mut self, waiting: Waiting) {
        let Waiting { name, place, log, .. } = waiting;
        let (read, mut log) = match log {
            Unread::Open(log) => *log,
            Unread::Closed(source, progress) => match source.open(&progress) {
                Ok(log) => (Vec::new(), Reordered::new(log, &self.format, self.order)),
                Err(error) => return self.failures.push((name, error)),
            },
        };
        if self.open.len() < MOST_KEPT_OPEN {
            let cores = thread::available_parallelism().map_or(1, NonZero::get);
            // Logs that are read together share the cores.
            log = log.spread(cores.div_ceil(self.open.len() + 1));
        }
        let batches = Box::new(read.into_iter().chain(std::iter::from_fn(move || log.next())));
        self.open.push(Open { name, place, batches, batch: Arc::default(), next: 0 });
        self.refill(self.open.len() - 1);
    }

    /// Takes the next batch of a log that has lines, or closes the log.
    fn refill(&mut self, place: usize) {
        let open = &mut self.open[place];
        while open.next == open.batch.entries().len() {
            let Some((mut batch, error)) = open.batches.next() else {
                self.open.swap_remove(place);
                return;
            };
            self.skipped += batch.skipped;
            self.outliers += batch.outliers;
            self.had.extend(batch.had);
            for (number, why) in mem::take(&mut batch.first_skipped) {
                if self.first_skipped.len() < SHOWN_SKIPPED {
                    self.first_skipped.push(Skipped { log: open.name.clone(), number, why });
                }
            }
            self.failures.extend(error.map(|error| (open.name.clone(), error)));
            (open.batch, open.next) = (Arc::new(batch), 0);
        }
    }

    /// Returns the fields that lines had so far.
    pub(crate) fn had(&self) -> Had {
        self.had
    }

    /// Returns the logs that are not in the usual format, and the names of theirs.
    #[must_use]
    pub fn formats(&self) -> &[(String, String)] {
        &self.formats
    }

    /// Returns names of fields in the logs, those that were read first.
    pub(crate) fn names(&self) -> Vec<String> {
        self.format.names()
    }

    /// Returns the names under which the client was looked for.
    pub(crate) fn sought(&self) -> Sought {
        self.format.sought()
    }

    /// Returns pairs of logs that look like copies of each other.
    pub(crate) fn copies(&self) -> &[(String, String)] {
        &self.copies
    }

    /// Returns the headers and columns of the format that no line had so far.
    pub(crate) fn absent(&self) -> Vec<Absent> {
        self.format.absent()
    }

    /// Returns the number of lines so far that cannot be judged.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of those that were set aside, since they are far ahead of their neighbours.
    #[must_use]
    pub fn outliers(&self) -> u64 {
        self.outliers
    }

    /// Returns the first few of the lines that cannot be judged.
    #[must_use]
    pub fn first_skipped(&self) -> &[Skipped] {
        &self.first_skipped
    }

    /// Returns the logs that could not be read to their end, and why.
    #[must_use]
    pub fn failures(&self) -> &[(String, io::Error)] {
        &self.failures
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Waiting {
    fn new(name: String, place: usize, mut log: Reordered<Log>) -> Waiting {
        let mut read = Vec::new();
        // Lines in no format may fill any number of batches.
        let mut empty = Batch::default();
        while let Some((mut batch, error)) = log.next() {
            if let Some(entry) = batch.entries().first() {
                let first = Some(entry.at);
                batch.absorb(empty);
                read.push((batch, error));
                return Waiting { name, place, first, log: Unread::Open(Box::new((read, log))) };
            }
            empty.absorb(batch);
            if error.is_some() {
                read.push((mem::take(&mut empty), error));
            }
        }
        read.push((empty, None));
        Waiting { name, place, first: None, log: Unread::Open(Box::new((read, log))) }
    }

    /// Returns its name and that of its format, if it is not the usual one.
    fn format_name(&self) -> Option<(String, String)> {
        let Unread::Open(unread) = &self.log else { return None };
        Some((self.name.clone(), unread.1.format_name()?.to_owned()))
    }

    /// Takes the error about a header that comes before its first line.
    fn take_header_error(&mut self) -> Option<io::Error> {
        let Unread::Open(unread) = &mut self.log else { return None };
        let errors = unread.0.iter_mut().filter_map(|(batch, error)| {
            error.take_if(|error| batch.entries().is_empty() && HeaderError::is(error))
        });
        errors.last()
    }
}

impl Open {
    /// Returns the time of its next line, and its place among the logs.
    fn key(&self) -> (Option<Timestamp>, usize) {
        (self.batch.entries().get(self.next).map(|entry| entry.at), self.place)
    }

    fn head(&self) -> (Option<Timestamp>, usize) {
        self.key()
    }
}
