//! The requests of the last interval, in bounded memory.

use std::collections::VecDeque;

/// The most requests that are kept apart. With more, those that are close to each other are joined.
const MOST: usize = 2048;

/// The steps of an interval, of which the requests are joined.
const STEPS: u64 = 1024;

/// The requests of the last interval, each with its time and its permits.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    requests: VecDeque<(u64, u64)>,
    permits: u128,
    pub(super) is_stepped: bool,
}

impl Trail {
    /// Adds a request, and returns the permits of the interval that ends with it.
    pub(super) fn push(&mut self, permits: u64, now_nanos: u64, interval_nanos: u64) -> u128 {
        while let Some(&(at_nanos, old)) = self.requests.front() {
            if now_nanos - at_nanos < interval_nanos {
                break;
            }
            self.permits -= u128::from(old);
            self.requests.pop_front();
        }
        self.permits += u128::from(permits);
        match self.requests.back_mut() {
            Some((at_nanos, last)) if *at_nanos == now_nanos => {
                *last = last.saturating_add(permits);
            }
            _ => self.requests.push_back((now_nanos, permits)),
        }
        if self.requests.len() > MOST {
            self.join((interval_nanos / STEPS).max(1));
        }
        self.permits
    }

    /// Joins the requests of each step. All are dated by the newest of them, so that the
    /// level is never too low.
    fn join(&mut self, step_nanos: u64) {
        self.is_stepped = true;
        let mut joined: VecDeque<(u64, u64)> = VecDeque::new();
        for (at_nanos, permits) in self.requests.drain(..) {
            match joined.back_mut() {
                Some(last) if at_nanos / step_nanos == last.0 / step_nanos => {
                    *last = (at_nanos, last.1.saturating_add(permits));
                }
                _ => joined.push_back((at_nanos, permits)),
            }
        }
        self.requests = joined;
        self.permits = self.requests.iter().map(|(_, permits)| u128::from(*permits)).sum();
    }

    /// Returns the bytes that it has allocated.
    pub(super) fn bytes(&self) -> usize {
        self.requests.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_what_is_younger_than_it() {
        let mut trail = Trail::default();
        let levels = [(0, 1), (4, 2), (9, 3), (10, 1), (14, 1), (14, 1), (100, 7)];
        let levels = levels.map(|(now, permits)| trail.push(permits, now, 10));
        assert_eq!(levels, [1, 3, 6, 6, 5, 6, 7]);
    }

    #[test]
    fn many_requests_are_joined_and_the_level_is_at_most_a_step_too_high() {
        let mut trail = Trail::default();
        let interval = 1_000_000;
        let mut highest = 0;
        // A million in each interval.
        for request in 0..2_500_000_u64 {
            highest = highest.max(trail.push(1, request, interval));
            assert!(trail.requests.len() <= MOST);
        }
        assert!(trail.is_stepped);
        assert!((1_000_000..=1_001_000).contains(&highest), "{highest}");
        assert!(trail.bytes() <= 64 << 10);
    }
}
