//! Cases about what is in flight: algorithms that are fed samples, and limits that are taken from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use sluicegate::ManualClock;
use sluicegate_flow::concurrency::{
    Adaptive, Aimd, ConcurrencyLimit, InFlight, LimitAlgorithm, Outcome, Sample, Vegas,
};

use crate::support::vector_file::{Facts, File, Tally, label, parse};

/// Calls on one limit, in order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    from: String,
    #[serde(default)]
    note: String,
    limiter: Spec,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Spec {
    Vegas(AlgorithmSpec),
    Aimd(AlgorithmSpec),
    Fixed(u64),
    /// A limit of which each share is a number of tenths.
    Shares {
        limit: u64,
        tenths: BTreeMap<String, u64>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlgorithmSpec {
    initial: u64,
    max: Option<u64>,
    alpha: Option<u32>,
    beta: Option<u32>,
    decrease: Option<f64>,
    smoothing: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Step {
    #[serde(flatten)]
    act: Act,
    #[serde(default)]
    expect: Facts,
    peer: Option<Facts>,
    why: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Act {
    Sample { rtt_nanos: u64, in_flight: u64, dropped: bool },
    Take { times: u64, share: Option<String> },
    End { share: Option<String> },
    Look { share: Option<String> },
    SetLimit { limit: u64 },
    Crowd { threads: u64, times: u64 },
}

/// Replays every case of `json`.
///
/// # Panics
///
/// If a result is not the expected one, naming all such cases and steps.
pub(crate) fn run(json: &str) -> Tally {
    let file: File<Case> = parse(json);
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    for case in &file.cases {
        assert!(file.source.files.contains(&case.from), "{case:?}");
        tally.cases += 1;
        let mut subject = Subject::build(&case.limiter);
        for (index, step) in case.steps.iter().enumerate() {
            let at = format!("{}, step {index}", label(&case.name, &case.note));
            assert_eq!(step.peer.is_some(), step.why.is_some(), "{at}");
            let says_nothing = matches!(step.act, Act::SetLimit { .. });
            assert_eq!(step.expect.is_empty(), says_nothing, "{at}");
            for (name, value) in step.peer.iter().flatten() {
                let is_other = step.expect.get(name).is_some_and(|ours| ours != value);
                assert!(is_other, "{at}: {name} is no difference");
                tally.differences += 1;
            }
            tally.steps += 1;
            let found = subject.run(&step.act);
            for (name, expected) in &step.expect {
                if found.get(name) != Some(expected) {
                    wrong.push(format!("{at}: {name} must be {expected}, found {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), tally.steps, wrong.join("\n"));
    tally
}

type Algorithm = Box<dyn LimitAlgorithm + Send>;

enum Subject {
    Adaptive(Box<Adaptive<Algorithm, ManualClock>>),
    Shared(Shares),
}

impl Subject {
    fn build(spec: &Spec) -> Subject {
        let algorithm: Algorithm = match spec {
            Spec::Vegas(spec) => Box::new(vegas(spec)),
            Spec::Aimd(spec) => {
                let aimd = Aimd::new().with_initial(spec.initial);
                Box::new(spec.max.map_or(aimd.clone(), |max| aimd.with_max(max)))
            }
            Spec::Fixed(limit) => return Subject::Shared(Shares::new(*limit, [(None, 10)])),
            Spec::Shares { limit, tenths } => {
                let tenths = tenths.iter().map(|(name, tenths)| (Some(name.clone()), *tenths));
                return Subject::Shared(Shares::new(*limit, tenths));
            }
        };
        Subject::Adaptive(Box::new(Adaptive::with_clock(algorithm, ManualClock::new())))
    }

    fn run(&mut self, act: &Act) -> Facts {
        match (self, act) {
            (Subject::Adaptive(adaptive), &Act::Sample { rtt_nanos, in_flight, dropped }) => {
                let rtt = Duration::from_nanos(rtt_nanos);
                feed(adaptive, rtt, in_flight, dropped);
                facts([("limit", adaptive.limit())])
            }
            (Subject::Shared(shares), Act::Take { times, share }) => {
                let allowed = (0..*times).filter(|_| shares.take(share.as_ref())).count() as u64;
                facts([("allowed", allowed), ("in_flight", shares.in_flight())])
            }
            (Subject::Shared(shares), Act::End { share }) => {
                shares.end(share.as_ref());
                facts([("in_flight", shares.in_flight())])
            }
            (Subject::Shared(shares), Act::Look { share }) => {
                let limit = shares.of(share.as_ref());
                facts([("limit", limit.limit()), ("in_flight", limit.in_flight())])
            }
            (Subject::Shared(shares), Act::SetLimit { limit }) => {
                shares.set_limit(*limit);
                facts([])
            }
            (Subject::Shared(shares), Act::Crowd { threads, times }) => {
                let (most, answers) = crowd(shares.of(None), *threads, *times);
                let limit = shares.of(None).limit();
                facts([("beyond_limit", most.saturating_sub(limit)), ("answers", answers)])
            }
            (_, act) => panic!("not for this limiter: {act:?}"),
        }
    }
}

fn facts<const N: usize>(facts: [(&str, u64); N]) -> Facts {
    facts.map(|(name, fact)| (name.to_owned(), json!(fact))).into()
}

fn vegas(spec: &AlgorithmSpec) -> Vegas {
    let mut vegas = Vegas::new().with_initial(spec.initial);
    if let Some(max) = spec.max {
        vegas = vegas.with_max(max);
    }
    if let Some(alpha) = spec.alpha {
        vegas = vegas.with_alpha(alpha);
    }
    if let Some(beta) = spec.beta {
        vegas = vegas.with_beta(beta);
    }
    if let Some(decrease) = spec.decrease {
        vegas = vegas.with_decrease(decrease);
    }
    if let Some(smoothing) = spec.smoothing {
        vegas = vegas.with_smoothing(smoothing);
    }
    vegas
}

/// Makes a call that takes `rtt`, with others in flight; if that many cannot be in flight, feeds the
/// algorithm with what the call would have been.
fn feed(
    adaptive: &Adaptive<Algorithm, ManualClock>,
    rtt: Duration,
    in_flight: u64,
    was_dropped: bool,
) {
    if (1..=adaptive.limit()).contains(&in_flight) {
        let others = adaptive.try_acquire(in_flight - 1).unwrap();
        let call = adaptive.try_acquire(1).unwrap();
        adaptive.clock().advance(rtt);
        call.end(if was_dropped { Outcome::Dropped } else { Outcome::Success });
        others.end(Outcome::Ignored);
    } else {
        let sample = Sample::new(rtt, in_flight);
        let sample = if was_dropped { sample.dropped() } else { sample };
        adaptive.with_algorithm(|algorithm| algorithm.sample(&sample)).unwrap();
    }
}

/// Shares of a limit, each a limit of its own. A caller takes from its own share first, and then
/// from what the others leave.
struct Shares {
    /// Name, tenths, and the share.
    shares: Vec<(Option<String>, u64, Arc<ConcurrencyLimit>)>,
    held: Vec<(Option<String>, InFlight<'static>)>,
}

impl Shares {
    fn new(limit: u64, tenths: impl IntoIterator<Item = (Option<String>, u64)>) -> Shares {
        let share = |(name, tenths)| (name, tenths, Arc::new(ConcurrencyLimit::new(0)));
        let shares = tenths.into_iter().map(share).collect();
        let shares = Shares { shares, held: Vec::new() };
        shares.set_limit(limit);
        shares
    }

    fn set_limit(&self, limit: u64) {
        for (_, tenths, share) in &self.shares {
            share.set_limit(limit * tenths / 10);
        }
    }

    fn of(&self, name: Option<&String>) -> &Arc<ConcurrencyLimit> {
        let found = self.shares.iter().find(|(share, ..)| share.as_ref() == name);
        &found.expect("a share of that name").2
    }

    fn take(&mut self, name: Option<&String>) -> bool {
        let others = self.shares.iter().map(|(_, _, share)| share);
        let granted = [self.of(name)].into_iter().chain(others);
        let Some(guard) = granted.flat_map(|share| share.try_acquire_owned(1)).next() else {
            return false;
        };
        self.held.push((name.cloned(), guard));
        true
    }

    fn end(&mut self, name: Option<&String>) {
        let held = self.held.iter().rposition(|(share, _)| share.as_ref() == name);
        drop(self.held.remove(held.expect("one in flight")));
    }

    fn in_flight(&self) -> u64 {
        self.shares.iter().map(|(_, _, share)| share.in_flight()).sum()
    }
}

/// Lets `threads` ask `times` each and hold what they get for a moment. The most that they held
/// together, and the number of answers.
fn crowd(limit: &ConcurrencyLimit, threads: u64, times: u64) -> (u64, u64) {
    let [held, most, answers] = [const { AtomicU64::new(0) }; 3];
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..times {
                    let guard = limit.try_acquire(1);
                    if guard.is_ok() {
                        most.fetch_max(held.fetch_add(1, SeqCst) + 1, SeqCst);
                        thread::yield_now();
                        held.fetch_sub(1, SeqCst);
                    }
                    answers.fetch_add(1, SeqCst);
                }
            });
        }
    });
    assert_eq!(limit.in_flight(), 0);
    (most.into_inner(), answers.into_inner())
}
