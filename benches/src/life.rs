//! The time that a limiter has lived, by the most generous of the clocks.

use std::time::{Duration, Instant};

use governor::clock::{Clock as _, Reference as _};
use sluicegate::Clock as _;

/// A stopwatch for the life of a limiter.
///
/// A processor's counter, as quanta scales it, and the system's clock differ by
/// some millionths. A limiter is at fault only for what it admits beyond its
/// own clock, so the clock that measured the most time counts. Two versions of quanta
/// are in use, and each scales the counter for itself.
#[derive(Debug)]
pub struct Life {
    system: Instant,
    ours: (sluicegate::clock::QuantaClock, u64),
    theirs: (governor::clock::QuantaClock, governor::clock::QuantaInstant),
}

impl Life {
    /// A life that begins now.
    #[must_use]
    pub fn begin() -> Life {
        let (ours, theirs) =
            (sluicegate::clock::QuantaClock::new(), governor::clock::QuantaClock::default());
        let (ours_nanos, theirs_now) = (ours.now_nanos(), theirs.now());
        Life { system: Instant::now(), ours: (ours, ours_nanos), theirs: (theirs, theirs_now) }
    }

    /// The time since it began, by the system's clock alone.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.system.elapsed()
    }

    /// The time since it began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let (ours, began_nanos) = &self.ours;
        let (theirs, began) = &self.theirs;
        let ours = Duration::from_nanos(ours.now_nanos() - began_nanos);
        let theirs = Duration::from(theirs.now().duration_since(*began));
        self.system.elapsed().max(ours).max(theirs)
    }
}
