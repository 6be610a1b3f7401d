//! The kinds of policies that a server can keep: what a policy says of them is what the scripts take, at every edge.

use std::time::Duration;

use sluicegate::share::{Share, Shares};
use sluicegate::{Gcra, ManualClock, Quota, Rate, Refill, quota};
use sluicegate_policy::{Kind, ShareGroup};

use crate::KeySpace;
use crate::connector::{limit_of, shares_of};

const YEAR: Duration = Duration::from_secs(31_557_600);

/// Periods at both sides of each bound: 2^51 and 2^52 of nanoseconds and microseconds, parts of them, and whole ones.
fn periods() -> Vec<Duration> {
    let edges = [1 << 50, 1 << 51, 1 << 52].into_iter().flat_map(|edge: u64| {
        let around = [edge / 3, edge / 2, edge - 1, edge, edge + 1];
        let micros = around.map(Duration::from_micros);
        let nanos = around.map(Duration::from_nanos);
        micros.into_iter().chain(nanos)
    });
    let slots = [1, 2, 3, 7, 1_000].into_iter().flat_map(|slots: u64| {
        let most = (1 << 52) / (slots + 1) * slots;
        [most - 1, most, most + 1].map(Duration::from_micros)
    });
    let plain = [
        Duration::from_nanos(1),
        Duration::from_nanos(1_001),
        Duration::from_micros(1),
        Duration::from_millis(7),
        Duration::from_secs(86_400),
        YEAR * 71,
        YEAR * 72,
        YEAR * 100,
    ];
    edges.chain(slots).chain(plain).collect()
}

fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for period in periods() {
        for permits in [1, 3, 1_000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (1 << 32) - 1, 1 << 32]
        {
            let Ok(rate) = Rate::new(permits, period) else { continue };
            kinds.extend([
                Kind::FixedWindow(rate),
                Kind::WindowFromFirst(rate),
                Kind::SlidingCounter(rate),
                Kind::SlidingLog(rate),
                Kind::WeightedLog { limit: rate, capacity: 100 },
                Kind::LeakyMinInterval(rate),
            ]);
            let slots = [1, 2, 3, 7, 999, 1_000, 1_001, 65_536];
            kinds.extend(slots.map(|slots| Kind::SlidingWindow { limit: rate, slots }));
            kinds.extend(of_shares(rate));
            for burst in [1, permits, 1 << 32] {
                for debt in [0, 1, 1 << 32] {
                    for refill in [Refill::Smooth, Refill::Interval] {
                        let quota = Quota::new(rate).with_burst(burst).unwrap().with_refill(refill);
                        let Ok(quota) = quota.with_max_debt(debt) else { continue };
                        kinds.push(Kind::TokenBucket { quota, initial: burst });
                        if refill == Refill::Smooth {
                            kinds.push(Kind::LeakyMeter(quota));
                        }
                    }
                }
            }
        }
        let tolerances = [Duration::ZERO, Duration::from_nanos(1), Duration::from_micros(1)];
        kinds.extend(tolerances.map(|tolerance| Kind::Gcra { interval: period, tolerance }));
        let intervals = [Duration::from_nanos(7), Duration::from_micros(7)];
        kinds.extend(intervals.map(|interval| Kind::Gcra { interval, tolerance: period }));
    }
    // A policy cannot name those that the engine refuses.
    kinds.retain(|kind| match *kind {
        Kind::Gcra { interval, tolerance } => {
            Gcra::with_clock(interval, tolerance, ManualClock::new()).is_ok()
        }
        Kind::Shares { quota, ref groups } => {
            let shares = groups.iter().map(|group| group.share);
            Shares::<u64, _>::with_clock(quota, shares, &ManualClock::new()).is_ok()
        }
        _ => true,
    });
    kinds
}

/// Returns shares of which the limit for all has the rate, or an assured share, or a ceiling.
fn of_shares(rate: Rate) -> Vec<Kind> {
    let slowest = quota!(1 / 1000 days);
    let fastest = Quota::new(Rate::new(1 << 32, Duration::from_secs(4)).unwrap());
    let one = Quota::new(rate).with_burst(1).unwrap();
    let of = |quota, share| Kind::Shares {
        quota,
        groups: vec![ShareGroup { tenants: Vec::new(), share }],
    };
    vec![
        of(one, Share::new(slowest)),
        of(fastest, Share::new(one)),
        of(fastest, Share::new(slowest).with_ceiling(one)),
    ]
}

#[test]
fn a_policy_accepts_the_kinds_that_the_scripts_take_and_no_others() {
    let (mut taken, mut refused) = (0, 0);
    for kind in kinds() {
        let found = match &kind {
            Kind::Shares { quota, groups } => {
                shares_of(*quota, groups, KeySpace::new("app").unwrap(), ()).map(drop)
            }
            kind => limit_of(kind).map(drop),
        };
        match (kind.not_on_redis(), found) {
            (None, Ok(())) => taken += 1,
            (Some(_), Err(_)) => refused += 1,
            (said, found) => {
                panic!("{kind:?}: the policy says {said:?}, and the scripts {found:?}")
            }
        }
    }
    assert!(taken > 1_000 && refused > 1_000, "{taken} and {refused}");
}
