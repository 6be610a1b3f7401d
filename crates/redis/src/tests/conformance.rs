//! The test vectors of other limiters, by the engine and by the scripts: both give the same answers, which are those of the
//! vectors. `tests/conformance.rs` of the engine tells about the vectors.
//!
//! All times are multiplied by 1,000, so that they are whole microseconds. Where a vector's wait is no longer the one of the
//! file, because that was rounded, the engine's is the only one that counts.

mod subject;

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::wait::AcquireError;
use sluicegate::{Denied, Grant, ManualClock};

use self::subject::{Engine, Subject, number, subject};
use super::server::Server;
use crate::request::{KeyedLimit, Request};
use crate::script::ALL;
use crate::{RedisAll, TryAcquireAllError, TryAcquireError, Verb};

const FILES: [(&str, &str, Tally); 6] = [
    ("throttled", include_str!("../../../../tests/vectors/throttled.json"), Tally::of(2, 1, 121)),
    ("redis_cell", include_str!("../../../../tests/vectors/redis_cell.json"), Tally::of(8, 3, 95)),
    ("bucket4j", include_str!("../../../../tests/vectors/bucket4j.json"), Tally::of(78, 65, 177)),
    ("symfony", include_str!("../../../../tests/vectors/symfony.json"), Tally::of(20, 5, 137)),
    (
        "resilience4j",
        include_str!("../../../../tests/vectors/resilience4j.json"),
        Tally::of(7, 9, 28),
    ),
    (
        "peer_defects",
        include_str!("../../../../tests/vectors/peer_defects.json"),
        Tally::of(5, 4, 38),
    ),
];

const SCALE: u64 = 1_000;

/// The cases of a file that were run and that were left out, and the facts that were compared with the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    run: usize,
    left_out: usize,
    facts: usize,
}

impl Tally {
    const fn of(run: usize, left_out: usize, facts: usize) -> Tally {
        Tally { run, left_out, facts }
    }
}

/// The call of a step; nothing if the scripts have no such verb.
#[derive(Clone, Copy)]
enum Call {
    Ask(Verb),
    /// The engine's `force`, up to the burst, is a reservation that may wait for ever.
    Reserve,
    Reset,
}

fn call(step: &Value) -> Option<Call> {
    Some(match step["do"].as_str()? {
        "take" => Call::Ask(Verb::Take),
        "take_up_to" => Call::Ask(Verb::UpTo),
        "peek" | "look" => Call::Ask(Verb::Peek),
        "force" => Call::Reserve,
        "reset" => Call::Reset,
        _ => return None,
    })
}

fn permits(step: &Value) -> u64 {
    if step["do"] == "look" { 0 } else { number(step, "n").unwrap_or(u64::MAX) }
}

