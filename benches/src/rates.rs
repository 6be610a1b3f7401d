//! The errors of the rates of limiters, on clocks that are moved by hand.

mod buckets;

use std::time::Duration;

pub use self::buckets::{Bucket, Governor, Ours, Ratelimit, Ratelock, quota_spacing_nanos};

const SECOND: Duration = Duration::from_secs(1);

/// A hundred Julian years.
pub const CENTURY: Duration = Duration::from_secs(36_525 * 24 * 3_600);

/// Steps of a window: fast rates are measured over this many bucketfuls.
const STEPS: u128 = 4_000;

/// A rate to be kept to.
#[derive(Clone, Copy, Debug)]
pub struct Nominal {
    /// Name for people.
    pub name: &'static str,
    /// Permits per period.
    pub permits: u64,
    /// The period.
    pub period: Duration,
}

impl Nominal {
    const fn new(name: &'static str, permits: u64, period: Duration) -> Nominal {
        Nominal { name, permits, period }
    }

    const fn per_second(name: &'static str, permits: u64) -> Nominal {
        Nominal::new(name, permits, SECOND)
    }

    /// Returns the permits earned in `time`, without a fraction of a permit.
    ///
    /// # Panics
    ///
    /// If they do not fit 64 bits, which those of a century do.
    #[must_use]
    pub fn earned(self, time: Duration) -> u64 {
        let earned = time.as_nanos() * u128::from(self.permits) / self.period.as_nanos();
        u64::try_from(earned).expect("a window's permits fit 64 bits")
    }

    /// Returns the time in which `permits` are earned, without a fraction of a nanosecond.
    fn time_for(self, permits: u64) -> Duration {
        let nanos = u128::from(permits) * self.period.as_nanos() / u128::from(self.permits);
        Duration::from_nanos(nanos.min(CENTURY.as_nanos()) as u64)
    }
}

/// From once a month to two a nanosecond.
pub const RATES: [Nominal; 32] = [
    Nominal::new("1 / 30 days", 1, Duration::from_secs(30 * 86_400)),
    Nominal::new("1 / day", 1, Duration::from_secs(86_400)),
    Nominal::new("7 / day", 7, Duration::from_secs(86_400)),
    Nominal::new("1 / hour", 1, Duration::from_secs(3_600)),
    Nominal::new("5000 / hour", 5_000, Duration::from_secs(3_600)),
    Nominal::new("7 / minute", 7, Duration::from_secs(60)),
    Nominal::new("100 / minute", 100, Duration::from_secs(60)),
    Nominal::new("3 / 2 s", 3, Duration::from_secs(2)),
    Nominal::per_second("1 / s", 1),
    Nominal::per_second("3 / s", 3),
    Nominal::per_second("7 / s", 7),
    Nominal::per_second("10 / s", 10),
    Nominal::per_second("1000 / s", 1_000),
    Nominal::per_second("7919 / s", 7_919),
    Nominal::per_second("10^5 / s", 100_000),
    Nominal::per_second("700 000 / s", 700_000),
    Nominal::per_second("999 983 / s", 999_983),
    Nominal::per_second("10^6 / s", 1_000_000),
    Nominal::per_second("3 * 10^6 / s", 3_000_000),
    Nominal::per_second("7 * 10^6 / s", 7_000_000),
    Nominal::per_second("3 * 10^7 / s", 30_000_000),
    Nominal::per_second("10^8 / s", 100_000_000),
    Nominal::per_second("1.5 * 10^8 / s", 150_000_000),
    Nominal::per_second("3 * 10^8 / s", 300_000_000),
    Nominal::per_second("4 * 10^8 / s", 400_000_000),
    Nominal::per_second("6 * 10^8 / s", 600_000_000),
    Nominal::per_second("7 * 10^8 / s", 700_000_000),
    Nominal::per_second("9 * 10^8 / s", 900_000_000),
    Nominal::per_second("10^9 / s", 1_000_000_000),
    Nominal::per_second("1.25 * 10^9 / s", 1_250_000_000),
    Nominal::per_second("1.5 * 10^9 / s", 1_500_000_000),
    Nominal::per_second("2^31 / s", 1 << 31),
];

