//! The size of the next lease, by how long the last one lasted.

/// Nanoseconds that a lease is to last.
const LASTS_NANOS: u64 = 100_000_000;

/// The size of a key's leases. Grows while they are used up soon, shrinks while they last long, and is 1 while the server
/// has less than is asked for: then all nodes get what there is in small parts.
#[derive(Debug)]
pub(super) struct LeaseSize {
    size: u64,
    /// Time at which the last lease was asked for.
    since: u64,
}

impl LeaseSize {
    pub(super) fn new(now: u64) -> LeaseSize {
        LeaseSize { size: 1, since: now }
    }

    /// Returns the size of the next lease, from 1 to `most`.
    pub(super) fn next(&mut self, now: u64, most: u64) -> u64 {
        let lasted = now.saturating_sub(self.since);
        self.since = now;
        self.size = if lasted <= LASTS_NANOS {
            self.size.saturating_mul(2)
        } else {
            // As many permits as this pace uses in the time that a lease is to last.
            let part = u128::from(self.size) * u128::from(LASTS_NANOS) / u128::from(lasted);
            part as u64
        };
        self.size = self.size.clamp(1, most);
        self.size
    }

    /// Notes that the server had less than was asked for.
    pub(super) fn was_short(&mut self) {
        self.size = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_grow_while_they_are_used_up_soon_and_shrink_with_the_pace() {
        let mut size = LeaseSize::new(0);
        let sizes = [1, 2, 3, 4, 5].map(|millis| size.next(millis * 1_000_000, 20));
        assert_eq!(sizes, [2, 4, 8, 16, 20]);
        assert_eq!(size.next(5_000_000 + 2 * LASTS_NANOS, 20), 10);
        assert_eq!(size.next(u64::MAX, 20), 1);
        assert_eq!(size.next(0, 20), 2, "a clock that goes back");
        size.was_short();
        assert_eq!(size.next(1, 20), 2);
    }
}
