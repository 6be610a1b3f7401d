//! The terms of a limiter: how it earns units, and how many a token costs.
//!
//! # Units
//!
//! A token is a whole number of units, chosen once for each set of terms:
//!
//! * **Exact:** if the rate in lowest terms is one or two permits per period, a token is that
//!   period in nanoseconds. Each nanosecond then earns one or two whole units, and nothing is ever
//!   rounded.
//! * **Binary:** otherwise a token is `2^F`, with the largest `F` that keeps the rate at or below
//!   2^31 units per second (so that a hundred years fit the word) and the burst and the debt
//!   together at or below 2^60 units. A unit is then worth about half a nanosecond. `A(t)` is the
//!   exact count rounded down, once from the origin, so the error always stays below one unit.
//!
//! All amounts here are in quarter-units (see [`Level`](super::level::Level)), except `gain`, which is
//! in units.

use core::time::Duration;

use crate::bits::Field;
use crate::bucket::accrual::linear::Linear;
use crate::bucket::accrual::stepped::Stepped;
use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::config::refill::Refill;
use crate::decision::forecast::Forecast;
use crate::decision::forecast::bucket::BucketForecast;
use crate::time::units;
use crate::time::units::{MAX_PERIOD_NANOS, NANOS_PER_SECOND, SKEW_NANOS};

use super::accrual::Accrual;
use super::level::UNIT;

/// The maximum of burst and debt together, in units. It leaves one bit of the half-circle for
/// differences between threads' clocks.
const BUDGET: u64 = 1 << 60;

/// The rules that a limiter enforces, in the form its arithmetic uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Time at which `base` was accrued.
    pub(crate) origin_nanos: u64,
    /// Count accrued at the origin. Its lowest bit is the slot's index.
    pub(super) base: u64,
    pub(super) accrual: Accrual,
    /// Cost of one token.
    pub(crate) token: u64,
    /// Most that can be unspent.
    pub(crate) capacity: u64,
    pub(crate) rate: Rate,
    /// Most debt, in tokens.
    pub(crate) max_debt: u64,
}

impl Terms {
    /// Returns the terms of `quota`, with the origin not yet set.
    pub(crate) fn of_quota(quota: Quota) -> Terms {
        let token = units_per_token(quota.rate(), quota.burst() + quota.max_debt());
        let capacity = quota.burst() * token * UNIT;
        Terms::new(quota.rate(), quota.refill(), token, capacity, quota.max_debt())
    }

    /// Returns the terms of a GCRA that spaces cells at `rate`, one per period, and admits each up
    /// to `tolerance_nanos` early. Its capacity need not be whole tokens.
    pub(crate) fn of_cells(rate: Rate, tolerance_nanos: u64) -> Terms {
        debug_assert!(rate.permits() == 1);
        let interval_nanos = rate.period_nanos();
        let span_nanos = u128::from(tolerance_nanos) + u128::from(interval_nanos);
        let burst = (span_nanos / u128::from(interval_nanos)) as u64;
        let max_debt = if burst > Quota::MAX_DEBT { Quota::MAX_DEBT } else { burst };
        let token = units_per_token(rate, burst + 1 + max_debt);
        let capacity = span_nanos * u128::from(token) / u128::from(interval_nanos);
        Terms::new(rate, Refill::Smooth, token, capacity as u64 * UNIT, max_debt)
    }

    fn new(rate: Rate, refill: Refill, token: u64, capacity: u64, max_debt: u64) -> Terms {
        let (gain, period_nanos) = (rate.permits() * token, rate.period_nanos());
        let accrual = match refill {
            Refill::Smooth => Accrual::Linear(Linear::new(gain, period_nanos)),
            Refill::Interval => Accrual::Stepped(Stepped {
                // One step fills the bucket from its deepest debt; more would only use up the range
                // of the word.
                gain: gain.min(BUDGET),
                period_nanos,
                phase_nanos: 0,
            }),
        };
        Terms { origin_nanos: 0, base: 0, accrual, token: token * UNIT, capacity, rate, max_debt }
    }

    /// Returns the same terms, earning from `origin_nanos` on.
    pub(crate) fn starting(self, origin_nanos: u64) -> Terms {
        Terms { origin_nanos, ..self }
    }

