//! Keys that come from all sides, and how often each does.

use rand::Rng;
use rand::rngs::SmallRng;

/// The distribution by which keys come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    Uniform,
    /// The n-th key as often as `n ^ -0.99`.
    Zipf,
    /// Every second call is for the same key.
    Hot,
    /// Each call is for a key of its own.
    Flood,
}

/// A source of keys.
pub(crate) struct Keys {
    spread: Spread,
    pub(crate) count: u64,
    /// The part of all calls that is for the first n keys.
    shares: Vec<f64>,
}

impl Keys {
    #[expect(clippy::cast_precision_loss, reason = "the keys are a million at most")]
    pub(crate) fn new(spread: Spread, count: u64) -> Keys {
        let mut shares = Vec::new();
        if matches!(spread, Spread::Zipf) {
            let mut sum = 0.0;
            for key in (1..=count).map(|key| key as f64) {
                sum += key.powf(-0.99);
                shares.push(sum);
            }
            for share in &mut shares {
                *share /= sum;
            }
        }
        Keys { spread, count, shares }
    }

    pub(crate) fn next(&self, turn: u64, random: &mut SmallRng) -> u64 {
        match self.spread {
            Spread::Hot if random.random() => 0,
            Spread::Uniform | Spread::Hot => random.random_range(0..self.count),
            Spread::Zipf => {
                let share = random.random::<f64>();
                self.shares.partition_point(|&most| most < share) as u64
            }
            // Both threads come by the same keys.
            Spread::Flood => turn,
        }
    }
}

/// One key and a million, evenly and not.
pub(crate) fn crowds() -> [(Spread, u64); 12] {
    use Spread::*;
    [
        (Uniform, 1),
        (Uniform, 100),
        (Uniform, 10_000),
        (Uniform, 1_000_000),
        (Zipf, 100),
        (Zipf, 10_000),
        (Zipf, 1_000_000),
        (Hot, 100),
        (Hot, 10_000),
        (Hot, 1_000_000),
        (Flood, 8),
        (Flood, 1_000),
    ]
}