/// Results of a call, by the names of the vectors.
type Facts = Vec<(&'static str, Value)>;

/// Returns the results of an answer: a grant of so many permits that may be used after a wait, or a denial with the wait
/// that it tells, if it does.
fn facts(answer: Result<(u64, Duration), Option<Duration>>, look: Grant) -> Facts {
    let nanos = |wait: Duration| json!(wait.as_nanos() as u64);
    let mut facts = vec![
        ("limit", json!(look.limit())),
        ("remaining", json!(look.balance())),
        ("reset_after_nanos", nanos(look.reset_after())),
        ("allowed", json!(answer.is_ok())),
        ("granted", json!(answer.map_or(0, |(permits, _)| permits))),
    ];
    match answer {
        Ok((_, ready_after)) => facts.push(("ready_after_nanos", nanos(ready_after))),
        Err(retry_after) => {
            facts.push(("retry_after_nanos", retry_after.map_or(json!("never"), nanos)));
        }
    }
    facts
}

impl Subject<'_> {
    /// Returns whether the scripts can do all steps of a case.
    fn can_run(&self, case: &Value) -> bool {
        let steps = case["steps"].as_array().unwrap();
        let times: Vec<_> = steps.iter().map(|step| number(step, "at_nanos").unwrap()).collect();
        // The scripts' clock ends in 2112.
        if times.iter().any(|time| time.checked_mul(SCALE).is_none_or(|time| time > 1 << 62)) {
            return false;
        }
        // Then states count from that time on.
        let goes_forward = times.is_sorted_by(|&earlier, &later| {
            earlier.saturating_sub(later).saturating_mul(SCALE) <= 1_000_000_000
        });
        // The intervals of a key begin with its first request, and those of the engine's when it is made.
        let is_of_intervals = case["limiter"].to_string().contains("\"interval\"");
        let begins = number(case, "start_nanos").unwrap_or(0);
        let has_begun = self.gone.iter().all(|&gone| gone > 0) || times[0] == begins;
        goes_forward
            && (has_begun || !is_of_intervals)
            && steps.iter().all(|step| match call(step) {
                Some(Call::Reserve) => {
                    let limit = self.limits[0].limit.limit();
                    matches!(self.engine, Engine::Reserves(_)) && permits(step) <= limit
                }
                call => call.is_some(),
            })
    }

    fn by_engine(&self, call: Call, permits: u64) -> Facts {
        let limiter = self.engine.limiter();
        let answer = match (call, &self.engine) {
            (Call::Ask(Verb::Take), _) => limiter.try_acquire(permits),
            (Call::Ask(Verb::UpTo), _) => limiter.try_acquire_up_to(permits),
            (Call::Reserve, Engine::Reserves(limiter)) => {
                let answer = match limiter.reserve(permits) {
                    Ok(reservation) => Ok((permits, reservation.ready_after())),
                    Err(AcquireError::LineFull { retry_after }) => Err(Some(retry_after)),
                    Err(error) => panic!("{error}"),
                };
                return facts(answer, limiter.peek(0).unwrap());
            }
            (Call::Reset, _) => {
                limiter.reset();
                limiter.peek(0)
            }
            _ => limiter.peek(permits),
        };
        let answer = answer.map(|grant| (grant.permits(), Duration::ZERO));
        facts(answer.map_err(|denied| denied.retry_after()), limiter.peek(0).unwrap())
    }

    fn by_scripts(&self, server: &mut Scripts, call: Call, permits: u64) -> Facts {
        let answer = match call {
            Call::Ask(verb) => {
                let answer = server.ask(&self.limits, verb, permits);
                let answer = answer.map(|grant| (grant.permits(), Duration::ZERO));
                answer.map_err(|denied| denied.retry_after())
            }
            Call::Reserve => {
                let request = self.limits[0].reserve("key", permits, Duration::MAX).unwrap();
                let (request, reply) = server.send(request);
                match request.answer(&reply).unwrap() {
                    Ok(_) => Ok((permits, request.ready_after(&reply).unwrap())),
                    Err(denied) => Err(denied.retry_after()),
                }
            }
            Call::Reset => {
                redis::cmd("FLUSHALL").exec(&mut server.connection).unwrap();
                Ok((0, Duration::ZERO))
            }
        };
        facts(answer, server.ask(&self.limits, Verb::Peek, 0).unwrap())
    }
}

/// The server, at a time.
struct Scripts {
    connection: redis::Connection,
    micros: u64,
}

