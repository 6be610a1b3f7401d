//! The choice of a tick, and what it leaves.

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
        assert!(period_nanos > 36 * YEAR || before_nanos.is_multiple_of(tiers.pace.period_nanos));
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
                tiers.pace.time(1 << super::super::key_word::LEVEL_BITS) >= Duration::from_secs(60)
            );
        }
    }
}
