//! Reservations, cancellations and permits used beyond an estimate, at random, against exact fractions and the engine.
//!
//! Many keys take steps side by side, so that a batch holds one step of each: what is cancelled depends on earlier
//! answers. The reference answers for every instant, so waits are checked by it: a reservation is out of debt after its
//! wait and not a nanosecond earlier, and after the wait of a denial it would have been made, and not a nanosecond
//! earlier.

use std::time::Duration;

use rand::Rng;
use rand::rngs::SmallRng;
use sluicegate::wait::{Reservation, Reserve};
use sluicegate::{Gcra, Limiter, ManualClock, Quota, Refill, TokenBucket, quota};

use super::give_back::send;
use super::oracle::{Bucket, Intervals, Oracle};
use super::scripts::{random, share_of};
use super::server::Server;
use crate::decision::Verb;
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::request::{KeyedLimit, Request};

const START: u64 = 1_782_864_000_000_000;

/// Keys side by side, and steps of each: 10^5 steps for each test.
const KEYS: usize = 250;
const STEPS: usize = 400;

/// A limiter of the engine that goes into debt.
trait Owes: Reserve + Limiter + Sync {
    fn force(&self, permits: u64) -> bool;
}

impl Owes for TokenBucket<&'static ManualClock> {
    fn force(&self, permits: u64) -> bool {
        TokenBucket::force(self, permits).is_ok()
    }
}

impl Owes for Gcra<&'static ManualClock> {
    fn force(&self, permits: u64) -> bool {
        Gcra::force(self, permits).is_ok()
    }
}

/// One key, as the test knows it.
struct Key<M> {
    name: String,
    model: M,
    micros: u64,
    clock: &'static ManualClock,
    engine: Option<&'static dyn Owes>,
    /// The last grant, if nothing has happened since, and what there was before.
    last: Option<Last<M>>,
}

struct Last<M> {
    charged: Vec<i64>,
    before: M,
    reservation: Option<Reservation<'static>>,
    permits: u64,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    Take(u64),
    Reserve(u64, Duration),
    Charge(u64),
    Cancel(u64),
}

/// A limit, and what the test compares it with.
struct Case<M> {
    limit: RedisLimit,
    max_debt: u64,
    model: M,
    engine: Option<fn(&'static ManualClock) -> &'static dyn Owes>,
    /// The time of a permit.
    scale: u64,
}

impl<M: Oracle + Clone> Case<M> {
    fn next(&self, key: &mut Key<M>, random: &mut SmallRng) -> Next {
        let limit = self.limit.limit();
        if let Some(last) = &key.last
            && random.random_range(0..3) == 0
        {
            return Next::Cancel(last.permits);
        }
        key.micros += match random.random_range(0..10) {
            0..3 => 0,
            3..8 => random.random_range(0..=self.scale),
            8 => 2 * self.scale,
            _ => random.random_range(0..=self.scale * 2 * limit),
        };
        let permits = match random.random_range(0..3) {
            0 => 1,
            _ => random.random_range(1..=limit),
        };
        match random.random_range(0..10) {
            0..3 => Next::Take(permits),
            3 => Next::Charge(random.random_range(1..=2 * limit)),
            4 => Next::Reserve(permits, Duration::from_secs(86_400 * 36_525)),
            _ => {
                let micros = random.random_range(0..=self.scale * 2 * limit);
                Next::Reserve(permits, Duration::from_micros(micros))
            }
        }
    }

    /// Checks the answer to a step, and takes it.
    fn check(&self, key: &mut Key<M>, step: Next, request: &Request<'_>, reply: &[i64]) -> bool {
        let now = i128::from(key.micros) * 1_000;
        key.clock.set_nanos(key.micros * 1_000);
        let shown = || format!("{:?}: {step:?}: {reply:?}", self.limit);
        let last = key.last.take();
        match step {
            Next::Cancel(permits) => {
                let Last { before, reservation, .. } = last.unwrap();
                assert_eq!(request.moved(reply).unwrap(), permits, "{}", shown());
                key.model = before;
                if let Some(reservation) = reservation {
                    assert!(reservation.cancel());
                }
                true
            }
            Next::Charge(permits) => {
                let most = key.model.room(now) + i128::from(self.max_debt);
                let expected = permits.min(most.max(0) as u64);
                assert_eq!(request.moved(reply).unwrap(), expected, "{}", shown());
                key.model.take(now, expected);
                assert!(key.engine.is_none_or(|engine| engine.force(expected)), "{}", shown());
                true
            }
            Next::Take(permits) => self.check_reserved(key, permits, 0, request, reply, &shown),
            Next::Reserve(permits, longest) => {
                let longest = longest.as_nanos() as i128;
                self.check_reserved(key, permits, longest, request, reply, &shown)
            }
        }
    }

