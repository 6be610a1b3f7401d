//! A random delay, so that callers that were granted their permits do not all go on at one moment.

use core::hash::{BuildHasher, Hasher};
use core::time::Duration;
use std::hash::RandomState;

use crate::time::units;

/// A random delay between a grant and the moment at which its caller is told of it.
///
/// For [`Waiting::jitter`](crate::wait::Waiting::jitter). Each delay between the least and the longest is
/// as likely as any other, to the nanosecond.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::wait::Jitter;
///
/// let at_random = Jitter::up_to(Duration::from_millis(20));
/// // The same delay in every run, for tests.
/// let repeatable = Jitter::up_to(Duration::from_millis(20)).seeded(7);
/// assert_eq!(repeatable.delay(), repeatable.delay());
/// assert!(at_random.delay() <= Duration::from_millis(20));
///
/// let not_at_once = Jitter::between(Duration::from_millis(5), Duration::from_millis(20));
/// assert!(not_at_once.delay() >= Duration::from_millis(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    least_nanos: u64,
    longest_nanos: u64,
    seed: Option<u64>,
}

impl Jitter {
    /// Returns delays from nothing to `longest`.
    #[must_use]
    pub fn up_to(longest: Duration) -> Jitter {
        Jitter::between(Duration::ZERO, longest)
    }

    /// Returns delays from `least` to `longest`; of `least` if that is longer.
    #[must_use]
    pub fn between(least: Duration, longest: Duration) -> Jitter {
        let least_nanos = units::nanos(least);
        Jitter { least_nanos, longest_nanos: units::nanos(longest).max(least_nanos), seed: None }
    }

    /// Takes one delay, by `seed`, instead of another each time.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Jitter {
        Jitter { seed: Some(seed), ..self }
    }

    /// Returns a delay. Without a seed, the next call returns another.
    #[must_use]
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.nanos())
    }

    pub(crate) fn nanos(self) -> u64 {
        // Its keys are random, and others in each call.
        let random = || RandomState::new().build_hasher().finish();
        let bits = mixed(self.seed.unwrap_or_else(random));
        let choices = u128::from(self.longest_nanos - self.least_nanos) + 1;
        self.least_nanos + ((u128::from(bits) * choices) >> 64) as u64
    }
}

impl From<Duration> for Jitter {
    fn from(longest: Duration) -> Jitter {
        Jitter::up_to(longest)
    }
}

/// Returns a number that looks random, of any other: the output function of `SplitMix64`.
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_spread_over_the_whole_range_and_no_further() {
        let range = Jitter::between(Duration::from_nanos(100), Duration::from_nanos(107));
        let mut counts = [0; 8];
        for seed in 0..8_000 {
            counts[(range.seeded(seed).nanos() - 100) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_range_of_any_ends_has_a_delay() {
        let longest = u64::MAX;
        for (least, most) in [(0, 0), (5, 5), (5, 3), (0, longest), (longest, longest)] {
            let range = Jitter::between(Duration::from_nanos(least), Duration::from_nanos(most));
            for seed in [0, 1, u64::MAX] {
                let nanos = range.seeded(seed).nanos();
                assert!((least..=most.max(least)).contains(&nanos));
            }
        }
        assert!(Jitter::between(Duration::MAX, Duration::MAX).nanos() > 0);
    }

    #[test]
    fn without_a_seed_delays_differ() {
        let jitter = Jitter::up_to(Duration::from_secs(1 << 30));
        let delays: std::collections::BTreeSet<u64> = (0..8).map(|_| jitter.nanos()).collect();
        assert!(delays.len() > 1);
    }
}
