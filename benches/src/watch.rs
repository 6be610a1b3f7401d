//! Two things that show only in turns of their own: the time of single calls, and the
//! fairness between the threads.
//!
//! Turns that count calls have no timer in them. So in some rounds each of them is preceded by
//! two more: one times [single calls](crate::latency), and the other compares the
//! [calls of each thread](crate::fairness) in every millisecond.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use serde::{Deserialize, Serialize};

use crate::fairness::{self, Shares};
use crate::latency::{self, Latency, Ticks};
use crate::round::crew::{self, Role};
use crate::round::{self, Plan, scheduler};
use crate::spread::Spread;
use crate::subject::{Op, Subject};

/// The purpose of a turn that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The times of single calls.
    Calls,
    /// The calls of each thread in every millisecond.
    Shares,
}

impl Watch {
    /// Returns the purposes that make sense for that many threads.
    #[must_use]
    pub fn all(threads: usize) -> &'static [Watch] {
        if threads > 1 { &[Watch::Calls, Watch::Shares] } else { &[Watch::Calls] }
    }

    /// Returns the plan of the same turn, long enough for what it is watched for.
    #[must_use]
    pub fn plan(self, plan: Plan) -> Plan {
        match self {
            Watch::Calls => plan,
            Watch::Shares => Plan { time: plan.time.max(fairness::SHORTEST), ..plan },
        }
    }
}

/// The observations of one thread.
pub(crate) enum Sight {
    Calls(Ticks),
    /// One for each lap.
    Shares(Vec<Shares>),
}

impl Sight {
    pub(crate) fn new(watch: Watch) -> Sight {
        match watch {
            Watch::Calls => Sight::Calls(Ticks::default()),
            Watch::Shares => Sight::Shares(Vec::new()),
        }
    }

    /// Lets the thread make calls, several at a time through `calls`, for as long as `goes_on`.
    pub(crate) fn lap(&mut self, goes_on: impl Fn() -> bool, calls: impl FnMut(u64)) {
        match self {
            Sight::Calls(ticks) => latency::lap(ticks, goes_on, calls),
            Sight::Shares(laps) => laps.push(fairness::lap(goes_on, calls)),
        }
    }
}

/// The observations of all threads of a turn.
#[derive(Debug, Default)]
pub struct Seen {
    /// The times of single calls, if the turn was watched for them.
    pub ticks: Option<Ticks>,
    /// For each millisecond, the calls of the slowest thread over those of the fastest.
    pub fairness: Vec<f64>,
}

impl Seen {
    pub(crate) fn of(sights: impl IntoIterator<Item = Sight>) -> Seen {
        let mut seen = Seen::default();
        let mut shares: Vec<Vec<Shares>> = Vec::new();
        for sight in sights {
            match sight {
                Sight::Calls(ticks) => seen.ticks.get_or_insert_default().add(&ticks),
                Sight::Shares(laps) => shares.push(laps),
            }
        }
        let laps = shares.iter().map(Vec::len).min().unwrap_or(0);
        for lap in 0..laps {
            let of_threads: Vec<&Shares> = shares.iter().map(|laps| &laps[lap]).collect();
            seen.fairness.extend(fairness::ratios(&of_threads));
        }
        seen
    }
}

/// The observations of all turns of a case.
#[derive(Debug, Default)]
pub struct Sum {
    ticks: Option<Ticks>,
    /// The longest call of each turn, in ticks.
    worst: Vec<u64>,
    fairness: Vec<f64>,
}

/// The longest of the calls that were timed, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// The median of the turns.
    pub median: f64,
    /// The longest of all turns.
    pub max: f64,
}

/// The calls of the slowest thread over those of the fastest, in a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// The median of the milliseconds.
    pub median: f64,
    /// The least of all.
    pub min: f64,
}

/// The figures of a line of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The times of single calls.
    pub latency_ns: Option<Latency>,
    /// The worst of them.
    pub worst_ns: Option<Worst>,
    /// The fairness between the threads, if several are timed.
    pub fairness_1ms: Option<Fairness>,
}

impl Sum {
    /// Adds the observations of one more turn.
    pub fn add(&mut self, seen: Seen) {
        if let Some(ticks) = seen.ticks {
            self.worst.extend(ticks.longest());
            self.ticks.get_or_insert_default().add(&ticks);
        }
        self.fairness.extend(seen.fairness);
    }

    /// Summarizes the turns, with a tick of `nanos_per_tick` nanoseconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "three digits were kept")]
    pub fn figures(&self, nanos_per_tick: f64) -> Figures {
        let worst = self.worst.iter().map(|ticks| *ticks as f64 * nanos_per_tick);
        let spread = |figures: Vec<f64>| (!figures.is_empty()).then(|| Spread::of(figures));
        let worst = spread(worst.collect());
        let fairness = spread(self.fairness.clone());
        Figures {
            latency_ns: self.ticks.as_ref().and_then(|ticks| ticks.percentiles(nanos_per_tick)),
            worst_ns: worst.map(|Spread { median, max, .. }| Worst { median, max }),
            fairness_1ms: fairness.map(|Spread { median, min, .. }| Fairness { median, min }),
        }
    }
}

