//! The atomics facade: the only file in the crate that names atomics, loom or shuttle.
//!
//! All other code uses [`AtomicWord`], so `--cfg sluicegate_loom` and `--cfg sluicegate_shuttle` swap
//! every atomic at once, and `count-atomics` counts every one. `ci/lint.sh` checks that no other file
//! names them.

use core::fmt;
use core::marker::PhantomData;

pub(crate) use core::sync::atomic::Ordering;

#[cfg(all(not(target_has_atomic = "64"), not(feature = "portable-atomic"), not(sluicegate_loom)))]
compile_error!("this target has no 64-bit atomics: enable sluicegate's feature `portable-atomic`");

#[cfg(not(any(sluicegate_loom, sluicegate_shuttle, feature = "portable-atomic")))]
type Cell = atomic::Atomic<u64>;
#[cfg(all(not(any(sluicegate_loom, sluicegate_shuttle)), feature = "portable-atomic"))]
type Cell = portable_atomic::AtomicU64;
#[cfg(sluicegate_loom)]
type Cell = loom::sync::atomic::AtomicU64;
#[cfg(sluicegate_shuttle)]
type Cell = shuttle::sync::atomic::AtomicU64;

/// A value that is stored as one 64-bit word.
pub(crate) trait Word: Copy {
    fn from_bits(bits: u64) -> Self;
    fn to_bits(self) -> u64;
}

impl Word for u64 {
    #[inline]
    fn from_bits(bits: u64) -> u64 {
        bits
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self
    }
}

/// An atomic `W`.
///
/// The caller chooses the orderings, which mean what they mean in `core`, and explains each of them
/// beside the operation; this file adds none.
pub(crate) struct AtomicWord<W> {
    cell: Cell,
    holds: PhantomData<W>,
}

impl<W: Word> AtomicWord<W> {
    pub(crate) fn new(value: W) -> AtomicWord<W> {
        AtomicWord { cell: Cell::new(value.to_bits()), holds: PhantomData }
    }

    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> W {
        count::load();
        W::from_bits(self.cell.load(order))
    }

    #[inline]
    pub(crate) fn store(&self, value: W, order: Ordering) {
        count::store();
        self.cell.store(value.to_bits(), order);
    }

    #[inline]
    pub(crate) fn compare_exchange(
        &self,
        seen: W,
        next: W,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W, W> {
        count::rmw();
        self.cell
            .compare_exchange(seen.to_bits(), next.to_bits(), success, failure)
            .map(W::from_bits)
            .map_err(W::from_bits)
    }

    /// Like `compare_exchange`, but may fail although the word holds `seen`; only for loops.
    #[inline]
    pub(crate) fn compare_exchange_weak(
        &self,
        seen: W,
        next: W,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W, W> {
        count::rmw();
        self.cell
            .compare_exchange_weak(seen.to_bits(), next.to_bits(), success, failure)
            .map(W::from_bits)
            .map_err(W::from_bits)
    }
}

impl AtomicWord<u64> {
    #[inline]
    pub(crate) fn fetch_add(&self, more: u64, order: Ordering) -> u64 {
        count::rmw();
        self.cell.fetch_add(more, order)
    }

    #[inline]
    pub(crate) fn fetch_sub(&self, less: u64, order: Ordering) -> u64 {
        count::rmw();
        self.cell.fetch_sub(less, order)
    }
}

impl<W: Word + fmt::Debug> fmt::Debug for AtomicWord<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // ORDERING: Relaxed. The value is only displayed.
        // MODEL: none; no decision depends on it.
        self.load(Ordering::Relaxed).fmt(f)
    }
}

#[cfg(not(any(sluicegate_loom, sluicegate_shuttle)))]
pub(crate) use core::sync::atomic::fence;
#[cfg(sluicegate_loom)]
pub(crate) use loom::sync::atomic::fence;
#[cfg(sluicegate_shuttle)]
pub(crate) use shuttle::sync::atomic::fence;

#[cfg(all(feature = "std", sluicegate_loom))]
use loom::sync as locks;
#[cfg(all(feature = "std", sluicegate_shuttle))]
use shuttle::sync as locks;
#[cfg(all(feature = "std", not(any(sluicegate_loom, sluicegate_shuttle))))]
use std::sync as locks;

/// A lock held by one thread.
///
/// A panic does not poison it: its holder leaves the guarded value consistent at every point at
/// which user code runs.
#[cfg(feature = "std")]
#[derive(Debug)]
pub(crate) struct Lock<T>(locks::Mutex<T>);

#[cfg(feature = "std")]
pub(crate) type LockGuard<'a, T> = locks::MutexGuard<'a, T>;

