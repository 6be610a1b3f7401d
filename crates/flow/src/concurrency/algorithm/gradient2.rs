//! The ratio of a long average to the present time of a call.

use super::range::Range;
use super::{LimitAlgorithm, Sample, is_used, nanos, within};

/// Number of samples of which the long average is a plain one.
const WARM_UP: u32 = 10;

/// The part that is left of the long average when it is more than twice the present time.
const DECAY: f64 = 0.95;

/// The smallest gradient, which halves a limit before it is smoothed.
const LEAST_GRADIENT: f64 = 0.5;

/// A limit that shrinks when calls take longer than they did on a long average, and otherwise grows
/// slowly.
///
/// The gradient is `tolerance x long average / time`, from 0.5 to 1. After each sample the limit is
/// moved by the [smoothing](Gradient2::with_smoothing) from what it is towards
/// `limit x gradient + queue`. So while calls take no longer than usual, it grows by a fifth of the
/// queue; and it shrinks by a tenth at most.
///
/// The long average is an exponential one, so a service that has become slower for good is not held
/// against it for ever. If it is more than twice the present time, it is brought down by 5 % with
/// each sample, so that it recovers soon from a time of overload.
///
/// A drop counts as the smallest gradient without the queue, and its time is not looked at. The limit
/// does not grow while less than half of it is in use. The average is one of *samples*: use it with
/// [`Windowed`](crate::concurrency::Windowed), which makes one sample of a second's calls.
///
/// | option | default |
/// |---|---|
/// | [`with_initial`](Gradient2::with_initial) | 20 permits |
/// | [`with_min`](Gradient2::with_min), [`with_max`](Gradient2::with_max) | 1, 1000 |
/// | [`with_queue`](Gradient2::with_queue) | 4 permits |
/// | [`with_tolerance`](Gradient2::with_tolerance) | 1.5 |
/// | [`with_smoothing`](Gradient2::with_smoothing) | 0.2 |
/// | [`with_long_window`](Gradient2::with_long_window) | 600 samples |
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::concurrency::{Gradient2, LimitAlgorithm, Sample};
///
/// let mut gradient = Gradient2::new().with_initial(100).with_smoothing(1.0);
/// let of_millis = |millis| Sample::new(Duration::from_millis(millis), 100);
/// for _ in 0..10 {
///     gradient.sample(&of_millis(10));
/// }
/// assert_eq!(gradient.limit(), 140); // by the queue of 4 each time
/// gradient.sample(&of_millis(1_000));
/// assert_eq!(gradient.limit(), 74); // half of it, and the queue
/// ```
#[doc(alias = "Gradient2Limit")]
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient2 {
    range: Range,
    queue: u32,
    tolerance: f64,
    smoothing: f64,
    /// The weight of a sample in the long average.
    weight: f64,
    limit: f64,
    /// The long average, in nanoseconds.
    long: f64,
    /// Samples in the long average, as far as one more than those of the warm-up.
    samples: u32,
}

impl Gradient2 {
    /// Creates a limit of 20 permits, with the defaults of all options.
    #[must_use]
    pub fn new() -> Gradient2 {
        Gradient2 {
            range: Range::DEFAULT,
            queue: 4,
            tolerance: 1.5,
            smoothing: 0.2,
            weight: 0.0,
            limit: 0.0,
            long: 0.0,
            samples: 0,
        }
        .with_long_window(600)
        .begin()
    }

    fn begin(self) -> Gradient2 {
        Gradient2 { limit: f64::from(self.range.initial()), ..self }
    }

    /// Sets the permits to begin with. Outside of the least and the most, the nearer of them is
    /// taken.
    #[must_use]
    pub fn with_initial(self, permits: u64) -> Gradient2 {
        Gradient2 { range: self.range.with_initial(permits), ..self }.begin()
    }

    /// Sets the least limit, from 1 to [`ConcurrencyLimit::MAX`](crate::concurrency::ConcurrencyLimit::MAX).
    /// The most is raised to it, if it is less.
    #[must_use]
    pub fn with_min(self, permits: u64) -> Gradient2 {
        Gradient2 { range: self.range.with_least(permits), ..self }.begin()
    }

    /// Sets the largest limit, from 1 to [`ConcurrencyLimit::MAX`](crate::concurrency::ConcurrencyLimit::MAX).
    /// The least is lowered to it, if it is more.
    #[must_use]
    pub fn with_max(self, permits: u64) -> Gradient2 {
        Gradient2 { range: self.range.with_most(permits), ..self }.begin()
    }

    /// Sets the permits that the limit would grow by with each sample, were it not smoothed.
    #[must_use]
    pub fn with_queue(self, permits: u32) -> Gradient2 {
        Gradient2 { queue: permits, ..self }
    }

    /// Sets how many times the long average a call may take before the limit shrinks, from 1 to
    /// 100.
    #[must_use]
    pub fn with_tolerance(self, ratio: f64) -> Gradient2 {
        Gradient2 { tolerance: within(ratio, 1.0, 100.0), ..self }
    }

    /// Sets the part of each change that is made, from 0.001 to 1.
    #[must_use]
    pub fn with_smoothing(self, part: f64) -> Gradient2 {
        Gradient2 { smoothing: within(part, 0.001, 1.0), ..self }
    }

    /// Sets the length of the long average in samples, at least 1.
    #[must_use]
    pub fn with_long_window(self, samples: u32) -> Gradient2 {
        Gradient2 { weight: 2.0 / (f64::from(samples.max(1)) + 1.0), ..self }
    }

    /// Takes `rtt` into the long average and returns that.
    fn averaged(&mut self, rtt: f64) -> f64 {
        self.samples = (self.samples + 1).min(WARM_UP + 1);
        let is_warm = self.samples > WARM_UP;
        let weight = if is_warm { self.weight } else { 1.0 / f64::from(self.samples) };
        self.long += weight * (rtt - self.long);
        self.long
    }

    /// Goes a part of the way to the limit that was chosen.
    fn approach(&mut self, chosen: f64) {
        let limit = self.limit + self.smoothing * (chosen - self.limit);
        self.limit = self.range.clamp_fraction(limit);
    }
}

impl Default for Gradient2 {
    fn default() -> Gradient2 {
        Gradient2::new()
    }
}

impl LimitAlgorithm for Gradient2 {
    fn limit(&self) -> u64 {
        self.limit as u64
    }

    fn sample(&mut self, sample: &Sample) {
        if sample.was_dropped {
            // Without the queue, which would raise a limit that is less than twice as much.
            return self.approach(self.limit * LEAST_GRADIENT);
        }
        let rtt = nanos(sample.rtt);
        let long = self.averaged(rtt);
        if long > 2.0 * rtt {
            self.long *= DECAY;
        }
        if is_used(sample.in_flight, self.limit) {
            let gradient = (self.tolerance * long / rtt).clamp(LEAST_GRADIENT, 1.0);
            self.approach(self.limit * gradient + f64::from(self.queue));
        }
    }
}
