//! The decisions that are measured.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use sluicegate::{Refill, quota, rate};
use sluicegate_redis::{
    Async, KeySpace, RedisAll, RedisConcurrency, RedisLimit, RedisLimiter, TryAcquireAllError,
    TryAcquireError,
};

/// The rules of redis-cell, in Lua: the theoretical arrival time of the next cell, in microseconds, as a float.
const CELL: &str = "
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local arrival = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
local next_arrival = arrival + interval
local tolerance = interval * burst
local ahead = next_arrival - now
if ahead > tolerance then
  return { 1, burst, math.floor((tolerance - (arrival - now)) / interval), ahead - tolerance, arrival - now }
end
redis.call('SET', KEYS[1], string.format('%.0f', next_arrival), 'PX', math.ceil(ahead / 1000))
return { 0, burst, math.floor((tolerance - ahead) / interval), -1, ahead }
";

/// A way to decide.
pub(crate) enum Subject {
    /// One plain `INCR`.
    Incr(MultiplexedConnection),
    /// The rules of redis-cell, by the digest of the script.
    Cell(MultiplexedConnection, String),
    Limit(&'static str, RedisLimiter<Async>),
    All(RedisAll<Async>),
    /// Enters and leaves: two round trips.
    Concurrency(RedisConcurrency<Async>),
}

impl Subject {
    /// Returns all subjects, `INCR` first.
    pub(crate) async fn all(
        client: Async,
        connection: &MultiplexedConnection,
    ) -> Vec<Arc<Subject>> {
        let keys = |prefix: &str| KeySpace::new(prefix).unwrap();
        let limits = [
            ("token bucket", RedisLimit::token_bucket(quota!(1_000 / second))),
            (
                "interval bucket",
                RedisLimit::token_bucket(quota!(1_000 / second).with_refill(Refill::Interval)),
            ),
            ("GCRA", RedisLimit::gcra(Duration::from_millis(1), Duration::from_secs(1))),
            ("fixed window", RedisLimit::fixed_window(rate!(1_000 / second))),
            ("window from first", RedisLimit::window_from_first(rate!(1_000 / second))),
            ("sliding counter", RedisLimit::sliding_counter(rate!(1_000 / second))),
            ("sliding window, 10 slots", RedisLimit::sliding_window(rate!(1_000 / second), 10)),
            ("sliding log", RedisLimit::sliding_log(rate!(1_000 / second))),
        ];
        let mut load = redis::cmd("SCRIPT");
        let sha1 = load.arg("LOAD").arg(CELL).query_async(&mut connection.clone()).await.unwrap();
        let mut subjects =
            vec![Subject::Incr(connection.clone()), Subject::Cell(connection.clone(), sha1)];
        for (name, limit) in limits {
            let limiter = RedisLimiter::new(limit.unwrap(), keys("one"), client.clone());
            subjects.push(Subject::Limit(name, limiter));
        }
        let three = [
            RedisLimit::token_bucket(quota!(1_000 / second)).unwrap(),
            RedisLimit::fixed_window(rate!(100_000 / minute)).unwrap(),
            RedisLimit::sliding_counter(rate!(10_000_000 / day)).unwrap(),
        ];
        let pairs = three.into_iter().map(|limit| (limit, keys("all")));
        subjects.push(Subject::All(RedisAll::new(pairs, client.clone()).unwrap()));
        let hold = Duration::from_secs(30);
        let concurrency = RedisConcurrency::new(1_000, hold, keys("held"), client).unwrap();
        subjects.push(Subject::Concurrency(concurrency));
        subjects.into_iter().map(Arc::new).collect()
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Subject::Incr(_) => "`INCR`, decides nothing",
            Subject::Cell(..) => "the rules of redis-cell in Lua",
            Subject::Limit(name, _) => name,
            Subject::All(_) => "`RedisAll` of three limits",
            Subject::Concurrency(_) => "`RedisConcurrency`, enters and leaves",
        }
    }

    /// Asks for one permit of a key.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub(crate) async fn decide(&self, key: &str) {
        match self {
            Subject::Incr(connection) => {
                let mut command = redis::cmd("INCR");
                let count: u64 =
                    command.arg(key).query_async(&mut connection.clone()).await.unwrap();
                assert!(count > 0);
            }
            Subject::Cell(connection, sha1) => {
                let mut command = redis::cmd("EVALSHA");
                command.arg(sha1).arg(1).arg(format!("cell:{key}")).arg(1_000).arg(1_001);
                let answer: Vec<i64> = command.query_async(&mut connection.clone()).await.unwrap();
                assert_eq!(answer.len(), 5);
            }
            Subject::Limit(_, limiter) => match limiter.try_acquire(key, 1).await {
                Ok(_) | Err(TryAcquireError::Denied(_)) => {}
                Err(error) => panic!("{error}"),
            },
            Subject::All(all) => match all.try_acquire(key, 1).await {
                Ok(_) | Err(TryAcquireAllError::Denied { .. }) => {}
                Err(error) => panic!("{error}"),
            },
            Subject::Concurrency(concurrency) => {
                let held = concurrency.enter(key, 1).await.unwrap();
                assert!(held.leave().await.unwrap());
            }
        }
    }
}
