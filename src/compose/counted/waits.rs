//! A histogram of the time that callers have stood in line.

use core::time::Duration;
use std::sync::OnceLock;

use alloc::boxed::Box;

use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::time::units;

/// The upper bounds of the buckets but for the last one, which has none: 10 µs to 5,000 s, in steps of 1, 2
/// and 5.
const BOUNDS: [Duration; 27] = bounds();

const BUCKETS: usize = BOUNDS.len() + 1;

const fn bounds() -> [Duration; 27] {
    let mut bounds = [Duration::ZERO; 27];
    let (mut index, mut micros) = (0, 10);
    while index < bounds.len() {
        bounds[index] = Duration::from_micros(micros);
        bounds[index + 1] = Duration::from_micros(2 * micros);
        bounds[index + 2] = Duration::from_micros(5 * micros);
        index += 3;
        micros *= 10;
    }
    bounds
}

/// The waits of callers that stood in line, in buckets. See [`Counted::waits`](super::Counted::waits).
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::compose::Counted;
///
/// let bucket = Counted::new(TokenBucket::new(quota!(1_000 / second, burst 1)));
/// for _ in 0..3 {
///     bucket.acquire_blocking(1)?;
/// }
/// for bucket in bucket.waits().buckets() {
///     println!("{} waited for at most {:?}", bucket.callers, bucket.bound);
/// }
/// # Ok::<(), sluicegate::wait::AcquireError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitCounts {
    buckets: [WaitBucket; BUCKETS],
}

/// One bucket of [`WaitCounts`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::{Counted, WaitBucket};
///
/// let limiter = Counted::new(TokenBucket::new(quota!(10 / second)));
/// assert!(limiter.try_acquire(1).is_ok());
/// // Nobody has waited.
/// let WaitBucket { bound, callers, .. } = limiter.waits().buckets()[0];
/// assert_eq!((bound, callers), (Some(Duration::from_micros(10)), 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitBucket {
    /// The longest wait in the bucket; `None` for the last one, which has no bound.
    pub bound: Option<Duration>,
    /// Callers whose wait was longer than the bound of the bucket before, and at most this one.
    pub callers: u64,
    /// The sum of their waits, to 2^64 ns.
    pub total: Duration,
}

impl WaitCounts {
    /// The bounds of all buckets but the last: 10 µs to 5,000 s, in steps of 1, 2 and 5.
    pub const BOUNDS: &'static [Duration] = &BOUNDS;

    /// Returns the buckets, from the shortest waits to the longest.
    #[must_use]
    pub fn buckets(&self) -> &[WaitBucket] {
        &self.buckets
    }

    /// Returns the number of callers that waited.
    #[must_use]
    pub fn callers(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.callers).fold(0, u64::wrapping_add)
    }

    /// Returns the sum of all waits.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.buckets
            .iter()
            .map(|bucket| bucket.total)
            .fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// The counters, which are allocated by the first wait.
pub(super) struct WaitCounters(OnceLock<Box<[Bucket; BUCKETS]>>);

/// Waits in one bucket. All threads write it: after a wait that does not matter.
struct Bucket {
    callers: AtomicWord<u64>,
    nanos: AtomicWord<u64>,
}

impl WaitCounters {
    pub(super) fn new() -> WaitCounters {
        WaitCounters(OnceLock::new())
    }

    pub(super) fn add(&self, waited: Duration) {
        let zero = |_| Bucket { callers: AtomicWord::new(0), nanos: AtomicWord::new(0) };
        let buckets = self.0.get_or_init(|| Box::new(core::array::from_fn(zero)));
        let bucket = &buckets[BOUNDS.partition_point(|bound| *bound < waited)];
        // ORDERING: Relaxed, here and below. Statistics; each is reported for itself.
        // MODEL: none; no decision depends on them.
        bucket.nanos.fetch_add(units::nanos(waited), Relaxed);
        // ORDERING: Relaxed, as above.
        // MODEL: none, as above.
        bucket.callers.fetch_add(1, Relaxed);
    }

    pub(super) fn counts(&self) -> WaitCounts {
        let buckets = self.0.get();
        let counts = |index| {
            let bound = BOUNDS.get(index).copied();
            let Some(Bucket { callers, nanos }) = buckets.map(|buckets| &buckets[index]) else {
                return WaitBucket { bound, ..WaitBucket::default() };
            };
            // ORDERING: Relaxed, as in `add`.
            // MODEL: none, as there.
            let callers = callers.load(Relaxed);
            // ORDERING: Relaxed, as in `add`.
            // MODEL: none, as there.
            let total = Duration::from_nanos(nanos.load(Relaxed));
            WaitBucket { bound, callers, total }
        };
        WaitCounts { buckets: core::array::from_fn(counts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_ascend_from_10_microseconds_to_5000_seconds() {
        assert!(BOUNDS.is_sorted_by(|a, b| a < b));
        assert_eq!(
            (BOUNDS[0], BOUNDS[26]),
            (Duration::from_micros(10), Duration::from_secs(5_000))
        );
        assert_eq!(BOUNDS[9..12], [10, 20, 50].map(Duration::from_millis));
    }

    #[test]
    fn a_wait_is_in_the_bucket_whose_bound_it_does_not_exceed() {
        let waits = WaitCounters::new();
        assert_eq!((waits.counts().callers(), waits.counts().total()), (0, Duration::ZERO));
        let millis = Duration::from_millis(10);
        for waited in [Duration::ZERO, millis, millis + Duration::from_nanos(1), Duration::MAX] {
            waits.add(waited);
        }
        let counts = waits.counts();
        let filled: Vec<_> = counts.buckets().iter().filter(|bucket| bucket.callers > 0).collect();
        let bounds: Vec<_> = filled.iter().map(|bucket| bucket.bound).collect();
        assert_eq!(bounds, [Some(BOUNDS[0]), Some(millis), Some(millis * 2), None]);
        assert_eq!(filled[1].total, millis);
        assert_eq!((counts.callers(), counts.buckets().len()), (4, BUCKETS));
    }
}
