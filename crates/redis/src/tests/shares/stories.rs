//! The server's own clock, clocks that are set back, lost keys, rights, and wrong numbers.

use std::time::Duration;

use sluicegate::share::Share;
use sluicegate::{ConfigError, Denied, quota};

use super::super::patient;
use super::super::server::{Server, wait_until};
use super::{SECOND, START, run, shares, take};
use crate::script::SHARES;
use crate::{KeySpace, LimitError, RedisShares};

const HOUR: u64 = 3_600 * SECOND;

#[tokio::test]
async fn no_tenant_is_refused_its_share_while_another_takes_all_that_is_lent() {
    let server = Server::start();
    let groups = [
        Share::new(quota!(10 / day, burst 10)).with_tenants(20),
        Share::new(quota!(1 / day, burst 5)).with_ceiling(quota!(10 / day, burst 15)),
    ];
    let (quota, keys) = (quota!(1_000 / 10 days, burst 400), KeySpace::new("app").unwrap());
    let error =
        RedisShares::new(quota, groups, keys.clone(), patient(server.client())).unwrap_err();
    assert!(matches!(error, LimitError::Config(ConfigError::AssuredRate { .. })), "{error}");
    let quota = quota!(1_000 / day, burst 400);
    let shares = RedisShares::new(quota, groups, keys, patient(server.client())).unwrap();

    let (mut assured, mut borrowed) = (0, 0);
    while let Ok(granted) = shares.try_acquire(0, "greedy", 1).await {
        assured += u64::from(granted.is_assured());
        borrowed += u64::from(granted.is_borrowed());
    }
    // All but the sum of the assured bursts, and what the test's time earns.
    assert!(assured >= 10 && borrowed >= 400 - 205 - 10, "{assured} and {borrowed}");
    for tenant in 1..20 {
        let tenant = format!("{tenant}");
        assert_eq!(shares.peek(0, &tenant, 0).await.unwrap().grant().remaining(), 10);
        assert!(shares.try_acquire(0, &tenant, 10).await.unwrap().is_assured());
    }
    assert!(shares.try_acquire(1, "other", 5).await.unwrap().is_assured());
    // One more than there are places.
    let error = shares.try_acquire(0, "late", 1).await.unwrap_err();
    assert!(error.denied().is_some(), "{error}");

    let mut connection = server.connection();
    let names: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
    // Buckets of 21 tenants, a ceiling, two sets of places, and the bucket of all.
    assert_eq!(names.len(), 21 + 1 + 2 + 1, "{names:?}");
    for name in names {
        assert!(name.starts_with("app:sh:{app}"), "{name}");
        let lasts: i64 = redis::cmd("PTTL").arg(&name).query(&mut connection).unwrap();
        assert!(lasts > 0, "{name} lasts for {lasts} ms");
    }
}

#[test]
fn tenants_that_are_idle_take_no_memory() {
    let server = Server::start();
    let mut connection = server.connection();
    let share = Share::new(quota!(100 / second, burst 5)).with_tenants(3);
    let shares = shares(
        "app",
        quota!(1_000 / second, burst 30),
        &[share.with_ceiling(quota!(200 / second, burst 10))],
    );
    let mut ask = |tenant: &str, permits| {
        let request = shares.request("take", 0, tenant, permits).unwrap();
        let mut command = redis::cmd("EVAL");
        command.arg(SHARES.source()).arg(request.keys().len()).arg(request.keys());
        let reply: Vec<i64> = command.arg(&request.arguments()[..]).query(&mut connection).unwrap();
        request.answer(&reply).unwrap().is_ok()
    };
    let mut granted = 0;
    for tenant in 0..20 {
        granted += usize::from(ask(&format!("{tenant}"), 3));
    }
    assert!(granted >= 5, "{granted}");
    let mut connection = server.connection();
    wait_until("no keys", || redis::cmd("DBSIZE").query::<u64>(&mut connection).unwrap() == 0);
}