    /// Returns whether `now_nanos` is a time for which these terms have no count: further before
    /// the origin than threads' clocks may differ, or beyond all that is accrued.
    pub(crate) fn is_out_of_range(&self, now_nanos: u64) -> bool {
        let is_past_the_end = match self.accrual {
            Accrual::Linear(_) => self.elapsed(now_nanos) > Linear::MAX_ELAPSED,
            Accrual::Stepped(_) => false,
        };
        is_past_the_end || self.origin_nanos.saturating_sub(now_nanos) > SKEW_NANOS
    }

    /// Returns whether no legal call can have left `balance` at `now_nanos`, for a caller that read
    /// the clock after the level.
    #[cold]
    #[inline(never)]
    pub(crate) fn is_impossible(&self, balance: i64, now_nanos: u64) -> bool {
        balance < self.floor() || self.is_out_of_range(now_nanos)
    }

    /// Returns the origin of terms that replace these at `now_nanos`. It is never before the origin
    /// of these: otherwise a thread whose clock is slightly behind would let the time in between be
    /// earned again.
    pub(super) fn next_origin(&self, now_nanos: u64) -> u64 {
        if self.is_out_of_range(now_nanos) { now_nanos } else { now_nanos.max(self.origin_nanos) }
    }

    /// Returns the count accrued at `now_nanos`. A time before the origin counts as the origin.
    #[inline]
    pub(crate) fn accrued(&self, now_nanos: u64) -> u64 {
        let units = self.accrual.units(self.elapsed(now_nanos));
        self.base.wrapping_add(units.wrapping_mul(UNIT))
    }

    #[inline]
    pub(super) fn elapsed(&self, now_nanos: u64) -> u64 {
        now_nanos.saturating_sub(self.origin_nanos)
    }

    /// Returns the same as [`accrued`](Terms::accrued), or `None` unless the accrual is linear and
    /// the time is in its range.
    #[inline]
    pub(crate) fn accrued_simply(&self, now_nanos: u64) -> Option<u64> {
        let elapsed_nanos = now_nanos.checked_sub(self.origin_nanos)?;
        match self.accrual {
            Accrual::Linear(linear) if elapsed_nanos <= Linear::MAX_ELAPSED => {
                let units = linear.units_within(elapsed_nanos);
                Some(self.base.wrapping_add(units.wrapping_mul(UNIT)))
            }
            _ => None,
        }
    }

    /// Returns the cost of `permits`, or `None` if that exceeds every balance.
    #[inline]
    pub(super) fn cost(&self, permits: u64) -> Option<i64> {
        i64::try_from(permits).ok()?.checked_mul(self.token as i64)
    }

    /// Returns the whole permits that `balance` covers.
    pub(crate) fn permits_in(&self, balance: i64) -> u64 {
        u64::try_from(balance).unwrap_or(0) / self.token
    }

    /// Returns the deepest balance that `force` may leave.
    pub(super) fn deepest(&self) -> i64 {
        0_i64.wrapping_sub_unsigned(self.max_debt.wrapping_mul(self.token))
    }

    /// Returns the deepest balance that a call can see although every call is legal: the debt, plus
    /// what is earned in the time that another thread's clock may be ahead.
    pub(super) fn floor(&self) -> i64 {
        let skew = match self.accrual {
            Accrual::Linear(linear) => linear.units(SKEW_NANOS).saturating_add(1),
            Accrual::Stepped(stepped) => {
                (1 + SKEW_NANOS / stepped.period_nanos).saturating_mul(stepped.gain)
            }
        };
        self.deepest().saturating_sub_unsigned(skew.saturating_mul(UNIT))
    }

    /// Forecasts `balance`, which was left at `now_nanos`. That may be before the origin, at which
    /// accrual starts.
    #[inline]
    pub(crate) fn forecast(&self, balance: i64, now_nanos: u64) -> Forecast {
        let elapsed_nanos = self.elapsed(now_nanos);
        let token = self.token / UNIT;
        let (gain, time_nanos) = match self.accrual {
            Accrual::Linear(_) => (self.rate.permits().wrapping_mul(token), elapsed_nanos),
            Accrual::Stepped(stepped) => {
                (stepped.gain, elapsed_nanos.saturating_add(stepped.phase_nanos))
            }
        };
        Forecast::Bucket(BucketForecast {
            // Both are even, so this is exact.
            balance: balance / UNIT as i64,
            capacity: self.capacity / UNIT,
            token,
            gain,
            period_nanos: self.rate.period_nanos(),
            time_nanos,
            refill: self.refill(),
            is_early: now_nanos < self.origin_nanos,
            apart_nanos: self.origin_nanos.saturating_sub(now_nanos),
        })
    }

