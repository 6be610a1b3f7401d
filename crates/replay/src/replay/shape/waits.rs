//! The distribution of waits, in fixed memory.

use std::time::Duration;

/// Bits of a wait that are kept: of longer ones the lower bits are rounded up.
const KEPT_BITS: u32 = 7;

/// Waits of less than this many nanoseconds are kept exactly.
const EXACT: u64 = 1 << (KEPT_BITS + 1);

/// The distribution of waits, in fixed memory.
///
/// Percentiles are at most 0.8 % too long, and never too short. All other numbers are exact.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Waits by their leading bits, from the shortest to the longest.
    bins: Vec<u64>,
    count: u64,
    delayed: u64,
    longest_nanos: u64,
    within: Option<Duration>,
    longer: u64,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits::new(None)
    }
}

impl Waits {
    /// Returns the distribution of no waits yet. Counts those that are longer than `within`.
    #[must_use]
    pub fn new(within: Option<Duration>) -> Waits {
        Waits { bins: Vec::new(), count: 0, delayed: 0, longest_nanos: 0, within, longer: 0 }
    }

    /// Counts one wait.
    pub fn record(&mut self, wait_nanos: u64) {
        let bin = bin(wait_nanos);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
        self.delayed += u64::from(wait_nanos > 0);
        self.longest_nanos = self.longest_nanos.max(wait_nanos);
        let is_longer = self.within.is_some_and(|within| Duration::from_nanos(wait_nanos) > within);
        self.longer += u64::from(is_longer);
    }

    /// Returns the number of requests that had to wait at all.
    #[must_use]
    pub fn delayed(&self) -> u64 {
        self.delayed
    }

    /// Returns the longest wait.
    #[must_use]
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest_nanos)
    }

    /// Returns the bound that was given, and the number of waits that were longer.
    #[must_use]
    pub fn longer(&self) -> Option<(Duration, u64)> {
        self.within.map(|within| (within, self.longer))
    }

    /// Returns the waits in nanoseconds with the number of each, rising. They are at most 0.8 % too
    /// short.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.bins.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bin, count)| {
            let least_nanos = bin.checked_sub(1).map_or(0, |before| most_nanos(before) + 1);
            (least_nanos, *count)
        })
    }

    /// Returns a wait that `percent` of all requests did not exceed; zero if there were none.
    #[must_use]
    pub fn percentile(&self, percent: u32) -> Duration {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100) as u64;
        let mut seen = 0;
        let reached = self.bins.iter().position(|count| {
            seen += count;
            seen >= rank.max(1)
        });
        let nanos = reached.map_or(0, |bin| most_nanos(bin).min(self.longest_nanos));
        Duration::from_nanos(nanos)
    }
}

/// Returns the bin of a wait.
fn bin(nanos: u64) -> usize {
    if nanos < EXACT {
        return nanos as usize;
    }
    let dropped = u64::BITS - nanos.leading_zeros() - (KEPT_BITS + 1);
    // The leading bits, of which the first is always set.
    let kept = nanos >> dropped;
    (u64::from(dropped) * (EXACT / 2) + kept) as usize
}

/// Returns the longest wait of a bin.
fn most_nanos(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < EXACT {
        return bin;
    }
    let dropped = bin / (EXACT / 2) - 1;
    let kept = bin - dropped * (EXACT / 2);
    (kept << dropped) | ((1 << dropped) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_is_in_a_bin_that_is_hardly_longer() {
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for nanos in edges.chain((0..5_000).map(|n| n * n * n)).chain([u64::MAX]) {
            let most = most_nanos(bin(nanos));
            assert!(most >= nanos, "{nanos}");
            assert!(most - nanos <= nanos / 128, "{nanos} and {most}");
            assert_eq!(bin(most), bin(nanos));
            if let Some(next) = most.checked_add(1) {
                assert_eq!(bin(next), bin(nanos) + 1);
            }
        }
    }

    #[test]
    fn percentiles_are_of_the_waits_in_order() {
        let mut waits = Waits::new(Some(Duration::from_nanos(98)));
        for nanos in (0..100).rev() {
            waits.record(nanos);
        }
        let found = [0, 1, 50, 90, 99, 100].map(|percent| waits.percentile(percent).as_nanos());
        assert_eq!(found, [0, 0, 49, 89, 98, 99]);
        assert_eq!((waits.delayed(), waits.longest().as_nanos()), (99, 99));
        assert_eq!(waits.longer(), Some((Duration::from_nanos(98), 1)));
        assert!(waits.counts().eq((0..100).map(|nanos| (nanos, 1))));
    }

    #[test]
    fn no_waits_and_the_longest_have_percentiles_too() {
        let mut waits = Waits::default();
        assert_eq!((waits.percentile(50), waits.longer()), (Duration::ZERO, None));
        waits.record(u64::MAX);
        waits.record(1_000_000_007);
        assert_eq!(waits.percentile(100), Duration::from_nanos(u64::MAX));
        assert_eq!(waits.percentile(50), Duration::from_nanos(1_002_438_655));
    }
}
