//! Grants that are given back in part, at random, in any order, and however late.
//!
//! Many keys take steps side by side, so that a batch holds one step of each: what is given back depends on earlier
//! answers. No span of time may keep more than the limit allows: that is summed up over all pairs of grants. And a
//! model that forgets nothing must know of as many permits as the script, at each step for a window. For a bucket they
//! may differ by a few, either way: where the script forgot permits, it has taken younger ones since.

use rand::Rng;
use rand::rngs::SmallRng;
use redis::Pipeline;
use sluicegate::{Denied, Grant, Rate, quota, rate};

use super::oracle::{Model, Rule, UnitsOfBucket, Windows};
use super::scripts::{random, share_of};
use super::server::Server;
use crate::decision::Verb;
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::request::{KeyedLimit, Request};

const START: u64 = 1_782_864_000_000_000;

/// Keys side by side, and steps of each: 10^5 steps for the limits of a test.
const KEYS: usize = 200;
const STEPS: usize = 100;

/// One key, as the test knows it.
struct Key<M> {
    name: String,
    model: M,
    micros: u64,
    grants: Vec<Given>,
}

/// A grant: its time, the permits that it keeps, and how it is given back.
struct Given {
    micros: u64,
    kept: u64,
    charged: Option<Vec<i64>>,
}

/// The next step of a key.
enum Next {
    Take(Verb, u64),
    /// Gives back permits of the grant of that index.
    GiveBack(usize, u64),
}

impl<M: Model> Key<M> {
    fn next(&mut self, scale: u64, limit: u64, random: &mut SmallRng) -> Next {
        self.micros += match random.random_range(0..10) {
            0..4 => 0,
            4..8 => random.random_range(0..=scale),
            8 => 2 * scale,
            _ => random.random_range(0..=scale * limit),
        };
        let unsettled: Vec<_> = (0..self.grants.len())
            .filter(|&index| self.grants[index].charged.is_some() && self.grants[index].kept > 0)
            .collect();
        if random.random_range(0..5) < 2 && !unsettled.is_empty() {
            // Mostly one of the latest.
            let late = random.random_range(0..unsettled.len().min(8));
            let index = unsettled[unsettled.len() - 1 - late];
            return Next::GiveBack(index, random.random_range(1..=self.grants[index].kept));
        }
        let verb = [Verb::Take, Verb::Take, Verb::UpTo][random.random_range(0..3)];
        Next::Take(verb, random.random_range(1..=limit))
    }
}