/// Watches a new `S` that is asked `op` for one turn. Returns the observations, and whether the
/// threads had the processors to themselves.
#[must_use]
pub fn run<S: Subject>(op: Op, plan: Plan, watch: Watch) -> (Seen, bool) {
    let limit = S::limit(op);
    let subject = CachePadded::new(S::new(limit));
    let crew =
        crew::together::<S, _>(&subject, (op, limit, plan), |role, subject, own, is_over| {
            let waited = scheduler::waited();
            let sight = lap(role, subject, own, is_over, watch);
            (sight, scheduler::waited_since(waited))
        });
    let (sights, waits): (Vec<_>, Vec<_>) = crew.done.into_iter().unzip();
    let longest_wait = waits.into_iter().max().unwrap_or(Duration::ZERO);
    let is_quiet = longest_wait.as_secs_f64() <= round::QUIET * plan.time.as_secs_f64();
    (Seen::of(sights.into_iter().flatten()), is_quiet)
}

/// Calls until the turn is over. A thread that only keeps the others company records nothing.
fn lap<S: Subject>(
    role: Role,
    subject: &S,
    own: &mut S::Own<'_>,
    is_over: &AtomicBool,
    watch: Watch,
) -> Option<Sight> {
    let mut sight = Sight::new(watch);
    sight.lap(
        || !is_over.load(Relaxed),
        |count| {
            role.calls(subject, own, count);
        },
    );
    (role != Role::Company).then_some(sight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::{self, Visitor};

    const PLAN: Plan = Plan { threads: 2, time: Duration::from_millis(1), is_pinned: false };

    struct Watched;

    impl Visitor for Watched {
        fn visit<S: Subject>(&mut self) {
            // A process may have only one at a time, and another test creates one.
            if S::NAME == "governor_upkeep" {
                return;
            }
            for &op in S::OPS.iter().filter(|op| [Op::Deny, Op::Beside].contains(op)) {
                let (seen, _) = run::<S>(op, PLAN, Watch::Calls);
                assert!(seen.ticks.is_some_and(|ticks| ticks.longest().is_some()), "{}", S::NAME);
                assert!(seen.fairness.is_empty());
            }
        }
    }

    #[test]
    fn every_limiter_has_a_worst_call() {
        subject::visit_all(&mut Watched);
    }

    struct Fair {
        op: Op,
        /// No end if `None`.
        turns: Option<usize>,
        ratios: Vec<f64>,
    }

    impl Visitor for Fair {
        fn visit<S: Subject>(&mut self) {
            if S::NAME == "governor" {
                let plan = Watch::Shares.plan(PLAN);
                let turns = (0..self.turns.unwrap_or(usize::MAX))
                    .map(|_| run::<S>(self.op, plan, Watch::Shares).0);
                let ratios = turns.map(|seen| seen.fairness).find(|ratios| !ratios.is_empty());
                self.ratios = ratios.unwrap_or_default();
            }
        }
    }

    #[test]
    fn two_threads_that_are_timed_have_a_ratio_in_each_millisecond() {
        // A busy machine may leave one of the threads out for all of a turn, and of many.
        let mut both = Fair { op: Op::Deny, turns: None, ratios: Vec::new() };
        subject::visit_all(&mut both);
        assert!(both.ratios.iter().all(|ratio| (0.0..=1.0).contains(ratio)), "{:?}", both.ratios);
        // The other thread only keeps it company.
        let mut one = Fair { op: Op::Beside, turns: Some(2), ratios: Vec::new() };
        subject::visit_all(&mut one);
        assert!(one.ratios.is_empty());
    }

    #[test]
    fn the_worst_is_of_turns_and_the_fairness_of_milliseconds() {
        let mut sum = Sum::default();
        assert_eq!(sum.figures(1.0), Figures::default());
        for longest in [30, 10, 500] {
            let mut ticks = Ticks::default();
            ticks.record(2);
            ticks.record(longest);
            sum.add(Seen { ticks: Some(ticks), fairness: Vec::new() });
        }
        sum.add(Seen { ticks: None, fairness: vec![0.5, 1.0] });
        sum.add(Seen { ticks: None, fairness: vec![0.9] });
        let figures = sum.figures(2.0);
        assert_eq!(figures.worst_ns, Some(Worst { median: 60.0, max: 1_000.0 }));
        assert_eq!(figures.fairness_1ms, Some(Fairness { median: 0.9, min: 0.5 }));
        assert_eq!(figures.latency_ns.map(|latency| latency.p50), Some(4.0));
    }
}
