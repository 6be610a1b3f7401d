//! Several limits in one script, at random: all grant or none, none pays for the denial of another, and the denial is
//! that with the longest wait, which is the least that suffices for all.

use std::time::Duration;

use rand::Rng;
use rand::rngs::SmallRng;
use redis::Pipeline;
use sluicegate::{ConfigError, Grant, Quota, Rate, Refill, quota, rate};

use super::oracle::{Bucket, Intervals, Oracle, Rule, Windows};
use super::patient;
use super::scripts::{random, share_of};
use super::server::Server;
use crate::decision::Verb;
use crate::script::ALL;
use crate::{KeySpace, LimitError, RedisAll, RedisLimit, RedisLimiter, TryAcquireAllError};

const START: u64 = 1_782_864_000_000_000;
const STEPS: usize = 100_000;

type Limits = Vec<(RedisLimit, Box<dyn Oracle>)>;

fn smooth(quota: Quota) -> (RedisLimit, Box<dyn Oracle>) {
    (RedisLimit::token_bucket(quota).unwrap(), Box::new(Bucket::smooth(quota)))
}

fn interval(quota: Quota) -> (RedisLimit, Box<dyn Oracle>) {
    let quota = quota.with_refill(Refill::Interval);
    (RedisLimit::token_bucket(quota).unwrap(), Box::new(Intervals::new(quota)))
}

fn cells(interval: Duration, tolerance: Duration) -> (RedisLimit, Box<dyn Oracle>) {
    let oracle = Box::new(Bucket::cells(interval, tolerance));
    (RedisLimit::gcra(interval, tolerance).unwrap(), oracle)
}

fn window(
    make: impl Fn(Rate) -> Result<RedisLimit, LimitError>,
    rate: Rate,
    rule: Rule,
) -> (RedisLimit, Box<dyn Oracle>) {
    (make(rate).unwrap(), Box::new(Windows::new(rate, rule)))
}

/// Sets of limits whose rates are near each other, so that each of them denies at times.
fn cases() -> [Limits; 3] {
    let second = Duration::from_secs(1);
    let slots = |rate| RedisLimit::sliding_window(rate, 10);
    [
        vec![
            smooth(quota!(10 / second, burst 12)),
            window(RedisLimit::fixed_window, rate!(80 / 10 seconds), Rule::Aligned),
            window(RedisLimit::sliding_log, rate!(45 / 5 seconds), Rule::Log),
        ],
        vec![
            cells(second / 10, second),
            interval(quota!(9 / second, burst 12)),
            window(RedisLimit::sliding_counter, rate!(30 / 3 seconds), Rule::Weighted),
            window(slots, rate!(20 / 2 seconds), Rule::Slots { slot: 200_000_000 }),
            window(RedisLimit::window_from_first, rate!(25 / 2 seconds), Rule::FromFirst),
        ],
        vec![smooth(quota!(1 / second, burst 30)), smooth(quota!(1 / 900 ms, burst 10))],
    ]
}

/// One request to all limits.
struct Step {
    micros: u64,
    verb: Verb,
    permits: Vec<u64>,
}

fn steps(count: usize, limits: usize, random: &mut SmallRng) -> Vec<Step> {
    let mut micros = START;
    (0..count)
        .map(|_| {
            micros += [0, 1, random.random_range(0..300_000), random.random_range(0..1_500_000)]
                [random.random_range(0..4)];
            let verb = [Verb::Take, Verb::Take, Verb::UpTo, Verb::Peek][random.random_range(0..4)];
            let permits = random.random_range(1..=8);
            // An amount of its own for each limit, which may be nothing.
            let is_each = verb == Verb::Take && random.random_range(0..2) == 0;
            let amount = |_| if is_each { random.random_range(0..=8) } else { permits };
            Step { micros, verb, permits: (0..limits).map(amount).collect() }
        })
        .collect()
}

