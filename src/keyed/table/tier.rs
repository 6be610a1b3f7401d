//! The quotas of a table, in ticks. No atomics here.
//!
//! All tiers of a table count in one tick, so that a call can tell whether a slot's word is expired
//! without knowing the tier of its key. A permit of each tier is a whole number of ticks: nothing
//! is rounded but the count of ticks itself, once, from the origin of the table's time, years
//! before the table was made.
//!
//! The tick is chosen such that the slowest tier fills in about 2^18 of them: with 24 bits of a key
//! in the word, the odds that two keys are taken for one and the odds that a level is taken for one
//! of another wrap are then about equal.

use alloc::vec::Vec;
use core::time::Duration;

use crate::bucket::accrual::linear::Linear;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::config::refill::Refill;
use crate::time::units;
use crate::time::units::{
    NANOS_PER_DAY, NANOS_PER_HOUR, NANOS_PER_MINUTE, NANOS_PER_SECOND, SKEW_NANOS,
};

use super::in_force::{MOST, Pace, TierTerms};
use super::ticks::{LevelTicks, NEAR};

/// The largest burst of a key.
const MAX_BURST: u64 = 1 << 25;

/// The highest rate of a key, in permits per second.
const MAX_PER_SECOND: u64 = 1 << 27;

/// The ticks of the cheapest permit: one more than the levels by which markers are told apart.
const LEAST_COST: u64 = 16;

/// The most ticks of a span: as many as the choice of the tick goes for, because more are not worth
/// having; and as many as there may be at all, by the bits of a level.
const ENOUGH: u64 = 1 << 18;
const MAX_SPAN: u64 = 1 << 29;

/// The most that span, margins and grace may take together.
const MAX_RANGE: u64 = 1 << 30;

/// The most ticks in a second.
const MAX_PACE: u64 = Rate::MAX_PER_SECOND;

/// The time by which a clock may step back without making keys full again.
const STEP: Duration = Duration::from_nanos(SKEW_NANOS);

/// The longest time, before the table is made, from which it counts: half of what can be counted,
/// as a clock may be set back as well as forward.
const BEFORE_NANOS: u64 = Linear::MAX_ELAPSED / 2;

/// The time for which a marker is left to the caller that placed it.
const GRACE: Duration = Duration::from_millis(1);

/// Number of costs that are tried for a rate that a [`Rate`] can express.
const TRIES: u64 = 64;

const _: () = assert!(MAX_BURST * LEAST_COST == MAX_SPAN);
const _: () = assert!(MAX_SPAN <= MOST.0 && MAX_BURST <= MOST.1);
const _: () = assert!(MAX_PER_SECOND * LEAST_COST == MAX_PACE);
const _: () = assert!(
    MAX_RANGE + MAX_PACE * SKEW_NANOS / NANOS_PER_SECOND <= NEAR as u64 / 2,
    "the levels of a step back are told from all others"
);

/// The quotas for which a table is made, and its rate of ticks.
#[derive(Clone, Debug)]
pub(super) struct TierList {
    pub(super) all: Vec<TierTerms>,
    pub(super) pace: Pace,
}

impl TierList {
    /// Creates the tiers of `quotas`, of which there is one at least.
    pub(super) fn new(quotas: &[Quota]) -> Result<TierList, ConfigError> {
        for &quota in quotas {
            check(quota)?;
        }
        // Every prefix that fits could be a table of its own; the error names the first tier that
        // does not.
        let mut common = Err(ConfigError::Tier { which: 0 });
        for last in 1..=quotas.len() {
            common = costs(&quotas[..last]).ok_or(ConfigError::Tier { which: last - 1 });
            if common.is_err() {
                break;
            }
        }
        let costs = common?;
        let first = quotas[0].rate();
        let pace = Pace { gain: first.permits() * costs[0], period_nanos: first.period_nanos() };
        let terms = |(quota, cost): (&Quota, u64)| TierTerms::new(cost, quota.burst(), pace);
        Ok(TierList { all: core::iter::zip(quotas, costs).map(terms).collect(), pace })
    }

    /// Returns the amounts of a table of these tiers, on clocks that differ by no more than `skew`.
    pub(super) fn ticks(&self, skew: Duration) -> Result<LevelTicks, ConfigError> {
        let span = self.all.iter().map(|tier| tier.capacity).max().unwrap_or(1);
        let band = LEAST_COST as i64 - 1;
        let grace = self.count(GRACE).clamp(1, span as u64) as i64;
        // The skew counts three times: once as the slack, and twice in the margin.
        let spare = (MAX_RANGE as i64 - span - grace - band) / 3;
        let slack = i64::try_from(self.count(skew).max(1)).unwrap_or(i64::MAX);
        if slack > spare {
            return Err(ConfigError::Skew { skew, most: self.time_within(spare as u64) });
        }
        let ahead = slack.max(self.count(STEP) as i64);
        Ok(LevelTicks { span, ahead, slack, margin: 2 * slack + band, grace, band })
    }

