//! The quota of a tier that is in force: one word, so that a call has all of one quota.
//!
//! ```text
//!  bit 63     56   55                 30   29                         0
//!     +-----------+----------------------+----------------------------+
//!     |           |    BURST (26 bits)   |  COST of a permit, in ticks |
//!     +-----------+----------------------+----------------------------+
//! ```
//!
//! The table's rate of ticks is fixed, so these two numbers say everything: the capacity is their
//! product, and the rate is that of the ticks divided by the cost.

use core::fmt;
use core::time::Duration;

use crate::bits::Field;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::config::refill::Refill;
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Word};
use crate::time::units;
use crate::time::units::{NANOS_PER_DAY, NANOS_PER_HOUR, NANOS_PER_MINUTE, NANOS_PER_SECOND};

use super::tier::{LEAST_COST, MAX_BURST, MAX_SPAN, Pace, TierTerms, check, gcd};

const COST: Field = Field::low(30);
const BURST: Field = COST.then(26);

const _: () = assert!(MAX_SPAN <= COST.max() && MAX_BURST <= BURST.max());

/// Number of costs that are tried for a rate that a [`Rate`] can express.
const TRIES: u64 = 64;

/// The cost and the burst of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CostAndBurst(u64);

impl CostAndBurst {
    fn of(terms: TierTerms) -> CostAndBurst {
        CostAndBurst(COST.put(terms.cost as u64) | BURST.put(terms.burst))
    }
}

impl Word for CostAndBurst {
    #[inline]
    fn from_bits(bits: u64) -> CostAndBurst {
        CostAndBurst(bits)
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self.0
    }
}

/// A tier of a table: the quota in force.
pub(super) struct TierInForce {
    word: AtomicWord<CostAndBurst>,
    pace: Pace,
    /// The rate for which the table was made.
    made_for: Rate,
}

impl TierInForce {
    pub(super) fn new(terms: TierTerms, rate: Rate) -> TierInForce {
        let word = AtomicWord::new(CostAndBurst::of(terms));
        TierInForce { word, pace: terms.pace, made_for: rate }
    }

    /// Returns the terms in force. A call loads them once, and is decided by what it loaded.
    #[inline(always)]
    pub(super) fn terms(&self) -> TierTerms {
        // ORDERING: Relaxed. The word is all that there is to the terms, and no other word is read
        // or written by what it says: levels are ticks, whatever the terms. A call that a change
        // happens before sees it, or a later one, by coherence.
        // MODEL: `a_call_is_decided_by_one_quota_and_later_calls_by_the_new_one`.
        let CostAndBurst(word) = self.word.load(Relaxed);
        TierTerms::new(COST.get(word), BURST.get(word), self.pace)
    }

    /// Puts terms in force.
    pub(super) fn enforce(&self, terms: TierTerms) {
        // ORDERING: Relaxed, as in `terms`.
        // MODEL: `a_call_is_decided_by_one_quota_and_later_calls_by_the_new_one`.
        self.word.store(CostAndBurst::of(terms), Relaxed);
    }

    /// Returns the quota in force: as it was given if the table was made for its rate, otherwise
    /// with an equal rate, per second, minute, hour or day if it is a whole number of permits.
    pub(super) fn quota(&self) -> Quota {
        let terms = self.terms();
        let rate = if self.pace.cost(self.made_for) == Some(terms.cost as u64) {
            self.made_for
        } else {
            // A rate that was given once can be given in lowest terms.
            self.pace.rate(terms.cost as u64).unwrap_or(self.made_for)
        };
        let max_debt = terms.burst.min(Quota::MAX_DEBT);
        Quota::in_force(rate, terms.burst, Refill::Smooth, max_debt)
    }
}

impl fmt::Debug for TierInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.terms().fmt(f)
    }
}

impl Pace {
    /// Returns the terms of `quota`, in a table whose keys keep their slots for `span` ticks.
    pub(super) fn terms(self, quota: Quota, span: i64) -> Result<TierTerms, ConfigError> {
        check(quota)?;
        let (rate, burst) = (quota.rate(), quota.burst());
        let tick = ConfigError::KeyTick { permits: rate.permits(), period: rate.period() };
        let cost = self.cost(rate).filter(|&cost| cost >= LEAST_COST).ok_or(tick)?;
        if u128::from(cost) * u128::from(burst) > span as u128 {
            let nanos = u128::from(burst) * u128::from(rate.period_nanos());
            return Err(ConfigError::KeyFill {
                fill: units::duration(nanos.div_ceil(u128::from(rate.permits()))),
                most: self.time_of_span(span),
            });
        }
        Ok(TierTerms::new(cost, burst, self))
    }

    /// Returns the ticks that a permit takes at `rate`, if that is a whole number of them.
    fn cost(self, rate: Rate) -> Option<u64> {
        let (ticks, permits) = self.ticks_of(rate);
        if ticks % permits == 0 { u64::try_from(ticks / permits).ok() } else { None }
    }

    /// Returns a number of ticks, and the permits that take as long.
    fn ticks_of(self, rate: Rate) -> (u128, u128) {
        (
            u128::from(rate.period_nanos()) * u128::from(self.gain),
            u128::from(rate.permits()) * u128::from(self.period_nanos),
        )
    }

    /// Returns the rate of a permit that takes `cost` ticks, if a [`Rate`] can express it.
    fn rate(self, cost: u64) -> Option<Rate> {
        let (ticks, nanos) =
            (u128::from(self.gain), u128::from(cost) * u128::from(self.period_nanos));
        let rate = |permits: u128, period: u128| {
            let (permits, period) = (u64::try_from(permits).ok()?, u64::try_from(period).ok()?);
            Rate::new(permits, Duration::from_nanos(period)).ok()
        };
        [NANOS_PER_SECOND, NANOS_PER_MINUTE, NANOS_PER_HOUR, NANOS_PER_DAY]
            .into_iter()
            .map(u128::from)
            .filter(|unit| (unit * ticks).is_multiple_of(nanos))
            .find_map(|unit| rate(unit * ticks / nanos, unit))
            .or_else(|| {
                let common = gcd(ticks, nanos);
                rate(ticks / common, nanos / common)
            })
    }

    /// Returns the highest rate up to `rate` whose permit is a whole number of ticks, and can be
    /// expressed.
    pub(super) fn rate_up_to(self, rate: Rate, span: i64) -> Option<Rate> {
        let (ticks, permits) = self.ticks_of(rate);
        let least = u64::try_from(ticks.div_ceil(permits)).ok()?.max(LEAST_COST);
        (least..=span as u64).take(TRIES as usize).find_map(|cost| self.rate(cost))
    }

    /// Returns the longest fill, rounded down.
    fn time_of_span(self, span: i64) -> Duration {
        units::duration(span as u128 * u128::from(self.period_nanos) / u128::from(self.gain))
    }
}
