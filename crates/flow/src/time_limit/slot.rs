//! The place where a closure's thread leaves its end, and its caller finds it.

use std::mem;
use std::task::Waker;
use std::thread;

use crate::sync::Lock;

/// The end of a closure.
#[derive(Debug)]
pub(super) enum CallEnd<R> {
    /// It has returned, or panicked.
    Returned(thread::Result<R>),
    /// It was dropped before it began.
    NotRun,
}

/// The place of one call. Whether an end is in time is decided under the lock: it reaches the
/// caller if the caller has not left before. No code of others runs under the lock, except the clone
/// of a waker of our own.
#[derive(Debug)]
pub(super) struct CallSlot<R>(Lock<SlotState<R>>);

#[derive(Debug)]
enum SlotState<R> {
    /// The closure has not ended; its caller may wait to be woken.
    Running(Option<Waker>),
    Ended(CallEnd<R>),
    /// The caller has got the end, or will not come for it.
    Left,
}

impl<R> CallSlot<R> {
    pub(super) fn new() -> CallSlot<R> {
        CallSlot(Lock::new(SlotState::Running(None)))
    }

    /// Takes the end. If there is none yet, `waker` is woken once there is.
    pub(super) fn take(&self, waker: &Waker) -> Option<CallEnd<R>> {
        let mut state = self.0.lock();
        if let SlotState::Running(awaited) = &mut *state {
            *awaited = Some(waker.clone());
            return None;
        }
        end_of(mem::replace(&mut *state, SlotState::Left))
    }

    /// Gives up. Returns the end if it has come meanwhile.
    pub(super) fn leave(&self) -> Option<CallEnd<R>> {
        let state = mem::replace(&mut *self.0.lock(), SlotState::Left);
        end_of(state)
    }

    /// Leaves the end for the caller, or returns it if the caller has left.
    pub(super) fn put(&self, end: CallEnd<R>) -> Result<(), CallEnd<R>> {
        let mut state = self.0.lock();
        if matches!(&*state, SlotState::Left) {
            return Err(end);
        }
        let before = mem::replace(&mut *state, SlotState::Ended(end));
        drop(state);
        if let SlotState::Running(Some(waker)) = before {
            waker.wake();
        }
        Ok(())
    }
}

fn end_of<R>(state: SlotState<R>) -> Option<CallEnd<R>> {
    match state {
        SlotState::Ended(end) => Some(end),
        SlotState::Running(_) | SlotState::Left => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_end_reaches_the_caller_or_comes_back_and_never_both() {
        for _ in 0..if cfg!(miri) { 20 } else { 2_000 } {
            let slot = Arc::new(CallSlot::new());
            let theirs = Arc::clone(&slot);
            let closure = thread::spawn(move || theirs.put(CallEnd::Returned(Ok(7))));
            let in_time = matches!(slot.leave(), Some(CallEnd::Returned(Ok(7))));
            let came_back = matches!(closure.join().unwrap(), Err(CallEnd::Returned(Ok(7))));
            assert_ne!(in_time, came_back);
        }
    }

    #[test]
    fn an_end_is_taken_once() {
        let slot = CallSlot::new();
        assert!(slot.take(Waker::noop()).is_none());
        assert!(slot.put(CallEnd::Returned(Ok(7))).is_ok());
        assert!(matches!(slot.take(Waker::noop()), Some(CallEnd::Returned(Ok(7)))));
        assert!(slot.take(Waker::noop()).is_none() && slot.leave().is_none());
    }
}
