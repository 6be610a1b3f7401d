//! The verbs that only look.

use std::time::Duration;

use sluicegate::{Clock, Rate};

use super::WarmUp;
use super::curve::Curve;

impl<C: Clock> WarmUp<C> {
    /// Returns the wait that a request would have now. Takes the lock, and reads the clock.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.advanced(|state| state.schedule.wait(state.latest.nanos()))
    }

    /// Returns the whole permits that are stored, less those that have been taken already: the more, the
    /// colder. Takes the lock, and reads the clock.
    #[must_use]
    pub fn stored(&self) -> u64 {
        self.advanced(|state| {
            let schedule = state.schedule.at(state.latest.nanos());
            permits_of(schedule.curve(), schedule.stored())
        })
    }

    /// Returns the whole permits that are stored once the limiter is cold.
    #[must_use]
    pub fn max_stored(&self) -> u64 {
        let curve = self.curve();
        permits_of(&curve, curve.full())
    }

    /// Returns the rate in force, once the limiter is warm.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.curve().rate
    }

    /// Returns the time from cold to warm.
    #[must_use]
    pub fn warm_up(&self) -> Duration {
        Duration::from_nanos(self.curve().warm_up_nanos)
    }

    /// Returns the cost of a permit if the limiter is cold, as a multiple of that if it is warm.
    #[must_use]
    pub fn cold_factor(&self) -> u32 {
        self.curve().cold_factor
    }

    /// Returns how often the limiter has started anew because its clock went back.
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.state.lock().latest.healed()
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &C {
        &self.clock
    }
}

/// Returns `stored` units in whole permits.
pub(super) fn permits_of(curve: &Curve, stored: u128) -> u64 {
    u64::try_from(curve.whole_permits(stored)).unwrap_or(u64::MAX)
}