/// Returns the answers to `requests`, sent at once.
pub(super) fn send(connection: &mut redis::Connection, requests: &[Request<'_>]) -> Vec<Vec<i64>> {
    let mut pipeline = Pipeline::with_capacity(requests.len());
    for request in requests {
        let command = pipeline.cmd("EVALSHA").arg(request.script().sha1()).arg(1);
        command.arg(request.name()).arg(request.arguments());
    }
    pipeline.query(connection).unwrap()
}

fn granted(request: &Request<'_>, reply: &[i64]) -> Result<Grant, Denied> {
    request.answer(reply).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the steps, and checks answers and bound. Returns how many permits the model knew that the script did not, and
/// how many it knew, summed up over all steps.
fn check<M: Model>(
    limit: &RedisLimit,
    is_exact: bool,
    scale: u64,
    bound: impl Fn(u64) -> u64,
    make: impl Fn() -> M,
) -> (i128, i128) {
    let server = Server::start();
    let mut connection = server.connection();
    let script = limit.script();
    redis::cmd("SCRIPT").arg("LOAD").arg(script.source()).exec(&mut connection).unwrap();
    let mut random = random();
    let keyed = KeyedLimit { limit: limit.clone(), keys: KeySpace::new("test").unwrap() };
    let mut keys: Vec<_> = (0..share_of(KEYS))
        .map(|index| Key {
            name: keyed.name(&index.to_string()).unwrap(),
            model: make(),
            micros: START + random.random_range(0..1_000_000),
            grants: Vec::new(),
        })
        .collect();
    let (mut unknown, mut known, mut given_back) = (0, 0, 0);
    for _ in 0..STEPS {
        let steps: Vec<_> =
            keys.iter_mut().map(|key| key.next(scale, limit.limit(), &mut random)).collect();
        let requests: Vec<_> = keys
            .iter()
            .zip(&steps)
            .enumerate()
            .map(|(index, (key, step))| {
                let request = match step {
                    Next::Take(verb, permits) => {
                        keyed.request(&index.to_string(), *verb, *permits).unwrap()
                    }
                    Next::GiveBack(grant, permits) => {
                        let charged = key.grants[*grant].charged.as_ref().unwrap();
                        keyed.give_back(&key.name, *permits, charged)
                    }
                };
                request.at(key.micros)
            })
            .collect();
        let replies = send(&mut connection, &requests);
        for (((key, step), request), reply) in
            keys.iter_mut().zip(&steps).zip(&requests).zip(&replies)
        {
            let now = i128::from(key.micros) * 1_000;
            match *step {
                Next::Take(..) => {
                    let left = match granted(request, reply) {
                        Ok(grant) => {
                            key.model.take(now, grant.permits());
                            let (kept, micros) = (grant.permits(), key.micros);
                            let charged = request.charged(reply);
                            key.grants.push(Given { micros, kept, charged });
                            grant.remaining()
                        }
                        Err(denied) => denied.remaining().unwrap(),
                    };
                    let room = key.model.room(now);
                    assert!(!is_exact || i128::from(left) == room, "{limit:?}: {left} of {room}");
                    (unknown, known) = (unknown + room - i128::from(left), known + room);
                }
                Next::GiveBack(grant, permits) => {
                    let given = request.moved(reply).unwrap();
                    let most = key.model.give_back(now, grant, permits);
                    assert!(!is_exact || given == most, "{limit:?}: {given} of {most} come back");
                    given_back += given;
                    key.grants[grant].kept -= given;
                    key.grants[grant].charged = None;
                }
            }
        }
    }
    assert!(given_back > 10 * keys.len() as u64, "{limit:?}: {given_back}");
    for key in keys {
        for (index, first) in key.grants.iter().enumerate() {
            let mut kept = 0;
            for last in &key.grants[index..] {
                kept += last.kept;
                let span = last.micros - first.micros;
                assert!(kept <= bound(span), "{limit:?}: {kept} kept in {span} us");
            }
        }
    }
    (unknown, known)
}

#[test]
fn a_bucket_keeps_its_bound_and_forgets_little_of_what_is_given_back() {
    let quotas = [quota!(10 / second), quota!(3 / 7 ms, burst 40), quota!(1 / hour, burst 5)];
    for quota in quotas {
        let (permits, micros) = (quota.rate().permits(), quota.rate().period().as_micros() as u64);
        let limit = RedisLimit::token_bucket(quota).unwrap();
        let bound = |span: u64| quota.burst() + span * permits / micros;
        let (unknown, known) = check(&limit, false, micros / permits, bound, || {
            UnitsOfBucket::new(quota, i128::from(START) * 1_000)
        });
        // A token dies as soon as a part of it does, and a grant that takes from several lots is as old as the
        // oldest makes it: a third at most, for buckets that are nearly always empty.
        assert!(unknown * 3 < known, "{quota:?}: {unknown} of {known}");
    }
}

fn windows(limit: &RedisLimit, rate: Rate, rule: Rule, bound: impl Fn(u64) -> u64) {
    let scale = rate.period().as_micros() as u64 / rate.permits();
    check(limit, true, scale, bound, || Windows::new(rate, rule));
}

#[test]
fn windows_keep_their_bounds_and_forget_nothing_that_still_counts() {
    let rate = rate!(20 / second);
    // Two windows, and one more that a span cuts.
    let of_two = |span: u64| (span / 1_000_000 + 2) * 20;
    windows(&RedisLimit::fixed_window(rate).unwrap(), rate, Rule::Aligned, of_two);
    windows(&RedisLimit::window_from_first(rate).unwrap(), rate, Rule::FromFirst, of_two);
    windows(&RedisLimit::sliding_counter(rate).unwrap(), rate, Rule::Weighted, of_two);
    let slots = Rule::Slots { slot: 100_000_000 };
    let of_any = |span: u64| (span / 1_000_000 + 1) * 20;
    windows(&RedisLimit::sliding_window(rate, 10).unwrap(), rate, slots, of_any);
}
