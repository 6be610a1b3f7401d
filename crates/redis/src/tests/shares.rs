//! Shares of tenants on a server.
//!
//! | module | checks |
//! |---|---|
//! | `changes` | other numbers, by callers that change together and one after the other; resets |
//! | `faults` | names, lost keys, and a server without memory |
//! | `random` | each answer against the engine's shares, and the bound against exact buckets |
//! | `stories` | the server's own clock, clocks that are set back, lost keys, rights, and wrong numbers |

mod changes;
mod faults;
mod random;
mod stories;

use redis::{Connection, Pipeline};
use sluicegate::share::{Share, ShareGrant};
use sluicegate::{Denied, Quota};

use crate::script::SHARES;
use crate::{KeySpace, RedisShares, TryAcquireError};

const START: u64 = 1_782_864_000_000_000;
const SECOND: u64 = 1_000_000;

/// Requests that are sent at once.
const BATCH: usize = 500;

type Answer = Result<ShareGrant, Denied>;

/// A request at a time in microseconds.
#[derive(Clone, Debug)]
struct Step {
    micros: u64,
    verb: &'static str,
    group: usize,
    tenant: String,
    permits: u64,
}

fn take(micros: u64, group: usize, tenant: &str, permits: u64) -> Step {
    Step { micros, verb: "take", group, tenant: tenant.to_owned(), permits }
}

fn shares(prefix: &str, quota: Quota, groups: &[Share]) -> RedisShares<()> {
    let keys = KeySpace::new(prefix).unwrap();
    RedisShares::new(quota, groups.iter().copied(), keys, ()).unwrap()
}

/// Returns the answers to steps, one after the other.
fn run(connection: &mut Connection, shares: &RedisShares<()>, steps: &[Step]) -> Vec<Answer> {
    redis::cmd("SCRIPT").arg("LOAD").arg(SHARES.source()).exec(connection).unwrap();
    let mut answers = Vec::with_capacity(steps.len());
    for steps in steps.chunks(BATCH) {
        let requests: Vec<_> = steps
            .iter()
            .map(|step| {
                let request = shares.request(step.verb, step.group, &step.tenant, step.permits);
                request.map(|request| request.at(step.micros))
            })
            .collect();
        let mut pipeline = Pipeline::with_capacity(requests.len());
        for request in requests.iter().flatten() {
            let keys = request.keys();
            let command = pipeline.cmd("EVALSHA").arg(SHARES.sha1()).arg(keys.len()).arg(keys);
            command.arg(&request.arguments());
        }
        // A pipeline of no requests is an error.
        let has_requests = requests.iter().any(Result::is_ok);
        let replies: Vec<Vec<i64>> =
            if has_requests { pipeline.query(connection).unwrap() } else { Vec::new() };
        let mut replies = replies.iter();
        for request in &requests {
            answers.push(match request {
                Ok(request) => request.answer(replies.next().unwrap()).unwrap(),
                Err(TryAcquireError::Denied(denied)) => Err(*denied),
                Err(error) => panic!("{error}"),
            });
        }
    }
    answers
}