    /// Returns the quota of these terms, as far as it is in force.
    pub(crate) fn quota(&self) -> Quota {
        Quota::in_force(self.rate, self.capacity / self.token, self.refill(), self.max_debt)
    }

    /// Returns the tolerance of a GCRA: its capacity beyond one cell.
    pub(crate) fn tolerance(&self) -> Duration {
        let spare = u128::from(self.capacity.saturating_sub(self.token));
        let nanos = (spare * u128::from(self.rate.period_nanos())).div_ceil(u128::from(self.token));
        units::duration(nanos)
    }

    /// Returns the way in which the tokens of a period arrive.
    pub(crate) fn refill(&self) -> Refill {
        match self.accrual {
            Accrual::Linear(_) => Refill::Smooth,
            Accrual::Stepped(_) => Refill::Interval,
        }
    }
}

/// Returns the number of units in a token, chosen so that `tokens` of them fit the budget.
const fn units_per_token(rate: Rate, tokens: u64) -> u64 {
    let divisor = gcd(rate.permits(), rate.period_nanos());
    let (permits, period_nanos) = (rate.permits() / divisor, rate.period_nanos() / divisor);
    if permits <= 2 && tokens as u128 * period_nanos as u128 <= BUDGET as u128 {
        return period_nanos;
    }
    let mut token = 1;
    while token * 2 * tokens as u128 <= BUDGET as u128
        && token * 2 * permits as u128 * NANOS_PER_SECOND as u128
            <= Rate::MAX_PER_SECOND as u128 * period_nanos as u128
    {
        token *= 2;
    }
    token as u64
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

// The arithmetic relies on these: at one unit per token the largest burst and debt are in the
// budget; `Linear` divides exactly by every period; and a gain is below four units per nanosecond.
const _: () = assert!(Quota::MAX_BURST + Quota::MAX_DEBT <= BUDGET);
const _: () = assert!(MAX_PERIOD_NANOS <= Linear::MAX_PERIOD);
const _: () = assert!(Rate::MAX_PER_SECOND < 4 * NANOS_PER_SECOND);

/// Number of words that [`Terms`] take.
pub(super) const WORDS: usize = 8;

// Layout of the last two words.
const PERMITS_LESS_ONE: Field = Field::low(32);
const MAX_DEBT: Field = PERMITS_LESS_ONE.then(32);
const PERIOD: Field = Field::low(63);
const STEPPED: Field = PERIOD.then(1);

const _: () = assert!(MAX_DEBT.end() == u64::BITS && MAX_DEBT.max() == Quota::MAX_DEBT);
const _: () = assert!(PERMITS_LESS_ONE.max() == Rate::MAX_PERMITS - 1);
const _: () = assert!(STEPPED.end() == u64::BITS && PERIOD.max() >= MAX_PERIOD_NANOS);

impl Terms {
    /// Returns the terms as the words of a slot.
    pub(super) fn to_words(self) -> [u64; WORDS] {
        let (first, second, stepped) = match self.accrual {
            Accrual::Linear(linear) => (linear.high, linear.low, 0),
            Accrual::Stepped(stepped) => (stepped.phase_nanos, stepped.gain, 1),
        };
        [
            self.origin_nanos,
            self.base,
            first,
            second,
            self.token,
            self.capacity,
            PERMITS_LESS_ONE.put(self.rate.permits() - 1) | MAX_DEBT.put(self.max_debt),
            PERIOD.put(self.rate.period_nanos()) | STEPPED.put(stepped),
        ]
    }

    /// Reads the terms from the words of a slot. Words of different terms give nonsense, but never
    /// a panic: the reader finds out and retries.
    #[inline]
    pub(super) fn from_words(words: [u64; WORDS]) -> Terms {
        let [origin_nanos, base, first, second, token, capacity, counts, shape] = words;
        let period_nanos = PERIOD.get(shape);
        let accrual = if STEPPED.get(shape) == 0 {
            Accrual::Linear(Linear { high: first, low: second })
        } else {
            Accrual::Stepped(Stepped { gain: second, period_nanos, phase_nanos: first })
        };
        Terms {
            origin_nanos,
            base,
            accrual,
            token,
            capacity,
            rate: Rate::trusted(PERMITS_LESS_ONE.get(counts) + 1, period_nanos),
            max_debt: MAX_DEBT.get(counts),
        }
    }
}

#[cfg(test)]
mod tests;