#[test]
fn a_clock_that_is_set_back_by_less_than_a_second_earns_nothing_until_it_has_caught_up() {
    let server = Server::start();
    let mut connection = server.connection();
    let groups = [Share::new(quota!(10 / second, burst 10)).with_tenants(2)];
    let shares = shares("app", quota!(20 / second, burst 20), &groups);
    let steps = [
        take(START, 0, "ada", 10),
        // A bucket of which there is no state yet, so that it does not know a later time.
        take(START - SECOND * 9 / 10, 0, "bob", 10),
        take(START, 0, "bob", 1),
        take(START + SECOND / 10, 0, "bob", 1),
        take(START + SECOND / 10, 0, "ada", 1),
        take(START + SECOND / 10, 0, "bob", 1),
    ];
    let answers = run(&mut connection, &shares, &steps);
    let granted: Vec<_> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(granted, [true, true, false, true, true, false]);
}

#[test]
fn a_clock_that_is_set_back_adds_nothing_or_the_repeated_time_and_locks_no_place() {
    let server = Server::start();
    let mut connection = server.connection();
    let groups = [Share::new(quota!(1 / minute, burst 10)).with_tenants(1)];
    let shares = shares("app", quota!(2 / minute, burst 20), &groups);
    let steps = [
        take(START, 0, "ada", 10),
        // Back by half a second, and by an hour.
        take(START - SECOND / 2, 0, "ada", 1),
        take(START - HOUR, 0, "bob", 1),
        // When a bucket would be full that was empty then, and before.
        take(START - HOUR + 600 * SECOND - 1, 0, "eve", 10),
        take(START - HOUR + 600 * SECOND, 0, "eve", 10),
    ];
    let answers = run(&mut connection, &shares, &steps);
    assert!(answers[0].unwrap().is_assured());
    // Nothing is left but what is kept for the share.
    assert!(answers[1].is_err() && answers[2].is_err() && answers[3].unwrap().is_borrowed());
    assert!(answers[4].unwrap().is_assured());
}

#[test]
fn a_tenant_that_finds_no_place_has_one_when_its_denial_said() {
    let server = Server::start();
    let mut connection = server.connection();
    let groups = [Share::new(quota!(1 / minute, burst 10)).with_tenants(2)];
    // Nothing is ever lent.
    let shares = shares("app", quota!(2 / minute, burst 20), &groups);
    let steps = [
        take(START, 0, "ada", 10),
        take(START, 0, "eve", 5),
        take(START, 0, "bob", 1),
        take(START + 100 * SECOND, 0, "eve", 2),
        take(START + 420 * SECOND - 1, 0, "bob", 10),
        take(START + 420 * SECOND, 0, "bob", 10),
        take(START + 420 * SECOND, 0, "eve", 1),
        // Back in the place that ada leaves.
        take(START + 600 * SECOND, 0, "eve", 1),
    ];
    let answers = run(&mut connection, &shares, &steps);
    let full = |seconds| Err(Denied::Full { retry_after: Duration::from_secs(seconds) });
    assert_eq!((answers[2], answers[6]), (full(300), full(180)));
    assert!(answers[4].is_err());
    for granted in [0, 1, 3, 5, 7] {
        assert!(answers[granted].unwrap().is_assured(), "{granted}");
    }
}

#[test]
fn a_debt_that_lost_keys_leave_is_at_most_the_burst() {
    let server = Server::start();
    let mut connection = server.connection();
    let groups =
        [Share::new(quota!(1 / minute, burst 10)).with_ceiling(quota!(1 / minute, burst 12))];
    let shares = shares("app", quota!(2 / minute, burst 20), &groups);
    for _ in 0..9 {
        let answer = run(&mut connection, &shares, &[take(START, 0, "ada", 10)]).remove(0);
        assert!(answer.unwrap().is_assured());
        let own = &shares.request("take", 0, "ada", 1).unwrap().keys()[1].to_owned();
        redis::cmd("DEL").arg(own).exec(&mut connection).unwrap();
    }
    // 40 permits are 20 minutes' worth, and 11 more have to be there to lend one.
    let answer = run(&mut connection, &shares, &[take(START, 9, "eve", 1)]).remove(0);
    let wait = answer.unwrap_err().retry_after().unwrap();
    assert_eq!(wait.as_secs(), (20 + 11) * 30);
}

