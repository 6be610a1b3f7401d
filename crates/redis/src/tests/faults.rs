//! Servers that end, or that answer with errors.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::{Keyed, quota};

use super::server::Server;
use super::verbs::limits;
use super::{giving_up_after, patient};
use crate::{
    Async, BreakerState, Fallback, Guarded, KeySpace, RedisLimit, RedisLimiter, RunScript,
    StoreError, TryAcquireError, Verb, share_of,
};

fn client(server: &Server) -> Async {
    patient(server.client())
}

/// Returns a limiter of ten permits that come back after a day.
fn ten<R>(runner: R) -> RedisLimiter<R> {
    let limit = RedisLimit::token_bucket(quota!(10 / 10 days)).unwrap();
    RedisLimiter::new(limit, KeySpace::new("app").unwrap(), runner)
}

fn limiter(server: &Server) -> RedisLimiter<Async> {
    ten(client(server))
}

fn fault(answer: Result<sluicegate::Grant, TryAcquireError>) -> StoreError {
    match answer {
        Err(TryAcquireError::Store(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Asks until the server answers again.
async fn first_answer(limiter: &RedisLimiter<Async>) -> sluicegate::Grant {
    for _ in 0..12_000 {
        if let Ok(grant) = limiter.try_acquire("ada", 1).await {
            return grant;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no answer after ten minutes");
}

#[tokio::test]
async fn after_a_crash_every_call_returns_and_a_new_server_begins_from_full() {
    let mut server = Server::start();
    let limiter = limiter(&server);
    assert_eq!(limiter.try_acquire("ada", 4).await.unwrap().remaining(), 6);
    server.kill();
    for _ in 0..5 {
        let error = fault(limiter.try_acquire("ada", 1).await);
        assert!(
            matches!(
                error,
                StoreError::Unreachable(_) | StoreError::Disconnected(_) | StoreError::TimedOut
            ),
            "{error:?}"
        );
    }
    server.restart();
    // Its memory was all it had.
    assert_eq!(first_answer(&limiter).await.remaining(), 9);
}

#[tokio::test]
async fn a_server_that_hangs_is_a_time_out_that_may_have_taken() {
    let server = Server::start();
    let limiter = limiter(&server);
    let hasty = ten(giving_up_after(server.client(), Duration::from_secs(1)));
    while hasty.peek("ada", 1).await.is_err() {}
    limiter.try_acquire("ada", 1).await.unwrap();
    let mut other = server.connection();
    redis::cmd("CLIENT").arg(&["PAUSE", "600000", "WRITE"]).exec(&mut other).unwrap();
    let error = fault(hasty.try_acquire("ada", 1).await);
    assert!(matches!(error, StoreError::TimedOut) && error.may_have_taken(), "{error:?}");
    redis::cmd("CLIENT").arg("UNPAUSE").exec(&mut other).unwrap();
    // It was late, and charged after the pause; or never run, since its connection was left.
    let left = limiter.try_acquire("ada", 1).await.unwrap().remaining();
    assert!([7, 8].contains(&left), "{left}");
}

#[tokio::test]
async fn a_server_that_refuses_to_write_says_why_and_takes_nothing() {
    let server = Server::start();
    let limiter = limiter(&server);
    assert_eq!(limiter.try_acquire("ada", 1).await.unwrap().remaining(), 9);
    let mut other = server.connection();
    let mut refused = async |setting: &[&str], undo: &[&str], code: &str| {
        redis::cmd(setting[0]).arg(&setting[1..]).exec(&mut other).unwrap();
        let error = fault(limiter.try_acquire("ada", 1).await);
        let StoreError::Server { code: found, .. } = &error else { panic!("{error:?}") };
        assert!(found == code && !error.may_have_taken(), "{error:?}");
        redis::cmd(undo[0]).arg(&undo[1..]).exec(&mut other).unwrap();
    };
    // A replica of nobody: it answers, but does not write.
    refused(&["REPLICAOF", "127.0.0.1", "1"], &["REPLICAOF", "NO", "ONE"], "READONLY").await;
    let memory = ["CONFIG", "SET", "maxmemory"];
    refused(&[&memory[..], &["1"]].concat(), &[&memory[..], &["0"]].concat(), "OOM").await;
    assert_eq!(limiter.try_acquire("ada", 1).await.unwrap().remaining(), 8);
}

#[tokio::test]
async fn a_key_of_another_program_is_an_error_that_says_so() {
    let server = Server::start();
    let limiter = limiter(&server);
    redis::cmd("LPUSH").arg("app:tb:{ada}").arg(1).exec(&mut server.connection()).unwrap();
    let error = fault(limiter.try_acquire("ada", 1).await);
    let StoreError::Server { message, .. } = &error else { panic!("{error:?}") };
    assert!(message.contains("WRONGTYPE") || error.to_string().contains("WRONGTYPE"), "{error}");
}

/// Such as one of another version, which kept its numbers as text.
#[tokio::test]
async fn a_state_of_another_program_is_an_error_that_says_so_and_is_left_alone() {
    let server = Server::start();
    let (mut connection, keys) = (server.connection(), KeySpace::new("app").unwrap());
    for limit in limits() {
        let name = keys.name(limit.kind(), "ada").unwrap();
        let limiter = RedisLimiter::new(limit.clone(), keys.clone(), client(&server));
        for state in [&b"1764156900000000 5 0"[..], b"", b"\xc1", b"\x01", b"\x91\x01", b"\xcf\x01"]
        {
            redis::cmd("SET").arg(&name).arg(state).exec(&mut connection).unwrap();
            let error = fault(limiter.try_acquire("ada", 1).await).to_string();
            let space = format!("a key {}{{...}} holds no state", name.split('{').next().unwrap());
            assert!(error.contains("WRONGTYPE") || error.contains(&space), "{limit:?}: {error}");
            let kept: Vec<u8> = redis::cmd("GET").arg(&name).query(&mut connection).unwrap();
            assert_eq!(kept, state, "{limit:?}");
        }
    }
}

/// Takes single permits until one is denied, or until there are too many of them.
async fn take_all(limiter: &RedisLimiter<impl RunScript>) -> u64 {
    for taken in 0..100 {
        match limiter.try_acquire("ada", 1).await {
            Ok(grant) => assert_eq!(grant.permits(), 1),
            Err(_) => return taken,
        }
    }
    100
}

#[tokio::test]
async fn while_the_server_is_away_each_machine_grants_its_share_and_no_more() {
    let mut server = Server::start();
    let share = share_of(quota!(10 / 10 days), 3).unwrap();
    let machine = |server: &Server| {
        let fallback = Fallback::Local(Arc::new(Keyed::<String>::new(share)));
        let guarded = Guarded::new(client(server))
            .with_pause(Duration::from_millis(100))
            .with_time_limit(Duration::from_secs(600));
        ten(guarded).with_fallback(fallback)
    };
    let machines = [machine(&server), machine(&server), machine(&server)];
    let mut taken = Vec::new();
    for machine in &machines {
        taken.push(take_all(machine).await);
    }
    assert_eq!(taken, [10, 0, 0]);
    server.kill();
    let mut taken = Vec::new();
    for machine in &machines {
        taken.push(take_all(machine).await);
    }
    // A third of the burst, rounded down, each.
    assert_eq!(taken, [3, 3, 3]);
    server.restart();
    // Its data were lost: once more the burst, for all together. The shares are still spent.
    let mut taken = 0;
    for _ in 0..12_000 {
        for machine in &machines {
            taken += take_all(machine).await;
        }
        if taken >= 10 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for machine in &machines {
        taken += take_all(machine).await;
    }
    assert_eq!(taken, 10);
}

#[tokio::test]
async fn a_closed_limiter_grants_nothing_and_an_open_one_everything() {
    let mut server = Server::start();
    let guarded = |server: &Server, fallback| {
        let guarded = Guarded::new(client(server)).with_pause(Duration::MAX);
        ten(guarded).with_fallback(fallback)
    };
    let closed = guarded(&server, Fallback::Closed);
    let open = guarded(&server, Fallback::Open);
    server.kill();
    fault(closed.try_acquire("ada", 1).await);
    assert!(matches!(fault(closed.try_acquire("ada", 1).await), StoreError::Skipped));
    let counts = closed.runner().counts();
    assert_eq!((counts.answered, counts.failed, counts.skipped), (0, 1, 1));
    assert_eq!(take_all(&open).await, 100);
    assert_eq!(open.try_acquire_up_to("ada", 99).await.unwrap().permits(), 10);
    assert!(open.try_acquire("ada", 11).await.unwrap_err().denied().is_some());
}

#[tokio::test]
async fn a_server_that_hangs_is_noticed_by_callers_that_wait_for_less_than_the_limit() {
    let server = Server::start();
    let guarded = |limit| Guarded::new(client(&server)).with_time_limit(limit);
    let hasty = guarded(Duration::from_millis(100)).with_pause(Duration::MAX);
    let patient = guarded(Duration::from_secs(36_000));
    let mut other = server.connection();
    redis::cmd("CLIENT").arg(&["PAUSE", "600000", "WRITE"]).exec(&mut other).unwrap();
    // Half of the first one's limit, and next to nothing of the second one's.
    for guarded in [&hasty, &patient] {
        let limiter = ten(guarded.clone());
        let asked = limiter.try_acquire("ada", 1);
        // On a busy machine, the limit itself may have come.
        let _ = tokio::time::timeout(Duration::from_millis(60), asked).await;
    }
    assert_eq!((hasty.state(), hasty.counts().failed), (BreakerState::Open, 1));
    assert_eq!((patient.state(), patient.counts().failed), (BreakerState::Closed, 0));
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_within_the_time_limit_and_then_left_alone() {
    let server = Server::start();
    let guarded = Guarded::new(client(&server))
        .with_pause(Duration::MAX)
        .with_time_limit(Duration::from_millis(20));
    let limiter = ten(guarded.clone()).with_fallback(Fallback::Open);
    let mut other = server.connection();
    redis::cmd("CLIENT").arg(&["PAUSE", "600000", "WRITE"]).exec(&mut other).unwrap();
    for _ in 0..1_000 {
        let decision = limiter.decide(Verb::Take, "ada", 1).await.unwrap();
        assert!(decision.answer().is_ok() && decision.failure().is_some());
    }
    let counts = guarded.counts();
    assert_eq!((counts.answered, counts.failed, counts.skipped), (0, 1, 999));
    assert_eq!((guarded.state(), counts.opened), (BreakerState::Open, 1));
}
