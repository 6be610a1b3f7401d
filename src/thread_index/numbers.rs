//! Allocation of thread numbers.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

/// The numbers that no thread holds.
struct Free {
    returned: BinaryHeap<Reverse<usize>>,
    /// The lowest number that has never been taken; nor has any above it.
    next: usize,
}

static FREE: Mutex<Free> = Mutex::new(Free { returned: BinaryHeap::new(), next: 0 });

/// A number held by one thread until it ends.
struct Number(usize);

impl Number {
    fn take() -> Number {
        // No code under the lock panics half way.
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Reverse(number)) = free.returned.pop() {
            return Number(number);
        }
        free.next += 1;
        Number(free.next - 1)
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        NUMBER.set(UNKNOWN);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).returned.push(Reverse(self.0));
    }
}

const UNKNOWN: usize = usize::MAX;

std::thread_local! {
    static OWNED: Number = Number::take();
    /// A copy of the number that is read with one load.
    static NUMBER: Cell<usize> = const { Cell::new(UNKNOWN) };
}

/// Returns the number of the calling thread; [`UNKNOWN`] while it ends.
#[inline(always)]
pub(crate) fn thread_index() -> usize {
    let number = NUMBER.get();
    if number == UNKNOWN { assign() } else { number }
}

#[cold]
#[inline(never)]
fn assign() -> usize {
    // A thread that is ending may have returned its number already.
    OWNED.try_with(|owned| owned.0).inspect(|number| NUMBER.set(*number)).unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_thread_keeps_its_number_and_threads_of_one_time_have_different_ones() {
        let mine = thread_index();
        assert_eq!(thread_index(), mine);
        let theirs = thread::spawn(thread_index).join().unwrap();
        assert_ne!(theirs, mine);
    }

    #[test]
    fn threads_of_one_time_have_different_numbers_also_such_as_came_back() {
        for _ in 0..3 {
            let all_are_here = std::sync::Barrier::new(8);
            let numbers = thread::scope(|scope| {
                let take = || {
                    let number = thread_index();
                    all_are_here.wait();
                    number
                };
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            let different: std::collections::HashSet<_> = numbers.iter().collect();
            assert_eq!(different.len(), 8, "{numbers:?}");
        }
    }

    #[test]
    fn numbers_come_back_so_thousands_of_short_threads_need_few() {
        for _ in 0..1_000 {
            let number = thread::spawn(thread_index).join().unwrap();
            // The tests of this process run on some threads of their own.
            assert!(number < 256, "{number}");
        }
        let next = FREE.lock().unwrap().next;
        assert!(next <= 256, "{next}: no fresh number is used up while one is free");
    }

    #[test]
    fn the_next_thread_has_a_low_number_although_higher_ones_are_free() {
        const MANY: usize = 128;
        let all_are_here = std::sync::Arc::new(std::sync::Barrier::new(MANY));
        let take = |_| {
            let all_are_here = std::sync::Arc::clone(&all_are_here);
            thread::spawn(move || {
                thread_index();
                all_are_here.wait();
            })
        };
        let threads: Vec<_> = (0..MANY).map(take).collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let number = thread::spawn(thread_index).join().unwrap();
        // The tests of this process run on some threads of their own.
        assert!(number < MANY / 2, "{number}");
    }
}
