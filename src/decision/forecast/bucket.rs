//! A limiter that earns, as it stood at one decision, and its waits: `retry_after` and the others,
//! to the nanosecond, rounded up.

use core::time::Duration;

use crate::config::refill::Refill;
use crate::time::units;

/// The state of a limiter that earns.
///
/// In the units of the limiter at the time of the decision; everything that needs a division is
/// computed on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketForecast {
    /// Balance after the decision; negative for a debt.
    pub(crate) balance: i64,
    pub(crate) capacity: u64,
    pub(crate) token: u64,
    /// Units that one period earns.
    pub(crate) gain: u64,
    pub(crate) period_nanos: u64,
    /// Time since the accrual's origin, phase included.
    pub(crate) time_nanos: u64,
    pub(crate) refill: Refill,
    /// True if the clock read before the accrual's origin. Nothing is earned until then, so the
    /// other fields are as they will be at the origin.
    pub(crate) is_early: bool,
    /// Time until the origin if `is_early`; otherwise time since the decision, which was cached
    /// since then.
    pub(crate) apart_nanos: u64,
}

impl BucketForecast {
    /// Returns the least wait after which the balance is `wanted` or more, if no other permits are
    /// taken.
    pub(super) fn wait_for(&self, wanted: i64) -> Duration {
        let missing = u128::from(self.missing_to(wanted));
        if missing == 0 {
            return Duration::ZERO;
        }
        let (gain, period) = (u128::from(self.gain), u128::from(self.period_nanos));
        let now = u128::from(self.time_nanos);
        // No product here reaches 2^127: times and gains are below 2^64; the missing units and a
        // period are below 2^62.
        let wait = match self.refill {
            // The fraction `pending / period` of the next unit has been earned already.
            Refill::Smooth => {
                let pending = now % period * gain % period;
                (missing * period - pending).div_ceil(gain)
            }
            Refill::Interval => (now / period + missing.div_ceil(gain)) * period - now,
        };
        let apart = u128::from(self.apart_nanos);
        units::duration(if self.is_early { wait + apart } else { wait.saturating_sub(apart) })
    }

    /// Returns the clock reading from which this state holds, if it was found at `now_nanos`.
    pub(crate) fn holds_from(&self, now_nanos: u64) -> u64 {
        if self.is_early { now_nanos.saturating_add(self.apart_nanos) } else { now_nanos }
    }

    /// Returns a wait from `holds_from` on that is some nanoseconds shorter than the least one,
    /// computed in a few nanoseconds instead of a hundred. Until it ends, the balance is certain
    /// to be below `wanted`.
    #[expect(clippy::cast_precision_loss, reason = "what is lost is made up for")]
    pub(crate) fn certain_wait(&self, wanted: i64) -> u64 {
        let missing = self.missing_to(wanted);
        match self.refill {
            Refill::Smooth => {
                // Six roundings, each by no more than a part in 2^53; a conversion saturates.
                const LESS: f64 = 1.0 - 1.0 / (1_u64 << 50) as f64;
                let whole = missing.saturating_sub(1) as f64 * LESS;
                (whole * self.period_nanos as f64 / self.gain as f64) as u64
            }
            Refill::Interval => {
                let steps = missing.div_ceil(self.gain);
                let next = (self.time_nanos / self.period_nanos).saturating_add(steps);
                next.saturating_mul(self.period_nanos).saturating_sub(self.time_nanos)
            }
        }
    }

    pub(super) fn missing_to(&self, wanted: i64) -> u64 {
        u64::try_from(i128::from(wanted) - i128::from(self.balance)).unwrap_or(0)
    }
}
