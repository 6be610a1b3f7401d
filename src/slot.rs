//! A small number for each thread, so that threads of one time have different ones.
//!
//! The lowest that is free, taken when a thread first asks, and free again when it ends:
//! as long as there are no more threads than shards, each has a shard to itself, whatever
//! has come and gone before. Above that they share them evenly.
//!
//! Without `std` there are no threads to be told apart: their number is 0. So it is under
//! loom, whose models name the places themselves.

#[cfg(any(not(feature = "std"), sluicegate_loom))]
pub(crate) fn of_this_thread() -> usize {
    0
}

#[cfg(all(feature = "std", not(sluicegate_loom)))]
pub(crate) use self::numbers::of_this_thread;

#[cfg(all(feature = "std", not(sluicegate_loom)))]
mod numbers;
