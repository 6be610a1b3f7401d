//! Puts the lines of a log in the order of their times, as far as they are near to it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::BufRead;
use std::sync::Arc;
use std::{io, mem};

use jiff::{SignedDuration, Timestamp};

use super::batch::Batch;
use super::format::Format;
use super::presence::Had;
use super::vet::Vetted;

/// Lines of a batch that is put together.
const LINES: usize = 1_000;

/// The order in which the lines of a log are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// That of the log. A line that is older than one before it is judged at the newest time.
    #[default]
    OfLog,
    /// That of their times, if no line is older than one before it by more than this.
    Within(SignedDuration),
    /// That of their times. The whole log is kept in memory, and no line is set aside for being far ahead of others.
    Sorted,
}

/// The batches of a log whose lines are in order.
pub(super) struct Reordered<R> {
    vetted: Vetted<R>,
    order: Order,
    /// The lines that are held back, the oldest first, and of one time in the log's order.
    held: BinaryHeap<Reverse<Held>>,
    /// The number of lines that were held back so far.
    lines: u64,
    /// The newest time of a line that was read, and of one that was let go.
    newest: Timestamp,
    let_go: Timestamp,
    /// The contents of the batches that were read.
    had: Had,
    places: u8,
    ended: bool,
}

/// A line that is held back.
#[derive(Debug)]
struct Held {
    time: Timestamp,
    number: u64,
    batch: Arc<Batch>,
    place: usize,
}

impl<R: BufRead> Reordered<R> {
    pub(super) fn new(log: R, format: &Format, order: Order) -> Reordered<R> {
        let vetted = Vetted::new(log, format);
        Reordered {
            vetted: if order == Order::Sorted { vetted.keeping_all() } else { vetted },
            order,
            held: BinaryHeap::new(),
            lines: 0,
            newest: Timestamp::MIN,
            let_go: Timestamp::MIN,
            had: Had::default(),
            places: 0,
            ended: false,
        }
    }

    /// Returns the name of the log's own format, if it is not the usual one.
    pub(super) fn format_name(&self) -> Option<&str> {
        self.vetted.format_name()
    }

    /// Returns the next lines. `None` is the end of the log. An error comes with lines before it.
    pub(super) fn next(&mut self) -> Option<(Batch, Option<io::Error>)> {
        let window = match self.order {
            Order::OfLog => return self.vetted.next(),
            Order::Within(window) => window,
            Order::Sorted => SignedDuration::MAX,
        };
        loop {
            let is_due = |newest: Timestamp, held: &Held| {
                newest.checked_sub(window).is_ok_and(|due| held.time <= due)
            };
            let oldest = self.held.peek().map(|Reverse(held)| held);
            if oldest.is_some_and(|held| self.ended || is_due(self.newest, held)) {
                return Some((self.take(|newest, held| is_due(newest, held)), None));
            }
            if self.ended {
                return None;
            }
            let Some((mut batch, error)) = self.vetted.next() else {
                self.ended = true;
                continue;
            };
            let counts = Batch {
                skipped: mem::take(&mut batch.skipped),
                outliers: mem::take(&mut batch.outliers),
                first_skipped: mem::take(&mut batch.first_skipped),
                ..Batch::default()
            };
            self.hold(batch);
            if counts.skipped > 0 || error.is_some() {
                return Some((counts, error));
            }
        }
    }

    fn hold(&mut self, batch: Batch) {
        self.had.extend(batch.had);
        self.places = self.places.max(batch.places);
        let batch = Arc::new(batch);
        for (place, entry) in batch.entries().iter().enumerate() {
            self.newest = self.newest.max(entry.time);
            let (time, number) = (entry.time, self.lines);
            self.held.push(Reverse(Held { time, number, batch: Arc::clone(&batch), place }));
            self.lines += 1;
        }
    }

    /// Takes lines that nothing older can follow.
    fn take(&mut self, is_due: impl Fn(Timestamp, &Held) -> bool) -> Batch {
        let mut taken = Batch { had: self.had, places: self.places, ..Batch::default() };
        while taken.entries.len() < LINES
            && let Some(Reverse(oldest)) = self.held.peek()
            && (self.ended || is_due(self.newest, oldest))
            && let Some(Reverse(Held { time, batch, place, .. })) = self.held.pop()
        {
            self.let_go = self.let_go.max(time);
            if taken.entries.is_empty() {
                taken.asked = batch.asked.clone();
            }
            taken.copy(&batch, &batch.entries()[place], self.let_go);
        }
        taken
    }
}

impl<R: BufRead + Send + 'static> Reordered<R> {
    /// Has the rest of the log parsed by so many threads.
    pub(super) fn spread(self, threads: usize) -> Reordered<R> {
        Reordered { vetted: self.vetted.spread(threads), ..self }
    }
}

impl Held {
    fn key(&self) -> (Timestamp, u64) {
        (self.time, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Held) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
