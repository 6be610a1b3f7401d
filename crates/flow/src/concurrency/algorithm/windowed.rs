//! One sample of many.

use std::time::Duration;

use super::{LimitAlgorithm, Sample};

/// An algorithm that is fed one sample for all calls of a time, so that it does not follow single
/// ones.
///
/// The sample of a window has the average time of its calls, the most in flight, and is dropped if
/// one of them was. A window ends with the first call that ends when it is over; windows of fewer
/// calls than [enough](Windowed::with_least_samples) are passed over, unless one of them was
/// dropped. Calls shorter than the [least time](Windowed::with_least_rtt), such as errors that are
/// found at once, are not counted, unless they were dropped.
///
/// | option | default |
/// |---|---|
/// | [`with_window`](Windowed::with_window) | 1 s |
/// | [`with_least_samples`](Windowed::with_least_samples) | 10 |
/// | [`with_least_rtt`](Windowed::with_least_rtt) | 100 us |
///
/// # Examples
///
/// ```
/// use sluicegate_flow::concurrency::{Adaptive, Gradient2, Windowed};
///
/// let adaptive = Adaptive::new(Windowed::new(Gradient2::new().with_initial(50)));
/// assert_eq!(adaptive.limit(), 50);
/// ```
#[doc(alias = "WindowedLimit")]
#[derive(Clone, Debug, PartialEq)]
pub struct Windowed<A> {
    algorithm: A,
    window: Duration,
    least_samples: u32,
    least_rtt: Duration,
    /// The end of the window; `None` before the first sample.
    until: Option<Duration>,
    /// The samples of the window and the sum of their times, without those that were dropped.
    samples: u32,
    sum: Duration,
    most_in_flight: u64,
    was_dropped: bool,
}

impl<A: LimitAlgorithm> Windowed<A> {
    /// Feeds `algorithm` with one sample for each second, with the defaults of all options.
    #[must_use]
    pub fn new(algorithm: A) -> Windowed<A> {
        Windowed {
            algorithm,
            window: Duration::from_secs(1),
            least_samples: 10,
            least_rtt: Duration::from_micros(100),
            until: None,
            samples: 0,
            sum: Duration::ZERO,
            most_in_flight: 0,
            was_dropped: false,
        }
    }

    /// Sets the length of a window.
    #[must_use]
    pub fn with_window(self, window: Duration) -> Windowed<A> {
        Windowed { window, ..self }
    }

    /// Sets the number of calls that a window needs to count, at least 1.
    #[must_use]
    pub fn with_least_samples(self, samples: u32) -> Windowed<A> {
        Windowed { least_samples: samples.max(1), ..self }
    }

    /// Sets the time below which a call is not counted.
    #[must_use]
    pub fn with_least_rtt(self, rtt: Duration) -> Windowed<A> {
        Windowed { least_rtt: rtt, ..self }
    }

    /// Returns true if the window is over at `now`, or so far ahead that the clock has gone back.
    fn is_over(&self, now: Duration) -> bool {
        self.until.is_some_and(|until| now >= until || until > now.saturating_add(self.window))
    }

    /// Feeds the algorithm with what there is.
    fn feed(&mut self, ended: Duration) {
        if self.samples >= self.least_samples || self.was_dropped {
            self.algorithm.sample(&Sample {
                rtt: self.sum.checked_div(self.samples).unwrap_or(Duration::ZERO),
                in_flight: self.most_in_flight,
                was_dropped: self.was_dropped,
                ended,
            });
        }
        (self.samples, self.sum) = (0, Duration::ZERO);
        (self.most_in_flight, self.was_dropped) = (0, false);
    }
}

impl<A: LimitAlgorithm> LimitAlgorithm for Windowed<A> {
    fn limit(&self) -> u64 {
        self.algorithm.limit()
    }

    fn sample(&mut self, sample: &Sample) {
        if !sample.was_dropped {
            if sample.rtt < self.least_rtt {
                return;
            }
            self.samples = self.samples.saturating_add(1);
            self.sum = self.sum.saturating_add(sample.rtt);
        }
        self.was_dropped |= sample.was_dropped;
        self.most_in_flight = self.most_in_flight.max(sample.in_flight);
        if self.is_over(sample.ended) {
            self.feed(sample.ended);
            self.until = None;
        }
        if self.until.is_none() {
            self.until = Some(sample.ended.saturating_add(self.window));
        }
    }
}
