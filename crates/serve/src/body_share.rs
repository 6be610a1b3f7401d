//! The space that the body of one request takes.

use std::sync::{Arc, Mutex, PoisonError};

use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight};

/// The bytes that one request has taken of the space for the bodies of all requests under way. They are given back when the
/// last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct BodyShare {
    space: Arc<ConcurrencyLimit>,
    taken: Arc<Mutex<Vec<InFlight<'static>>>>,
}

impl BodyShare {
    /// Returns the share of a request that has taken nothing yet.
    pub(crate) fn new(space: &Arc<ConcurrencyLimit>) -> BodyShare {
        BodyShare { space: Arc::clone(space), taken: Arc::default() }
    }

    /// Takes so many bytes, or none: if there are fewer, it returns false.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        // Pieces without bytes may be any number.
        if bytes == 0 {
            return true;
        }
        let Ok(piece) = self.space.try_acquire_owned(bytes as u64) else { return false };
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_and_all_comes_back() {
        let space = Arc::new(ConcurrencyLimit::new(10));
        let [one, other] = [BodyShare::new(&space), BodyShare::new(&space)];
        let clone = one.clone();
        assert!(one.take(4) && clone.take(3) && other.take(2));
        assert!(!one.take(2));
        drop(one);
        assert!(!other.take(2));
        drop(clone);
        assert!(other.take(8) && !other.take(1) && other.take(0));
        drop(other);
        assert_eq!(space.in_flight(), 0);
    }
}
