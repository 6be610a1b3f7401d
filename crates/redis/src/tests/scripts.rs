//! Steps of the random tests, sent to a server in batches.

use std::time::{SystemTime, UNIX_EPOCH};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use redis::Pipeline;
use sluicegate::{Denied, Grant};

use crate::decision::Verb;
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::request::KeyedLimit;

/// Requests that are sent at once.
const BATCH: usize = 1_000;

/// A request at a time in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) micros: u64,
    pub(super) verb: Verb,
    pub(super) permits: u64,
}

pub(super) type Answer = Result<Grant, Denied>;

/// Returns a quarter of so many steps, or all of them if `FULL_TESTS` is set.
pub(super) fn share_of(steps: usize) -> usize {
    if std::env::var_os("FULL_TESTS").is_some() { steps } else { steps.div_ceil(4) }
}

/// Returns a source of random numbers, others each day. A test that fails shows its seed.
pub(super) fn random() -> SmallRng {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86_400;
    println!("seed {seed}");
    SmallRng::seed_from_u64(seed)
}

/// Returns the answers of the script of `limit` to `steps`, one after the other, for the key `key`.
pub(super) fn run(
    connection: &mut redis::Connection,
    limit: &RedisLimit,
    key: &str,
    steps: &[Step],
) -> Vec<Answer> {
    let keyed = KeyedLimit { limit: limit.clone(), keys: KeySpace::new("test").unwrap() };
    let script = limit.script();
    let sha1: String =
        redis::cmd("SCRIPT").arg("LOAD").arg(script.source()).query(connection).unwrap();
    assert_eq!(sha1, script.sha1());
    let mut answers = Vec::with_capacity(steps.len());
    for steps in steps.chunks(BATCH) {
        let mut pipeline = Pipeline::with_capacity(steps.len());
        let requests: Vec<_> = steps
            .iter()
            .map(|step| keyed.request(key, step.verb, step.permits).unwrap().at(step.micros))
            .collect();
        for request in &requests {
            let command = pipeline.cmd("EVALSHA").arg(&sha1).arg(1).arg(request.name());
            command.arg(request.arguments());
        }
        let replies: Vec<Vec<i64>> = pipeline.query(connection).unwrap();
        for (request, reply) in requests.iter().zip(replies) {
            let answer = request.answer(&reply);
            answers.push(answer.unwrap_or_else(|error| panic!("{limit:?}: {error}")));
        }
    }
    answers
}