    pub(super) fn accrual(&self) -> Linear {
        Linear::new(self.pace.gain, self.pace.period_nanos)
    }

    /// Returns the table's time at the instant at which the table is made: whole periods, so that a
    /// tick begins then. (If the period is decades, 36 years, so that more than the longest period
    /// is left.)
    pub(super) fn before_nanos(&self) -> u64 {
        let period_nanos = self.pace.period_nanos;
        if period_nanos > BEFORE_NANOS / 2 {
            return BEFORE_NANOS / 2;
        }
        BEFORE_NANOS - BEFORE_NANOS % period_nanos
    }

    /// Returns the longest time for which `ticks` suffice.
    fn time_within(&self, ticks: u64) -> Duration {
        let nanos = u128::from(ticks) * u128::from(self.pace.period_nanos);
        units::duration(nanos / u128::from(self.pace.gain))
    }

    /// Returns the ticks of a time, rounded up, or `u64::MAX` if they are more.
    fn count(&self, time: Duration) -> u64 {
        let ticks = u128::from(units::nanos(time)) * u128::from(self.pace.gain);
        let count = ticks.div_ceil(u128::from(self.pace.period_nanos));
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

impl Pace {
    /// Returns the time that `ticks` take, rounded up.
    pub(super) fn time(self, ticks: u64) -> Duration {
        let nanos = u128::from(ticks) * u128::from(self.period_nanos);
        units::duration(nanos.div_ceil(u128::from(self.gain)))
    }

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
    pub(super) fn cost(self, rate: Rate) -> Option<u64> {
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
    pub(super) fn rate(self, cost: u64) -> Option<Rate> {
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

/// Checks that a table can have `quota` for a tier.
fn check(quota: Quota) -> Result<(), ConfigError> {
    let (rate, burst) = (quota.rate(), quota.burst());
    let period_nanos = u128::from(rate.period_nanos());
    if burst > MAX_BURST {
        return Err(ConfigError::KeyBurst { burst });
    }
    if u128::from(rate.permits()) * u128::from(NANOS_PER_SECOND)
        > u128::from(MAX_PER_SECOND) * period_nanos
    {
        return Err(ConfigError::KeyRate { permits: rate.permits(), period: rate.period() });
    }
    match quota.refill() {
        Refill::Smooth => Ok(()),
        refill @ Refill::Interval => Err(ConfigError::KeyRefill { refill }),
    }
}

/// Returns the ticks of a permit of each quota, if there is a tick that suits them all.
fn costs(quotas: &[Quota]) -> Option<Vec<u64>> {
    let (first, _) = quotas.split_first()?;
    // A permit of quota i takes `up / down` times as long as one of the first.
    let ratios = quotas
        .iter()
        .map(|quota| {
            let up = u128::from(first.rate().permits()) * u128::from(quota.rate().period_nanos());
            let down = u128::from(first.rate().period_nanos()) * u128::from(quota.rate().permits());
            let common = gcd(up, down);
            (up / common, down / common)
        })
        .collect::<Vec<_>>();
    let mut unit = 1_u128;
    for &(_, down) in &ratios {
        unit = (unit / gcd(unit, down)).checked_mul(down).filter(|&unit| unit <= 1 << 64)?;
    }
    let mut costs = ratios
        .iter()
        .map(|&(up, down)| u64::try_from((unit / down).checked_mul(up)?).ok())
        .collect::<Option<Vec<_>>>()?;
    // The permits need that many ticks; more are better, up to a limit.
    while costs.iter().any(|&cost| cost < LEAST_COST) {
        double(&mut costs)?;
    }
    if !is_within(&costs, quotas, MAX_SPAN) {
        return None;
    }
    loop {
        let mut doubled = costs.clone();
        if double(&mut doubled).is_none() || !is_within(&doubled, quotas, ENOUGH) {
            return Some(costs);
        }
        costs = doubled;
    }
}

fn double(costs: &mut [u64]) -> Option<()> {
    costs.iter_mut().try_for_each(|cost| {
        *cost = cost.checked_mul(2)?;
        Some(())
    })
}

/// Returns whether no burst takes more than `span`, and no second more ticks than are allowed.
fn is_within(costs: &[u64], quotas: &[Quota], span: u64) -> bool {
    core::iter::zip(costs, quotas).all(|(&cost, quota)| {
        let (cost, rate) = (u128::from(cost), quota.rate());
        let pace = cost.checked_mul(u128::from(rate.permits()) * u128::from(NANOS_PER_SECOND));
        cost.saturating_mul(u128::from(quota.burst())) <= u128::from(span)
            && pace
                .is_some_and(|pace| pace <= u128::from(MAX_PACE) * u128::from(rate.period_nanos()))
    })
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