    fn check_reserved(
        &self,
        key: &mut Key<M>,
        permits: u64,
        longest: i128,
        request: &Request<'_>,
        reply: &[i64],
        shown: &dyn Fn() -> String,
    ) -> bool {
        let now = i128::from(key.micros) * 1_000;
        let wanted = i128::from(permits);
        let can = |at: i128| {
            let room = key.model.room(at);
            room >= wanted
                || room >= wanted - i128::from(self.max_debt)
                    && key.model.room(at + longest) >= wanted
        };
        let is_granted = match request.answer(reply).unwrap() {
            Ok(grant) => {
                assert!(can(now) && grant.permits() == permits, "{}", shown());
                true
            }
            Err(denied) => {
                assert!(!can(now), "{}", shown());
                let retry = now + denied.retry_after().unwrap().as_nanos() as i128;
                assert!(can(retry) && !can(retry - 1), "{}: {denied:?}", shown());
                false
            }
        };
        let reserved = key
            .engine
            .map(|engine| engine.reserve_within(permits, Duration::from_nanos(longest as u64)));
        if !is_granted {
            assert!(reserved.is_none_or(|reserved| reserved.is_err()), "{}", shown());
            return false;
        }
        // Intervals that begin with a reservation stay, whatever becomes of it.
        key.model.begin(now);
        let before = key.model.clone();
        key.model.take(now, permits);
        let wait = request.ready_after(reply).unwrap();
        let ready = now + wait.as_nanos() as i128;
        assert!(key.model.room(ready) >= 0, "{}: {wait:?} is too short", shown());
        assert!(ready == now || key.model.room(ready - 1) < 0, "{}: {wait:?} is too long", shown());
        let reservation = reserved
            .map(|reserved| reserved.unwrap_or_else(|error| panic!("{}: {error}", shown())));
        if let Some(reservation) = &reservation {
            assert_eq!(reservation.ready_after(), wait, "{}", shown());
        }
        let charged = request.charged(reply).unwrap();
        key.last = Some(Last { charged, before, reservation, permits });
        true
    }