fn check(limits: &mut Limits, step: &Step, answer: Result<Vec<Grant>, TryAcquireAllError>) -> bool {
    let now = i128::from(step.micros) * 1_000;
    let needed = |which: usize| match step.verb {
        Verb::UpTo => step.permits[which].min(1),
        _ => step.permits[which],
    };
    let has = |limits: &Limits, which: usize, at: i128| {
        needed(which) == 0 || limits[which].1.room(at) >= i128::from(needed(which))
    };
    let denying: Vec<_> = (0..limits.len()).filter(|&which| !has(limits, which, now)).collect();
    match answer {
        Ok(grants) => {
            assert!(denying.is_empty(), "granted, although limits {denying:?} have too little");
            let least = (0..limits.len())
                .map(|which| limits[which].1.room(now).min(i128::from(step.permits[which])))
                .min();
            for (which, grant) in grants.iter().enumerate() {
                let expected = match step.verb {
                    Verb::UpTo => least.unwrap() as u64,
                    _ => step.permits[which],
                };
                assert_eq!(grant.permits(), expected);
                let oracle = &mut limits[which].1;
                let before = oracle.room(now);
                if step.verb != Verb::Peek && expected > 0 {
                    oracle.take(now, expected);
                    assert_eq!(i128::from(grant.remaining()), oracle.room(now));
                } else {
                    assert_eq!(i128::from(grant.remaining()), before - i128::from(expected));
                }
            }
            true
        }
        Err(TryAcquireAllError::Denied { which, denied }) => {
            assert!(denying.contains(&which), "limit {which} has denied, and not {denying:?}");
            let retry = now + denied.retry_after().unwrap().as_nanos() as i128;
            assert!(denying.iter().all(|&which| has(limits, which, retry)), "waits too short");
            assert!(!has(limits, which, retry - 1), "waits too long");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn several_limits_grant_together_or_not_at_all() {
    let server = Server::start();
    let mut connection = server.connection();
    redis::cmd("SCRIPT").arg("LOAD").arg(ALL.source()).exec(&mut connection).unwrap();
    let mut random = random();
    let cases = cases();
    let count = share_of(STEPS).div_ceil(cases.len());
    for (index, mut limits) in cases.into_iter().enumerate() {
        let keyed = limits.iter().enumerate().map(|(number, (limit, _))| {
            (limit.clone(), KeySpace::new(&format!("case{index}:{number}")).unwrap())
        });
        let all = RedisAll::new(keyed, ()).unwrap();
        let (mut granted, mut denied) = (0, 0);
        for steps in steps(count, limits.len(), &mut random).chunks(500) {
            let requests: Vec<_> = steps
                .iter()
                .map(|step| {
                    let request = all.request(step.verb, "ada", |which| step.permits[which]);
                    request.unwrap().at(step.micros)
                })
                .collect();
            let mut pipeline = Pipeline::with_capacity(requests.len());
            for request in &requests {
                let keys = request.keys();
                let command = pipeline.cmd("EVALSHA").arg(ALL.sha1()).arg(keys.len()).arg(keys);
                command.arg(request.arguments());
            }
            let replies: Vec<Vec<i64>> = pipeline.query(&mut connection).unwrap();
            for ((step, request), reply) in steps.iter().zip(&requests).zip(&replies) {
                let has_granted = check(&mut limits, step, request.answer(reply));
                granted += usize::from(has_granted);
                denied += usize::from(!has_granted);
            }
        }
        assert!(granted > count / 10 && denied > count / 10, "{granted} and {denied}");
    }
}

#[tokio::test]
async fn several_limits_are_those_of_single_limiters_with_the_same_keys() {
    let server = Server::start();
    let client = patient(server.client());
    let limits = [
        RedisLimit::token_bucket(quota!(10 / 10 days)).unwrap(),
        RedisLimit::fixed_window(rate!(100 / 36525 days)).unwrap(),
    ];
    let keys = || KeySpace::new("app").unwrap();
    let pairs = limits.clone().map(|limit| (limit, keys()));
    let all = RedisAll::new(pairs, client.clone()).unwrap();
    let [users, tokens] = limits.map(|limit| RedisLimiter::new(limit, keys(), client.clone()));

    let grants = all.try_acquire_each("ada", &[1, 60]).await.unwrap();
    assert_eq!(grants.iter().map(Grant::remaining).collect::<Vec<_>>(), [9, 40]);
    let error = all.try_acquire_each("ada", &[1, 41]).await.unwrap_err();
    assert!(matches!(error, TryAcquireAllError::Denied { which: 1, .. }), "{error}");
    assert_eq!(users.peek("ada", 0).await.unwrap().remaining(), 9, "paid nothing for it");
    users.try_acquire("ada", 9).await.unwrap();
    let error = all.try_acquire_each("ada", &[1, 0]).await.unwrap_err();
    assert!(matches!(error, TryAcquireAllError::Denied { which: 0, .. }), "{error}");
    assert_eq!(all.try_acquire_each("ada", &[0, 40]).await.unwrap()[1].remaining(), 0);
    // Of two that are too large, the lower limit.
    let error = all.try_acquire("ada", 1_000).await.unwrap_err();
    assert!(matches!(error, TryAcquireAllError::Denied { which: 0, .. }), "{error}");
    let error = all.try_acquire_each("ada", &[1]).await.unwrap_err();
    assert_eq!(error.to_string(), "1 amounts for 2 limits: must be one for each");

    all.reset("ada").await.unwrap();
    assert_eq!(all.try_acquire_up_to("ada", 1_000).await.unwrap().permits(), 10);
    assert_eq!(tokens.peek("ada", 0).await.unwrap().remaining(), 90);
    assert_eq!(all.peek("ada", 0).await.unwrap().len(), 2);
}

#[test]
fn no_limits_and_limits_that_share_keys_are_errors() {
    let limit =
        |permits| RedisLimit::fixed_window(Rate::new(permits, Duration::from_secs(1)).unwrap());
    let keys = |prefix| KeySpace::new(prefix).unwrap();
    let error = RedisAll::new([], ()).unwrap_err();
    assert_eq!(error, LimitError::Config(ConfigError::Count { count: 0 }));
    let pairs = [("a", 1), ("b", 2), ("a", 3)];
    let pairs = pairs.map(|(prefix, permits)| (limit(permits).unwrap(), keys(prefix)));
    let error = RedisAll::new(pairs, ()).unwrap_err();
    let text = "limits 0 and 2 have the same keys: give each another prefix";
    assert_eq!(error.to_string(), text);
}
