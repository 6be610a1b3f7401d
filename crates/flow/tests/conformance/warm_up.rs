//! Replays the cases of a limiter that warms up, on a clock that the case moves.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use sluicegate::wait::AcquireError;
use sluicegate::{ManualClock, Rate};
use sluicegate_flow::WarmUp;

use crate::support::vector_file::{Facts, File, Tally, differences, label, parse, scaled};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    from: String,
    #[serde(default)]
    note: String,
    limiter: Limiter,
    /// Every time in the case is multiplied by each of these in turn.
    #[serde(default = "unscaled")]
    scales: Vec<u64>,
    steps: Vec<Step>,
}

fn unscaled() -> Vec<u64> {
    vec![1]
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Limiter {
    WarmUp(WarmUpSpec),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WarmUpSpec {
    permits: u64,
    period_nanos: u64,
    warm_up_nanos: u64,
    cold_factor: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateSpec {
    permits: u64,
    period_nanos: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at_nanos: u64,
    #[serde(rename = "do")]
    verb: Verb,
    #[serde(default)]
    n: u64,
    /// For `set_rate`.
    rate: Option<RateSpec>,
    #[serde(default)]
    expect: Facts,
    peer: Option<Facts>,
    why: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Acquire,
    SetRate,
}

/// Replays every case of `json`.
///
/// # Panics
///
/// If a result is not the expected one, naming all such steps.
pub(crate) fn replay(json: &str) -> Tally {
    let file: File<Case> = parse(json);
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    for case in &file.cases {
        assert!(file.source.files.iter().any(|path| path.ends_with(&case.from)), "{case:?}");
        tally.cases += 1;
        for &scale in &case.scales {
            run(case, scale, &mut tally, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), tally.steps, wrong.join("\n"));
    tally
}

fn run(case: &Case, scale: u64, tally: &mut Tally, wrong: &mut Vec<String>) {
    let clock = ManualClock::new();
    let Limiter::WarmUp(spec) = &case.limiter;
    let warm_up = Duration::from_nanos(spec.warm_up_nanos * scale);
    let limiter = WarmUp::with_clock(rate(spec.permits, spec.period_nanos, scale), warm_up, &clock);
    let limiter = limiter.unwrap().with_cold_factor(spec.cold_factor).unwrap();
    for (index, step) in case.steps.iter().enumerate() {
        let name = label(&case.name, &case.note);
        let at = format!("{name} x{scale}, step {index} at {} ns", step.at_nanos);
        assert_eq!(step.peer.is_some(), step.why.is_some(), "{at}");
        tally.differences +=
            step.peer.as_ref().map_or(0, |peer| differences(peer, &step.expect, &at));
        tally.steps += 1;
        clock.set_nanos(step.at_nanos * scale);
        let found = match (step.verb, &step.rate) {
            (Verb::Acquire, _) => acquire(&limiter, step.n, &clock),
            (Verb::SetRate, Some(new)) => {
                limiter.set_rate(rate(new.permits, new.period_nanos, scale));
                Facts::new()
            }
            (Verb::SetRate, None) => panic!("{at}: no rate"),
        };
        for (name, expected) in &step.expect {
            let expected = scaled(name, expected, scale);
            if found.get(name) != Some(&expected) {
                wrong.push(format!("{at}: {name} must be {expected}, found {found:?}"));
            }
        }
    }
}

fn rate(permits: u64, period_nanos: u64, scale: u64) -> Rate {
    Rate::new(permits, Duration::from_nanos(period_nanos * scale)).unwrap()
}

/// Lets a caller wait for its turn. The clock then stands at that time.
///
/// # Panics
///
/// If the caller is told a wait that is not the least, or if a refusal changes the limiter.
fn acquire(limiter: &WarmUp<&ManualClock>, permits: u64, clock: &ManualClock) -> Facts {
    let wait = limiter.ready_after();
    if let Some(shorter) = wait.checked_sub(Duration::from_nanos(1)) {
        let refused = limiter.reserve_within(permits, shorter).map(drop);
        assert_eq!(refused, Err(AcquireError::TimedOut { retry_after: wait }));
        assert_eq!(limiter.ready_after(), wait, "a refusal has changed the limiter");
    }
    let is_granted = limiter.reserve_within(permits, wait).is_ok();
    clock.advance(wait);
    let facts = [("allowed", json!(is_granted)), ("wait_nanos", json!(wait.as_nanos() as u64))];
    facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect()
}
