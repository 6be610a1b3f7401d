//! The keys that are asked for, in order.
//!
//! They are drawn before anything is timed, and once for all stores: all are asked for the
//! same keys in the same order. The timed part only has to read the next key, and
//! the row `loop` shows what that costs.

use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use rand_distr::{Distribution as _, Zipf};
use serde::{Deserialize, Serialize};

use super::Key;

/// The shortest sequence: even of a few keys, too long for a branch predictor to learn.
const SHORTEST: usize = 1 << 16;

/// The longest. It has a third of ten million keys. In a dense store these are on nearly all
/// lines of memory, and in any other on more lines than a cache holds.
const LONGEST: usize = 1 << 22;

/// Exponent s of the distribution in which the kth key has a weight of 1 / k^s.
const ZIPF: f64 = 0.99;

/// The share of calls for the one hot key.
const HOT: f64 = 0.95;

/// The spread of the calls over the keys.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Skew {
    /// All keys alike.
    Uniform,
    /// The kth key 1 / k^0.99 times as often as the first.
    Zipf,
    /// One key in 95 of 100 calls, all others alike.
    Hot,
}

impl Skew {
    /// Returns the name, both in arguments and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Skew::Uniform => "uniform",
            Skew::Zipf => "zipf",
            Skew::Hot => "hot",
        }
    }

    /// Estimates the share of calls for the key that is asked for most, rounded up a little.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
    pub fn share(self, keys: u64) -> f64 {
        match self {
            // A sequence has each key twice on average, and some of them ten times.
            Skew::Uniform => 5.0 / keys as f64,
            // The sum of 1 / k^0.99 is more than that of 1 / k.
            Skew::Zipf => 1.0 / (keys as f64).ln().max(1.0),
            Skew::Hot => 0.96,
        }
    }
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the keys that one thread asks for, over and over. Their number is a power of two.
///
/// # Panics
///
/// If there are no keys.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 keys")]
pub fn sequence<K: Key>(skew: Skew, keys: u64, thread: usize) -> Arc<[K]> {
    let mut random = SmallRng::seed_from_u64(thread as u64);
    let zipf = Zipf::new(keys as f64, ZIPF).expect("there is a key");
    let mut draw = || match skew {
        Skew::Zipf => zipf.sample(&mut random) as u64 - 1,
        Skew::Hot if random.random_bool(HOT) => 0,
        Skew::Uniform | Skew::Hot => random.random_range(0..keys),
    };
    let length = (2 * keys as usize).next_power_of_two().clamp(SHORTEST, LONGEST);
    (0..length).map(|_| K::at(draw())).collect()
}

/// Every key once.
#[must_use]
pub fn each<K: Key>(keys: u64) -> Arc<[K]> {
    (0..keys).map(K::at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[expect(clippy::cast_precision_loss, reason = "they are counts of thousands")]
    fn share_of_the_first(skew: Skew) -> f64 {
        let sequence = sequence::<u64>(skew, 1_000, 0);
        let first = sequence.iter().filter(|key| **key == u64::at(0)).count();
        first as f64 / sequence.len() as f64
    }

    #[test]
    fn the_first_key_has_its_share() {
        assert!((share_of_the_first(Skew::Uniform) - 0.001).abs() < 0.000_5);
        // One over the sum of 1 / k^0.99 up to 1000.
        assert!((share_of_the_first(Skew::Zipf) - 0.129).abs() < 0.01);
        assert!((share_of_the_first(Skew::Hot) - 0.95).abs() < 0.01);
    }

    #[test]
    fn every_key_is_asked_for_where_there_are_few() {
        for skew in [Skew::Uniform, Skew::Zipf, Skew::Hot] {
            let mut counts = HashMap::new();
            sequence::<u64>(skew, 100, 1)
                .iter()
                .for_each(|key| *counts.entry(*key).or_insert(0) += 1);
            assert_eq!(counts.len(), 100, "{skew}");
            assert!((0..100).all(|index| counts.contains_key(&u64::at(index))));
        }
    }

    #[test]
    fn threads_ask_in_orders_of_their_own() {
        assert_ne!(sequence::<u64>(Skew::Uniform, 100, 0), sequence::<u64>(Skew::Uniform, 100, 1));
    }
}
