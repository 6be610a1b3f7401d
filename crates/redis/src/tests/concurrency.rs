//! Permits in flight: at random against a list of holders, on the clock of a test; and on the server's own.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::Rng;
use redis::Pipeline;

use super::patient;
use super::scripts::{random, share_of};
use super::server::Server;
use crate::script::CONCURRENCY;
use crate::{KeySpace, LimitError, RedisConcurrency, RenewError, TryAcquireError};

const START: u64 = 1_782_864_000_000_000;
const STEPS: usize = 100_000;
const HOLD: u64 = 1_000_000;

/// The holders of a key: their permits, and the time until which they hold them.
#[derive(Default)]
struct Model {
    holders: BTreeMap<u64, (u64, u64)>,
}

impl Model {
    fn used(&self, now: u64) -> u64 {
        self.holders.values().filter(|(_, until)| *until > now).map(|(permits, _)| permits).sum()
    }

    fn is_held(&self, holder: u64, now: u64) -> bool {
        self.holders.get(&holder).is_some_and(|&(_, until)| until > now)
    }

    /// Returns the permits that the answer must have, and takes the step.
    fn step(&mut self, step: Step, limit: u64) -> Option<u64> {
        let Step { now, verb, holder, permits } = step;
        let is_held = self.is_held(holder, now);
        match verb {
            "enter" if is_held || self.used(now) + permits <= limit => {}
            "renew" if is_held => {}
            "leave" => {
                self.holders.remove(&holder);
                return Some(if is_held { permits } else { 0 });
            }
            _ => return None,
        }
        self.holders.insert(holder, (permits, now + HOLD));
        Some(permits)
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    now: u64,
    verb: &'static str,
    holder: u64,
    permits: u64,
}

#[test]
fn permits_in_flight_are_those_of_the_holders_whose_time_is_not_over() {
    let server = Server::start();
    let mut connection = server.connection();
    redis::cmd("SCRIPT").arg("LOAD").arg(CONCURRENCY.source()).exec(&mut connection).unwrap();
    let mut random = random();
    for limit in [1, 5, 100] {
        let keys = KeySpace::new(&format!("limit{limit}")).unwrap();
        let hold = Duration::from_micros(HOLD);
        let concurrency = RedisConcurrency::new(limit, hold, keys, ()).unwrap();
        let (mut now, mut model) = (START, Model::default());
        let (mut granted, mut denied, mut expired) = (0, 0, 0);
        let steps = share_of(STEPS) / 3;
        for _ in 0..steps / 500 {
            let steps: Vec<_> = (0..500)
                .map(|_| {
                    let step = HOLD / limit.min(20);
                    now += [0, 0, 1, random.random_range(0..step)][random.random_range(0..4)];
                    let holder = random.random_range(0..2 * limit + 2);
                    // Each holder has always the same number.
                    let permits = 1 + holder % limit.min(4);
                    let verb = ["enter", "enter", "renew", "leave"][random.random_range(0..4)];
                    Step { now, verb, holder, permits }
                })
                .collect();
            let calls: Vec<_> = steps
                .iter()
                .map(|step| {
                    let (holder, time) = (step.holder.to_string(), step.now.to_string());
                    concurrency.call("key".to_owned(), step.verb, step.permits, &holder, &time)
                })
                .collect();
            let mut pipeline = Pipeline::with_capacity(calls.len());
            for call in &calls {
                let command = pipeline.cmd("EVALSHA").arg(CONCURRENCY.sha1());
                command.arg(1).arg(format!("key{limit}")).arg(&call.arguments());
            }
            let replies: Vec<Vec<i64>> = pipeline.query(&mut connection).unwrap();
            for ((step, call), reply) in steps.iter().zip(&calls).zip(&replies) {
                let shown = || format!("limit {limit}: {step:?}: {reply:?}");
                let was_held = model.is_held(step.holder, step.now);
                let expected = model.step(*step, limit);
                let used = model.used(step.now);
                assert!(used <= limit);
                assert_eq!(reply[2], used as i64, "{}", shown());
                match call.answer(limit, reply).unwrap() {
                    Ok(permits) => {
                        assert_eq!(Some(permits), expected, "{}", shown());
                        granted += 1;
                        expired += usize::from(step.verb == "leave" && !was_held);
                    }
                    Err(error) => {
                        assert_eq!(None, expected, "{}", shown());
                        denied += 1;
                        if step.verb == "enter" {
                            let wait = error.retry_after().unwrap().as_micros() as u64;
                            let room = |at| model.used(at) + step.permits <= limit;
                            assert!(
                                room(step.now + wait) && !room(step.now + wait - 1),
                                "{}",
                                shown()
                            );
                        }
                    }
                }
            }
        }
        assert!(granted > steps / 7 && denied > steps / 7, "{granted} {denied}");
        assert!(expired > steps / 70, "{expired}");
    }
}

#[test]
fn after_the_clock_was_set_back_permits_are_held_for_their_time_from_then_on() {
    let server = Server::start();
    let mut connection = server.connection();
    let concurrency =
        RedisConcurrency::new(3, Duration::from_micros(HOLD), KeySpace::new("app").unwrap(), ())
            .unwrap();
    let mut ask = |verb, holder: &str, now: u64| -> Vec<i64> {
        let call = concurrency.call("key".to_owned(), verb, 1, holder, &now.to_string());
        let mut command = redis::cmd("EVAL");
        command.arg(CONCURRENCY.source()).arg(1).arg("key").arg(&call.arguments());
        command.query(&mut connection).unwrap()
    };
    assert_eq!(ask("enter", "a", START)[..3], [1, START as i64, 1]);
    assert_eq!(ask("enter", "b", START + HOLD / 2)[2], 2);
    let back = START - 3_600_000_000;
    assert_eq!(ask("enter", "c", back)[2], 3);
    assert_eq!(ask("enter", "d", back)[0], -1);
    // The distance between them stays.
    assert_eq!(ask("enter", "d", back + HOLD / 2 - 1)[0], -1);
    assert_eq!(ask("renew", "a", back + HOLD / 2)[0], -1);
    assert_eq!(ask("enter", "d", back + HOLD / 2)[..3], [1, (back + HOLD / 2) as i64, 3]);
    assert_eq!(ask("leave", "b", back + HOLD / 2)[..3], [1, (back + HOLD / 2) as i64, 2]);
}

#[tokio::test]
async fn a_place_is_free_when_its_holder_leaves_or_has_crashed_and_not_while_it_renews() {
    let server = Server::start();
    let client = patient(server.client());
    let of = |hold| {
        let keys = KeySpace::new("app").unwrap();
        RedisConcurrency::new(2, Duration::from_millis(hold), keys, client.clone()).unwrap()
    };
    let long = of(600_000);
    let first = long.enter("ada", 1).await.unwrap();
    let second = long.enter("ada", 1).await.unwrap();
    let Err(TryAcquireError::Denied(denied)) = long.enter("ada", 1).await else { panic!() };
    assert!(denied.retry_after().unwrap() <= long.hold());
    assert_eq!((denied.limit(), denied.remaining()), (Some(2), Some(0)));
    assert!(long.enter("ada", 3).await.unwrap_err().denied().unwrap().retry_after().is_none());
    assert_eq!(long.enter("ada", 0).await.unwrap().permits(), 0);
    assert_eq!(long.enter("eve", 2).await.unwrap().permits(), 2);
    assert!(first.leave().await.unwrap());
    assert_eq!(long.in_flight("ada").await.unwrap(), 1);
    drop(second);
    assert_eq!(long.in_flight("ada").await.unwrap(), 1, "held until its time is over");
    long.reset("ada").await.unwrap();
    assert_eq!(long.in_flight("ada").await.unwrap(), 0);

    // Short enough to end during the test, and renewed in a tenth of it.
    let short = of(2_000);
    let mut alive = short.enter("ada", 1).await.unwrap();
    let crashed = short.enter("ada", 1).await.unwrap();
    let mut tries = 0;
    let later = loop {
        alive.renew().await.unwrap();
        match short.enter("ada", 1).await {
            Ok(held) => break held,
            Err(error) => assert!(error.denied().is_some(), "{error}"),
        }
        tries += 1;
        assert!(tries < 1_500, "its place has not come back in half a minute");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(tries > 0);
    assert!(!crashed.leave().await.unwrap(), "its time was over");
    assert!(later.leave().await.unwrap() && alive.leave().await.unwrap());

    let mut gone = long.enter("ada", 2).await.unwrap();
    redis::cmd("FLUSHALL").exec(&mut server.connection()).unwrap();
    // Once more the limit, and no more, while the first holder is still at work.
    assert_eq!(long.enter("ada", 2).await.unwrap().permits(), 2);
    assert!(long.enter("ada", 1).await.unwrap_err().denied().is_some());
    assert!(matches!(gone.renew().await, Err(RenewError::Expired)));
}

#[test]
fn limits_and_times_out_of_range_are_errors_that_name_the_range() {
    let keys = || KeySpace::new("app").unwrap();
    let error = RedisConcurrency::new(0, Duration::from_secs(1), keys(), ()).unwrap_err();
    assert_eq!(error.to_string(), "limit of concurrency is 0: must be from 1 to 4294967296");
    for hold in [Duration::ZERO, Duration::from_nanos(1_000_001), Duration::MAX] {
        let error = RedisConcurrency::new(1, hold, keys(), ()).unwrap_err();
        assert!(matches!(error, LimitError::Hold { .. }), "{error}");
    }
}
