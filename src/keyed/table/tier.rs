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
use crate::decision::forecast::Forecast;
use crate::decision::forecast::bucket::BucketForecast;
use crate::time::units;
use crate::time::units::{NANOS_PER_SECOND, SKEW_NANOS};

use super::ticks::{LevelTicks, NEAR};

/// The largest burst of a key.
pub(super) const MAX_BURST: u64 = 1 << 25;

/// The highest rate of a key, in permits per second.
const MAX_PER_SECOND: u64 = 1 << 27;

/// The ticks of the cheapest permit: one more than the levels by which markers are told apart.
pub(super) const LEAST_COST: u64 = 16;

/// The most ticks of a span: as many as the choice of the tick goes for, because more are not worth
/// having; and as many as there may be at all, by the bits of a level.
const ENOUGH: u64 = 1 << 18;
pub(super) const MAX_SPAN: u64 = 1 << 29;

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

const _: () = assert!(MAX_BURST * LEAST_COST == MAX_SPAN);
const _: () = assert!(MAX_PER_SECOND * LEAST_COST == MAX_PACE);
const _: () = assert!(
    MAX_RANGE + MAX_PACE * SKEW_NANOS / NANOS_PER_SECOND <= NEAR as u64 / 2,
    "the levels of a step back are told from all others"
);

/// One quota of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TierTerms {
    /// The ticks of a permit.
    pub(super) cost: i64,
    /// The ticks of the burst.
    pub(super) capacity: i64,
    /// The most permits that can be admitted at once.
    pub(super) burst: u64,
    pub(super) pace: Pace,
}

/// The rate of a table's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// The ticks of a period.
    pub(super) gain: u64,
    pub(super) period_nanos: u64,
}

impl TierTerms {
    /// Creates the terms of a quota of `burst`, of which a permit takes `cost` ticks.
    #[inline]
    pub(super) fn new(cost: u64, burst: u64, pace: Pace) -> TierTerms {
        TierTerms { cost: cost as i64, capacity: (cost * burst) as i64, burst, pace }
    }

    /// Returns the forecast of a key that has `balance` left to spend.
    #[inline]
    pub(super) fn forecast(&self, balance: i64, elapsed_nanos: u64) -> Forecast {
        Forecast::Bucket(BucketForecast {
            balance,
            capacity: self.capacity as u64,
            token: self.cost as u64,
            gain: self.pace.gain,
            period_nanos: self.pace.period_nanos,
            time_nanos: elapsed_nanos,
            refill: Refill::Smooth,
            is_early: false,
            apart_nanos: 0,
        })
    }
}

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
}

