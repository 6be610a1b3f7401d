//! Histories of real threads, and whether some order of the calls explains them.

use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;

/// A call as it was seen from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<V, A> {
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) verb: V,
    pub(crate) answer: A,
}

/// A reference that answers calls one after another.
pub(crate) trait Sequential: Clone {
    type Verb;
    type Answer: PartialEq;

    /// Returns the answer that a call of the thread must have.
    fn expected(&mut self, thread: usize, verb: &Self::Verb) -> Self::Answer;

    /// Makes the change that the call may make before it is answered, as a step of its own. Returns
    /// false if there is none.
    fn begin(&mut self, _verb: &Self::Verb) -> bool {
        false
    }
}

/// When calls began and ended, in the order of a counter.
#[derive(Default)]
pub(crate) struct Recorder(AtomicU64);

impl Recorder {
    /// Records a call: what it turned out to be, and its answer.
    pub(crate) fn call<V, A>(&self, call: impl FnOnce() -> (V, A)) -> Call<V, A> {
        let began = self.0.fetch_add(1, SeqCst);
        let (verb, answer) = call();
        Call { began, ended: self.0.fetch_add(1, SeqCst), verb, answer }
    }
}

/// Has `threads` threads do `each`, which begins once all are there, at once.
pub(crate) fn record<T: Send>(
    threads: usize,
    each: impl Fn(usize, &dyn Fn()) -> Vec<T> + Sync,
) -> Vec<Vec<T>> {
    let waiting = AtomicUsize::new(threads);
    let all_are_there = || {
        waiting.fetch_sub(1, SeqCst);
        while waiting.load(SeqCst) > 0 {
            thread::yield_now();
        }
    };
    let made: Mutex<Vec<_>> = Mutex::new((0..threads).map(|_| Vec::new()).collect());
    thread::scope(|scope| {
        for thread in 0..threads {
            let (each, made, all_are_there) = (&each, &made, &all_are_there);
            scope.spawn(move || {
                let calls = each(thread, all_are_there);
                made.lock().unwrap()[thread] = calls;
            });
        }
    });
    made.into_inner().unwrap()
}

/// Returns whether some order of the calls explains all of them, in which no call comes before one
/// that had returned when it began.
pub(crate) fn is_explained<M: Sequential>(
    model: &M,
    history: &[Vec<Call<M::Verb, M::Answer>>],
) -> bool {
    is_rest_explained(model, history, &vec![0; history.len()])
}

/// The same of the calls that are left. `next` is the first that is left of each
/// thread.
fn is_rest_explained<M: Sequential>(
    model: &M,
    history: &[Vec<Call<M::Verb, M::Answer>>],
    next: &[usize],
) -> bool {
    let left = || next.iter().zip(history).filter_map(|(&next, calls)| calls.get(next));
    let Some(first_end) = left().map(|call| call.ended).min() else { return true };
    (0..history.len()).any(|thread| {
        let Some(call) = history[thread].get(next[thread]) else { return false };
        if call.began > first_end {
            return false; // Another call had returned by then.
        }
        let mut begun = model.clone();
        if begun.begin(&call.verb) && is_rest_explained(&begun, history, next) {
            return true;
        }
        let mut after = model.clone();
        if after.expected(thread, &call.verb) != call.answer {
            return false;
        }
        let mut next = next.to_vec();
        next[thread] += 1;
        is_rest_explained(&after, history, &next)
    })
}
