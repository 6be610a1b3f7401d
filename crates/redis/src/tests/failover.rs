//! A primary with a replica, by sentinels.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{AsyncConnectionConfig, ConnectionAddr};
use sluicegate::quota;
use tempfile::TempDir;

use super::patient;
use super::server::{Server, free_port, wait_until};
use crate::{
    Guarded, KeySpace, RedisLimit, RedisLimiter, RunScript, Sentinels, StoreError, TryAcquireError,
    Verb,
};

/// The longest that a test waits: machines are busy.
const LONG: Duration = Duration::from_secs(600);

/// A sentinel. Ends when it is dropped.
pub(super) struct Sentinel {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Sentinel {
    /// Starts a sentinel that watches `primary` and its replica, and decides alone that it is down when it has not answered for so long.
    pub(super) fn start(primary: &Server, down_after_millis: u32) -> Sentinel {
        let (folder, port) = (TempDir::new().unwrap(), free_port());
        let config = folder.path().join("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor app 127.0.0.1 {} 1\n\
             sentinel down-after-milliseconds app {down_after_millis}\nsentinel failover-timeout app 3000\n",
            primary.port()
        );
        fs::write(&config, text).unwrap();
        let child = Command::new("redis-sentinel")
            .arg(&config)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start redis-sentinel: {error}; run ci/setup.sh base")
            });
        let sentinel = Sentinel { child, port, _folder: folder };
        wait_until("the sentinel knows the replica", || {
            let replicas: Option<Vec<redis::Value>> = sentinel.ask(&["REPLICAS", "app"]);
            replicas.is_some_and(|replicas| replicas.len() == 1)
        });
        sentinel
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Sends a command of words; `None` while it does not answer.
    pub(super) fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> Option<T> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/", self.port)).unwrap();
        redis::cmd("SENTINEL").arg(words).query(&mut client.get_connection().ok()?).ok()
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a primary, and a replica that has the same data.
pub(super) fn pair() -> [Server; 2] {
    let primary = Server::start();
    let options = [
        "--replicaof",
        "127.0.0.1",
        &primary.port().to_string(),
        "--repl-diskless-sync-delay",
        "0",
    ];
    let replica = Server::with_options(&options);
    wait_until("the replica follows", || {
        format!("{:?}", replica.tell("INFO replication")).contains("master_link_status:up")
    });
    [primary, replica]
}

/// Waits until a replica has what the primary has written.
///
/// It has none any more if a sentinel has taken a slow machine for a primary that is down.
fn wait_for_replica(primary: &Server) {
    // It waits for the writes of its own connection, and for what came before them.
    let mut connection = primary.connection();
    redis::cmd("SET").arg(&["written", "last"]).exec(&mut connection).unwrap();
    let replicas: u64 = redis::cmd("WAIT").arg(&[1, 30_000]).query(&mut connection).unwrap();
    assert_eq!(replicas, 1, "the replica follows no more");
}

fn hundred<R>(runner: R) -> RedisLimiter<R> {
    let limit = RedisLimit::token_bucket(quota!(100 / 36525 days)).unwrap();
    RedisLimiter::new(limit, KeySpace::new("app").unwrap(), runner)
}

async fn take_all(limiter: &RedisLimiter<impl RunScript>) -> u64 {
    let mut taken = 0;
    while let Ok(grant) = limiter.try_acquire_up_to("ada", 7).await {
        taken += grant.permits();
        assert!(taken <= 100, "more than the limit");
    }
    taken
}

/// Starts a sentinel for a primary and its replica, and returns a limiter that asks it.
fn by_sentinel(
    primary: &Server,
    time_limit: Duration,
) -> (Sentinel, RedisLimiter<Guarded<Sentinels>>) {
    let sentinel = Sentinel::start(primary, 300);
    let address = ConnectionAddr::Tcp("127.0.0.1".to_owned(), sentinel.port);
    let client = move || {
        SentinelClientBuilder::new([address.clone()], "app", SentinelServerType::Master)?.build()
    };
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(Duration::from_millis(500)))
        .set_response_timeout(Some(LONG));
    let runner = Sentinels::by(client, config);
    let guarded = Guarded::new(runner).with_pause(Duration::from_millis(50));
    (sentinel, hundred(guarded.with_time_limit(time_limit)))
}

