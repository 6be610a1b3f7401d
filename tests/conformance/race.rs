//! Threads that take from paced limiters, played by one thread.
//!
//! A thread that is denied sleeps for exactly the wait that it was told and asks
//! again. The one that wakes first goes first; of those that wake together, the one
//! that was started first. Or it stands in the limiter's line, and sleeps until its turn.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::wait::Waiting;
use sluicegate::{Gcra, LeakyBucket, ManualClock, Quota, Rate, TokenBucket, Wait};

use super::acquire::Noted;
use super::vector_file::{File, Tally, label, parse};
use super::vectors::{Count, Paced, Race, Threads};

/// The limiter that paces.
#[derive(Clone, Copy, Debug)]
enum Pacer {
    /// A bucket that starts with one token and holds one more than the slack.
    Bucket,
    /// Only without slack.
    Leaky,
    /// Only without slack, and only where the interval is whole nanoseconds.
    Gcra,
}

/// The way in which a thread waits.
#[derive(Clone, Copy, Debug)]
enum Waits {
    AsksAgain,
    InLine,
}

/// Runs every race of `json`, on every limiter that can pace it.
///
/// # Panics
///
/// If a count or a time is not the expected one, naming all such races.
pub(crate) fn run(json: &str) -> Tally {
    let file: File<Race> = parse(json);
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    for race in &file.cases {
        tally.cases += 1;
        let slack: u64 = race.limiters.values().map(|paced| paced.slack).sum();
        let is_whole = race.limiters.values().all(|paced| paced.period_nanos % paced.permits == 0);
        for waits in [Waits::AsksAgain, Waits::InLine] {
            judge(race, Pacer::Bucket, waits, &mut tally, &mut wrong);
            if slack == 0 {
                judge(race, Pacer::Leaky, waits, &mut tally, &mut wrong);
            }
            if slack == 0 && is_whole {
                judge(race, Pacer::Gcra, waits, &mut tally, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), tally.steps, wrong.join("\n"));
    tally
}

fn judge(race: &Race, pacer: Pacer, waits: Waits, tally: &mut Tally, wrong: &mut Vec<String>) {
    let name = format!("{}, {pacer:?}, {waits:?}", label(&race.name, &race.note));
    let last_nanos = race.counts.iter().map(|count| count.at_nanos).max().unwrap();
    let ended_nanos = turns(race, pacer, waits, last_nanos);
    for count in &race.counts {
        assert_eq!(count.peer.is_some(), count.why.is_some(), "{name}");
        assert_ne!(count.peer, Some(count.taken), "{name}: no difference");
        tally.steps += 1;
        tally.differences += usize::from(count.peer.is_some());
        let taken = ended_nanos.iter().filter(|&&ended| ended < count.at_nanos).count() as u64;
        if taken != count.taken {
            let Count { at_nanos, taken: expected, .. } = count;
            wrong.push(format!("{name}: {taken}, not {expected}, by {at_nanos} ns"));
        }
    }
    if let Some(expected) = &race.admitted_at_nanos {
        tally.steps += expected.len();
        if &ended_nanos != expected {
            wrong.push(format!("{name}: let through at {ended_nanos:?}"));
        }
    }
}

/// When turns ended, up to `last_nanos`.
fn turns(race: &Race, pacer: Pacer, waits: Waits, last_nanos: u64) -> Vec<u64> {
    let clock = ManualClock::new();
    let limiters: BTreeMap<&str, Box<dyn Wait + '_>> = race
        .limiters
        .iter()
        .map(|(name, paced)| (name.as_str(), limiter(paced, pacer, &clock)))
        .collect();

    let mut sleepers = BTreeSet::new();
    let mut threads: Vec<Thread<'_>> = Vec::new();
    for group in &race.threads {
        for _ in 0..group.many {
            sleepers.insert((group.from_nanos, threads.len()));
            threads.push(Thread { group, turns: 0, taken: 0, in_line: None });
        }
    }

    let mut ended_nanos = Vec::new();
    while let Some((now_nanos, index)) = sleepers.pop_first() {
        if now_nanos > last_nanos {
            break;
        }
        clock.set_nanos(now_nanos);
        let thread = &mut threads[index];
        while !thread.is_done() {
            let limiter = &*limiters[thread.group.takes[thread.taken].as_str()];
            let answer = match waits {
                Waits::AsksAgain => limiter
                    .try_acquire(1)
                    .map(drop)
                    .map_err(|denied| denied.retry_after().expect("one permit is never too large")),
                Waits::InLine => thread.ask_in_line(limiter),
            };
            match answer {
                Ok(()) => {
                    if thread.take() {
                        ended_nanos.push(now_nanos);
                    }
                }
                Err(wait) => {
                    sleepers.insert((now_nanos + wait.as_nanos() as u64, index));
                    break;
                }
            }
        }
    }
    ended_nanos
}

struct Thread<'race> {
    group: &'race Threads,
    /// Turns that have ended.
    turns: u32,
    /// Limiters taken from in this turn.
    taken: usize,
    /// Its place in a line, and the sleep that it was told there.
    in_line: Option<(Pin<Box<Waiting<'race, Noted>>>, Noted)>,
}

impl<'race> Thread<'race> {
    fn is_done(&self) -> bool {
        self.group.times == Some(self.turns)
    }

    /// Takes a permit if its turn has come, or says how long to sleep.
    fn ask_in_line(&mut self, limiter: &'race dyn Wait) -> Result<(), Duration> {
        let (waiting, noted) = self.in_line.get_or_insert_with(|| {
            let noted = Noted::default();
            (Box::pin(limiter.acquire(1).timer(noted.clone())), noted)
        });
        match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Err(noted.duration()),
            Poll::Ready(answer) => {
                answer.expect("nobody bounds or closes the line");
                self.in_line = None;
                Ok(())
            }
        }
    }

    /// Counts a take; whether it was the last of the turn.
    fn take(&mut self) -> bool {
        self.taken = (self.taken + 1) % self.group.takes.len();
        self.turns += u32::from(self.taken == 0);
        self.taken == 0
    }
}

fn limiter<'clock>(
    spec: &Paced,
    pacer: Pacer,
    clock: &'clock ManualClock,
) -> Box<dyn Wait + 'clock> {
    let rate = Rate::new(spec.permits, Duration::from_nanos(spec.period_nanos)).unwrap();
    match pacer {
        Pacer::Bucket => {
            let quota = Quota::new(rate).with_burst(spec.slack + 1).unwrap();
            Box::new(TokenBucket::with_clock(quota, clock).starting_with(1).unwrap())
        }
        Pacer::Leaky => Box::new(LeakyBucket::min_interval_with_clock(rate, clock)),
        Pacer::Gcra => {
            let interval = Duration::from_nanos(spec.period_nanos / spec.permits);
            Box::new(Gcra::with_clock(interval, Duration::ZERO, clock).unwrap())
        }
    }
}
