//! A small number for each thread, so that threads of one time have different ones.
//!
//! The lowest that is free in this process, taken when a thread first asks, and free again
//! when it ends. So after thousands of short threads the next still has a low one. Who
//! has fewer places than numbers counts round.
//!
//! Without `std` there are no threads to be told apart: their number is 0. So it is under
//! loom, whose models name the places themselves.

#[cfg(all(feature = "std", not(sluicegate_loom)))]
mod numbers;

#[cfg(all(feature = "std", not(sluicegate_loom)))]
pub(crate) use self::numbers::thread_index;

/// The most places that threads are spread over.
pub(crate) const MAX_PLACES: usize = 256;

/// So many places, or as many more as make a power of two; for 0 as many as the machine runs
/// threads at once.
pub(crate) fn places(count: usize) -> usize {
    let count = match count {
        #[cfg(feature = "std")]
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    count.clamp(1, MAX_PLACES).next_power_of_two()
}

#[cfg(any(not(feature = "std"), sluicegate_loom))]
pub(crate) fn thread_index() -> usize {
    0
}
