//! Merges logs by time.
//!
//! A log is opened when the lines of those before it reach the time of its first line, so that only
//! logs that overlap are open together. Each has a thread that decompresses and parses it.

use std::io::{self, BufRead};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::{fmt, mem, thread};

use indicatif::ProgressBar;
use jiff::Timestamp;

use super::batch::Batch;
use super::format::{Format, HeaderError};
use super::input::Source;
use super::presence::Absent;
use super::presence::Had;
use super::vet::Vetted;
use super::{SHOWN_SKIPPED, Skipped};

/// Batches of a log that wait to be judged, beside the one that is being read.
const BATCHES_AHEAD: usize = 2;

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
    had: Had,
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
    Open(Box<(Vec<Item>, Vetted<Log>)>),
}

type Item = (Batch, Option<io::Error>);

struct Open {
    name: String,
    place: usize,
    batches: Batches,
    batch: Arc<Batch>,
    next: usize,
}

enum Batches {
    Here(Box<dyn Iterator<Item = Item>>),
    InThread(Receiver<Item>),
}

impl Merged {
    /// Opens logs in common or combined format: see [`open_as`](Merged::open_as).
    ///
    /// # Errors
    ///
    /// If a log cannot be opened, or nothing can be read of it: its name, and why.
    pub fn open(sources: &[Source], progress: &ProgressBar) -> Result<Merged, (String, io::Error)> {
        Merged::open_as(&Format::default(), sources, progress)
    }

    /// Opens each log, and reads its first lines. `progress` counts the bytes that are read. A log that cannot be
    /// opened is one of the [failures](Merged::failures), and the others are read.
    ///
    /// # Errors
    ///
    /// If no log can be opened, or the header of one does not fit: its name, and why.
    pub fn open_as(
        format: &Format,
        sources: &[Source],
        progress: &ProgressBar,
    ) -> Result<Merged, (String, io::Error)> {
        let mut merged = Merged { format: format.clone(), ..Merged::default() };
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
            let mut waiting = Waiting::new(name, place, log, format);
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
        let waiting = Waiting::new(name.to_owned(), 0, Box::new(log), &Format::default());
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
        let (read, vetted) = match log {
            Unread::Open(log) => *log,
            Unread::Closed(source, progress) => match source.open(&progress) {
                Ok(log) => (Vec::new(), Vetted::new(log, &self.format)),
                Err(error) => return self.failures.push((name, error)),
            },
        };
        let batches = Batches::new(read, vetted, self.open.len() < MOST_KEPT_OPEN);
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

    /// Returns names of fields in the logs, those that were read first.
    pub(crate) fn names(&self) -> Vec<String> {
        self.format.names()
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
    fn new(name: String, place: usize, log: Log, format: &Format) -> Waiting {
        let mut vetted = Vetted::new(log, format);
        let mut read = Vec::new();
        // Lines in no format may fill any number of batches.
        let mut empty = Batch::default();
        while let Some((mut batch, error)) = vetted.next() {
            if let Some(entry) = batch.entries().first() {
                let first = Some(entry.at);
                batch.absorb(empty);
                read.push((batch, error));
                return Waiting { name, place, first, log: Unread::Open(Box::new((read, vetted))) };
            }
            empty.absorb(batch);
            if error.is_some() {
                read.push((mem::take(&mut empty), error));
            }
        }
        read.push((empty, None));
        Waiting { name, place, first: None, log: Unread::Open(Box::new((read, vetted))) }
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

impl Batches {
    fn new(read: Vec<Item>, mut vetted: Vetted<Log>, in_thread: bool) -> Batches {
        let mut batches = read.into_iter().chain(std::iter::from_fn(move || vetted.next()));
        if !in_thread {
            return Batches::Here(Box::new(batches));
        }
        let (sender, receiver) = sync_channel(BATCHES_AHEAD);
        thread::spawn(
            move || while batches.next().is_some_and(|item| sender.send(item).is_ok()) {},
        );
        Batches::InThread(receiver)
    }

    fn next(&mut self) -> Option<Item> {
        match self {
            Batches::Here(batches) => batches.next(),
            Batches::InThread(batches) => batches.recv().ok(),
        }
    }
}
