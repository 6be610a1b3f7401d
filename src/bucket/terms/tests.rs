use crate::{quota, rate};

use super::*;

#[test]
fn terms_survive_the_round_trip_through_words() {
    for quota in [
        quota!(1 / second),
        quota!(4_294_967_296 / 2 seconds, burst 4_294_967_296),
        quota!(7 / 36525 days, burst 1).with_refill(Refill::Interval),
    ] {
        let terms = Terms { origin_nanos: 3, base: 5, ..Terms::of_quota(quota) };
        assert_eq!(Terms::from_words(terms.to_words()), terms);
    }
    let cells = Terms::of_cells(rate!(1 / 3 seconds), 10);
    assert_eq!(Terms::from_words(cells.to_words()), cells);
}

#[test]
fn a_token_is_a_period_where_that_is_exact_and_a_power_of_two_elsewhere() {
    let token = |quota| Terms::of_quota(quota).token / UNIT;
    assert_eq!(token(quota!(1 / second)), 1_000_000_000);
    assert_eq!(token(quota!(1_000 / second)), 1_000_000);
    assert_eq!(token(quota!(2 / 3 ns)), 3);
    assert_eq!(token(quota!(3 / second)), 1 << 29);
    assert_eq!(token(quota!(2_147_483_648 / second)), 1);
    assert_eq!(token(quota!(1 / 30 days, burst 4_294_967_296)), 1 << 27);
    assert_eq!(token(quota!(1 / 30 days, burst 3_221_225_472)), 1 << 27);
}

#[test]
fn every_quota_is_in_the_budget_and_every_gain_in_reach_of_the_reciprocal() {
    let rates = [
        rate!(1 / 36525 days),
        rate!(1 / 30 days),
        rate!(4_294_967_296 / 36525 days),
        rate!(3 / second),
        rate!(2_147_483_648 / second),
        rate!(2 / ns),
    ];
    for rate in rates {
        for burst in [1, 2, 1_000, Quota::MAX_BURST] {
            for max_debt in [0, 1, Quota::MAX_DEBT] {
                let quota = Quota::new(rate).with_burst(burst).unwrap();
                let terms = Terms::of_quota(quota.with_max_debt(max_debt).unwrap());
                let spread = terms.capacity as i64 - terms.floor();
                assert!(spread > 0 && terms.floor() < 0, "{terms:?}");
                let gain = u128::from(rate.permits()) * u128::from(terms.token / UNIT);
                assert!(gain < 4 * u128::from(rate.period_nanos()), "{terms:?}");
            }
        }
    }
}

/// Stepped and smooth terms that earn from `origin_nanos` on.
fn stepped_and_smooth(origin_nanos: u64) -> [Terms; 2] {
    [Refill::Interval, Refill::Smooth].map(|refill| {
        let quota = quota!(3 / 400 ms, burst 5).with_max_debt(2).unwrap();
        Terms { origin_nanos, ..Terms::of_quota(quota.with_refill(refill)) }
    })
}

#[test]
fn a_time_is_in_range_from_a_skew_before_the_origin_to_the_end_of_what_is_accrued() {
    let origin = 5 * SKEW_NANOS;
    let (first, last) = (origin - SKEW_NANOS, origin + Linear::MAX_ELAPSED);
    let [stepped, smooth] = stepped_and_smooth(origin);
    for (now, is_out, is_out_of_steps) in [
        (0, true, true),
        (first - 1, true, true),
        (first, false, false),
        (origin, false, false),
        (last, false, false),
        (last + 1, true, false),
        (u64::MAX, true, false),
    ] {
        assert_eq!(smooth.is_out_of_range(now), is_out, "{now}");
        assert_eq!(stepped.is_out_of_range(now), is_out_of_steps, "{now}");
        assert_eq!(smooth.is_impossible(smooth.floor(), now), is_out, "{now}");
        assert!(smooth.is_impossible(smooth.floor() - 1, now), "{now}");
    }
}

#[test]
fn the_short_way_to_the_count_is_taken_wherever_it_leads_to_the_same() {
    let origin = 5;
    let [stepped, smooth] = stepped_and_smooth(origin);
    for elapsed in [0, 1, SKEW_NANOS, Linear::MAX_ELAPSED - 1, Linear::MAX_ELAPSED] {
        let now = origin + elapsed;
        assert_eq!(smooth.accrued_simply(now), Some(smooth.accrued(now)), "{elapsed}");
        assert_eq!(stepped.accrued_simply(now), None, "{elapsed}");
    }
    for now in [origin - 1, origin + Linear::MAX_ELAPSED + 1, u64::MAX] {
        assert_eq!(smooth.accrued_simply(now), None, "{now}");
    }
}

#[test]
fn the_floor_of_terms_with_steps_is_the_debt_and_each_step_that_a_clock_may_be_ahead_by() {
    // A clock that is one second ahead can be ahead by three steps of 400 ms, if it has just seen
    // the last of them: 9 tokens.
    assert_eq!(SKEW_NANOS, 1_000_000_000);
    let [stepped, _] = stepped_and_smooth(0);
    assert_eq!(stepped.floor(), -((2 + 9) * stepped.token as i64));
}

#[test]
fn an_outlook_is_early_only_before_the_origin() {
    for terms in stepped_and_smooth(5) {
        for now in [0, 4, 5, 6] {
            let Forecast::Bucket(accrued) = terms.forecast(0, now) else { panic!() };
            assert_eq!(accrued.is_early, now < 5);
            assert_eq!(accrued.apart_nanos, 5_u64.saturating_sub(now));
        }
    }
}

#[test]
fn terms_that_start_at_a_time_earn_from_then_on() {
    let [_, smooth] = stepped_and_smooth(0);
    let terms = smooth.starting(7_000);
    assert_eq!((terms.accrued(6_999), terms.accrued(7_000)), (0, 0));
    assert_eq!(terms.accrued(9_000), smooth.accrued(2_000));
    assert_ne!(terms.accrued(9_000), 0);
}
