//! The blocks of a log, which several threads parse: the caller that wants the batches, and helpers.
//!
//! An idle thread takes the next block. The caller is idle while the batch that it wants is not ready, so as many threads as
//! there are processors keep all of them at work.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use super::batch::Batch;
use super::blocks::{Block, Blocks};
use super::format::Reader;
use super::parser::{Item, Parser};

/// Batches for each thread that are ready before they are wanted: the more, the less threads wait for each other, and the
/// more memory a log takes.
const AHEAD: usize = 4;

/// The caller's side. Helpers end when it is dropped.
pub(super) struct Shared<R> {
    work: Arc<Work<R>>,
    /// The number of the batch that is wanted next.
    next: u64,
    own: Own,
}

struct Work<R> {
    source: Mutex<Source<R>>,
    items: Mutex<Items>,
    /// The most batches that are ready or parsed at a time.
    most: usize,
    /// Told when a batch is ready or taken, and when another thread may take a block.
    changed: Condvar,
}

struct Source<R> {
    blocks: Blocks<R>,
    /// The parser of blocks that may have a header, in the log's order.
    parser: Parser,
    /// The knowledge of the log so far.
    known: Arc<Reader>,
    /// The number of blocks that were taken.
    taken: u64,
}

struct Items {
    /// The batches that are ready, by number; `None` while one is parsed.
    ready: BTreeMap<u64, Option<Item>>,
    /// True if no block is left to take, or none is wanted after an error.
    ended: bool,
    /// True if nobody wants batches any more.
    closed: bool,
}

/// A thread's own parser, and the knowledge that it was made with.
type Own = Option<(Arc<Reader>, Parser)>;

/// The place of a batch that a thread is to fill. Dropped, it is ready: if the thread panics, as an error.
struct Pending<'a> {
    items: &'a Mutex<Items>,
    changed: &'a Condvar,
    number: u64,
    /// `None` if the log has ended before it.
    item: Option<Item>,
}

impl<R: BufRead + Send + 'static> Shared<R> {
    /// Starts the helpers of a caller.
    pub(super) fn new(blocks: Blocks<R>, parser: Parser, threads: usize) -> Shared<R> {
        let known = Arc::new(parser.reader().clone());
        let work = Arc::new(Work {
            source: Mutex::new(Source { blocks, parser, known, taken: 0 }),
            items: Mutex::new(Items { ready: BTreeMap::new(), ended: false, closed: false }),
            most: AHEAD * threads,
            changed: Condvar::new(),
        });
        for _ in 1..threads {
            let work = Arc::clone(&work);
            thread::spawn(move || work.help());
        }
        Shared { work, next: 0, own: None }
    }
}

impl<R: BufRead> Shared<R> {
    /// Returns the next batch. `None` is the end of the log.
    pub(super) fn next(&mut self) -> Option<Item> {
        let Shared { work, next, own } = self;
        let mut items = lock(&work.items);
        loop {
            match items.ready.get(next) {
                Some(Some(_)) => {
                    let item = items.ready.remove(next).flatten();
                    *next += 1;
                    work.changed.notify_all();
                    return item;
                }
                None if items.ended => return None,
                _ => {}
            }
            let is_free = items.ready.len() < work.most && !items.ended;
            let source = match work.source.try_lock() {
                Ok(source) => Some(source),
                Err(TryLockError::Poisoned(source)) => Some(source.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            items = match source.filter(|_| is_free) {
                Some(source) => {
                    drop(items);
                    work.parse_next(source, own);
                    lock(&work.items)
                }
                None => work.changed.wait(items).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl<R> Drop for Shared<R> {
    fn drop(&mut self) {
        lock(&self.work.items).closed = true;
        self.work.changed.notify_all();
    }
}

impl<R: BufRead> Work<R> {
    /// Parses blocks until there are no more, or nobody wants them.
    fn help(&self) {
        let mut own = None;
        loop {
            let waits =
                |items: &mut Items| items.ready.len() >= self.most && !items.ended && !items.closed;
            let items = self.changed.wait_while(lock(&self.items), waits);
            let items = items.unwrap_or_else(PoisonError::into_inner);
            if items.ended || items.closed {
                return;
            }
            drop(items);
            self.parse_next(lock(&self.source), &mut own);
        }
    }

    /// Parses the next block, if there is one.
    fn parse_next(&self, mut source: MutexGuard<'_, Source<R>>, own: &mut Own) {
        let Some(mut pending) = self.pending(source.taken) else { return };
        source.taken += 1;
        let Some(block) = source.blocks.next() else {
            pending.item = None;
            return;
        };
        if source.parser.reader().may_learn_of(block.lines()) {
            pending.item = Some(source.parser.parse(block));
            source.known = Arc::new(source.parser.reader().clone());
            return;
        }
        let known = Arc::clone(&source.known);
        drop(source);
        // The source is free.
        self.changed.notify_all();
        pending.item = Some(parse(block, known, own));
    }

    /// Makes a place for the batch of that number, unless none is wanted any more.
    fn pending(&self, number: u64) -> Option<Pending<'_>> {
        let mut items = lock(&self.items);
        if items.ended {
            return None;
        }
        items.ready.insert(number, None);
        let error = io::Error::other("a thread that reads it has failed");
        let item = Some((Batch::default(), Some(error)));
        Some(Pending { items: &self.items, changed: &self.changed, number, item })
    }
}

/// Parses a block by the knowledge of the log.
fn parse(block: Block, known: Arc<Reader>, own: &mut Own) -> Item {
    own.take_if(|(before, _)| !Arc::ptr_eq(before, &known));
    let (_, parser) = own.get_or_insert_with(|| {
        let parser = Parser::new(Reader::clone(&known));
        (known, parser)
    });
    parser.parse(block)
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let item = self.item.take();
        let mut items = lock(self.items);
        items.ended |= item.as_ref().is_none_or(|(_, error)| error.is_some());
        match item {
            Some(item) => drop(items.ready.insert(self.number, Some(item))),
            None => drop(items.ready.remove(&self.number)),
        }
        drop(items);
        self.changed.notify_all();
    }
}

/// Locks state that a thread which panicked has left as good as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