/// Checks that a table can have `quota` for a tier.
pub(super) fn check(quota: Quota) -> Result<(), ConfigError> {
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

pub(super) fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota;
    use crate::rate;

    fn parts(quotas: &[Quota]) -> Vec<(i64, i64)> {
        TierList::new(quotas).unwrap().all.iter().map(|tier| (tier.cost, tier.capacity)).collect()
    }

    #[test]
    fn a_tier_alone_fills_in_2_to_the_18_ticks_if_its_burst_and_rate_allow() {
        assert_eq!(parts(&[quota!(1 / second)]), [(1 << 18, 1 << 18)]);
        assert_eq!(parts(&[quota!(100 / second)]), [(1 << 11, 100 << 11)]);
        assert_eq!(parts(&[quota!(1 / minute, burst 33_554_432)]), [(16, 1 << 29)]);
        assert_eq!(parts(&[quota!(134_217_728 / second, burst 1)]), [(16, 16)]);
    }

    #[test]
    fn tiers_share_a_tick_of_which_every_permit_is_a_whole_number() {
        assert_eq!(
            parts(&[quota!(7 / second, burst 7), quota!(11 / second, burst 11)]),
            [(11 << 11, 77 << 11), (7 << 11, 77 << 11)]
        );
        // Each permit takes 16 ticks at least, that of the fastest tier too.
        let far_apart = [quota!(1_000 / second, burst 1_000), quota!(1 / second, burst 1_000)];
        assert_eq!(parts(&far_apart).iter().map(|part| part.0).collect::<Vec<_>>(), [16, 16_000]);
        let daily = Quota::new(rate!(1_000 / day));
        let tiers = TierList::new(&[quota!(10 / second), daily]).unwrap();
        assert_eq!(tiers.all[1].cost, 864 * tiers.all[0].cost);
        let day = Duration::from_secs(86_400);
        assert_eq!(tiers.pace.time(tiers.all[1].capacity as u64), day);
    }

    #[test]
    fn every_quota_that_a_table_cannot_keep_is_named() {
        let refused = [
            (
                vec![quota!(1 / second, burst 33_554_433)],
                "burst is 33554433: must be from 1 to 2^25 in a table",
            ),
            (
                vec![quota!(134_217_729 / second, burst 1)],
                "rate is 134217729 per 1s: must be at most 2^27 permits per second in a table",
            ),
            (
                vec![quota!(9 / second).with_refill(Refill::Interval)],
                "refill is Interval: must be smooth in a table",
            ),
            (
                vec![quota!(1 / second), quota!(1_000_003 / second), quota!(1 / 36525 days)],
                "tier is number 2: must share a unit of time with those before it: at least 16 \
                 of it to a token, at most 2^29 to a burst, at most 2^31 to a second",
            ),
        ];
        for (quotas, text) in refused {
            assert_eq!(TierList::new(&quotas).unwrap_err().to_string(), text);
        }
        let tiers = TierList::new(&[quota!(1_000_000 / second)]).unwrap();
        assert_eq!(tiers.ticks(Duration::from_secs(1)).map(|ticks| ticks.slack), Ok(16_000_000));
        assert!(matches!(
            tiers.ticks(Duration::from_secs(60)).unwrap_err(),
            ConfigError::Skew { most, .. }
                if most > Duration::from_secs(20) && tiers.ticks(most).is_ok()
        ));
    }

    #[test]
    fn a_table_counts_36_years_before_it_is_made_and_73_after_and_any_period() {
        const YEAR: u64 = 31_557_600 * NANOS_PER_SECOND;
        for period_nanos in [1, 7, NANOS_PER_SECOND, YEAR, 36 * YEAR, 37 * YEAR, 100 * YEAR] {
            let rate = Rate::new(1, Duration::from_nanos(period_nanos.max(8))).unwrap();
            let tiers = TierList::new(&[Quota::new(rate).with_burst(1).unwrap()]).unwrap();
            let before_nanos = tiers.before_nanos();
            let after_nanos = Linear::MAX_ELAPSED - before_nanos;
            assert!(before_nanos >= 36 * YEAR && after_nanos >= 73 * YEAR);
            assert!(after_nanos > period_nanos + YEAR);
            assert!(
                period_nanos > 36 * YEAR || before_nanos.is_multiple_of(tiers.pace.period_nanos)
            );
        }
    }

    #[test]
    fn every_quota_in_range_leaves_the_ages_apart() {
        for rate in [rate!(1 / 36525 days), rate!(3 / second), rate!(134_217_728 / second)] {
            for burst in [1, 2, 1_000, MAX_BURST] {
                let tiers = TierList::new(&[Quota::new(rate).with_burst(burst).unwrap()]).unwrap();
                let ticks = tiers.ticks(Duration::from_millis(1)).unwrap();
                let LevelTicks { span, ahead, slack, margin, grace, band } = ticks;
                assert!(span + slack + margin + grace <= MAX_RANGE as i64 && band < span);
                // A whole second, and no more than the most ticks that there are in one.
                assert!(tiers.pace.time(ahead as u64) >= STEP && ahead <= MAX_PACE as i64);
                assert!(band < tiers.all[0].cost && grace <= span && slack > 0, "{ticks:?}");
                assert!(
                    tiers.pace.time(1 << super::super::key_word::LEVEL_BITS)
                        >= Duration::from_secs(60)
                );
            }
        }
    }
}
