//! Other numbers, by callers that change together and one after the other; and resets.

use std::collections::HashMap;
use std::time::Duration;

use rand::Rng;
use sluicegate::share::{Share, ShareGrant};
use sluicegate::{Denied, Quota, quota};

use super::super::oracle::{Bucket, Oracle};
use super::super::patient;
use super::super::scripts::{random, share_of};
use super::super::server::Server;
use super::{SECOND, START, Step, run, shares, take};
use crate::{KeySpace, RedisShares};

const STEPS: usize = 20_000;

/// Numbers between which callers change: with more and fewer places, other rates with other fractions, and smaller bursts.
fn numbers() -> Vec<(Quota, Vec<Share>)> {
    let ceiling = quota!(5 / 2 seconds, burst 9);
    vec![
        (
            quota!(1_001 / 100 seconds, burst 40),
            vec![
                Share::new(quota!(77 / 100 seconds, burst 4)).with_tenants(6),
                Share::new(quota!(1 / second, burst 3)).with_tenants(2).with_ceiling(ceiling),
            ],
        ),
        (
            quota!(10 / second, burst 40),
            vec![
                Share::new(quota!(2 / second, burst 10)).with_tenants(2),
                Share::new(quota!(1 / second, burst 2)).with_tenants(3).with_ceiling(ceiling),
            ],
        ),
        (
            quota!(1 / second, burst 9),
            vec![
                Share::new(quota!(1 / 7 seconds, burst 1)).with_tenants(5),
                Share::new(quota!(1 / 10 seconds, burst 2)).with_tenants(2),
            ],
        ),
    ]
}

fn step(micros: u64, random: &mut impl Rng) -> Step {
    let tenant = format!("tenant {}", random.random_range(0..7));
    let permits = [1, random.random_range(1..=10)][random.random_range(0..2)];
    Step { micros, verb: "take", group: random.random_range(0..3), tenant, permits }
}

#[test]
fn from_a_change_of_all_callers_on_the_new_bound_holds() {
    let server = Server::start();
    let mut connection = server.connection();
    let mut random = random();
    let all: Vec<_> = numbers()
        .into_iter()
        .map(|(quota, groups)| (quota, shares("app", quota, &groups)))
        .collect();
    let (mut micros, mut seen) = (START, HashMap::new());
    for round in 0..share_of(STEPS) / 100 {
        let (quota, shares) = &all[[round, random.random_range(0..3)][round % 2] % 3];
        let mut steps = Vec::new();
        for _ in 0..100 {
            micros += [0, 1_000, random.random_range(0..SECOND)][random.random_range(0..3)];
            steps.push(step(micros, &mut random));
        }
        let answers = run(&mut connection, shares, &steps);
        let mut bound = Bucket::smooth(*quota);
        for (step, answer) in steps.iter().zip(&answers) {
            let now = i128::from(step.micros - START) * 1_000;
            if let Ok(granted) = answer {
                assert!(bound.room(now) >= i128::from(step.permits), "above the bound: {step:?}");
                bound.take(now, step.permits);
                *seen.entry(granted.is_assured()).or_insert(0) += 1;
            }
        }
    }
    assert!(
        seen.values().all(|&count| count > share_of(STEPS) / 50) && seen.len() == 2,
        "{seen:?}"
    );
}

#[test]
fn while_callers_have_different_numbers_a_tenant_has_the_greater_share_and_no_more() {
    let server = Server::start();
    let mut connection = server.connection();
    let mut random = random();
    // Fractions of which one is a thousandth of the other.
    let lesser = (
        quota!(1_000 / 1000 seconds, burst 30),
        [Share::new(quota!(100 / 1000 seconds, burst 3)).with_tenants(7)],
    );
    let greater = (
        quota!(1_001 / 1000 seconds, burst 40),
        [Share::new(quota!(101 / 1000 seconds, burst 5)).with_tenants(7)],
    );
    let callers = [&lesser, &greater].map(|(quota, groups)| shares("app", *quota, groups));
    // The greater burst, of which a loan leaves the lesser shares.
    let lent = quota!(1_001 / 1000 seconds, burst 19);
    let (mut lent, mut own) = (Bucket::smooth(lent), HashMap::<String, Bucket>::new());
    let (mut micros, mut assured, mut borrowed) = (START, 0, 0);
    for _ in 0..share_of(STEPS) / 4 {
        micros += [0, 1_000, random.random_range(0..SECOND)][random.random_range(0..3)];
        let step = step(micros, &mut random);
        let caller = &callers[random.random_range(0..2)];
        let now = i128::from(micros - START) * 1_000;
        match run(&mut connection, caller, std::slice::from_ref(&step)).remove(0) {
            Ok(ShareGrant::Assured(_)) => {
                let share = greater.1[0].assured();
                let own = own.entry(step.tenant.clone()).or_insert_with(|| Bucket::smooth(share));
                assert!(own.room(now) >= i128::from(step.permits), "above the share: {step:?}");
                own.take(now, step.permits);
                assured += 1;
            }
            Ok(ShareGrant::Borrowed(_)) => {
                assert!(lent.room(now) >= i128::from(step.permits), "above the quota: {step:?}");
                lent.take(now, step.permits);
                borrowed += 1;
            }
            Err(_) => {}
        }
    }
    assert!(assured > share_of(STEPS) / 100 && borrowed > 10, "{assured} and {borrowed}");
}