/// Returns the error of the rate that `B` keeps to in the long run: 0.01 is one per cent
/// too fast. `None` if `B` does not support such a rate.
///
/// It is the largest of three windows: one at the start, one after fifty years and one
/// that ends with the hundredth. A window is `STEPS` bucketfuls, or a quarter
/// of a century. The clock advances by less than half a bucketful at a time, and all
/// available permits are taken each time. The end of the window is the exact nanosecond at
/// which its last permit is granted, so the resolution is a nanosecond of the window:
/// below 10^-12.
#[must_use]
pub fn long_run_error<B: Bucket>(rate: Nominal) -> Option<f64> {
    let burst = B::burst(rate)?;
    // Room for a limiter that earns up to twice what it should.
    let step = rate.time_for(burst * 45 / 100).min(CENTURY / 16);
    let steps = (CENTURY.as_nanos() / 4 / step.as_nanos()).min(STEPS) as u32;
    let starts = [Duration::ZERO, CENTURY / 2, CENTURY.saturating_sub(step * steps)];
    let errors = starts.map(|start| window_error::<B>(rate, start, step, steps));
    errors.into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

/// The error in a window of `steps` steps.
#[expect(clippy::cast_precision_loss, reason = "the difference is exact before it is cast")]
fn window_error<B: Bucket>(rate: Nominal, start: Duration, step: Duration, steps: u32) -> f64 {
    // The number that is reached in the middle of a step, if the rate is kept to.
    let target = rate.earned((step * steps).saturating_sub(step / 2));
    let mut window = Window::<B>::open(rate, start);
    let mut whole = 0;
    while window.go(step) < target {
        whole += 1;
    }
    // The least last step after which `target` permits have been granted.
    let (mut denied, mut granted) = (0, step.as_nanos() as u64);
    while granted - denied > 1 {
        let last = u64::midpoint(denied, granted);
        let mut window = Window::<B>::open(rate, start);
        for _ in 0..whole {
            window.go(step);
        }
        if window.go(Duration::from_nanos(last)) >= target {
            granted = last;
        } else {
            denied = last;
        }
    }
    let time = step.as_nanos() * whole + u128::from(granted);
    let earned = i128::from(target) * rate.period.as_nanos() as i128;
    let passed = time as i128 * i128::from(rate.permits);
    (earned - passed) as f64 / passed as f64
}

/// A limiter that was emptied at the start of a window.
struct Window<B> {
    bucket: B,
    taken: u64,
}

impl<B: Bucket> Window<B> {
    fn open(rate: Nominal, start: Duration) -> Window<B> {
        let mut bucket = B::new(rate).expect("the rate was found to be known");
        bucket.advance(start);
        bucket.take_all();
        Window { bucket, taken: 0 }
    }

    /// Takes all permits after one more step, and returns the number taken so far.
    fn go(&mut self, step: Duration) -> u64 {
        self.bucket.advance(step);
        self.taken += self.bucket.take_all();
        self.taken
    }
}

/// A rate and how often it is asked for a permit.
#[derive(Clone, Copy, Debug)]
pub struct Polling {
    /// The rate.
    pub rate: Nominal,
    /// Time between two calls.
    pub every: Duration,
    /// Time from the first call, of an empty limiter, to the last.
    pub span: Duration,
}

impl Polling {
    const fn new(rate: Nominal, every_nanos: u64, span: Duration) -> Polling {
        Polling { rate, every: Duration::from_nanos(every_nanos), span }
    }

    /// Returns the permits that `B` grants in the span. `None` if it does not support such
    /// a rate.
    #[must_use]
    pub fn granted<B: Bucket>(self) -> Option<u64> {
        B::burst(self.rate)?;
        let mut bucket = B::new(self.rate)?;
        bucket.take_all();
        let calls = self.span.as_nanos() / self.every.as_nanos();
        let mut granted = 0;
        for _ in 0..calls {
            bucket.advance(self.every);
            granted += u64::from(bucket.take(1));
        }
        Some(granted)
    }
}

/// Callers that ask again and again.
pub const POLLINGS: [Polling; 8] = [
    Polling::new(
        Nominal::new("1 / minute", 1, Duration::from_secs(60)),
        119_999,
        Duration::from_secs(300),
    ),
    Polling::new(Nominal::per_second("1 / s", 1), 1_999, Duration::from_secs(20)),
    Polling::new(Nominal::per_second("10 / s", 10), 1_099, Duration::from_secs(20)),
    Polling::new(Nominal::per_second("1000 / s", 1_000), 1_700, Duration::from_secs(20)),
    Polling::new(Nominal::per_second("7919 / s", 7_919), 250, Duration::from_secs(2)),
    Polling::new(Nominal::per_second("999 983 / s", 999_983), 200, SECOND),
    Polling::new(Nominal::per_second("3 * 10^6 / s", 3_000_000), 111, SECOND),
    Polling::new(Nominal::per_second("7 * 10^6 / s", 7_000_000), 71, SECOND),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_of_this_project_are_exact_for_a_century() {
        for rate in RATES {
            let error = long_run_error::<Ours>(rate).expect("every rate is in range");
            assert!(error.abs() <= 1e-12, "{}: {error:e}", rate.name);
        }
    }

    #[test]
    fn asking_often_loses_nothing() {
        for polling in POLLINGS {
            let polling = Polling { span: polling.span / 4, ..polling };
            let earned = polling.rate.earned(polling.span);
            let granted = polling.granted::<Ours>().expect("every rate is in range");
            // The last one may be due between two calls.
            assert!(granted == earned || granted + 1 == earned, "{}: {granted}", polling.rate.name);
        }
    }
}