/// Looks until there is an answer, and says how long that took. Takes nothing, as a request may have that is given up.
async fn first_answer(limiter: &RedisLimiter<impl RunScript>) {
    let (begin, mut failed) = (Instant::now(), 0);
    loop {
        match limiter.peek("ada", 1).await {
            Ok(_) => {
                eprintln!(
                    "a new primary answered after {:?}, and {failed} failures",
                    begin.elapsed()
                );
                return;
            }
            Err(TryAcquireError::Store(_)) => failed += 1,
            Err(error) => panic!("{error}"),
        }
        assert!(begin.elapsed() < LONG, "no new primary after ten minutes");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns a limiter by the same connection which no machine is too busy for.
fn patiently<R: Clone>(limiter: &RedisLimiter<Guarded<R>>) -> RedisLimiter<Guarded<R>> {
    hundred(limiter.runner().clone().with_time_limit(LONG))
}

/// A server that hangs does not end its connections: nobody says that it is the primary no more.
#[tokio::test]
async fn a_primary_that_hangs_is_left_for_the_new_one() {
    let [primary, _replica] = pair();
    let (_sentinel, limiter) = by_sentinel(&primary, Duration::from_millis(300));
    first_answer(&limiter).await;
    assert_eq!(patiently(&limiter).try_acquire("ada", 1).await.unwrap().remaining(), 99);
    wait_for_replica(&primary);
    primary.stop();
    // Is given up, and charged to nobody: the old primary will be a replica without it.
    limiter.try_acquire("ada", 1).await.unwrap_err();
    first_answer(&limiter).await;
    assert_eq!(patiently(&limiter).try_acquire("ada", 1).await.unwrap().remaining(), 98);
}

/// Permits that the replica has not heard of are granted once more, and no others: here nothing of what it has, and
/// all that the primary has granted since it was cut off.
#[tokio::test]
async fn a_failover_grants_once_more_what_the_new_primary_has_not_heard_of() {
    let [mut primary, _replica] = pair();
    let (_sentinel, limiter) = by_sentinel(&primary, Duration::from_secs(2));
    first_answer(&limiter).await;
    let patient = patiently(&limiter);
    assert_eq!(patient.try_acquire("ada", 30).await.unwrap().remaining(), 70);
    wait_for_replica(&primary);
    // The replica does not hear of the next grant, as if it were slow.
    let request = limiter.keyed().request("ada", Verb::Take, 50).unwrap();
    let source = format!("redis.set_repl(redis.REPL_NONE)\n{}", request.script().source());
    let mut command = redis::cmd("EVAL");
    command.arg(source).arg(1).arg(request.name()).arg(request.arguments());
    let reply: Vec<i64> = command.query(&mut primary.connection()).unwrap();
    assert_eq!(request.answer(&reply).unwrap().unwrap().remaining(), 20);
    primary.kill();
    first_answer(&limiter).await;
    let grant = patient.try_acquire("ada", 1).await.unwrap();
    assert_eq!(grant.remaining(), 69, "the 50 that it has not heard of are there again");
    assert_eq!(take_all(&patient).await, 69);
}

#[tokio::test]
async fn a_replica_refuses_and_takes_nothing() {
    let [primary, replica] = pair();
    let [at_primary, at_replica] = [&primary, &replica].map(Server::client);
    let at_primary = hundred(patient(at_primary));
    let at_replica = hundred(patient(at_replica));
    at_primary.try_acquire("ada", 30).await.unwrap();
    wait_for_replica(&primary);
    let error = at_replica.try_acquire("ada", 1).await.unwrap_err();
    let TryAcquireError::Store(error @ StoreError::Server { .. }) = error else {
        panic!("{error}")
    };
    assert!(error.to_string().contains("READONLY") && !error.may_have_taken(), "{error}");
    assert_eq!(take_all(&at_primary).await, 70);
}
