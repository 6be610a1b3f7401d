//! Callers without leases on a server whose clock is set back: the bound, and that permits come back when denials say so.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::{Denied, Grant};

use super::ledger::{Bound, Entry, Ledger, buckets, windows};
use super::server::Server;
use super::{SECOND, START, keyed};
use crate::RedisLimit;
use crate::decision::Verb;

struct Callers {
    random: SmallRng,
    server: Server,
    limit: RedisLimit,
    /// Microseconds that have passed, and by which the clock was set back.
    micros: u64,
    back: u64,
    ledger: Ledger,
}

impl Callers {
    fn ask(&mut self, verb: Verb, permits: u64) -> Result<Grant, Denied> {
        let keyed = keyed(&self.limit);
        let request = keyed.request("ada", verb, permits).unwrap();
        let arguments: Vec<_> =
            request.arguments().iter().map(|argument| argument.to_vec()).collect();
        self.server.set_clock(START + self.micros - self.back);
        let keys = [request.name().to_owned()];
        let reply = self.server.run(request.script(), &keys, &arguments);
        let answer = request.answer(&reply).unwrap();
        if let (Ok(grant), true) = (&answer, verb != Verb::Peek) {
            self.ledger.add(START + self.micros, Entry::Granted(grant.permits()));
        }
        answer
    }

    fn go_back(&mut self) {
        let most = [SECOND, 3 * SECOND, 3_600 * SECOND][self.random.random_range(0..3)];
        let micros = self.random.random_range(0..most);
        self.ledger.add(START + self.micros, Entry::SetBack(micros));
        self.back += micros;
        // What is granted before and after has other times.
        self.micros += 1;
    }

    /// Takes until a denial, waits as long as that says, and is granted.
    fn take_and_wait(&mut self) {
        let permits = self.random.random_range(1..=50);
        while self.ask(Verb::Take, permits).is_ok() {}
        if self.random.random_ratio(1, 3) {
            self.go_back();
            self.micros += self.random.random_range(0..SECOND);
        }
        let verb = if self.random.random() { Verb::Take } else { Verb::Peek };
        // It may have been granted, if time has passed.
        let Err(denied) = self.ask(verb, permits) else { return };
        let wait = denied.retry_after().unwrap();
        // A second by which time stands still, and what the slowest of them takes to be empty.
        assert!(wait.as_secs() < 6, "{:?}: {wait:?}", self.limit);
        self.micros += wait.as_nanos().div_ceil(1_000) as u64;
        let answer = self.ask(Verb::Take, permits);
        assert!(answer.is_ok(), "{:?}: {answer:?} after {wait:?}", self.limit);
    }
}

#[test]
fn a_clock_that_is_set_back_adds_nothing_and_locks_no_key() {
    let mut all: Vec<(RedisLimit, Bound)> = buckets();
    all.extend(windows());
    for (limit, bound) in all {
        for seed in 0..16 {
            let mut callers = Callers {
                random: SmallRng::seed_from_u64(seed),
                server: Server::new(START),
                limit: limit.clone(),
                micros: 0,
                back: 0,
                ledger: Ledger::default(),
            };
            for _ in 0..300 {
                match callers.random.random_range(0..4) {
                    0 => callers.take_and_wait(),
                    1 => callers.go_back(),
                    2 => callers.micros += callers.random.random_range(0..2 * SECOND),
                    _ => {
                        let permits = callers.random.random_range(1..=200);
                        _ = callers.ask(Verb::UpTo, permits);
                    }
                }
            }
            let (most, excess) = callers.ledger.worst(bound);
            assert_eq!(excess, 0, "{limit:?}, seed {seed}: {most}");
            assert!(most >= 200 && callers.ledger.granted() > 2_000, "{limit:?}: {most}");
        }
    }
}
