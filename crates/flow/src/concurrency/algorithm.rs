//! The interface between an [`Adaptive`](super::adaptive::Adaptive) limit and what chooses it.

pub(crate) mod aimd;
pub(crate) mod gradient2;
mod range;
pub(crate) mod vegas;
pub(crate) mod windowed;

use std::time::Duration;

use crate::units;

/// An algorithm that chooses a limit of what is in flight from how calls end: [`Aimd`],
/// [`Vegas`], [`Gradient2`], or one of your own.
///
/// It is a state machine without a clock and without atomics: the same samples give the same
/// limits. [`Adaptive`] feeds it.
///
/// [`Aimd`]: crate::concurrency::Aimd
/// [`Vegas`]: crate::concurrency::Vegas
/// [`Gradient2`]: crate::concurrency::Gradient2
/// [`Adaptive`]: crate::concurrency::Adaptive
///
/// # Examples
///
/// A limit that is halved by a drop, and grows by one for every ten calls that succeed:
///
/// ```
/// use sluicegate_flow::concurrency::{LimitAlgorithm, Sample};
///
/// struct Halving {
///     tenths: u64,
/// }
///
/// impl LimitAlgorithm for Halving {
///     fn limit(&self) -> u64 {
///         (self.tenths / 10).max(1)
///     }
///
///     fn sample(&mut self, sample: &Sample) {
///         self.tenths = if sample.was_dropped { self.tenths / 2 } else { self.tenths + 1 };
///     }
/// }
///
/// let adaptive = sluicegate_flow::concurrency::Adaptive::new(Halving { tenths: 80 });
/// assert_eq!(adaptive.limit(), 8);
/// ```
#[doc(alias = "Limit")]
pub trait LimitAlgorithm {
    /// Returns the limit that the samples so far lead to. 0 is taken as 1: nothing would be
    /// admitted any more, and no sample could change that.
    fn limit(&self) -> u64;

    /// Takes a call that has ended into account.
    fn sample(&mut self, sample: &Sample);
}

impl<A: LimitAlgorithm + ?Sized> LimitAlgorithm for std::boxed::Box<A> {
    fn limit(&self) -> u64 {
        (**self).limit()
    }

    fn sample(&mut self, sample: &Sample) {
        (**self).sample(sample);
    }
}

/// A call that has ended, as a [`LimitAlgorithm`] learns of it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::concurrency::{Aimd, LimitAlgorithm, Sample};
///
/// let mut aimd = Aimd::new().with_initial(30);
/// aimd.sample(&Sample::new(Duration::from_millis(3), 15).dropped());
/// assert!(aimd.limit() < 30);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The time from the admission of the call to its end.
    pub rtt: Duration,
    /// The permits in flight right after its admission, its own included.
    pub in_flight: u64,
    /// True if the call was refused or given up by whoever served it, which says that there is too
    /// much in flight. Its time is then not how long a call takes.
    pub was_dropped: bool,
    /// The reading of the clock at its end, since the clock's origin.
    pub ended: Duration,
}

impl Sample {
    /// Creates the sample of a call that succeeded in the time `rtt`, with so many permits in flight after
    /// its admission. It ended at the clock's origin, until [`ended_at`](Sample::ended_at) says when.
    #[must_use]
    pub const fn new(rtt: Duration, in_flight: u64) -> Self {
        Sample { rtt, in_flight, was_dropped: false, ended: Duration::ZERO }
    }

    /// Makes it the sample of a call that was refused or given up by whoever served it.
    #[must_use]
    pub const fn dropped(self) -> Self {
        Sample { was_dropped: true, ..self }
    }

    /// Sets the reading of the clock at the end of the call.
    #[must_use]
    pub const fn ended_at(self, ended: Duration) -> Self {
        Sample { ended, ..self }
    }
}

/// Returns whether at least half of `limit` is in flight.
fn is_used(in_flight: u64, limit: f64) -> bool {
    f64::from(in_flight.min(u64::from(u32::MAX)) as u32) * 2.0 >= limit
}

/// Returns a time in nanoseconds, at least one.
fn nanos(time: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "times are measured to less than that")]
    let nanos = units::nanos(time).max(1) as f64;
    nanos
}

/// Returns `value` from `least` to `most`; `most` for one that is no number.
fn within(value: f64, least: f64, most: f64) -> f64 {
    if value.is_nan() { most } else { value.clamp(least, most) }
}
