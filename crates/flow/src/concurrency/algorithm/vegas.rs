//! The algorithm of TCP Vegas, of calls instead of packets.

use super::range::Range;
use super::{LimitAlgorithm, Sample, is_used, nanos, within};

/// A limit that keeps the queue in front of a service short, as TCP Vegas does (Brakmo and
/// Peterson, 1995).
///
/// The shortest time that a call took is taken for that of an idle service; all that a call takes
/// longer is time in a queue. So of a limit `l`, about `l x (1 - shortest / time)` calls are
/// queued. With `g = log10 l`, rounded down, but at least 1:
///
/// | calls that are queued | limit |
/// |---|---|
/// | at most `g` | grows by beta (6 g) |
/// | less than alpha (3 g) | grows by `g` |
/// | from alpha to beta | stays |
/// | more than beta | shrinks by `g` |
///
/// A drop shrinks the limit at once, and its time is not looked at. The limit does not grow while
/// less than half of it is in use. About every 30 x `l` calls, at a random moment of the second
/// half of that, the shortest time is forgotten and that of the present call taken: otherwise a
/// service that has become slower for good would seem to have a queue for ever. (If that call did
/// queue, the limit grows, until a shorter time is seen.)
///
/// | option | default |
/// |---|---|
/// | [`with_initial`](Vegas::with_initial) | 20 permits |
/// | [`with_min`](Vegas::with_min), [`with_max`](Vegas::with_max) | 1, 1000 |
/// | [`with_alpha`](Vegas::with_alpha), [`with_beta`](Vegas::with_beta) | 3 g, 6 g |
/// | [`with_decrease`](Vegas::with_decrease) | by `g` |
/// | [`with_smoothing`](Vegas::with_smoothing) | 1 (none) |
/// | [`with_probes_every`](Vegas::with_probes_every) | 30 |
/// | [`with_seed`](Vegas::with_seed) | 0 |
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::concurrency::{LimitAlgorithm, Sample, Vegas};
///
/// let mut vegas = Vegas::new().with_initial(10);
/// let of_millis = |millis| Sample::new(Duration::from_millis(millis), 10);
/// vegas.sample(&of_millis(10)); // the shortest so far
/// vegas.sample(&of_millis(10)); // nothing is queued
/// assert_eq!(vegas.limit(), 16);
/// vegas.sample(&of_millis(50)); // 80 % are
/// assert_eq!(vegas.limit(), 15);
/// ```
#[doc(alias = "VegasLimit")]
#[derive(Clone, Debug, PartialEq)]
pub struct Vegas {
    range: Range,
    /// The permits that may be queued; `None` for 3 g and 6 g.
    alpha: Option<u32>,
    beta: Option<u32>,
    /// The ratio that is left by a decrease; `None` for g permits less.
    decrease: Option<f64>,
    smoothing: f64,
    probes_every: u32,
    limit: f64,
    /// The time of a call that did not queue, in nanoseconds.
    shortest: Option<f64>,
    /// Samples since the last probe.
    samples: u32,
    /// The part of the way to a probe at which it is made: from a half to the whole.
    jitter: f64,
    seed: u64,
}

impl Vegas {
    /// Creates a limit of 20 permits, with the defaults of all options.
    #[must_use]
    pub fn new() -> Vegas {
        Vegas {
            range: Range::DEFAULT,
            alpha: None,
            beta: None,
            decrease: None,
            smoothing: 1.0,
            probes_every: 30,
            limit: 0.0,
            shortest: None,
            samples: 0,
            jitter: 1.0,
            seed: 0,
        }
        .begin()
    }

    fn begin(self) -> Vegas {
        let mut vegas = Vegas { limit: f64::from(self.range.initial()), ..self };
        vegas.jitter = vegas.next_jitter();
        vegas
    }

    /// Sets the permits to begin with. Outside of the least and the most, the nearer of them is
    /// taken.
    #[must_use]
    pub fn with_initial(self, permits: u64) -> Vegas {
        Vegas { range: self.range.with_initial(permits), ..self }.begin()
    }

    /// Sets the least limit, from 1 to [`ConcurrencyLimit::MAX`](crate::concurrency::ConcurrencyLimit::MAX).
    /// The most is raised to it, if it is less.
    #[must_use]
    pub fn with_min(self, permits: u64) -> Vegas {
        Vegas { range: self.range.with_least(permits), ..self }.begin()
    }

