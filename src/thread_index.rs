//! A small number for each thread, unique among the threads that run.
//!
//! A thread takes the lowest number that is free in this process when it first asks for one, and
//! frees it when it ends. So even after thousands of short-lived threads the next one gets a low
//! number. Callers with fewer slots than threads wrap the number.
//!
//! The largest number is that of all threads that cannot be told apart: without `std`, in models, which
//! choose slots themselves, and while a thread ends.

#[cfg(all(feature = "std", not(any(sluicegate_loom, sluicegate_shuttle))))]
mod numbers;

#[cfg(all(feature = "std", not(any(sluicegate_loom, sluicegate_shuttle))))]
pub(crate) use self::numbers::thread_index;
#[cfg(sluicegate_loom)]
pub(crate) use crate::sync::model::thread_index;

/// The largest number of slots that threads are spread over.
pub(crate) const MAX_PLACES: usize = 256;

/// Returns `count` rounded up to a power of two, at most [`MAX_PLACES`]. If `count` is 0, starts
/// from the number of threads that the machine runs at once (without `std`, from 1).
pub(crate) fn places(count: usize) -> usize {
    let count = match count {
        #[cfg(feature = "std")]
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    count.clamp(1, MAX_PLACES).next_power_of_two()
}

#[cfg(not(any(sluicegate_loom, all(feature = "std", not(sluicegate_shuttle)))))]
pub(crate) fn thread_index() -> usize {
    usize::MAX
}
