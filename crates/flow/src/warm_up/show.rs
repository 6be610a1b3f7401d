//! A limiter that warms up, as text.

use std::fmt;
use std::time::Duration;

use sluicegate::Clock;

use super::WarmUp;
use super::observe::permits_of;

/// Shows the terms, and what is stored and owed now:
/// `WarmUp { rate: "2 / second", warm_up: 4s, cold_factor: 3, stored: 8, ready_after: 0ns }`. Heals
/// nothing.
impl<C: Clock> fmt::Debug for WarmUp<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now_nanos = self.clock.now_nanos();
        let (schedule, wait) = {
            let state = self.state.lock();
            let now_nanos = now_nanos.max(state.latest.nanos());
            (state.schedule.at(now_nanos), state.schedule.wait(now_nanos))
        };
        let curve = schedule.curve();
        f.debug_struct("WarmUp")
            .field("rate", &curve.rate)
            .field("warm_up", &Duration::from_nanos(curve.warm_up_nanos))
            .field("cold_factor", &curve.cold_factor)
            .field("stored", &permits_of(curve, schedule.stored()))
            .field("ready_after", &wait)
            .finish()
    }
}
