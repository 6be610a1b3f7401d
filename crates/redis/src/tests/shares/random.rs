//! Random histories of tenants, beside the engine's shares and beside exact buckets.

use std::collections::HashMap;
use std::time::Duration;

use rand::Rng;
use rand::rngs::SmallRng;
use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::{Denied, ManualClock, Quota, quota};

use super::super::oracle::{Bucket, Oracle};
use super::super::scripts::{random, share_of};
use super::super::server::Server;
use super::{Answer, START, Step, run, shares};

const STEPS: usize = 60_000;

/// Makes steps of so many tenants in each group, and in a group that there is not.
fn steps(
    count: usize,
    groups: &[Share],
    tenants: impl Fn(&Share) -> usize,
    longest: u64,
    random: &mut SmallRng,
) -> Vec<Step> {
    let mut micros = START;
    let mut steps = Vec::with_capacity(count);
    while steps.len() < count {
        let pause = random.random_range(0..longest);
        micros += [0, 1, pause / 20, pause][random.random_range(0..4)];
        let group = random.random_range(0..=groups.len());
        let (most, tenants) = groups
            .get(group)
            .map_or((20, 2), |share| (share.assured().burst() * 2 + 1, tenants(share)));
        let permits = [1, random.random_range(0..=most), random.random_range(0..=most * 4)]
            [random.random_range(0..3)];
        let tenant = format!("tenant {}", random.random_range(0..tenants));
        let step = Step { micros, verb: "take", group, tenant, permits };
        // A look, and a request at the same instant.
        if random.random_range(0..4) == 0 {
            steps.push(Step { verb: "peek", ..step.clone() });
        }
        steps.push(step);
    }
    steps
}

/// Returns all that an answer tells which the engine tells too. (Of two buckets that both have to lend, the engine tells
/// the time until the lower limit is there, and the server that until one of them is full.)
fn told(answer: &Answer, has_ceiling: bool) -> impl PartialEq + std::fmt::Debug {
    match answer {
        Ok(granted) => {
            let grant = granted.grant();
            let is_of_one = granted.is_assured() || !has_ceiling;
            let reset_after = is_of_one.then(|| grant.reset_after());
            let left = (grant.permits(), grant.remaining(), grant.limit(), reset_after);
            Ok((granted.is_assured(), left))
        }
        Err(denied) => {
            let is_for_want_of_a_place = matches!(denied, Denied::Full { .. });
            let reset_after = denied.reset_after().filter(|_| !has_ceiling);
            let left = (denied.limit(), denied.remaining(), reset_after);
            Err((is_for_want_of_a_place, denied.retry_after(), left))
        }
    }
}

