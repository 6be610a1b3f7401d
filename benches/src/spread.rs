//! The spread of some figures.

use serde::{Deserialize, Serialize};

/// The least, the middle and the most of some figures.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// The middle: as many figures above it as below.
    pub median: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// The spread of `figures`.
    ///
    /// # Panics
    ///
    /// If there are none.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Spread {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let last = figures.len() - 1;
        let median = f64::midpoint(figures[last / 2], figures[last.div_ceil(2)]);
        Spread { min: figures[0], median, max: figures[last] }
    }
}
