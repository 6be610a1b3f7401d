//! Any store of keys, with a line of callers that wait for each key.

mod at_key;
mod lines;
mod verbs;
pub(crate) mod waiting;

use alloc::borrow::{Cow, ToOwned};
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::first_panic::FirstPanic;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::wait::error::AcquireError;
use crate::wait::limits::LineLimits;
use crate::wait::line;
use crate::wait::line::longest_wait;
use crate::wait::outside::{HasOutsideLine, OutsideLine};

use super::keyed_limiter::KeyedLimiter;

use self::at_key::{AtKey, HasKeyLines, WayToKeys};
use self::lines::KeyLines;
use self::waiting::WaitingForKey;

/// Wraps a store of keys so that callers can wait for permits of a key, in one fair line for each key.
///
/// For a `Keyed`, a [`KeyTable`](crate::KeyTable) and its [tiers](crate::keyed::TableTier),
/// [`HotKeys`](crate::keyed::HotKeys), a `Box<dyn KeyedLimiter<str>>`, or a store of your own. `K`
/// is the form of the key in which calls name it, as in [`KeyedLimiter`]; a line is kept by its
/// owned form (`String` for `str`).
///
/// A key has a line only while somebody waits for it. Keys do not hold each other up. As long as
/// nobody waits for any key, a request for permits costs one load of a word that nobody writes,
/// besides the store's own cost. Otherwise it takes one of 16 locks for a moment, to look for the
/// key's line. A `reset` and a `remove` of a key take that lock in any case. An
/// [`update`](QueuedKeys::update) takes each of the 16, and serves the lines of all keys.
///
/// All callers have to go through this, and changes of the store through
/// [`update`](QueuedKeys::update), or [`update_key`](QueuedKeys::update_key) for one key: see
/// [`Queued`](crate::wait::Queued), which is for a limiter without keys. Where several tiers of one
/// table are waited for, each is wrapped by itself, and no two of them are asked for one key.
///
/// `Hash`, `Eq` and `ToOwned` of a key are called under one of the 16 locks, and the store and the
/// clock under the lock of the key's line. So none of them may call this `QueuedKeys`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{KeyTable, quota};
/// use sluicegate::keyed::QueuedKeys;
/// use sluicegate::wait::AcquireError;
///
/// let users = KeyTable::<str>::with_keys(quota!(10 / second, burst 5), 10_000)?;
/// let users = QueuedKeys::<_, str>::new(users);
/// users.acquire_blocking("ada", 5)?;
/// // Blocks for a tenth of a second.
/// users.acquire_blocking("ada", 1)?;
/// // Blocks for no time at all: the permits would come too late.
/// let refused = users.acquire("ada", 5).timeout(Duration::from_micros(10)).wait_blocking().unwrap_err();
/// assert!(matches!(refused, AcquireError::TimedOut { .. }));
/// assert!(users.acquire_blocking("bob", 5).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// The store grants every permit, so its accuracy holds. Turns in line are foreseen, and deadlines
/// kept, as by a [`Queued`](crate::wait::Queued). A caller of a key that the store has no space for
/// waits until there is some: it asks again every 10 ms. A key that the store forgets, as it was
/// removed or evicted, is full for callers in line as for any other.
///
/// A caller that is dropped after its grant, before it was polled again, has spent its permits.
///
/// # Fairness
///
/// First come, first served among the callers of a key, whatever the sizes. No call that starts after a
/// caller stands in line for a key is granted permits of this key before it. Between keys there is no
/// order.
///
/// # Memory ordering
///
/// As the store orders it.
pub struct QueuedKeys<S, K: ToOwned + ?Sized, C = DefaultClock> {
    lines: KeyLines<K::Owned>,
    store: S,
    clock: C,
}

impl<S: KeyedLimiter<K>, K: ToOwned<Owned: Hash + Eq> + ?Sized> QueuedKeys<S, K> {
    /// Wraps `store`, with lines on a clock of their own. The store's clock must advance as that one
    /// does.
    #[must_use]
    pub fn new(store: S) -> QueuedKeys<S, K> {
        QueuedKeys::with_clock(store, DefaultClock::default())
    }
}

impl<S: KeyedLimiter<K>, K: ToOwned<Owned: Hash + Eq> + ?Sized, C: Clock> QueuedKeys<S, K, C> {
    /// Wraps `store`, with lines on `clock`, which should be the store's. It is read only while callers
    /// wait.
    #[must_use]
    pub fn with_clock(store: S, clock: C) -> QueuedKeys<S, K, C> {
        QueuedKeys { lines: KeyLines::new(), store, clock }
    }
}

