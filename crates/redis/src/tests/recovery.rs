//! Connections that no longer serve, although new ones would: silent ones, and those to a server that refuses.
//!
//! Each test says how long it took until there were answers again, counted from the moment at which a new connection would
//! work.

use std::thread;
use std::time::{Duration, Instant};

use redis::AsyncConnectionConfig;
use redis::cluster::ClusterClient;
use sluicegate::quota;

use super::patient;
use super::proxy::Proxy;
use super::server::{Server, wait_until};
use crate::run_script::Run;
use crate::script::RESET;
use crate::{
    Async, BreakerState, Cluster, Connections, Guarded, KeySpace, Pool, RedisLimit, RedisLimiter,
    RunScript, StoreError, TryAcquireError,
};

/// The longest that a test waits: machines are busy.
const LONG: Duration = Duration::from_secs(60);

fn limiter<R>(runner: R) -> RedisLimiter<R> {
    let limit = RedisLimit::token_bucket(quota!(1_000 / 36525 days)).unwrap();
    RedisLimiter::new(limit, KeySpace::new("app").unwrap(), runner)
}

/// A guarded client, with the pause and the time limit by default.
pub(super) fn guarded(client: redis::Client) -> RedisLimiter<Guarded<Async>> {
    limiter(Guarded::new(Async::new(client)))
}

