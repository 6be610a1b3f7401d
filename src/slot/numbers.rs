//! Numbers for threads, given out and taken back.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

/// The numbers that no thread has.
struct Free {
    returned: BinaryHeap<Reverse<usize>>,
    /// From this one on nobody ever had one.
    next: usize,
}

static FREE: Mutex<Free> = Mutex::new(Free { returned: BinaryHeap::new(), next: 0 });

/// The right to a number, until its thread ends.
struct Slot(usize);

impl Slot {
    fn take() -> Slot {
        // Nothing that is done under the lock panics half way.
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Reverse(slot)) = free.returned.pop() {
            return Slot(slot);
        }
        free.next += 1;
        Slot(free.next - 1)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        NUMBER.set(UNKNOWN);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).returned.push(Reverse(self.0));
    }
}

const UNKNOWN: usize = usize::MAX;

std::thread_local! {
    static SLOT: Slot = Slot::take();
    /// The same number once more, where it costs one load.
    static NUMBER: Cell<usize> = const { Cell::new(UNKNOWN) };
}

/// The number of this thread.
#[inline(always)]
pub(crate) fn of_this_thread() -> usize {
    let number = NUMBER.get();
    if number == UNKNOWN { assign() } else { number }
}

#[cold]
#[inline(never)]
fn assign() -> usize {
    // A thread that is about to end may have given its number back; any will do then.
    let number = SLOT.try_with(|slot| slot.0).unwrap_or(0);
    if let Ok(()) = SLOT.try_with(|_| ()) {
        NUMBER.set(number);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_thread_keeps_its_number_and_threads_of_one_time_have_different_ones() {
        let mine = of_this_thread();
        assert_eq!(of_this_thread(), mine);
        let theirs = thread::spawn(of_this_thread).join().unwrap();
        assert_ne!(theirs, mine);
    }

    #[test]
    fn numbers_come_back_so_thousands_of_short_threads_need_few() {
        for _ in 0..1_000 {
            let number = thread::spawn(of_this_thread).join().unwrap();
            // The tests of this process run on some threads of their own.
            assert!(number < 256, "{number}");
        }
    }
}