    fn run(self, server: &Server, index: usize, steps: usize) {
        let mut connection = server.connection();
        let source = self.limit.script().source();
        redis::cmd("SCRIPT").arg("LOAD").arg(source).exec(&mut connection).unwrap();
        let mut random = random();
        let space = KeySpace::new(&format!("case{index}")).unwrap();
        let keyed = KeyedLimit { limit: self.limit.clone(), keys: space };
        let mut keys: Vec<_> = (0..share_of(KEYS))
            .map(|key| {
                let micros = START + random.random_range(0..1_000_000);
                let clock: &'static ManualClock =
                    Box::leak(Box::new(ManualClock::at(micros * 1_000)));
                let name = keyed.name(&key.to_string()).unwrap();
                let engine = self.engine.map(|make| make(clock));
                Key { name, model: self.model.clone(), micros, clock, engine, last: None }
            })
            .collect();
        let mut granted = 0;
        for _ in 0..steps {
            let steps: Vec<_> = keys.iter_mut().map(|key| self.next(key, &mut random)).collect();
            let requests: Vec<_> = keys
                .iter()
                .zip(&steps)
                .enumerate()
                .map(|(index, (key, step))| {
                    let text = index.to_string();
                    let request = match *step {
                        Next::Take(permits) => keyed.request(&text, Verb::Take, permits).unwrap(),
                        Next::Reserve(permits, longest) => {
                            keyed.reserve(&text, permits, longest).unwrap()
                        }
                        Next::Charge(permits) => keyed.charge(&key.name, permits),
                        Next::Cancel(permits) => {
                            let charged = &key.last.as_ref().unwrap().charged;
                            keyed.give_back(&key.name, permits, charged)
                        }
                    };
                    request.at(key.micros)
                })
                .collect();
            let replies = send(&mut connection, &requests);
            for (((key, step), request), reply) in
                keys.iter_mut().zip(steps).zip(&requests).zip(&replies)
            {
                granted += usize::from(self.check(key, step, request, reply));
            }
        }
        let all = steps * keys.len();
        assert!((all / 4..all - all / 10).contains(&granted), "{:?}: {granted}", self.limit);
    }
}

/// The smooth bucket, whose engine's limiter is as exact if its tokens are whole numbers of the engine's units.
fn smooth(
    quota: Quota,
    engine: Option<fn(&'static ManualClock) -> &'static dyn Owes>,
) -> Case<Bucket> {
    Case {
        limit: RedisLimit::token_bucket(quota).unwrap(),
        max_debt: quota.max_debt(),
        model: Bucket::smooth(quota),
        engine,
        scale: (quota.rate().period().as_micros() as u64 / quota.rate().permits()).max(1),
    }
}

/// Returns a function that makes the engine's bucket of a quota.
macro_rules! engine {
    ($quota:expr) => {
        Some(|clock| Box::leak(Box::new(TokenBucket::with_clock($quota, clock))))
    };
}

#[test]
fn reservations_and_debts_of_smooth_buckets_are_exact_and_as_the_engines() {
    let cases = [
        smooth(quota!(1 / day, burst 5, max_debt 3), engine!(quota!(1 / day, burst 5, max_debt 3))),
        smooth(quota!(10 / second), engine!(quota!(10 / second))),
        smooth(quota!(10 / second, max_debt 0), engine!(quota!(10 / second, max_debt 0))),
        smooth(quota!(1_000_000 / second, burst 20, max_debt 100), None),
        smooth(quota!(7 / 11 ms, burst 40), None),
        smooth(quota!(999_983 / second, burst 100, max_debt 50), None),
        smooth(quota!(1_000_003 / 86_400_000 seconds, burst 30, max_debt 90), None),
    ];
    run_all(cases.into());
}

#[test]
fn reservations_and_debts_of_interval_buckets_are_exact() {
    let of = |quota: Quota| {
        let quota = quota.with_refill(Refill::Interval);
        Case {
            limit: RedisLimit::token_bucket(quota).unwrap(),
            max_debt: quota.max_debt(),
            model: Intervals::new(quota),
            engine: None,
            scale: quota.rate().period().as_micros() as u64 / 2,
        }
    };
    let cases = [
        of(quota!(1 / second, burst 10)),
        of(quota!(10 / second, burst 100, max_debt 7)),
        of(quota!(7 / 11 us, burst 7, max_debt 20)),
        of(quota!(7 / day, burst 3, max_debt 0)),
    ];
    run_all(cases.into());
}

#[test]
fn reservations_and_debts_of_cells_are_exact_and_as_the_engines() {
    let of = |interval: u64, tolerance: u64, engine: Option<_>| {
        let [interval, tolerance] = [interval, tolerance].map(Duration::from_nanos);
        let limit = RedisLimit::gcra(interval, tolerance).unwrap();
        Case {
            max_debt: limit.limit(),
            limit,
            model: Bucket::cells(interval, tolerance),
            engine,
            scale: (interval.as_micros() as u64).max(1),
        }
    };
    let engine: fn(&'static ManualClock) -> &'static dyn Owes = |clock| {
        let [interval, tolerance] = [1_000_000_000, 4_500_000_000].map(Duration::from_nanos);
        Box::leak(Box::new(Gcra::with_clock(interval, tolerance, clock).unwrap()))
    };
    let cases = [
        of(1_000_000_000, 4_500_000_000, Some(engine)),
        of(86_400_000_000_000, 86_400_000_000_000, None),
        of(3_333, 100_001, None),
        of(1_000, 7_000, None),
    ];
    run_all(cases.into());
}

fn run_all<M: Oracle + Clone>(cases: Vec<Case<M>>) {
    let server = Server::start();
    let steps = STEPS.div_ceil(cases.len());
    for (index, case) in cases.into_iter().enumerate() {
        case.run(&server, index, steps);
    }
}
