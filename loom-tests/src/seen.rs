//! The promise of the limiters' section on memory ordering: what a granted caller did is seen by the callers granted
//! after it.

use std::sync::atomic::Ordering::Relaxed;

use sluicegate::Grant;
use sluicegate::model::Atomic;

use crate::{Arc, check, race};

/// Explores that of two calls for the last two permits of `new`, the one that leaves none sees what the other did before.
///
/// # Panics
///
/// If it does not.
pub fn assert_a_grant_is_seen_by_the_next<T: Send + Sync + 'static>(
    preemptions: usize,
    new: fn() -> T,
    acquire: fn(&T) -> Grant,
) {
    check(preemptions, move || {
        let shared = Arc::new((new(), [Atomic::new(0), Atomic::new(0)]));
        race(&shared, [(0, acquire), (1, acquire)], |(limiter, done), (who, acquire)| {
            done[who].store(1, Relaxed);
            if acquire(limiter).remaining() == 0 {
                assert_eq!(done[1 - who].load(Relaxed), 1, "the first grant was not seen");
            }
        });
    });
}
