//! The blocks of a log, which several threads parse: the caller that wants the batches, and helpers.
//!
//! Whoever has nothing to do takes the next block. The caller does so while the batch that it wants is not ready, so there
//! is no thread more than there are processors.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::{mem, thread};

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
    /// The number of the next batch.
    next: u64,
    own: Own,
}

struct Work<R> {
    source: Mutex<Source<R>>,
    items: Mutex<Items>,
    /// Told when a batch is ready or taken, and when another thread may take a block.
    changed: Condvar,
}

struct Source<R> {
    blocks: Blocks<R>,
    /// The parser of blocks that may have a header, in the log's order.
    parser: Parser,
    /// The knowledge of the log so far.
    known: Arc<Reader>,
    taken: u64,
    ended: bool,
}

struct Items {
    /// The batches that are ready, by number; `None` while one is parsed.
    ready: BTreeMap<u64, Option<Item>>,
    /// The most batches among them.
    most: usize,
    /// True if no block is left to take.
    ended: bool,
    /// True if nobody wants batches any more.
    closed: bool,
}

/// A thread's own parser, and the knowledge that it was made with.
type Own = Option<(Arc<Reader>, Parser)>;

/// A block in the hands of a thread. Dropped, it is ready: if the thread panics, as an error.
struct InHand<'a> {
    items: &'a Mutex<Items>,
    changed: &'a Condvar,
    number: u64,
    item: Item,
}

impl<R: BufRead + Send + 'static> Shared<R> {
    /// Starts the helpers of a caller.
    pub(super) fn new(blocks: Blocks<R>, parser: Parser, threads: usize) -> Shared<R> {
        let known = Arc::new(parser.reader().clone());
        let most = AHEAD * threads;
        let work = Arc::new(Work {
            source: Mutex::new(Source { blocks, parser, known, taken: 0, ended: false }),
            items: Mutex::new(Items { ready: BTreeMap::new(), most, ended: false, closed: false }),
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
            let is_free = items.ready.len() < items.most && !items.ended;
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
            let waits = |items: &mut Items| {
                items.ready.len() >= items.most && !items.ended && !items.closed
            };
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
        let block = if source.ended { None } else { source.blocks.next() };
        let Some(block) = block else {
            lock(&self.items).ended = true;
            self.changed.notify_all();
            return;
        };
        let number = source.taken;
        source.taken += 1;
        let mut in_hand = self.in_hand(number);
        if source.parser.reader().may_learn_of(block.lines()) {
            in_hand.item = source.parser.parse(block);
            source.known = Arc::new(source.parser.reader().clone());
            source.ended = in_hand.item.1.is_some();
            return;
        }
        let known = Arc::clone(&source.known);
        drop(source);
        // The source is free.
        self.changed.notify_all();
        in_hand.item = parse(block, known, own);
    }

    fn in_hand(&self, number: u64) -> InHand<'_> {
        lock(&self.items).ready.insert(number, None);
        let error = io::Error::other("a thread that parses it has failed");
        let item = (Batch::default(), Some(error));
        InHand { items: &self.items, changed: &self.changed, number, item }
    }
}

/// Parses a block with what is known of the log.
fn parse(block: Block, known: Arc<Reader>, own: &mut Own) -> Item {
    own.take_if(|(before, _)| !Arc::ptr_eq(before, &known));
    let (_, parser) = own.get_or_insert_with(|| {
        let parser = Parser::new(Reader::clone(&known));
        (known, parser)
    });
    parser.parse(block)
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        let item = mem::take(&mut self.item);
        lock(self.items).ready.insert(self.number, Some(item));
        self.changed.notify_all();
    }
}

/// Locks what a thread that panicked leaves as good as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