impl<S, K: ToOwned + ?Sized, C> QueuedKeys<S, K, C> {
    /// Returns the wrapped store. Calls of it do not wait for the lines, and tell them nothing.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns the wrapped store.
    #[must_use]
    pub fn into_inner(self) -> S {
        self.store
    }
}

/// The verbs of callers that wait. The verbs of [`KeyedLimiter`] are denied for a key while others
/// wait for it.
impl<S, K, C> QueuedKeys<S, K, C>
where
    S: KeyedLimiter<K>,
    K: ToOwned<Owned: Hash + Eq + Send + Sync> + Hash + Eq + Sync + ?Sized,
    C: Clock + Send + Sync,
{
    /// Returns a future that takes all of `permits` of `key` once they are there: to `.await`, or for a thread to
    /// [block](WaitingForKey::wait_blocking) on. Copies the key only if the caller has to wait.
    ///
    /// # Errors
    ///
    /// The future's: [`AcquireError::TooLarge`] at once for more than a key can ever hold;
    /// [`AcquireError::LineFull`], [`AcquireError::Evicted`] and [`AcquireError::Closed`] as the
    /// lines have it.
    #[doc(alias = "until_key_ready")]
    pub fn acquire<'a>(&'a self, key: &'a K, permits: u64) -> WaitingForKey<'a, K> {
        WaitingForKey::new(WayToKeys::Borrowed(self), Cow::Borrowed(key), permits)
    }

    /// Waits as [`acquire`](QueuedKeys::acquire) does, with a future that keeps the store and the key: to be kept in
    /// a struct, such as a service that is polled until it is ready, or moved into a task. Clones the `Arc`, and the
    /// key if the caller has to wait.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](QueuedKeys::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::thread;
    /// use sluicegate::{Keyed, quota};
    /// use sluicegate::keyed::QueuedKeys;
    ///
    /// let users = Keyed::<String>::new(quota!(1_000 / second, burst 5));
    /// let users = Arc::new(QueuedKeys::<_, str>::new(users));
    /// users.acquire_blocking("ada", 5)?;
    /// let waiting = users.acquire_owned("ada".to_owned(), 3);
    /// drop(users);
    /// let answer = thread::spawn(|| waiting.wait_blocking());
    /// assert_eq!(answer.join().unwrap()?.permits(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_owned(self: &Arc<Self>, key: K::Owned, permits: u64) -> WaitingForKey<'static, K>
    where
        S: 'static,
        K: 'static,
        C: 'static,
    {
        WaitingForKey::new(WayToKeys::Owned(Arc::clone(self) as _), Cow::Owned(key), permits)
    }

    /// Takes all of `permits` of `key`, and blocks the thread until they are there.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](QueuedKeys::acquire).
    pub fn acquire_blocking(&self, key: &K, permits: u64) -> Result<Grant, AcquireError> {
        self.acquire(key, permits).wait_blocking()
    }

    /// Runs `change` on the store, and then lets the lines of all keys look again.
    ///
    /// For a change of quotas, receipts that are given back, keys that are removed to make space.
    /// Takes time and memory for each key that somebody waits for. If `change` panics, the lines
    /// look again nevertheless.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Keyed, quota};
    /// use sluicegate::bucket::Carry;
    /// use sluicegate::keyed::{Buckets, QueuedKeys};
    ///
    /// let users = Keyed::<u64, _>::with(Buckets::new(quota!(5 / minute)));
    /// let users = QueuedKeys::<_, u64>::new(users);
    /// users.update(|users| users.reconfigure(quota!(10 / minute), Carry::Reset));
    /// assert!(users.acquire_blocking(&7, 10).is_ok());
    /// # Ok::<(), sluicegate::wait::AcquireError>(())
    /// ```
    pub fn update<R>(&self, change: impl FnOnce(&S) -> R) -> R {
        let result = catch_unwind(AssertUnwindSafe(|| change(&self.store)));
        self.for_each_line(|at_key| at_key.outside().poke(at_key));
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// Runs a change of `key` alone, and then lets the line of this key look again: see
    /// [`update`](QueuedKeys::update).
    ///
    /// For the key's own terms or tokens, and receipts of it that are given back. Locks its line for a
    /// moment, and the shard that has it.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Keyed, KeyedLimiter, rate};
    /// use sluicegate::keyed::{Each, QueuedKeys};
    /// use sluicegate::window::WeightedLog;
    ///
    /// let logs = Each::new(|_: &String| {
    ///     WeightedLog::new(rate!(5 / minute)).and_then(|log| log.with_max_limit(10)).unwrap()
    /// });
    /// let users = QueuedKeys::<_, str>::new(Keyed::<String, _>::with(logs));
    /// users.acquire_blocking("ada", 5)?;
    /// // Those that wait for it would be granted five more now.
    /// users.update_key("ada", |users| users.with_limiter("ada", |log| log.reconfigure(10)))??;
    /// users.acquire_blocking("ada", 5)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_key<R>(&self, key: &K, change: impl FnOnce(&S) -> R) -> R {
        let result = catch_unwind(AssertUnwindSafe(|| change(&self.store)));
        self.poke(key);
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// Returns the number of callers that wait for permits of `key`.
    #[must_use]
    pub fn waiters(&self, key: &K) -> usize {
        self.at_known(key).map_or(0, |at_key| at_key.outside().line_lock().waiters())
    }

    /// Returns the number of keys that have a line: for which somebody waits, or a call is under way.
    /// Lock-free; may be out of date.
    #[must_use]
    pub fn lines(&self) -> usize {
        usize::try_from(self.lines.count()).unwrap_or(usize::MAX)
    }

    /// Bounds the line of each key, live: of all that are there, and of all to come. Callers that
    /// already stand in line stay, unless they would wait longer than the new [longest
    /// wait](LineLimits::max_wait).
    pub fn set_line_limits(&self, limits: LineLimits) {
        self.lines.set_limits(limits);
        self.for_each_line(|at_key| longest_wait::keep_longest_wait(at_key));
    }

    /// Closes the line of each key for good: refuses all that wait, and all that would, with
    /// [`AcquireError::Closed`]. Permits that are there can still be taken.
    pub fn close_lines(&self) {
        self.lines.close();
        self.for_each_line(|at_key| line::close(at_key));
    }

    /// Returns the line of `key`, if it has one.
    fn at_known<'a>(&'a self, key: &'a K) -> Option<AtKey<'a, K>> {
        let line = self.lines.enter_known(key)?;
        Some(AtKey::new(WayToKeys::Borrowed(self), Cow::Borrowed(key), line))
    }

    fn for_each_line(&self, act: impl Fn(&AtKey<'_, K>)) {
        let mut panic = FirstPanic::default();
        for key in self.lines.keys() {
            // A line that has ended by now has nobody in it, and one that is new came later.
            let Some(at_key) = self.at_known(key.borrow()) else { continue };
            // A waker that panics keeps nothing from the other keys.
            panic.call(|| act(&at_key));
        }
        panic.go_on();
    }

    /// Returns the store for a request for `permits` of `key`, unless others wait for it.
    #[inline]
    fn unless_gated(&self, key: &K, permits: u64) -> Result<&S, Denied> {
        if permits > 0 && self.lines.count() > 0 {
            self.serve_at_the_gate(key, permits)?;
        }
        Ok(&self.store)
    }

    #[cold]
    #[inline(never)]
    fn serve_at_the_gate(&self, key: &K, permits: u64) -> Result<(), Denied> {
        match self.at_known(key) {
            Some(at_key) => at_key.serve_at_the_gate(permits),
            None => Ok(()),
        }
    }

    /// Lets the line for `key` look again, after a change of it.
    fn poke(&self, key: &K) {
        // Under the lock of its shard, whatever the count is.
        if let Some(at_key) = self.at_known(key) {
            at_key.outside().poke(&at_key);
        }
    }
}

impl<S, K, C> HasKeyLines<K> for QueuedKeys<S, K, C>
where
    S: KeyedLimiter<K>,
    K: ToOwned<Owned: Hash + Eq + Send + Sync> + Hash + Eq + Sync + ?Sized,
    C: Clock + Send + Sync,
{
    fn store(&self) -> &dyn KeyedLimiter<K> {
        &self.store
    }

    fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    fn try_now(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(key, permits)
    }

    fn enter(&self, key: &K) -> Result<Arc<OutsideLine>, AcquireError> {
        self.lines.enter(key)
    }

    fn leave(&self, key: &K, line: &Arc<OutsideLine>) {
        self.lines.leave(key, line);
    }
}

impl<S: fmt::Debug, K: ToOwned<Owned: Hash + Eq> + ?Sized, C> fmt::Debug for QueuedKeys<S, K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuedKeys")
            .field("store", &self.store)
            .field("lines", &self.lines.count())
            .finish()
    }
}
