//! Names, lost keys, and a server without memory.

use std::collections::HashSet;

use sluicegate::quota;
use sluicegate::share::Share;

use super::super::cluster::Nodes;
use super::super::patient;
use super::super::server::Server;
use super::{START, run, shares, take};
use crate::{KeySpace, RedisShares, StoreError, TryAcquireError};

#[tokio::test]
async fn a_server_without_memory_takes_nothing() {
    let server = Server::start();
    let share = Share::new(quota!(1 / day, burst 10)).with_tenants(3);
    let share = share.with_ceiling(quota!(2 / day, burst 20));
    let (keys, runner) = (KeySpace::new("app").unwrap(), patient(server.client()));
    let shares = RedisShares::new(quota!(3 / day, burst 50), [share], keys, runner).unwrap();
    assert!(shares.try_acquire(0, "ada", 1).await.unwrap().is_assured());
    server.tell("CONFIG SET maxmemory 1");
    // Of its share in a place and a new one, lent, and without a share.
    for (group, tenant, permits) in [(0, "ada", 1), (0, "bob", 1), (0, "eve", 10), (1, "joe", 1)] {
        let answer = shares.try_acquire(group, tenant, permits).await;
        let Err(TryAcquireError::Store(StoreError::Server { code, .. })) = &answer else {
            panic!("{tenant}: {answer:?}");
        };
        assert_eq!(code, "OOM", "{tenant}");
    }
    server.tell("CONFIG SET maxmemory 0");
    let left = shares.peek(0, "ada", 0).await.unwrap().grant().remaining();
    let granted = shares.try_acquire(1, "joe", 19).await.unwrap();
    // 30 are there, and kept for the shares.
    assert_eq!((left, granted.grant().remaining()), (9, 0));
}

#[tokio::test]
async fn tenants_of_any_name_are_apart_and_on_one_node_of_a_cluster() {
    let nodes = Nodes::start();
    let long = "x".repeat(512);
    let names = [
        "",
        " ",
        "\0",
        "{",
        "}",
        "{}",
        "a}b{c",
        "%",
        "%00",
        "a:b",
        "b",
        "é",
        "e\u{301}",
        "\n",
        long.as_str(),
    ];
    for prefix in ["app", "", "{a}", "a:1", "{"] {
        let share = Share::new(quota!(1 / day, burst 1)).with_tenants(40);
        let groups = [share, share.with_ceiling(quota!(1 / day, burst 2))];
        let keys = KeySpace::new(prefix).unwrap();
        let shares =
            RedisShares::new(quota!(80 / day, burst 80), groups, keys, nodes.client()).unwrap();
        for (group, name) in [0, 1].into_iter().flat_map(|group| names.map(|name| (group, name))) {
            let granted = shares.try_acquire(group, name, 1).await.unwrap();
            assert!(granted.is_assured(), "{prefix:?} {group} {name:?}");
            let error = shares.try_acquire(group, name, 1).await.unwrap_err();
            assert!(error.denied().is_some(), "{prefix:?} {group} {name:?}: {error}");
        }
        let request = |name: &str| {
            let request = shares.request("take", 1, name, 1)?;
            Ok::<_, TryAcquireError>(
                request.keys().into_iter().map(str::to_owned).collect::<Vec<_>>(),
            )
        };
        let places: HashSet<_> = names
            .iter()
            .flat_map(|name| request(name).unwrap())
            .map(|name| nodes.place(&name).1)
            .collect();
        assert_eq!(places.len(), 1, "{prefix:?}");
        let error = request(&"x".repeat(1 << 20)).unwrap_err();
        assert!(matches!(error, TryAcquireError::Key(_)), "{error}");
    }
}

#[test]
fn after_the_clock_was_set_back_a_request_moves_a_thousand_places_and_no_more() {
    let server = Server::start();
    let mut connection = server.connection();
    let share = Share::new(quota!(1 / day, burst 1)).with_tenants(2_500);
    let shares = shares("app", quota!(2_500 / day, burst 2_500), &[share]);
    let steps: Vec<_> = (0..2_500).map(|tenant| take(START, 0, &format!("{tenant}"), 1)).collect();
    assert!(run(&mut connection, &shares, &steps).iter().all(Result::is_ok));
    let back = START - 3_600_000_000;
    let latest = back + 86_400_000_000;
    let mut later = Vec::new();
    for _ in 0..4 {
        assert!(run(&mut connection, &shares, &[take(back, 0, "new", 1)])[0].is_err());
        let mut command = redis::cmd("ZCOUNT");
        let command = command.arg("app:sh:{app}:places:0").arg(format!("({latest}")).arg("+inf");
        later.push(command.query::<u64>(&mut connection).unwrap());
    }
    assert_eq!(later, [1_500, 500, 0, 0]);
}

#[test]
fn places_that_are_lost_are_free_and_the_common_bucket_makes_up_for_them() {
    let server = Server::start();
    let mut connection = server.connection();
    let share = Share::new(quota!(1 / minute, burst 10)).with_tenants(2);
    let shares = shares("app", quota!(2 / minute, burst 30), &[share]);
    let first = [take(START, 0, "ada", 10), take(START, 0, "bob", 10), take(START, 0, "eve", 1)];
    let answers = run(&mut connection, &shares, &first);
    assert!(answers[1].unwrap().is_assured() && answers[2].is_err());
    redis::cmd("DEL").arg("app:sh:{app}:places:0").exec(&mut connection).unwrap();
    let second = [take(START, 0, "eve", 10), take(START, 0, "joe", 10), take(START, 0, "ada", 1)];
    let answers = run(&mut connection, &shares, &second);
    assert!(answers[0].unwrap().is_assured() && answers[1].unwrap().is_assured());
    // 30 less 40 are left, and a loan leaves 20.
    let wait = answers[2].unwrap_err().retry_after().unwrap();
    assert_eq!(wait.as_secs(), 60);
    let steps = [take(START, 9, "mia", 1)];
    let wait = run(&mut connection, &shares, &steps)[0].unwrap_err().retry_after().unwrap();
    assert_eq!(wait.as_secs(), (10 + 20 + 1) * 30);
}