#[cfg(feature = "std")]
impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Lock<T> {
        Lock(locks::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns `None` if it would have to wait.
    pub(crate) fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// A lock held by any number of readers or by one writer.
///
/// A panic does not poison it: a writer leaves the guarded value consistent at every point at which
/// user code runs.
#[cfg(any(feature = "keyed", feature = "wait"))]
pub(crate) struct SharedLock<T>(locks::RwLock<T>);

#[cfg(any(feature = "keyed", feature = "wait"))]
impl<T> SharedLock<T> {
    pub(crate) fn new(value: T) -> SharedLock<T> {
        SharedLock(locks::RwLock::new(value))
    }

    #[inline]
    pub(crate) fn read(&self) -> locks::RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns `None` if it would have to wait.
    #[inline]
    pub(crate) fn try_read(&self) -> Option<locks::RwLockReadGuard<'_, T>> {
        match self.0.try_read() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }

    pub(crate) fn write(&self) -> locks::RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Spins for `times` pause instructions. Under loom it does nothing: a model has no time, and
/// explores every order anyway.
#[inline]
pub(crate) fn pause(times: u32) {
    let times = if cfg!(any(sluicegate_loom, sluicegate_shuttle)) { 0 } else { times };
    for _ in 0..times {
        core::hint::spin_loop();
    }
}

/// Yields to another thread, where there are threads.
fn yield_now() {
    #[cfg(sluicegate_loom)]
    loom::thread::yield_now();
    #[cfg(sluicegate_shuttle)]
    shuttle::thread::yield_now();
    #[cfg(all(feature = "std", not(any(sluicegate_loom, sluicegate_shuttle))))]
    std::thread::yield_now();
    #[cfg(not(any(feature = "std", sluicegate_loom, sluicegate_shuttle)))]
    core::hint::spin_loop();
}

/// Paces the retries of a loop that can only succeed once another thread has made progress.
pub(crate) struct Backoff {
    pauses: core::cell::Cell<u32>,
}

impl Backoff {
    /// Exponent of the longest pause, which is `2^LONGEST` instructions.
    const LONGEST: u32 = 6;

    #[inline]
    pub(crate) fn new() -> Backoff {
        Backoff { pauses: core::cell::Cell::new(0) }
    }

    /// Waits a little for another thread, which must make progress before a retry can succeed.
    pub(crate) fn snooze(&self) {
        let pauses = self.pauses.get();
        // A model must let the other thread run at once: each retry without it is one more to
        // explore.
        if pauses <= Self::LONGEST && !cfg!(any(sluicegate_loom, sluicegate_shuttle)) {
            pause(1 << pauses);
            self.pauses.set(pauses + 1);
        } else {
            yield_now();
        }
    }
}

/// Counts of the atomic operations by the calling thread.
#[cfg(feature = "count-atomics")]
pub mod count {
    use std::cell::Cell;

    /// Numbers of atomic operations, by kind.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Counts {
        /// Plain atomic loads.
        pub loads: u64,
        /// Plain atomic stores.
        pub stores: u64,
        /// Read-modify-writes: compare-and-swap, fetch-and-add.
        pub rmws: u64,
    }

    std::thread_local! {
        static COUNTS: Cell<Counts> = const { Cell::new(Counts { loads: 0, stores: 0, rmws: 0 }) };
    }

    fn change(with: impl FnOnce(&mut Counts)) {
        COUNTS.with(|cell| {
            let mut counts = cell.get();
            with(&mut counts);
            cell.set(counts);
        });
    }

    pub(crate) fn load() {
        change(|counts| counts.loads += 1);
    }

    pub(crate) fn store() {
        change(|counts| counts.stores += 1);
    }

    pub(crate) fn rmw() {
        change(|counts| counts.rmws += 1);
    }

    /// Returns the calling thread's counts since it last called this.
    #[must_use]
    pub fn take() -> Counts {
        COUNTS.with(Cell::take)
    }
}

#[cfg(not(feature = "count-atomics"))]
mod count {
    #[inline(always)]
    pub(super) fn load() {}
    #[inline(always)]
    pub(super) fn store() {}
    #[inline(always)]
    pub(super) fn rmw() {}
}

/// Exposes the facade's own cell to the canary of the models, and has the CPUs on which their threads run.
#[cfg(sluicegate_loom)]
pub(crate) mod model {
    use core::cell::Cell;

    pub use loom::sync::atomic::AtomicU64 as Atomic;

    const _: fn(super::Cell) -> Atomic = |cell| cell;

    loom::thread_local! {
        static CPU: Cell<usize> = Cell::new(0);
    }

    loom::thread_local! {
        static NUMBER: Cell<usize> = Cell::new(usize::MAX);
    }

    /// Returns the number of this thread: at first that of all that cannot be told apart.
    pub(crate) fn thread_index() -> usize {
        NUMBER.with(Cell::get)
    }

    /// Gives this thread a number that no other one has.
    pub fn number_thread(number: usize) {
        NUMBER.with(|own| own.set(number));
    }

    /// Returns the CPU on which this thread runs: 0 at first.
    #[cfg(feature = "per-cpu")]
    pub(crate) fn cpu() -> usize {
        CPU.with(Cell::get)
    }

    /// Moves this thread to that CPU.
    pub fn run_on(cpu: usize) {
        CPU.with(|own| own.set(cpu));
    }
}