    /// Sets the largest limit, from 1 to [`ConcurrencyLimit::MAX`](crate::concurrency::ConcurrencyLimit::MAX).
    /// The least is lowered to it, if it is more.
    #[must_use]
    pub fn with_max(self, permits: u64) -> Vegas {
        Vegas { range: self.range.with_most(permits), ..self }.begin()
    }

    /// Sets the calls that may be queued before the limit stops to grow.
    #[must_use]
    pub fn with_alpha(self, permits: u32) -> Vegas {
        Vegas { alpha: Some(permits), ..self }
    }

    /// Sets the calls that may be queued before the limit shrinks, and by how many permits it grows
    /// while next to none are.
    #[must_use]
    pub fn with_beta(self, permits: u32) -> Vegas {
        Vegas { beta: Some(permits), ..self }
    }

    /// Sets the ratio by which the limit shrinks, from 0.1 to 1.
    #[must_use]
    pub fn with_decrease(self, ratio: f64) -> Vegas {
        Vegas { decrease: Some(within(ratio, 0.1, 1.0)), ..self }
    }

    /// Sets the part of each change that is made, from 0.001 to 1.
    #[must_use]
    pub fn with_smoothing(self, part: f64) -> Vegas {
        Vegas { smoothing: within(part, 0.001, 1.0), ..self }
    }

    /// Sets the calls between two probes of the shortest time, as a multiple of the limit, at
    /// least 1.
    #[must_use]
    pub fn with_probes_every(self, limits: u32) -> Vegas {
        Vegas { probes_every: limits.max(1), ..self }
    }

    /// Sets the seed of the random moments of the probes, so that instances do not probe together.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Vegas {
        Vegas { seed, ..self }.begin()
    }

    /// Returns a random number from a half to one, by `SplitMix64` (Steele, Lea and Flood, 2014).
    fn next_jitter(&mut self) -> f64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        0.5 + 0.5 * (f64::from((mixed >> 32) as u32) / f64::from(u32::MAX))
    }

    fn is_probe_due(&self) -> bool {
        f64::from(self.samples) >= self.jitter * f64::from(self.probes_every) * self.limit
    }

    /// Returns the permits of a small step at this limit.
    fn step(&self) -> u32 {
        (self.limit as u32).max(1).ilog10().max(1)
    }

    fn decreased(&self) -> f64 {
        match self.decrease {
            Some(ratio) => self.limit * ratio,
            None => self.limit - f64::from(self.step()),
        }
    }

    /// Returns the limit after a call that took `rtt`, of which an idle service takes `shortest`;
    /// `None` if it stays.
    fn after(&self, rtt: f64, shortest: f64) -> Option<f64> {
        let step = self.step();
        let alpha = self.alpha.unwrap_or(3 * step);
        let beta = self.beta.unwrap_or(6 * step);
        // Not rounded up to whole calls, which comes to the same: more than `n - 1` is at least
        // `n`.
        let queued = self.limit * (1.0 - shortest / rtt);
        if queued <= f64::from(step) {
            Some(self.limit + f64::from(beta))
        } else if queued <= f64::from(alpha) - 1.0 {
            Some(self.limit + f64::from(step))
        } else if queued > f64::from(beta) {
            Some(self.decreased())
        } else {
            None
        }
    }

    /// Goes a part of the way to the limit that was chosen.
    fn approach(&mut self, chosen: f64) {
        let chosen = self.range.clamp_fraction(chosen);
        // Again, for the rounding.
        let limit = self.limit + self.smoothing * (chosen - self.limit);
        self.limit = self.range.clamp_fraction(limit);
    }
}

impl Default for Vegas {
    fn default() -> Vegas {
        Vegas::new()
    }
}

impl LimitAlgorithm for Vegas {
    fn limit(&self) -> u64 {
        self.limit as u64
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples = self.samples.saturating_add(1);
        if sample.was_dropped {
            return self.approach(self.decreased());
        }
        let rtt = nanos(sample.rtt);
        let shortest = match self.shortest {
            Some(shortest) if rtt >= shortest && !self.is_probe_due() => shortest,
            _ => {
                if self.is_probe_due() {
                    self.samples = 0;
                    self.jitter = self.next_jitter();
                }
                self.shortest = Some(rtt);
                return;
            }
        };
        if !is_used(sample.in_flight, self.limit) {
            return;
        }
        if let Some(chosen) = self.after(rtt, shortest) {
            self.approach(chosen);
        }
    }
}