#[test]
fn answers_are_those_of_the_engine() {
    // Rates of a permit in a period, which the engine does not round.
    let cases: [(Quota, Vec<Share>); 3] = [
        (
            quota!(20 / second, burst 40),
            vec![
                Share::new(quota!(2 / second, burst 5)).with_tenants(2),
                Share::new(quota!(1 / second, burst 3))
                    .with_tenants(3)
                    .with_ceiling(quota!(5 / second, burst 9)),
            ],
        ),
        // Nothing can be lent at once.
        (
            quota!(4 / second, burst 8),
            vec![Share::new(quota!(2 / second, burst 4)).with_tenants(2)],
        ),
        (
            quota!(1 / second, burst 30),
            vec![
                Share::new(quota!(1 / minute, burst 1))
                    .with_tenants(5)
                    .with_ceiling(quota!(1 / second)),
                Share::new(quota!(1 / 2 seconds, burst 10)),
            ],
        ),
    ];
    let server = Server::start();
    let mut connection = server.connection();
    let mut random = random();
    let count = share_of(STEPS).div_ceil(cases.len());
    let mut seen: HashMap<_, usize> = HashMap::new();
    for (case, (quota, groups)) in cases.iter().enumerate() {
        let clock = ManualClock::new();
        let engine =
            Shares::<String, _>::with_clock(*quota, groups.iter().copied(), &clock).unwrap();
        let steps = steps(count, groups, |share| share.tenants() + 2, 2_000_000, &mut random);
        let answers = run(&mut connection, &shares(&format!("case{case}"), *quota, groups), &steps);
        for (index, (step, answer)) in steps.iter().zip(&answers).enumerate() {
            if step.verb == "peek" {
                let next = &answers[index + 1];
                assert_eq!(told(answer, false), told(next, false), "a look at {step:?}");
                continue;
            }
            clock.set_nanos((step.micros - START) * 1_000);
            let expected = engine.try_acquire(step.group, &step.tenant, step.permits);
            let is_full = |answer: &Answer| matches!(answer, Err(Denied::Full { .. }));
            if is_full(answer) || is_full(&expected) {
                // When a place is free, the engine guesses. (`stories` has the server's answer.)
                assert!(answer.is_err() && expected.is_err(), "case {case}: {step:?}, {answer:?}");
            } else {
                let has_ceiling =
                    groups.get(step.group).is_some_and(|group| group.ceiling().is_some());
                let (own, engines) = (told(answer, has_ceiling), told(&expected, has_ceiling));
                assert_eq!(own, engines, "case {case}: {step:?}");
            }
            let kind = match answer {
                Ok(granted) if granted.is_assured() => "assured",
                Ok(_) => "borrowed",
                Err(Denied::Wait(_)) => "waits",
                Err(Denied::Full { .. }) => "no place",
                Err(_) => "too large",
            };
            *seen.entry(kind).or_default() += 1;
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

#[test]
fn all_stay_within_the_bound_and_each_has_its_share_to_the_last_fraction() {
    let cases: [(Quota, Vec<Share>, u64); 4] = [
        (
            quota!(7 / 3 seconds, burst 11),
            vec![
                Share::new(quota!(2 / 3 seconds, burst 3)).with_tenants(2),
                Share::new(quota!(1 / second, burst 4))
                    .with_ceiling(quota!(4 / 3 seconds, burst 7)),
            ],
            3_000_000,
        ),
        (
            quota!(999_983 / 7 ms, burst 5_000),
            vec![Share::new(quota!(333_323 / 7 ms, burst 1_666)).with_tenants(3)],
            200,
        ),
        (
            quota!(4_294_967_295 / 7 days, burst 4_294_967_295),
            vec![Share::new(quota!(1_431_655_765 / 7 days, burst 1_000_000_000)).with_tenants(3)],
            40_000_000_000,
        ),
        (
            quota!(1 / day, burst 3),
            vec![Share::new(quota!(1 / 3 days, burst 1)).with_tenants(2)],
            100_000_000_000,
        ),
    ];
    let server = Server::start();
    let mut connection = server.connection();
    let mut random = random();
    let count = share_of(STEPS).div_ceil(cases.len());
    for (case, (quota, groups, longest)) in cases.iter().enumerate() {
        let steps = steps(count, groups, |share| share.tenants(), *longest, &mut random);
        let answers = run(&mut connection, &shares(&format!("case{case}"), *quota, groups), &steps);
        let mut all = Bucket::smooth(*quota);
        let mut own: HashMap<(usize, &str), (Bucket, Bucket)> = HashMap::new();
        let (mut assured, mut borrowed) = (0, 0);
        let kept: i128 = groups
            .iter()
            .map(|share| i128::from(share.assured().burst()) * share.tenants() as i128)
            .sum();
        for (step, answer) in steps.iter().zip(&answers) {
            let now = i128::from(step.micros - START) * 1_000;
            let permits = i128::from(step.permits);
            let retry = answer.as_ref().err().and_then(Denied::retry_after);
            let retry = retry.map(|wait: Duration| now + wait.as_nanos() as i128);
            let share = groups.get(step.group);
            let buckets = share.map(|share| {
                own.entry((step.group, &step.tenant)).or_insert_with(|| {
                    let ceiling = share.ceiling().unwrap_or(*quota);
                    (Bucket::smooth(share.assured()), Bucket::smooth(ceiling))
                })
            });
            let is_within = |all: &Bucket, buckets: &Option<&mut (Bucket, Bucket)>, at: i128| {
                let below = buckets.as_ref().zip(share).is_none_or(|((_, ceiling), share)| {
                    let kept = i128::from(share.assured().burst());
                    share.ceiling().is_none() || ceiling.room(at) >= permits + kept
                });
                let of_share = buckets.as_ref().is_some_and(|(own, _)| own.room(at) >= permits);
                (of_share, of_share || (all.room(at) >= permits + kept && below))
            };
            let (of_share, is_granted) = is_within(&all, &buckets, now);
            if step.permits > 0 {
                assert_eq!(answer.is_ok(), is_granted, "case {case}: {step:?}");
                assert_eq!(answer.is_ok_and(ShareGrant::is_assured), of_share, "{step:?}");
            }
            if let Some(retry) = retry {
                assert!(is_within(&all, &buckets, retry).1, "waits too short: {step:?}");
                assert!(!is_within(&all, &buckets, retry - 1).1, "waits too long: {step:?}");
            }
            if let (Ok(granted), "take") = (answer, step.verb) {
                assert!(all.room(now) >= permits, "above the bound: {step:?}");
                all.take(now, step.permits);
                if let Some((own, ceiling)) = buckets {
                    let has_ceiling = share.is_some_and(|share| share.ceiling().is_some());
                    assert!(!has_ceiling || ceiling.room(now) >= permits, "{step:?}");
                    if has_ceiling {
                        ceiling.take(now, step.permits);
                    }
                    if granted.is_assured() {
                        own.take(now, step.permits);
                    }
                }
                assured += usize::from(granted.is_assured());
                borrowed += usize::from(granted.is_borrowed());
            }
        }
        assert!(assured > count / 20 && borrowed > count / 100, "{case}: {assured}, {borrowed}");
    }
}

#[test]
fn a_clock_that_goes_back_earns_the_repeated_time_and_no_more() {
    let groups = [
        Share::new(quota!(3 / 2 seconds, burst 4)).with_tenants(2),
        Share::new(quota!(1 / 7 seconds, burst 3)).with_ceiling(quota!(1 / second, burst 5)),
    ];
    let quota = quota!(16 / 5 seconds, burst 12);
    let server = Server::start();
    let mut connection = server.connection();
    let mut random = random();
    let count = share_of(STEPS) / 4;
    let mut steps = steps(count, &groups, |share| share.tenants() + 2, 1_500_000, &mut random);
    let mut back = 0;
    for step in &mut steps {
        if random.random_range(0..20) == 0 {
            let longest = [1_000_000, 10_000_000, 3_600_000_000][random.random_range(0..3)];
            back += random.random_range(0..longest);
        }
        step.micros -= back;
    }
    let answers = run(&mut connection, &shares("app", quota, &groups), &steps);
    let (mut all, mut passed, mut last) = (Bucket::smooth(quota), 0, START);
    let (mut assured, mut borrowed) = (0, 0);
    for (step, answer) in steps.iter().zip(&answers) {
        passed += i128::from(step.micros.saturating_sub(last)) * 1_000;
        last = step.micros;
        if let (Ok(granted), "take") = (answer, step.verb) {
            assert!(all.room(passed) >= i128::from(step.permits), "above the bound: {step:?}");
            all.take(passed, step.permits);
            assured += usize::from(granted.is_assured());
            borrowed += usize::from(granted.is_borrowed());
        }
    }
    assert!(assured > count / 20 && borrowed > count / 50, "{assured} and {borrowed}");
}
