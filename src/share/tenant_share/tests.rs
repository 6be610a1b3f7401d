use super::*;
use crate::{quota, rate};

#[test]
fn weights_divide_the_rate_and_half_of_the_burst() {
    for (quota, weights) in [
        (quota!(1_000 / second, burst 500), vec![(1, 3), (2, 2), (7, 1)]),
        (quota!(1 / hour, burst 4_000), vec![(1, 1_000), (999, 1)]),
        (quota!(4_294_967_295 / 2 seconds, burst 4_294_967_296), vec![(u32::MAX, 1), (7, 3)]),
        (quota!(1 / 36_000 days, burst 2), vec![(5, 1)]),
    ] {
        let shares = Share::by_weight(quota, weights.clone()).unwrap();
        let bursts = check(quota, &shares).unwrap();
        assert!(bursts <= quota.burst() / 2);
        let sum = shares
            .iter()
            .fold(RateSum::ZERO, |sum, share| sum.plus(share.assured.rate(), share.tenants as u64));
        let (all, part) = (quota.rate().permits(), sum.in_period_of(quota.rate()));
        assert!(part <= all && part >= all - all / 1_000, "{part} of {all}");
        assert_eq!(shares.len(), weights.len());
    }
}

#[test]
fn a_weight_that_is_worth_nothing_is_refused() {
    let quota = quota!(100 / second, burst 20);
    let refused = |weights: &[(u32, usize)]| {
        Share::by_weight(quota, weights.iter().copied()).unwrap_err().to_string()
    };
    let small = "must be worth a permit of half of the burst";
    assert_eq!(refused(&[(0, 1), (1, 1)]), format!("weight is 0 of 1 in group 0: {small}"));
    assert_eq!(refused(&[(99, 1), (1, 1)]), format!("weight is 1 of 100 in group 1: {small}"));
    assert_eq!(refused(&[(1, 11)]), format!("weight is 1 of 11 in group 0: {small}"));
    assert_eq!(refused(&[(1, 0)]), "tenants is 0: must be from 1 to 2^32");
    assert!(refused(&[(1, usize::MAX)]).starts_with("tenants is"));
    assert_eq!(Share::by_weight(quota, []).unwrap(), []);
    let slowest = Quota::new(rate!(1 / 36_525 days)).with_burst(100).unwrap();
    assert!(Share::by_weight(slowest, [(1, 2)]).is_err(), "half a permit in 100 years");
}

#[test]
fn shares_above_the_quota_are_refused_with_the_sum() {
    let quota = quota!(100 / second, burst 20);
    let of = |share: Share| check(quota, &[Share::new(quota!(1 / second)), share]);
    let text = |share| of(share).unwrap_err().to_string();
    assert_eq!(of(Share::new(quota!(99 / second, burst 19))), Ok(20));
    assert_eq!(
        text(Share::new(quota!(11 / second, burst 1)).with_tenants(10)),
        "assured rate is 111 per 1s for all tenants together: must be at most 100, the rate for all"
    );
    assert_eq!(
        text(Share::new(quota!(1 / second, burst 2)).with_tenants(10)),
        "assured burst is 21 for all tenants together: must be at most 20, the burst for all"
    );
    let most = usize::try_from(1_u64 << 32).unwrap_or(usize::MAX);
    let huge = Share::new(quota!(4_294_967_296 / 2 seconds)).with_tenants(most);
    assert!(text(huge).starts_with("assured rate is"));
    let bursts = Share::new(quota!(1 / 36_525 days, burst 4_294_967_296)).with_tenants(most);
    assert!(text(bursts).starts_with("assured burst is 18446744"));
}

#[test]
fn a_ceiling_below_the_share_is_refused() {
    let share = Share::new(quota!(10 / second, burst 5));
    let text = |ceiling: Quota| share.with_ceiling(ceiling).check(3).unwrap_err().to_string();
    assert!(share.with_ceiling(quota!(10 / second, burst 5)).check(3).is_ok());
    assert!(share.with_ceiling(quota!(600 / minute, burst 5)).check(3).is_ok());
    assert_eq!(
        text(quota!(599 / minute, burst 5)),
        "rate of the ceiling is 599 per 60s in group 3: must be at least 10 per 1s, the assured rate"
    );
    assert_eq!(
        text(quota!(20 / second, burst 4)),
        "burst of the ceiling is 4 in group 3: must be at least 5, the assured burst"
    );
    let steps = quota!(20 / second).with_refill(Refill::Interval);
    assert_eq!(text(steps), "refill is Interval: must be smooth in shares");
}

#[test]
fn a_lowered_share_has_the_lower_rate_and_the_smaller_burst() {
    let share = Share::new(quota!(10 / second, burst 5)).with_tenants(3);
    let lowered = |other| share.lowered_to(other).assured();
    assert_eq!(lowered(quota!(9 / second, burst 7)), quota!(9 / second, burst 5));
    assert_eq!(lowered(quota!(601 / minute, burst 4)), quota!(10 / second, burst 4));
}