#[test]
fn without_a_right_nothing_is_taken_and_no_key_lasts_for_ever() {
    let server = Server::start();
    let mut own = server.connection();
    let share = Share::new(quota!(10 / day, burst 10)).with_ceiling(quota!(20 / day, burst 20));
    let shares = shares("app", quota!(100 / day, burst 50), &[share]);
    let ask = |connection: &mut redis::Connection, verb, permits| {
        let request = shares.request(verb, 0, "ada", permits).unwrap();
        let mut command = redis::cmd("EVAL");
        command.arg(SHARES.source()).arg(request.keys().len()).arg(request.keys());
        command.arg(&request.arguments()[..]);
        let reply: redis::RedisResult<Vec<i64>> = command.query(connection);
        reply.map(|reply| request.answer(&reply).unwrap())
    };
    let mut refused = 0;
    for command in SHARES.commands() {
        let rules = ["reset", "on", ">pass", "~*", "+@all", &format!("-{command}")];
        redis::cmd("ACL").arg("SETUSER").arg("bob").arg(&rules).exec(&mut own).unwrap();
        let url = format!("redis://bob:pass@127.0.0.1:{}/", server.port());
        let mut bob = redis::Client::open(url).unwrap().get_connection().unwrap();
        for is_new in [true, false] {
            redis::cmd("FLUSHALL").exec(&mut own).unwrap();
            if !is_new {
                assert!(ask(&mut own, "take", 3).unwrap().unwrap().is_assured());
            }
            if ask(&mut bob, "take", 3).is_err() {
                refused += 1;
                let left = ask(&mut own, "peek", 0).unwrap().unwrap().grant().remaining();
                assert_eq!(left, if is_new { 10 } else { 7 }, "refused {command}, and taken");
            }
            let names: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut own).unwrap();
            for name in names {
                let lasts: i64 = redis::cmd("PTTL").arg(&name).query(&mut own).unwrap();
                assert_ne!(lasts, -1, "without {command}: {name} lasts for ever");
            }
        }
    }
    assert!(refused >= 8, "only {refused}");
}

#[test]
fn shares_that_are_more_than_the_quota_are_an_error() {
    let make = |quota, share| RedisShares::new(quota, [share], KeySpace::new("app").unwrap(), ());
    let share = Share::new(quota!(10 / second, burst 5)).with_tenants(4);
    let error = make(quota!(39 / second, burst 20), share).unwrap_err();
    let sum = ConfigError::AssuredRate {
        sum: 40,
        permits: 39,
        period: quota!(1 / second).rate().period(),
    };
    assert_eq!(error, LimitError::Config(sum));
    let error = make(quota!(40 / second, burst 19), share).unwrap_err();
    assert_eq!(error, LimitError::Config(ConfigError::AssuredBurst { sum: 20, burst: 19 }));
    let shares = make(quota!(40 / second, burst 25), share).unwrap();
    assert_eq!((shares.share(0), shares.share(1)), (Some(share), None));
    // More than can ever be granted is denied without a round trip: of the share, and by borrowing.
    for (group, most) in [(0, 5), (1, 5)] {
        assert!(shares.request("take", group, "ada", most).is_ok());
        let error = shares.request("take", group, "ada", most + 1).map(drop).unwrap_err();
        assert_eq!(error.denied(), Some(&Denied::TooLarge { limit: most, which: 0 }));
    }
    assert!(shares.request("take", 0, &"long".repeat(200), 1).is_err());
}
