//! A bound on the bytes of all bodies that a server has read and not answered yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The bytes that the bodies of all requests under way may have together. A clone is the same budget.
#[derive(Clone, Debug)]
pub(crate) struct BodyBudget {
    left: Arc<AtomicUsize>,
}

/// The part of a budget that one request has taken. It is given back when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct BodyShare {
    taken: Arc<Taken>,
}

#[derive(Debug)]
struct Taken {
    bytes: AtomicUsize,
    budget: BodyBudget,
}

impl BodyBudget {
    pub(crate) fn new(bytes: usize) -> BodyBudget {
        BodyBudget { left: Arc::new(AtomicUsize::new(bytes)) }
    }

    /// Returns the share of a request, which is empty.
    pub(crate) fn share(&self) -> BodyShare {
        let taken = Taken { bytes: AtomicUsize::new(0), budget: self.clone() };
        BodyShare { taken: Arc::new(taken) }
    }
}

impl BodyShare {
    /// Takes so many bytes, or none: if there are fewer, it returns false.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let Taken { bytes: taken, budget } = &*self.taken;
        // Only a number: nothing is published by it.
        let is_taken =
            budget.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok();
        if is_taken {
            taken.fetch_add(bytes, Relaxed);
        }
        is_taken
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.left.fetch_add(*self.bytes.get_mut(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_and_all_comes_back() {
        let budget = BodyBudget::new(10);
        let (one, other) = (budget.share(), budget.share());
        let clone = one.clone();
        assert!(one.take(4) && clone.take(3) && other.take(2));
        assert!(!one.take(2));
        drop(one);
        assert!(!other.take(2));
        drop(clone);
        assert!(other.take(8) && !other.take(1));
        drop(other);
        assert!(budget.share().take(10));
    }
}