impl Scripts {
    fn send<'r>(&mut self, request: Request<'r>) -> (Request<'r>, Vec<i64>) {
        let request = request.at(self.micros);
        let mut command = redis::cmd("EVAL");
        command.arg(request.script().source()).arg(1).arg(request.name()).arg(request.arguments());
        let reply = command.query(&mut self.connection).unwrap();
        (request, reply)
    }

    fn ask(&mut self, limits: &[KeyedLimit], verb: Verb, permits: u64) -> Result<Grant, Denied> {
        if let [limit] = limits {
            return match limit.request("key", verb, permits) {
                Ok(request) => {
                    let (request, reply) = self.send(request);
                    request.answer(&reply).unwrap()
                }
                Err(TryAcquireError::Denied(denied)) => Err(denied),
                Err(error) => panic!("{error}"),
            };
        }
        let pairs = limits.iter().map(|keyed| (keyed.limit.clone(), keyed.keys.clone()));
        let all = RedisAll::new(pairs, ()).unwrap();
        let grants = all.request(verb, "key", |_| permits).and_then(|request| {
            let request = request.at(self.micros);
            let keys = request.keys();
            let mut command = redis::cmd("EVAL");
            command.arg(ALL.source()).arg(keys.len()).arg(keys).arg(request.arguments());
            request.answer(&command.query::<Vec<i64>>(&mut self.connection).unwrap())
        });
        match grants {
            Ok(grants) => Ok(grants.into_iter().min_by_key(Grant::remaining).unwrap()),
            Err(TryAcquireAllError::Denied { denied, .. }) => Err(denied),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Runs the steps of a case. Returns the number of facts that were compared with those of the file.
fn run(
    case: &Value,
    subject: &Subject<'_>,
    clock: &ManualClock,
    server: &mut Scripts,
    wrong: &mut Vec<String>,
) -> usize {
    redis::cmd("FLUSHALL").exec(&mut server.connection).unwrap();
    server.micros = number(case, "start_nanos").unwrap_or(0).saturating_mul(SCALE) / 1_000;
    for (limit, &gone) in subject.limits.iter().zip(&subject.gone) {
        server.ask(std::slice::from_ref(limit), Verb::Take, gone).unwrap();
    }
    let mut compared = 0;
    for (index, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let at_nanos = number(step, "at_nanos").unwrap() * SCALE;
        clock.set_nanos(at_nanos);
        server.micros = at_nanos / 1_000;
        let (call, permits) = (call(step).unwrap(), permits(step));
        for _ in 0..number(step, "times").unwrap_or(1) {
            let shown = format!("{}, step {index}: {step}", case["name"]);
            let by_engine = subject.by_engine(call, permits);
            let by_scripts = subject.by_scripts(server, call, permits);
            if by_engine != by_scripts {
                wrong.push(format!("{shown}: {by_engine:?}, by the scripts {by_scripts:?}"));
            }
            for (name, expected) in step["expect"].as_object().into_iter().flatten() {
                let Some((_, found)) = by_scripts.iter().find(|(fact, _)| fact == name) else {
                    continue;
                };
                let is_so = match (found.as_u64(), expected.as_u64()) {
                    // The file's is rounded up to a nanosecond.
                    (Some(found), Some(expected)) if name.ends_with("_nanos") => {
                        found.div_ceil(SCALE) == expected
                    }
                    _ => found == expected,
                };
                if !is_so {
                    wrong.push(format!("{shown}: {name} must be {expected}: {by_scripts:?}"));
                }
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn the_scripts_answer_to_the_vectors_of_others_as_the_engine_does() {
    let server = Server::start();
    let mut scripts = Scripts { connection: server.connection(), micros: 0 };
    let mut wrong = Vec::new();
    let tallies = FILES.map(|(name, text, _)| {
        let file: Value = serde_json::from_str(text).unwrap();
        let mut tally = Tally::default();
        for case in file["cases"].as_array().unwrap() {
            let clock =
                ManualClock::at(number(case, "start_nanos").unwrap_or(0).saturating_mul(SCALE));
            match subject(case, &clock) {
                Some(subject) if subject.can_run(case) => {
                    tally.run += 1;
                    tally.facts += run(case, &subject, &clock, &mut scripts, &mut wrong);
                }
                _ => tally.left_out += 1,
            }
        }
        (name, tally)
    });
    assert!(wrong.is_empty(), "{} answers of {tallies:?}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(tallies, FILES.map(|(name, _, expected)| (name, expected)));
}