#[test]
fn balances_stay_and_a_tenant_that_is_idle_has_the_new_burst_at_once() {
    let server = Server::start();
    let mut connection = server.connection();
    let of = |burst, all| {
        let share = Share::new(quota!(1 / minute).with_burst(burst).unwrap()).with_tenants(2);
        shares("app", quota!(2 / minute).with_burst(all).unwrap(), &[share])
    };
    let (old, new) = (of(10, 20), of(30, 60));
    assert!(run(&mut connection, &old, &[take(START, 0, "ada", 8)])[0].unwrap().is_assured());
    let look = |tenant: &str| Step { verb: "peek", ..take(START, 0, tenant, 0) };
    let mut left = |shares: &RedisShares<()>, tenant: &str| {
        run(&mut connection, shares, &[look(tenant)])[0].unwrap().grant().remaining()
    };
    // What it has left, and then at most the new burst.
    assert_eq!([&old, &new].map(|shares| left(shares, "ada")), [2, 2]);
    assert_eq!([&old, &new].map(|shares| left(shares, "bob")), [10, 30]);
    assert_eq!(left(&of(1, 20), "ada"), 1);
    assert_eq!(left(&old, "ada"), 2, "a look at other numbers changes nothing");
}

#[test]
fn with_fewer_places_those_that_are_taken_for_the_longest_stay() {
    let server = Server::start();
    let mut connection = server.connection();
    // Nothing is ever lent.
    let of = |tenants: usize| {
        let share = Share::new(quota!(1 / minute, burst 10)).with_tenants(tenants);
        let all = quota!(3 / minute).with_burst(10 * tenants as u64).unwrap();
        shares("app", all, &[share])
    };
    let steps = [take(START, 0, "ada", 8), take(START, 0, "bob", 4), take(START, 0, "eve", 6)];
    assert!(run(&mut connection, &of(3), &steps).iter().all(|answer| answer.unwrap().is_assured()));
    let free = START + 540 * SECOND;
    let steps = [
        take(START, 0, "ada", 1),
        take(START, 0, "bob", 1),
        take(START, 0, "eve", 1),
        take(START, 0, "joe", 1),
        take(free - 1, 0, "bob", 1),
        take(free, 0, "bob", 1),
        take(free, 0, "eve", 1),
    ];
    let answers = run(&mut connection, &of(1), &steps);
    for granted in [0, 5] {
        assert!(answers[granted].unwrap().is_assured(), "{granted}");
    }
    for denied in [1, 2, 3] {
        let retry_after = Duration::from_secs(540);
        assert_eq!(answers[denied], Err(Denied::Full { retry_after }), "{denied}");
    }
    assert!(answers[4].is_err() && answers[6].is_err());
}

#[test]
fn a_debt_stays_when_a_caller_has_a_smaller_burst() {
    let server = Server::start();
    let mut connection = server.connection();
    let of = |burst, all| {
        let share = Share::new(quota!(1 / minute).with_burst(burst).unwrap()).with_tenants(2);
        shares("app", quota!(2 / minute).with_burst(all).unwrap(), &[share])
    };
    let (old, new) = (of(10, 30), of(2, 4));
    let mut ask = |shares: &RedisShares<()>, step: Step| {
        // So that there is always a place.
        redis::cmd("DEL").arg("app:sh:{app}:places:0").exec(&mut connection).unwrap();
        run(&mut connection, shares, &[step]).remove(0)
    };
    for tenant in 0..7 {
        let step = take(START, 0, &format!("{tenant}"), 10);
        assert!(ask(&old, step).unwrap().is_assured());
    }
    assert!(ask(&new, take(START, 0, "eve", 2)).unwrap().is_assured());
    // The debt of 30, the 20 that a loan leaves, and its own permit.
    let wait = ask(&old, take(START, 9, "joe", 1)).unwrap_err().retry_after().unwrap();
    assert_eq!(wait.as_secs(), (30 + 20 + 1) * 30);
}

#[tokio::test]
async fn a_reset_makes_a_tenant_full_and_another_one_the_whole() {
    let server = Server::start();
    let ceiling = quota!(10 / day, burst 15);
    let groups = [
        Share::new(quota!(1 / day, burst 10)).with_tenants(2),
        Share::new(quota!(1 / day, burst 5)).with_ceiling(ceiling),
    ];
    let keys = KeySpace::new("app").unwrap();
    let runner = patient(server.client());
    let shares = RedisShares::new(quota!(10 / day, burst 40), groups, keys, runner).unwrap();
    let left = async |group, tenant: &str| {
        shares.peek(group, tenant, 0).await.unwrap().grant().remaining()
    };
    let take_all = async || {
        for (group, tenant, permits) in [(0, "ada", 10), (0, "bob", 10), (1, "eve", 5)] {
            let granted = shares.try_acquire(group, tenant, permits).await.unwrap();
            assert!(granted.is_assured(), "{tenant}");
        }
        shares.try_acquire(0, "ada", 15).await.unwrap_err();
    };
    take_all().await;
    assert!(shares.try_acquire(9, "joe", 10).await.is_err());
    shares.reset(0, "ada").await.unwrap();
    shares.reset(9, "joe").await.unwrap();
    assert_eq!([left(0, "ada").await, left(0, "bob").await, left(1, "eve").await], [10, 0, 0]);
    shares.reset(1, "eve").await.unwrap();
    assert!(shares.try_acquire(1, "eve", 5).await.unwrap().is_assured());

    shares.reset_all().await.unwrap();
    let mut connection = server.connection();
    let names: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
    assert!(names.is_empty(), "{names:?}");
    take_all().await;
}