/// Asks until there is an answer, and says how long that took.
pub(super) async fn answers(what: &str, limiter: &RedisLimiter<impl RunScript>, key: &str) {
    let (begin, mut failures) = (Instant::now(), 0);
    while let Err(error) = limiter.try_acquire(key, 1).await {
        let TryAcquireError::Store(error) = error else { panic!("{what}: {error}") };
        failures += 1;
        assert!(begin.elapsed() < LONG, "{what}: no answer after a minute, {error:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    eprintln!("{what}: answered after {:?} and {failures} failures", begin.elapsed());
}

/// Asks until the server refuses by an error of that code.
pub(super) async fn refused(limiter: &RedisLimiter<impl RunScript>, code: &str) {
    let begin = Instant::now();
    loop {
        match limiter.try_acquire("ada", 1).await {
            Err(TryAcquireError::Store(StoreError::Server { code: found, .. }))
                if found == code =>
            {
                return;
            }
            answer => assert!(begin.elapsed() < LONG, "no {code} after a minute: {answer:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Ends the connections of clients as a server does that they have left idle, and waits until that is done.
fn end_connections(server: &Server) {
    server.tell("CLIENT KILL TYPE normal SKIPME yes");
}

#[tokio::test]
async fn a_connection_that_has_ended_is_replaced_before_anything_has_failed() {
    let mut server = Server::start();
    let make = || {
        let guarded = Guarded::new(patient(server.client())).with_time_limit(LONG);
        guarded.with_pause(Duration::from_millis(1))
    };
    let (closed, half_open) = (make(), make());
    let limiters = [&closed, &half_open].map(|guarded| limiter(guarded.clone()));
    answers("first", &limiters[0], "ada").await;
    for _ in 0..5 {
        end_connections(&server);
        limiters[0].try_acquire("ada", 1).await.unwrap();
    }
    assert_eq!((closed.counts().failed, closed.counts().opened), (0, 0));
    // After an outage, while the server is asked by few requests.
    server.kill();
    limiters[1].try_acquire("ada", 1).await.unwrap_err();
    server.restart();
    answers("after an outage", &limiters[1], "ada").await;
    let before = half_open.counts();
    for _ in 0..5 {
        end_connections(&server);
        limiters[1].try_acquire("ada", 1).await.unwrap();
    }
    assert_eq!(half_open.state(), BreakerState::HalfOpen);
    assert_eq!(half_open.counts().opened, before.opened);
    assert_eq!(half_open.counts().failed, before.failed);
}

/// All nodes have ended the connections by the time of the next request, also those to which it may be sent instead.
#[tokio::test]
async fn ended_connections_of_a_cluster_are_replaced_before_anything_has_failed() {
    let nodes = super::cluster::Nodes::start();
    let builder = ClusterClient::builder(nodes.0.each_ref().map(Server::url));
    let builder = builder.connection_timeout(LONG).response_timeout(LONG);
    let guarded = Guarded::new(Cluster::new(builder).unwrap()).with_time_limit(LONG);
    let limiter = limiter(guarded.clone().with_pause(Duration::from_millis(1)));
    answers("first", &limiter, "ada").await;
    let before = limiter.runner().counts();
    // The same key, and others.
    for key in ["ada", "ada", "eve", "bob", "joe", "ida", "ada"] {
        nodes.0.iter().for_each(end_connections);
        limiter.try_acquire(key, 1).await.unwrap();
    }
    // Many, of which some come while others have found that the nodes have ended.
    let limiter = std::sync::Arc::new(limiter);
    for _ in 0..3 {
        nodes.0.iter().for_each(end_connections);
        let mut asked = tokio::task::JoinSet::new();
        for key in 0..30 {
            let limiter = std::sync::Arc::clone(&limiter);
            asked.spawn(async move {
                tokio::time::sleep(Duration::from_millis(key)).await;
                limiter.try_acquire(&format!("key{key}"), 1).await
            });
        }
        while let Some(answer) = asked.join_next().await {
            answer.unwrap().unwrap();
        }
    }
    let counts = limiter.runner().counts();
    assert_eq!((counts.failed, counts.opened), (before.failed, before.opened));
}

#[tokio::test]
async fn lost_requests_and_answers_are_asked_again_and_grant_no_more() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let guarded = Guarded::new(patient(proxy.client()));
    let guarded = guarded.with_time_limit(LONG).with_pause(Duration::ZERO);
    let asking = limiter(guarded.clone());
    answers("first", &asking, "ada").await;
    for lose in [Proxy::lose_requests, Proxy::lose_answers] {
        // Each request, or its answer, and the first answer of each connection count.
        lose(&proxy, 7);
        for _ in 0..50 {
            asking.try_acquire("ada", 1).await.unwrap();
        }
        lose(&proxy, 0);
    }
    assert_eq!(guarded.counts().failed, 0);
    let left = limiter(patient(server.client())).peek("ada", 0).await.unwrap().remaining();
    assert!(left < 1_000 - 101, "{left} are left: each lost answer is charged too");
}

#[test]
fn a_give_back_that_runs_twice_is_not_sent_twice() {
    let run = |verb: &'static [u8], keys: &'static [&'static str]| {
        let arguments = [&b""[..], verb];
        Run { script: &RESET, keys, arguments: &arguments }.may_come_twice()
    };
    assert!(run(b"take", &["a"]) && run(b"give_back", &["a", "marker"]));
    assert!(!run(b"give_back", &["a"]));
}

#[tokio::test]
async fn a_connection_that_is_silent_is_replaced() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let limiter = guarded(proxy.client());
    answers("first", &limiter, "ada").await;
    proxy.silence();
    answers("a silent connection, with a breaker", &limiter, "ada").await;
    let alone = limiter_of_a_second(&proxy);
    answers("first", &alone, "ada").await;
    proxy.silence();
    answers("a silent connection, without", &alone, "ada").await;
}

fn limiter_of_a_second(proxy: &Proxy) -> RedisLimiter<Async> {
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(1)));
    limiter(Async::with_config(proxy.client(), config))
}

/// A slow server answers, if late: its connection stays.
#[tokio::test]
async fn a_connection_on_which_others_are_answered_meanwhile_stays() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let limiter = limiter_of_a_second(&proxy);
    answers("first", &limiter, "ada").await;
    for _ in 0..20 {
        let given_up = limiter.try_acquire("ada", 1);
        let mut given_up = Box::pin(given_up);
        // It is sent, and not answered yet.
        let sent = tokio::time::timeout(Duration::ZERO, &mut given_up).await;
        answers("meanwhile", &limiter, "eve").await;
        drop((given_up, sent));
    }
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn an_address_that_leads_to_another_server_is_followed() {
    let (old, new) = (Server::start(), Server::start());
    let proxy = Proxy::start(&old).await;
    let limiter = guarded(proxy.client());
    answers("first", &limiter, "ada").await;
    // A failover behind the address: the old primary is a replica by now, and keeps its connections.
    old.tell(&format!("REPLICAOF 127.0.0.1 {}", new.port()));
    refused(&limiter, "READONLY").await;
    proxy.lead_to(&new);
    answers("READONLY, behind an address that moves", &limiter, "ada").await;
}

#[tokio::test]
async fn a_replica_without_its_primary_is_left() {
    let (mut primary, server) = (Server::start(), Server::start());
    let proxy = Proxy::start(&server).await;
    let limiter = guarded(proxy.client());
    answers("first", &limiter, "ada").await;
    server.tell("CONFIG SET replica-serve-stale-data no");
    server.tell(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    primary.kill();
    refused(&limiter, "MASTERDOWN").await;
    server.tell("REPLICAOF NO ONE");
    answers("MASTERDOWN, of a replica that becomes the primary", &limiter, "ada").await;
    server.tell(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    refused(&limiter, "MASTERDOWN").await;
    primary.restart();
    proxy.lead_to(&primary);
    answers("MASTERDOWN, behind an address that moves", &limiter, "ada").await;
}

#[tokio::test]
async fn a_password_that_was_refused_is_tried_again() {
    let server = Server::start();
    server.tell("CONFIG SET requirepass old");
    let url = format!("redis://:new@127.0.0.1:{}/", server.port());
    let limiter = guarded(redis::Client::open(url).unwrap());
    let refused = limiter.try_acquire("ada", 1).await.unwrap_err();
    assert!(matches!(refused, TryAcquireError::Store(_)), "{refused:?}");
    let with_old = redis::Client::open(format!("redis://:old@127.0.0.1:{}/", server.port()));
    let mut with_old = with_old.unwrap().get_connection().unwrap();
    redis::cmd("CONFIG").arg(&["SET", "requirepass", "new"]).exec(&mut with_old).unwrap();
    answers("a password that is right by now", &limiter, "ada").await;
}

#[tokio::test]
async fn a_server_that_hangs_answers_when_it_goes_on() {
    let server = Server::start();
    let limiter = guarded(server.client());
    answers("first", &limiter, "ada").await;
    server.stop();
    for _ in 0..3 {
        limiter.try_acquire("ada", 1).await.unwrap_err();
        tokio::time::sleep(Guarded::<Async>::PAUSE).await;
    }
    server.go_on();
    answers("a server that was stopped", &limiter, "ada").await;
}

#[tokio::test]
async fn a_node_of_a_cluster_that_hangs_is_left_for_its_replica() {
    let nodes = super::cluster::Nodes::start();
    let (replica, follows) = nodes.replica_of(1);
    let key_of = |node| {
        let keys = (0..1_000).map(|key| format!("key{key}"));
        keys.into_iter().find(|key| nodes.place(&format!("{{{key}}}")).0 == node).unwrap()
    };
    let [here, there] = [0, 1].map(key_of);
    let urls = nodes.0.each_ref().map(Server::url);
    let builder = ClusterClient::builder(urls).connection_timeout(Duration::from_secs(1));
    let limiter = limiter(Guarded::new(Cluster::new(builder).unwrap()).with_pause(Duration::ZERO));
    for key in [&here, &there] {
        answers("first", &limiter, key).await;
    }
    nodes.0[1].stop();
    limiter.try_acquire(&there, 1).await.unwrap_err();
    // The others are asked by the connections that there are.
    answers("the other nodes", &limiter, &here).await;
    let begin = Instant::now();
    wait_until("the replica takes over", || {
        format!("{:?}", replica.tell("ROLE")).contains("master")
    });
    eprintln!("the replica {follows} took over after {:?}", begin.elapsed());
    answers("a node that was stopped, by its replica", &limiter, &there).await;
    nodes.0[1].go_on();
    answers("the node is a replica", &limiter, &there).await;
}

#[tokio::test]
async fn a_node_of_a_cluster_that_goes_on_is_asked_again() {
    let mut nodes = super::cluster::Nodes::start();
    for node in &nodes.0 {
        node.tell("CONFIG SET cluster-require-full-coverage no");
    }
    let urls = nodes.0.each_ref().map(Server::url);
    let limiter = limiter(Guarded::new(Cluster::new(ClusterClient::builder(urls)).unwrap()));
    answers("first", &limiter, "ada").await;
    let (node, _) = nodes.place("{ada}");
    nodes.0[node].stop();
    limiter.try_acquire("ada", 1).await.unwrap_err();
    nodes.0[node].go_on();
    answers("a node that was stopped", &limiter, "ada").await;
    nodes.0[node].kill();
    limiter.try_acquire("ada", 1).await.unwrap_err();
    nodes.0[node].restart();
    answers("a node that was started again", &limiter, "ada").await;
}

/// Asks until there is an answer, and says how long that took.
fn answers_on_thread(what: &str, limiter: &RedisLimiter<Pool>) {
    let (begin, mut failures) = (Instant::now(), 0);
    while let Err(error) = limiter.try_acquire_blocking("ada", 1) {
        failures += 1;
        assert!(begin.elapsed() < LONG, "{what}: no answer after a minute, {error:?}");
        thread::sleep(Duration::from_millis(5));
    }
    eprintln!("{what}: answered after {:?} and {failures} failures", begin.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_leaves_connections_that_are_silent_or_lead_to_a_replica() {
    let (old, new) = (Server::start(), Server::start());
    let proxy = Proxy::start(&old).await;
    let connections = Connections::new(proxy.client(), Duration::from_millis(250));
    let blocking = || {
        let pool = r2d2::Pool::builder().max_size(4).connection_timeout(Duration::from_secs(5));
        let limiter = limiter(Pool::new(pool.build(connections).unwrap()));
        answers_on_thread("first", &limiter);
        proxy.silence();
        answers_on_thread("four silent connections of a pool", &limiter);
        old.tell(&format!("REPLICAOF 127.0.0.1 {}", new.port()));
        wait_until("the replica refuses", || {
            matches!(
                limiter.try_acquire_blocking("ada", 1),
                Err(TryAcquireError::Store(StoreError::Server { code, .. })) if code == "READONLY"
            )
        });
        proxy.lead_to(&new);
        answers_on_thread("READONLY, of a pool", &limiter);
    };
    tokio::task::block_in_place(blocking);
}
